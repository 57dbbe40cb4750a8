// SPDX-License-Identifier: BSD-2-Clause
/* A bare Intel PT stream as the decoder's only queue; images and sideband are given by hand. */
#include "decoder_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t read_raw(void *ctx, void *buf, size_t size, uint64_t off)
{
	struct auxtap_decoder *dec = ctx;
	ssize_t got;

	do {
		got = pread(dec->raw_fd, buf, size, (off_t)off);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static int open_file(struct auxtap_decoder *dec, const char *path, struct auxtap_error *err)
{
	struct pt_extent extent = {.quiet = true, .cause = AUXTAP_GAP_OVERWRITTEN};
	struct decoder_queue *queue;
	struct stat st;

	dec->raw_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (dec->raw_fd < 0)
		return auxtap_error_set(err, -errno, path, "cannot open: %s", strerror(errno));
	if (fstat(dec->raw_fd, &st))
		return auxtap_error_set(err, -errno, path, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return auxtap_error_set(err, -EINVAL, path, "a raw trace must be a regular file");
	if (!st.st_size)
		return auxtap_error_set(err, -EBADMSG, path, "the trace is empty");
	extent.size = (uint64_t)st.st_size;
	queue = decoder_add_queue(dec);
	if (!queue || pt_stream_add(&queue->pt.stream, &extent))
		return auxtap_error_set(err, -ENOMEM, path, "out of memory");
	queue->pt.stream.pread = read_raw;
	queue->pt.stream.ctx = dec;
	queue->pt.pid = queue->pt.queue_pid = dec->sideband.first_pid;
	queue->pt.tid = queue->pt.queue_tid = dec->sideband.first_tid;
	return 0;
}

static void configure(struct auxtap_decoder *dec, const struct auxtap_raw_opts *raw)
{
	struct pt_config *config = &dec->shared.config;
	struct time_conv *conv = &dec->sideband.conv;

	if (raw->cpu_family) {
		config->cpu.vendor = pcv_intel;
		config->cpu.family = (uint16_t)raw->cpu_family;
		config->cpu.model = (uint8_t)raw->cpu_model;
		config->cpu.stepping = (uint8_t)raw->cpu_stepping;
		pt_cpu_errata(&config->errata, &config->cpu);
		config->errata.bdm70 = 1;
	}
	config->mtc_freq = raw->mtc_freq;
	config->nom_freq = raw->nom_freq;
	config->cpuid_0x15_eax = raw->cpuid_0x15_eax;
	config->cpuid_0x15_ebx = raw->cpuid_0x15_ebx;
	conv->valid = raw->time_mult != 0;
	conv->shift = (uint16_t)(raw->time_shift > 63 ? 63 : raw->time_shift);
	conv->mult = raw->time_mult;
	conv->zero = raw->time_zero;
	conv->offset = raw->tsc_offset;
}

int auxtap_decoder_open_raw(struct auxtap_decoder **dec_out, const char *path,
			    const struct auxtap_raw_opts *raw_opts,
			    struct auxtap_image_set *images,
			    const struct auxtap_decode_opts *opts, struct auxtap_error *err)
{
	struct auxtap_raw_opts known = {.size = sizeof(known)}, *raw = &known;
	struct auxtap_decoder *dec;
	int ret;

	*dec_out = NULL;
	memcpy(raw, raw_opts, raw_opts->size < sizeof(*raw) ? raw_opts->size : sizeof(*raw));
	if (raw->family && strcmp(raw->family, "pt"))
		return auxtap_error_set(err, -ENOTSUP, raw->family,
					"no decoder for this trace family in this version");
	dec = decoder_new(images, opts);
	if (!dec)
		return auxtap_error_set(err, -ENOMEM, path, "out of memory");
	configure(dec, raw);
	for (unsigned int i = 0; i < raw->nr_sideband; i++) {
		ret = sideband_read_raw(&dec->sideband, raw->sideband[i], raw->sample_type, err);
		if (ret)
			goto fail;
	}
	sideband_done(&dec->sideband);
	ret = auxtap_image_set_kernel_unmoved(images);
	if (ret) {
		auxtap_error_set(err, ret, path, "out of memory");
		goto fail;
	}
	ret = open_file(dec, path, err);
	if (ret)
		goto fail;
	ret = decoder_start(dec);
	if (ret) {
		auxtap_error_set(err, ret, path, "cannot start decoding: %s", strerror(-ret));
		goto fail;
	}
	*dec_out = dec;
	return 0;
fail:
	auxtap_decoder_close(dec);
	return ret;
}
