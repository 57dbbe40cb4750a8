/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that describe a simulated machine: what sim, sweep, explore and picture share. */
#ifndef AUXTAP_CLI_WATERMARK_OPTIONS_H
#define AUXTAP_CLI_WATERMARK_OPTIONS_H

#include <auxtap/watermark.h>
#include <getopt.h>
#include <stdbool.h>

/* getopt values of these options; a command's own begin at WM_OPT_END. */
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

#define WM_OPTIONS                                                                  \
	{"driver", required_argument, NULL, WM_OPT_DRIVER},                         \
		{"kernel", required_argument, NULL, WM_OPT_KERNEL},                 \
		{"unit", required_argument, NULL, WM_OPT_UNIT},                     \
		{"fault", required_argument, NULL, WM_OPT_FAULT},                   \
		{"pages", required_argument, NULL, WM_OPT_PAGES},                   \
		{"page-size", required_argument, NULL, WM_OPT_PAGE_SIZE},           \
		{"watermark", required_argument, NULL, WM_OPT_WATERMARK},           \
		{"data-pages", required_argument, NULL, WM_OPT_DATA_PAGES},         \
		{"snapshot", no_argument, NULL, WM_OPT_SNAPSHOT},                   \
		{"cpu", required_argument, NULL, WM_OPT_CPU},                       \
		{"order", required_argument, NULL, WM_OPT_ORDER},                   \
		{"skid", required_argument, NULL, WM_OPT_SKID},                     \
		{"align", required_argument, NULL, WM_OPT_ALIGN},                   \
		{"record", required_argument, NULL, WM_OPT_RECORD},                 \
		{"max-record", required_argument, NULL, WM_OPT_MAX_RECORD},         \
		{"errata", required_argument, NULL, WM_OPT_ERRATA},                 \
		{"rate", required_argument, NULL, WM_OPT_RATE},                     \
		{"rates", required_argument, NULL, WM_OPT_RATES},                   \
		{"burst", required_argument, NULL, WM_OPT_BURST},                   \
		{"irq-latency", required_argument, NULL, WM_OPT_IRQ_LATENCY},       \
		{"irq-jitter", required_argument, NULL, WM_OPT_IRQ_JITTER},         \
		{"reader-latency", required_argument, NULL, WM_OPT_READER_LATENCY}, \
		{"reader-jitter", required_argument, NULL, WM_OPT_READER_JITTER},   \
		{"reader-rate", required_argument, NULL, WM_OPT_READER_RATE},       \
		{"read-size", required_argument, NULL, WM_OPT_READ_SIZE},           \
		{"switch", required_argument, NULL, WM_OPT_SWITCH},                 \
		{"seed", required_argument, NULL, WM_OPT_SEED},                     \
		{"bytes", required_argument, NULL, WM_OPT_BYTES},                   \
		{"transactions", required_argument, NULL, WM_OPT_TRANSACTIONS},     \
		{"time", required_argument, NULL, WM_OPT_TIME},                     \
	{                                                                           \
		"contents", no_argument, NULL, WM_OPT_CONTENTS                      \
	}

#define WM_HELP                                                                              \
	"the machine\n"                                                                      \
	"  --driver intel_pt|arm_spe|trbe   (intel_pt)\n"                                    \
	"  --kernel NAME        6.1.192, 6.12.95 or 6.18.44: whose rules (6.1.192)\n"        \
	"  --pages N            of the AUX area, a power of two (16); a list A,B,C or\n"     \
	"                       A..B (doubling) runs one simulation each\n"                  \
	"  --page-size SIZE     4K, 16K, 64K (4K)\n"                                         \
	"  --watermark SIZE     attr.aux_watermark; a list A,B,C or a sweep A..B[:STEP]\n"   \
	"                       runs one simulation each (0: half of the area)\n"            \
	"  --snapshot           the area is overwritten\n"                                   \
	"  --data-pages N       of the data ring, which takes the records (16)\n"            \
	"  --order N            largest free run of pages is 2^N (as large as wanted)\n"     \
	"  --cpu N              where the program runs (1)\n"                                \
	"the trace unit\n"                                                                   \
	"  --unit FILE.so       a model of your own (docs/watermark.md)\n"                   \
	"  --rate SIZE          trace a second (100M); --burst ON,OFF makes pauses;\n"       \
	"  --rates FILE         lines of 'until-time rate'\n"                                \
	"  --skid SIZE          trace that comes between mark and interrupt (0)\n"           \
	"  --record SIZE        trace comes in pieces of (16; arm_spe: 64)\n"                \
	"  --align SIZE (Arm), --max-record SIZE (arm_spe)   as its ID registers tell\n"     \
	"  --errata overwrite|beyond[,…]     of a TRBE (J6, J2)\n"                         \
	"interrupt, reader, scheduler\n"                                                     \
	"  --irq-latency TIME, --irq-jitter TIME         (2us, 500ns)\n"                     \
	"  --reader-latency TIME, --reader-jitter TIME   from wakeup to read (50us, 10us)\n" \
	"  --reader-rate SIZE   copied a second (2G; 0: at once)\n"                          \
	"  --read-size SIZE     copied at a time (all there is)\n"                           \
	"  --switch TIME        the program is switched out so often (never)\n"              \
	"the run\n"                                                                          \
	"  --bytes SIZE, --transactions N, --time TIME   its length (16M bytes); of\n"       \
	"                       several the one that is reached first\n"                     \
	"  --seed N             of the jitters (1)\n"                                        \
	"  --contents           bytes are stored and compared, not only positions\n"         \
	"  --fault NAME         something is wrong: 'auxtap watermark faults --list'\n"

#define WM_MAX_WATERMARKS 65536

struct wm_options {
	struct auxtap_watermark_config c;
	uint64_t *watermarks; /* those asked for, at least one; owned */
	size_t nr_watermarks;
	uint64_t *pages; /* likewise */
	size_t nr_pages;
	struct auxtap_watermark_rate *rates;
	void *unit_handle;
	const char *fault;
	bool bytes_given; /* --bytes: --transactions and --time come on top of it */
	bool align_given, max_record_given;
};

/* The options that decide the defaults of the others, wherever they are; NULL: not given. */
struct wm_peek {
	const char *driver, *unit, *fault;
};
/* letters and options: the command's own, as it passes them to getopt_long(). */
void wm_options_peek(struct wm_peek *peek, int argc, char **argv, const char *letters,
		     const struct option *options);
void wm_options_init(struct wm_options *o, const struct wm_peek *peek);
/* One of the above: true. *bad: it was wrong, and told. */
bool wm_options_take(struct wm_options *o, int opt, const char *arg, bool *bad);
/* "--pages"; for messages. */
const char *wm_option_name(int opt);
/* After the last option. False: told. */
bool wm_options_finish(struct wm_options *o);
void wm_options_free(struct wm_options *o);

/* "16K", "1.5M"; "20us", "3ms". False: not a number of that kind. */
bool wm_parse_size(const char *text, uint64_t *value);
bool wm_parse_time(const char *text, uint64_t *value_ns);

/* The options that say this configuration, where it is not the default. */
void wm_print_command(const struct auxtap_watermark_config *c, char *buf, size_t size);

#endif
