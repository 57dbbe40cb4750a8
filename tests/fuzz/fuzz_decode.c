// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzz target: any bytes as a perf.data file, or as a bare PT stream over a program of
 * this process's own code, through images, flow and merge. For libFuzzer, and called by
 * mutate.c.
 */
#include "fuzz.h"

#include <auxtap/decode.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A decoder that lists more than this from so few bytes would not end. */
#define MAX_EVENTS (64u << 20)

static uint64_t sum;

static void drain(struct auxtap_decoder *dec, struct auxtap_image_set *images)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_location loc = {.size = sizeof(loc)};
	struct auxtap_event ev = {.size = sizeof(ev)};
	uint32_t nr = 0;

	while (auxtap_decoder_next(dec, &ev, &err) == 1) {
		if (++nr > MAX_EVENTS)
			abort();
		if (!(nr % 1024) && !auxtap_image_set_symbol(images, ev.pid, ev.time, ev.ip, &loc))
			sum += loc.image_off;
		sum += ev.ip + ev.nr_insns;
	}
	auxtap_decoder_close(dec);
}

static void as_file(const char *path, uint32_t events)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_decode_opts opts = {.size = sizeof(opts), .events = events, .jobs = 1};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;

	if (auxtap_image_set_new(&images, &image_opts, &err))
		abort();
	if (!auxtap_perfdata_open(&pd, path, &err)) {
		if (!auxtap_decoder_open(&dec, pd, images, &opts, &err))
			drain(dec, images);
		auxtap_perfdata_close(pd);
	}
	auxtap_image_set_free(images);
}

static void as_stream(const char *path, uint32_t events)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_decode_opts opts = {.size = sizeof(opts), .events = events, .jobs = 1};
	struct auxtap_raw_opts raw = {.size = sizeof(raw), .family = "pt"};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images;
	struct auxtap_decoder *dec;

	if (auxtap_image_set_new(&images, &image_opts, &err))
		abort();
	/* any code will do: the trace is decoded over it */
	auxtap_image_set_add_file(images, "/proc/self/exe", 0, 0, 0x400000, &err);
	if (!auxtap_decoder_open_raw(&dec, path, &raw, images, &opts, &err))
		drain(dec, images);
	auxtap_image_set_free(images);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint32_t flow = AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN |
			      AUXTAP_EVENT_ASYNC | AUXTAP_EVENT_TRACE | AUXTAP_EVENT_GAP;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (size >= 8 && data[0] == 'P' && data[1] == 'E') {
		as_file(path, flow);
		as_file(path, AUXTAP_EVENT_INSN | AUXTAP_EVENT_GAP);
	} else {
		as_stream(path, flow);
		as_stream(path, AUXTAP_EVENT_INSN | AUXTAP_EVENT_GAP);
	}
	close(fd);
	return 0;
}
