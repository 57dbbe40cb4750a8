// SPDX-License-Identifier: BSD-2-Clause
/*
 * Opens a perf.data file: its sideband is read once in time order, then the family makes streams
 * from the AUXTRACE buffers.
 */
#include "decoder_private.h"
#include "decode/image/image_private.h"
#include "decode/image/packed.h"
#include "util/vector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ssize_t decoder_read_file(void *ctx, void *buf, size_t size, uint64_t off)
{
	struct auxtap_decoder *dec = ctx;
	ssize_t got;

	pthread_mutex_lock(&dec->read_lock);
	got = auxtap_perfdata_pread(dec->pd, buf, size, off);
	pthread_mutex_unlock(&dec->read_lock);
	return got;
}

/* 'perf record --kcore' writes a directory with the recording and a copy of the kernel's code. */
static int find_kcore(struct auxtap_decoder *dec, struct auxtap_error *err)
{
	char path[4352];

	if (auxtap_perfdata_get_info(dec->pd)->form != AUXTAP_PERFDATA_DIRECTORY)
		return 0;
	snprintf(path, sizeof(path), "%s/kcore_dir/kcore", auxtap_perfdata_path(dec->pd));
	return image_set_add_kcore(dec->images, path, err);
}

/* ---- metadata: embedded images and sources, generated code, exact sizes of gaps ---- */

static int on_metadata(void *ctx, uint32_t type, const void *data, size_t size)
{
	struct auxtap_decoder *dec = ctx;
	uint32_t len;
	char *name;

	if (type == AUXTAP_METADATA_PACK_IMAGE || type == AUXTAP_METADATA_PACK_SOURCE)
		return image_set_add_packed(dec->images, type, data, size);
	if (type == AUXTAP_METADATA_CODE) /* that the program generated at run time */
		return image_set_add_code(dec->images, data, size);
	if (type == AUXTAP_METADATA_CODE_NAMES || type == AUXTAP_METADATA_CODE_DUMP)
		return image_set_add_code_names(dec->images, type, data, size);
	if (type == AUXTAP_METADATA_CAPTURE) {
		dec->by_auxtap = true;
		return decoder_note_written(dec, data, size);
	}
	if (type != AUXTAP_METADATA_IMAGE || size < 4)
		return 0;
	memcpy(&len, data, 4);
	if (len > size - 4 || len > 4096)
		return 0;
	name = strndup((const char *)data + 4, len);
	if (!name)
		return -ENOMEM;
	image_set_add_embedded(dec->images, name, (const char *)data + 4 + len, size - 4 - len);
	free(name);
	return 0;
}

static int read_metadata(struct auxtap_decoder *dec, struct auxtap_error *err)
{
	struct auxtap_error none = AUXTAP_ERROR_INIT, found = none;
	int ret = auxtap_perfdata_metadata(dec->pd, on_metadata, dec, &found);

	if (ret && !found.code)
		auxtap_error_set(&found, ret, auxtap_perfdata_path(dec->pd),
				 ret == -ENOMEM ? "out of memory" :
						  "an image in this packed file is damaged");
	if (ret && err)
		*err = found;
	return ret;
}

/*
 * A gap that auxtap's recorder wrote: it may have the size of a loss that an AUX record only flags.
 */
static int on_gap(void *ctx, uint32_t type, const void *data, size_t size)
{
	struct auxtap_decoder *dec = ctx;
	struct auxtap_gap gap;

	if (type != AUXTAP_METADATA_GAP || size < sizeof(gap))
		return 0;
	memcpy(&gap, data, sizeof(gap));
	if (gap.cause == AUXTAP_GAP_DISCARDED) {
		if (vector_grow(dec->discarded, dec->nr_discarded, dec->max_discarded))
			return -ENOMEM;
		dec->discarded[dec->nr_discarded++] = (struct decoder_thread){gap.pid, gap.tid};
	}
	if (trace_auxes_add_loss_size(&dec->sideband.lossy, &gap))
		return 0;
	return decoder_add_unattributed(dec, &gap, "reported by the recorder");
}

bool decoder_was_discarded(const struct auxtap_decoder *dec, int32_t pid, int32_t tid)
{
	for (size_t i = 0; i < dec->nr_discarded; i++)
		if (dec->discarded[i].pid == pid &&
		    (dec->discarded[i].tid == tid || dec->discarded[i].tid < 0))
			return true;
	return false;
}

/* ---- streams ---- */

/*
 * perf writes the tid of its workload also into the header of a CPU's buffer that contains trace of
 * the workload's children, too.
 */
bool decoder_is_one_thread(const struct auxtap_decoder *dec, const struct auxtap_auxtrace *head)
{
	const struct sideband *sb = &dec->sideband;

	return head->tid != UINT32_MAX &&
	       (head->cpu == UINT32_MAX || sb->per_thread || !sb->has_switches);
}

bool decoder_is_filtered_out(const struct auxtap_decoder *dec, const struct auxtap_auxtrace *head)
{
	const struct auxtap_decode_opts *opts = &dec->opts;

	return (decoder_is_one_thread(dec, head) &&
		!flow_listed(opts->tids, opts->nr_tids, (int32_t)head->tid)) ||
	       !flow_listed(opts->cpus, opts->nr_cpus, (int32_t)head->cpu);
}

int decoder_add_flagged_gaps(struct auxtap_decoder *dec, const char *text)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < dec->sideband.lossy.nr; i++) {
		const struct trace_aux *aux = &dec->sideband.lossy.list[i];
		struct auxtap_gap gap = {.cause = trace_aux_cause(aux->flags),
					 .cpu = aux->cpu,
					 .tid = aux->tid,
					 .pid = sideband_pid(&dec->sideband, aux->tid),
					 .nr_bytes = aux->nr_lost,
					 .exact = aux->exact,
					 .time_begin = aux->time,
					 .time_end = aux->time};

		ret = decoder_add_unattributed(dec, &gap, text);
	}
	trace_auxes_free(&dec->sideband.lossy);
	return ret;
}

/* ---- sideband ---- */

/* Called before the records are read: those of an exiting thread have no tid, only its event's id.
 */
static int read_ids(struct auxtap_decoder *dec, struct auxtap_error *err)
{
	const struct auxtap_perfdata_id *ids;
	size_t nr;
	int ret = auxtap_perfdata_ids(dec->pd, &ids, &nr, err);

	for (size_t i = 0; !ret && i < nr; i++)
		if (trace_ids_add(&dec->sideband.ids, &ids[i]))
			ret = auxtap_error_set(err, -ENOMEM, auxtap_perfdata_path(dec->pd),
					       "out of memory");
	return ret;
}

static int read_sideband(struct auxtap_decoder *dec, struct auxtap_error *err)
{
	const struct auxtap_build_id *ids;
	struct auxtap_error damage = AUXTAP_ERROR_INIT;
	struct auxtap_record rec = {.size = sizeof(rec)};
	size_t nr;
	int ret;

	if (!auxtap_perfdata_build_ids(dec->pd, &ids, &nr))
		for (size_t i = 0; i < nr; i++)
			if (ids[i].filename)
				image_set_add_build_id(dec->images, ids[i].filename, ids[i].id,
						       ids[i].size);
	auxtap_perfdata_rewind_sorted(dec->pd);
	while ((ret = auxtap_perfdata_next_sorted(dec->pd, &rec, &damage)) == 1) {
		ret = sideband_record(&dec->sideband, &rec);
		if (ret)
			return auxtap_error_set(err, ret, auxtap_perfdata_path(dec->pd),
						"out of memory");
	}
	if (ret == -ENOMEM)
		return auxtap_error_set(err, ret, auxtap_perfdata_path(dec->pd), "out of memory");
	if (ret < 0) {
		dec->damage = damage;
		dec->damage.code = ret;
	}
	if (sideband_finish(&dec->sideband))
		return auxtap_error_set(err, -ENOMEM, auxtap_perfdata_path(dec->pd),
					"out of memory");
	return 0;
}

static int add_lost_record_gaps(struct auxtap_decoder *dec)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < dec->sideband.nr_lost; i++) {
		const struct sideband_lost *lost = &dec->sideband.lost[i];
		struct auxtap_gap gap = {.cause = AUXTAP_GAP_RECORD_LOST,
					 .cpu = lost->cpu,
					 .tid = lost->tid,
					 .pid = -1,
					 .time_begin = lost->time,
					 .time_end = lost->time};
		char text[64];

		snprintf(text, sizeof(text), "%llu sideband records lost",
			 (unsigned long long)lost->nr);
		ret = decoder_add_unattributed(dec, &gap, text);
	}
	return ret;
}

/* The conversion of the TSC or generic timer to perf's time is in a record of its own. */
void decoder_time_conv(struct auxtap_decoder *dec)
{
	struct time_conv *conv = &dec->sideband.conv;
	struct auxtap_record rec = {.size = sizeof(rec)};
	uint64_t v[5] = {0};
	uint8_t cap[2] = {1, 0};

	auxtap_perfdata_rewind(dec->pd);
	while (auxtap_perfdata_next(dec->pd, &rec, NULL) == 1) {
		if (rec.header->type != AUXTAP_RECORD_TIME_CONV || rec.body_size < 24)
			continue;
		memcpy(v, rec.header + 1, rec.body_size < sizeof(v) ? 24 : sizeof(v));
		if (rec.body_size >= sizeof(v) + sizeof(cap))
			memcpy(cap, (const uint8_t *)(rec.header + 1) + sizeof(v), sizeof(cap));
		conv->valid = cap[0] && v[1] && v[0] < 64;
		conv->shift = (uint16_t)(v[0] & 63);
		conv->mult = v[1];
		conv->zero = v[2];
		conv->cycles = cap[1] ? v[3] : 0;
		conv->mask = cap[1] ? v[4] : 0;
		return;
	}
}

int auxtap_decoder_open(struct auxtap_decoder **dec_out, struct auxtap_perfdata *pd,
			struct auxtap_image_set *images, const struct auxtap_decode_opts *opts,
			struct auxtap_error *err)
{
	const struct trace_family *family;
	struct auxtap_decoder *dec;
	const char *path = auxtap_perfdata_path(pd);
	const uint64_t *info;
	char names[128];
	uint32_t type;
	size_t nr;
	int ret;

	*dec_out = NULL;
	ret = auxtap_perfdata_auxtrace_info(pd, &type, &info, &nr);
	if (ret)
		return auxtap_error_set(err, ret, path, "no hardware trace in this file");
	family = trace_family_of_type(type);
	if (!family) {
		trace_family_names(names, sizeof(names));
		return auxtap_error_set(err, -ENOTSUP, path,
					"its trace is of type %u; this version decodes %s", type,
					names);
	}
	ret = decoder_new(&dec, family, images, opts, err);
	if (ret)
		return ret;
	dec->pd = pd;
	if (images)
		image_set_set_recording(images, pd);
	family->configure(dec, info, nr);
	ret = read_metadata(dec, err);
	if (!ret)
		ret = find_kcore(dec, err);
	if (!ret)
		ret = read_ids(dec, err);
	if (!ret)
		ret = read_sideband(dec, err);
	if (!ret)
		ret = auxtap_perfdata_metadata(pd, on_gap, dec, err);
	if (!ret)
		ret = family->open_file(dec, err);
	if (ret)
		goto fail;
	ret = add_lost_record_gaps(dec);
	if (!ret)
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
