// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzz target: any bytes as a perf.data file, through everything that a user may do with one:
 * dump, decode (by blocks and by instructions), report, and the reader's other iterators.
 * For libFuzzer, and called by mutate.c on recordings of our own (tests/cli/test_fuzz.sh).
 */
#include "fuzz.h"
#include "decode/dump/dump_private.h"

#include <auxtap/decode.h>

#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Limits of the output for so few bytes. A block of trace bytes stands for at most a few
 * instructions a bit, but six bits may encode a long loop: libipt's packets bound the flow, so
 * this is far above what occurs.
 */
#define MAX_EVENTS (8u << 20)
#define MAX_REPORT (1u << 20)

int __real_dwfl_build_id_find_debuginfo(Dwfl_Module *mod, void **data, const char *name,
					Dwarf_Addr base, const char *file, const char *link,
					GElf_Word crc, char **found);
int __wrap_dwfl_build_id_find_debuginfo(Dwfl_Module *mod, void **data, const char *name,
					Dwarf_Addr base, const char *file, const char *link,
					GElf_Word crc, char **found);

/*
 * Without the debug files of installed libraries, unless AUXTAP_LONG is set: libdw inflates libc's
 * anew for each report, which takes 60 % of the time, and no mutation changes it. The programs'
 * own DWARF is in their files.
 */
int __wrap_dwfl_build_id_find_debuginfo(Dwfl_Module *mod, void **data, const char *name,
					Dwarf_Addr base, const char *file, const char *link,
					GElf_Word crc, char **found)
{
	if (!getenv("AUXTAP_LONG"))
		return -1;
	return __real_dwfl_build_id_find_debuginfo(mod, data, name, base, file, link, crc, found);
}

static uint64_t sum;

struct counter {
	size_t nr, max;
};

static ssize_t count(void *ctx, const char *buf, size_t size)
{
	struct counter *c = ctx;

	c->nr += size;
	sum += (unsigned char)buf[size - 1];
	if (c->nr > c->max) {
		fprintf(stderr, "more than %zu bytes of text\n", c->max);
		abort();
	}
	return (ssize_t)size;
}

/* Discards text; aborts if it does not end. */
static FILE *counter(struct counter *c, size_t max)
{
	FILE *out = fopencookie(c, "w", (cookie_io_functions_t){.write = count});

	c->nr = 0;
	c->max = max;
	if (!out)
		abort();
	return out;
}

static int on_metadata(void *ctx, uint32_t type, const void *data, size_t size)
{
	(void)ctx;
	sum += type + (size ? ((const unsigned char *)data)[size - 1] : 0);
	return 0;
}

static void read_all(const char *path)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	const struct auxtap_build_id *ids;
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};
	const void *data;
	size_t nr;

	if (auxtap_perfdata_open(&pd, path, &err))
		return;
	while (auxtap_perfdata_next_sorted(pd, &rec, &err) > 0)
		sum += rec.body_size ?
			       ((const unsigned char *)(rec.header + 1))[rec.body_size - 1] :
			       rec.time;
	auxtap_perfdata_rewind(pd);
	while (auxtap_perfdata_next(pd, &rec, &err) > 0)
		sum += rec.offset;
	for (unsigned int i = 0; i < 256; i++)
		if (!auxtap_perfdata_feature(pd, i, &data, &nr) && nr)
			sum += ((const unsigned char *)data)[nr - 1];
	if (!auxtap_perfdata_build_ids(pd, &ids, &nr))
		for (size_t i = 0; i < nr; i++)
			sum += (unsigned char)ids[i].filename[0];
	auxtap_perfdata_metadata(pd, on_metadata, NULL, &err);
	auxtap_perfdata_close(pd);
}

static void dump(const char *path, size_t size)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct dump_opts opts = {.packets = true};
	struct auxtap_perfdata *pd;
	struct counter c;

	if (auxtap_perfdata_open(&pd, path, &err))
		return;
	opts.out = counter(&c, size * 256 + (1 << 20));
	dump_perfdata(pd, &opts, &err);
	fclose(opts.out);
	auxtap_perfdata_close(pd);
}

static void decode(const char *path, uint32_t events)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_decode_opts opts = {.size = sizeof(opts), .events = events, .jobs = 1};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_decode_summary summary = {.size = sizeof(summary)};
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;
	struct auxtap_location loc = {.size = sizeof(loc)};
	struct auxtap_event ev = {.size = sizeof(ev)};
	uint32_t nr = 0;

	if (auxtap_image_set_new(&images, &image_opts, &err))
		abort();
	if (auxtap_perfdata_open(&pd, path, &err))
		goto out_images;
	if (auxtap_decoder_open(&dec, pd, images, &opts, &err))
		goto out_file;
	while (auxtap_decoder_next(dec, &ev, &err) == 1) {
		if (++nr > MAX_EVENTS) {
			fprintf(stderr, "more than %u events\n", MAX_EVENTS);
			abort();
		}
		if (!(nr % 64) && !auxtap_image_set_symbol(images, ev.pid, ev.time, ev.ip, &loc))
			sum += loc.image_off;
		sum += ev.ip + ev.addr;
	}
	auxtap_decoder_summary(dec, &summary);
	auxtap_decoder_close(dec);
out_file:
	auxtap_perfdata_close(pd);
out_images:
	auxtap_image_set_free(images);
}

static void report(const char *path)
{
	struct auxtap_report_opts opts = {.size = sizeof(opts), .colour = true};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	struct counter c;
	FILE *out;

	if (auxtap_perfdata_open(&pd, path, &err))
		return;
	out = counter(&c, MAX_REPORT);
	auxtap_report(pd, &opts, out, &err);
	fclose(out);
	auxtap_perfdata_close(pd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_all(path);
	dump(path, size);
	decode(path, AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN |
			     AUXTAP_EVENT_ASYNC | AUXTAP_EVENT_TRACE | AUXTAP_EVENT_GAP);
	decode(path, AUXTAP_EVENT_INSN | AUXTAP_EVENT_GAP);
	report(path);
	close(fd);
	return 0;
}
