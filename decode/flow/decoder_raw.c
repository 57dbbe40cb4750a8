// SPDX-License-Identifier: BSD-2-Clause
/* Opens raw streams, whose images and sideband the user names, and snapshot directories. */
#include "util/sized.h"
#include "decoder_private.h"
#include "decode/image/image_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t decoder_read_raw(void *ctx, void *buf, size_t size, uint64_t off)
{
	struct auxtap_decoder *dec = ctx;
	ssize_t got;

	do {
		got = pread(dec->raw_fd, buf, size, (off_t)off);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* What the first sideband file shows: its CPU, and whether several threads run there. */
struct first_file {
	int cpu;
	int32_t tid;
	bool mixed;   /* it has records of several CPUs */
	bool several; /* several threads run */
	bool untimed; /* it has a switch without a time */
};

static int scan_record(void *ctx, const struct auxtap_record *rec)
{
	struct first_file *first = ctx;
	bool out = rec->header->misc & PERF_RECORD_MISC_SWITCH_OUT;
	int32_t ids[2], tid = (int32_t)rec->tid;

	if (rec->header->type >= AUXTAP_RECORD_HEADER_ATTR)
		return 0;
	/* the first file's records belong to the traced CPU, with or without its number */
	if (!(rec->fields & AUXTAP_REC_CPU))
		first->cpu = first->cpu < 0 ? SIDEBAND_UNNUMBERED_CPU : first->cpu;
	else if (first->cpu >= 0 && first->cpu != (int)rec->cpu)
		first->mixed = true;
	else
		first->cpu = (int)rec->cpu;
	if (rec->header->type == PERF_RECORD_SWITCH_CPU_WIDE && out) {
		if (rec->body_size < sizeof(ids))
			return 0;
		memcpy(ids, rec->header + 1, sizeof(ids));
		tid = ids[1];
	} else if ((rec->header->type != PERF_RECORD_SWITCH &&
		    rec->header->type != PERF_RECORD_SWITCH_CPU_WIDE) ||
		   out || !(rec->fields & AUXTAP_REC_PID_TID)) {
		return 0;
	}
	first->untimed = first->untimed || !(rec->fields & AUXTAP_REC_TIME);
	if (first->tid == -1)
		first->tid = tid;
	else if (first->tid != tid)
		first->several = true;
	return 0;
}

/*
 * Finds out whether the stream is a CPU's (*cpu) and context switches show which thread runs. With
 * switches of one thread only, the stream is that thread's (*cpu -1). *unknown: several threads
 * run, but not known when, since the switches have no times that can be compared with the trace's,
 * or are of several CPUs.
 */
static int find_traced_cpu(const struct auxtap_raw_opts *raw, int *cpu, bool *unknown,
			   struct auxtap_error *err)
{
	struct first_file first = {.cpu = -1, .tid = -1};
	int ret;

	*cpu = -1;
	*unknown = false;
	if (!raw->nr_sideband)
		return 0;
	ret = sideband_each_raw(raw->sideband[0], raw->sample_type, scan_record, &first, err);
	if (ret || !first.several)
		return ret;
	if (raw->time_mult && !first.mixed && !first.untimed)
		*cpu = first.cpu;
	else
		*unknown = true;
	return 0;
}

int decoder_open_stream(struct auxtap_decoder *dec, const char *path, uint64_t *size,
			struct auxtap_error *err)
{
	struct stat st;

	dec->raw_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (dec->raw_fd < 0)
		return auxtap_error_set(err, -errno, path, "cannot open: %s", strerror(errno));
	if (fstat(dec->raw_fd, &st))
		return auxtap_error_set(err, -errno, path, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return auxtap_error_set(err, -EINVAL, path, "a raw trace must be a regular file");
	if (!st.st_size)
		return auxtap_error_set(err, -EBADMSG, path, "the trace is empty");
	*size = (uint64_t)st.st_size;
	return 0;
}

static void configure(struct auxtap_decoder *dec, const struct auxtap_raw_opts *raw)
{
	struct time_conv *conv = &dec->sideband.conv;

	conv->valid = raw->time_mult != 0;
	conv->shift = (uint16_t)(raw->time_shift > 63 ? 63 : raw->time_shift);
	conv->mult = raw->time_mult;
	conv->zero = raw->time_zero;
	conv->offset = raw->tsc_offset;
	if (dec->family->configure_raw)
		dec->family->configure_raw(dec, raw);
}

int raw_opts_copy_in(struct auxtap_raw_opts *copy, const struct auxtap_raw_opts *given,
		     struct auxtap_error *err)
{
	return sized_copy_in(copy, sizeof(*copy), SIZED_UP_TO(struct auxtap_raw_opts, time_zero),
			     given, "struct auxtap_raw_opts", err);
}

int auxtap_decoder_open_raw(struct auxtap_decoder **dec_out, const char *path,
			    const struct auxtap_raw_opts *raw_opts, struct auxtap_image_set *images,
			    const struct auxtap_decode_opts *opts, struct auxtap_error *err)
{
	struct auxtap_raw_opts copy, *raw = &copy;
	struct auxtap_decoder *dec;
	const struct trace_family *family;
	bool unknown = false;
	int ret, cpu = -1;

	*dec_out = NULL;
	ret = raw_opts_copy_in(raw, raw_opts, err);
	if (ret)
		return ret;
	family = trace_family_of_raw(raw->family);
	if (!family)
		return auxtap_error_set(err, -ENOTSUP, raw->family,
					"no decoder for this trace family in this version");
	ret = decoder_new(&dec, family, images, opts, err);
	if (ret)
		return ret;
	configure(dec, raw);
	/* the file may contain any part of the AUX stream */
	dec->sideband.aux_offsets_unusable = true;
	ret = family->raw_has_cpus ? 0 : find_traced_cpu(raw, &cpu, &unknown, err);
	if (ret)
		goto fail;
	for (unsigned int i = 0; i < raw->nr_sideband; i++) {
		ret = sideband_read_raw(&dec->sideband, raw->sideband[i], raw->sample_type,
					i || family->raw_has_cpus ? -1 : cpu, err);
		if (ret)
			goto fail;
	}
	if (sideband_finish(&dec->sideband)) {
		ret = auxtap_error_set(err, -ENOMEM, path, "out of memory");
		goto fail;
	}
	if (unknown)
		dec->sideband.first_pid = dec->sideband.first_tid = -1;
	ret = image_set_add_vmlinux_unrelocated(images);
	if (ret) {
		auxtap_error_set(err, ret, path, "out of memory");
		goto fail;
	}
	ret = family->open_raw(dec, path, raw, cpu, err);
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

bool auxtap_is_coresight_snapshot(const char *dir)
{
	return trace_family_of_snapshot(dir) != NULL;
}

int auxtap_decoder_open_snapshot(struct auxtap_decoder **dec_out, const char *dir,
				 struct auxtap_image_set *images,
				 const struct auxtap_decode_opts *opts, struct auxtap_error *err)
{
	const struct trace_family *family = trace_family_of_snapshot(dir);
	struct auxtap_decode_opts copy;
	struct auxtap_decoder *dec;
	int ret = decode_opts_copy_in(&copy, opts, err);

	*dec_out = NULL;
	if (ret)
		return ret;
	if (!family)
		return auxtap_error_set(err, -ENOENT, dir, "no snapshot.ini is there");
	ret = decoder_new(&dec, family, images, &copy, err);
	if (ret)
		return ret;
	if (sideband_finish(&dec->sideband))
		ret = auxtap_error_set(err, -ENOMEM, dir, "out of memory");
	else
		ret = family->open_snapshot(dec, dir, err);
	if (!ret) {
		ret = decoder_start(dec);
		if (ret)
			auxtap_error_set(err, ret, dir, "cannot start decoding: %s",
					 strerror(-ret));
	}
	if (ret)
		auxtap_decoder_close(dec);
	else
		*dec_out = dec;
	return ret;
}
