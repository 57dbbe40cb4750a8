/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that describe a simulated machine, shared by sim, sweep and explore. */
#ifndef AUXTAP_CLI_WATERMARK_OPTIONS_H
#define AUXTAP_CLI_WATERMARK_OPTIONS_H

#include "util/options.h"

#include <auxtap/watermark.h>
#include <stdbool.h>

/* Ids of these options; those of a command start at WM_OPT_END. */
enum {
	WM_OPT_FIRST = 1000,
	WM_OPT_DRIVER = WM_OPT_FIRST,
	WM_OPT_KERNEL,
	WM_OPT_UNIT,
	WM_OPT_FAULT,
	WM_OPT_PAGES,
	WM_OPT_PAGE_SIZE,
	WM_OPT_WATERMARK,
	WM_OPT_DATA_PAGES,
	WM_OPT_SNAPSHOT,
	WM_OPT_CPU,
	WM_OPT_ORDER,
	WM_OPT_SKID,
	WM_OPT_ALIGN,
	WM_OPT_RECORD,
	WM_OPT_MAX_RECORD,
	WM_OPT_ERRATA,
	WM_OPT_RATE,
	WM_OPT_RATES,
	WM_OPT_BURST,
	WM_OPT_IRQ_LATENCY,
	WM_OPT_IRQ_JITTER,
	WM_OPT_READER_LATENCY,
	WM_OPT_READER_JITTER,
	WM_OPT_READER_RATE,
	WM_OPT_READ_SIZE,
	WM_OPT_SWITCH,
	WM_OPT_SEED,
	WM_OPT_BYTES,
	WM_OPT_TRANSACTIONS,
	WM_OPT_TIME,
	WM_OPT_CONTENTS,
	WM_OPT_END,
};

/* Rows for the commands' tables. */
extern const struct option_row wm_option_rows[];

#define WM_HELP                                                                                   \
	"the machine\n"                                                                           \
	"  --driver intel_pt|arm_spe|trbe   (default: intel_pt)\n"                                \
	"  --kernel NAME        kernel whose rules apply: 6.1.192, 6.12.95 or 6.18.44\n"          \
	"                       (default: 6.1.192)\n"                                             \
	"  --pages N            size of the AUX area, a power of two (default: 16); a list\n"     \
	"                       A,B,C or A..B (doubling) runs one simulation each\n"              \
	"  --page-size SIZE     4K, 16K, 64K (default: 4K)\n"                                     \
	"  --watermark SIZE     attr.aux_watermark; a list A,B,C or a sweep A..B[:STEP]\n"        \
	"                       runs one simulation each (default 0: half of the area)\n"         \
	"  --snapshot           overwrite mode: no reader, no watermark\n"                        \
	"  --data-pages N       size of the data ring, which holds the records (default: 16)\n"   \
	"  --order N            largest contiguous allocation is 2^N pages (default: any)\n"      \
	"  --cpu N              CPU that the program runs on (default: 1)\n"                      \
	"the trace unit\n"                                                                        \
	"  --unit FILE.so       your own model (docs/watermark.md)\n"                             \
	"  --rate SIZE          trace per second (default: 100M); --burst ON,OFF adds pauses;\n"  \
	"  --rates FILE         lines of 'until-time rate'\n"                                     \
	"  --skid SIZE          trace between interrupt threshold and interrupt line\n"           \
	"                       (default: 0)\n"                                                   \
	"  --record SIZE        size of the fragments of trace (default: 16; arm_spe: 64)\n"      \
	"  --align SIZE (Arm), --max-record SIZE (arm_spe)   as in its ID registers\n"            \
	"  --errata overwrite|beyond[,…]     of a TRBE (J6, J2)\n"                              \
	"interrupt, reader, scheduler\n"                                                          \
	"  --irq-latency TIME, --irq-jitter TIME         (default: 2us, 500ns)\n"                 \
	"  --reader-latency TIME, --reader-jitter TIME   from wakeup to read (default: 50us,\n"   \
	"                       10us)\n"                                                          \
	"  --reader-rate SIZE   bytes that it copies per second (default: 2000000000;\n"          \
	"                       0: no time)\n"                                                    \
	"  --read-size SIZE     bytes that it copies at once (default: all)\n"                    \
	"  --switch TIME        interval at which the program is switched out (default: never)\n" \
	"the run\n"                                                                               \
	"  --bytes SIZE, --transactions N, --time TIME   its length, whichever ends first\n"      \
	"                       (default: 16M bytes)\n"                                           \
	"  --seed N             seed of the jitter (default: 1)\n"                                \
	"  --contents           store and compare bytes, not only positions\n"                    \
	"  --fault NAME         inject a fault: see 'auxtap watermark faults --list'\n"

#define WM_MAX_WATERMARKS 65536

struct wm_options {
	struct auxtap_watermark_config c;
	uint64_t *watermarks; /* requested values, at least one; owned */
	size_t nr_watermarks, max_watermarks;
	uint64_t *pages; /* likewise */
	size_t nr_pages, max_pages;
	struct auxtap_watermark_rate *rates; /* c.nr_rates */
	size_t max_rates;
	void *unit_handle;
	const char *fault;
	bool bytes_given; /* --bytes: limits the run in addition to --transactions and --time */
	bool align_given, max_record_given;
};

/* The options that decide the defaults of the others; NULL: not given. */
struct wm_first_options {
	const char *driver, *unit, *fault;
};
/* tables are those of the command. */
void wm_options_find_first(struct wm_first_options *first, int argc, char **argv,
			   const struct option_row *const *tables);
void wm_options_init(struct wm_options *o, const struct wm_first_options *first);
/* True: id, from options_next(), is one of these. Then *bad: invalid value, printed an error. */
bool wm_options_parse(struct wm_options *o, const struct options *from, int id, bool *bad);
/* To be called after the last option. False: printed an error. */
bool wm_options_finish(struct wm_options *o);
void wm_options_free(struct wm_options *o);

/* Parse "16K", "1.5M"; "20us", "3ms". False: the text is invalid. */
bool wm_parse_size(const char *text, uint64_t *value);
bool wm_parse_time(const char *text, uint64_t *value_ns);

/* Sets *c, which may be uninitialised, to a driver's typical machine. */
void wm_typical(struct auxtap_watermark_config *c, const char *driver);
uint64_t wm_data_pages(const struct auxtap_watermark_config *c); /* 0: no data ring */
/* log2 of the largest contiguous allocation in pages; -1: any */
int wm_max_order(const struct auxtap_watermark_config *c);

/* Writes the command line of this configuration, without options that have their defaults. */
void wm_print_command(const struct auxtap_watermark_config *c, char *buf, size_t size);

#endif
