// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzz target: any bytes as a raw stream of Arm SPE: its packets and records, its samples with one
 * thread and with two, its report. All of them see the same number of records. For libFuzzer, and
 * called by mutate.c.
 */
#include "fuzz.h"

#include <auxtap/spe.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t next_offset;

/* Packets are in order; an error may cover more bytes than it prints. */
static int on_packet(void *ctx, const struct auxtap_packet *pkt)
{
	size_t *size = ctx;

	if (pkt->offset < next_offset || pkt->offset >= *size)
		abort();
	next_offset = pkt->offset + pkt->nr_bytes;
	return 0;
}

static uint64_t records(const uint8_t *data, size_t size)
{
	struct auxtap_spe_reader *reader;
	struct auxtap_spe_record record = {.size = sizeof(record)};
	uint64_t nr = 0, at = 0;
	int ret;

	if (auxtap_spe_reader_open(&reader, data, size, 0))
		abort();
	while ((ret = auxtap_spe_next(reader, &record))) {
		if (record.offset < at || !record.nr_bytes ||
		    record.offset + record.nr_bytes > size || (ret < 0) != (record.error != NULL) ||
		    ++nr > size)
			abort();
		at = record.offset + record.nr_bytes;
	}
	auxtap_spe_reader_close(reader);
	return nr;
}

static uint64_t samples(const char *path, unsigned int jobs)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_decode_opts opts = {.size = sizeof(opts),
					  .events = AUXTAP_EVENT_INSN | AUXTAP_EVENT_GAP,
					  .jobs = jobs};
	struct auxtap_raw_opts raw = {.size = sizeof(raw), .family = "spe"};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images;
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	uint64_t nr = 0;

	if (auxtap_image_set_new(&images, &image_opts, &err))
		abort();
	if (!auxtap_decoder_open_raw(&dec, path, &raw, images, &opts, &err)) {
		while (auxtap_decoder_next(dec, &ev, &err) == 1)
			nr++;
		auxtap_decoder_close(dec);
	}
	auxtap_image_set_free(images);
	return nr;
}

static void report(const char *path)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_report_opts opts = {.size = sizeof(opts)};
	struct auxtap_raw_opts raw = {.size = sizeof(raw), .family = "spe"};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images;
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out || auxtap_image_set_new(&images, &image_opts, &err))
		abort();
	auxtap_report_raw(path, &raw, images, &opts, out, &err);
	fclose(out);
	if (size > 1 << 16)
		abort();
	free(text);
	auxtap_image_set_free(images);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	uint64_t nr;
	int fd;

	if (!size)
		return 0;
	next_offset = 0;
	auxtap_spe_packets(data, size, 0, on_packet, &size);
	nr = records(data, size);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (samples(path, 1) != nr || samples(path, 2) != nr)
		abort();
	report(path);
	close(fd);
	return 0;
}
