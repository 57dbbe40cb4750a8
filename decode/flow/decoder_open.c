// SPDX-License-Identifier: BSD-2-Clause
/*
 * The queues of a perf.data file: sideband is read once in time order, then the AUXTRACE
 * buffers of each thread or CPU become one stream, broken where an AUX record says so and
 * where bytes are missing. Snapshots overlap; what was seen is skipped.
 */
#include "decoder_private.h"

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

/* 'perf record --kcore' leaves a directory: the recording and a copy of the kernel's code. */
static int find_kcore(struct auxtap_decoder *dec, struct auxtap_error *err)
{
	char path[4352];

	if (auxtap_perfdata_info(dec->pd)->form != AUXTAP_PERFDATA_DIRECTORY)
		return 0;
	snprintf(path, sizeof(path), "%s/kcore_dir/kcore", auxtap_perfdata_path(dec->pd));
	return auxtap_image_set_kcore(dec->shared.images, path, err);
}

/* ---- metadata: saved images, exact sizes of gaps ---- */

struct metadata_ctx {
	struct auxtap_decoder *dec;
	struct pt_info *pi;
};

static int on_metadata(void *ctx, uint32_t type, const void *data, size_t size)
{
	struct metadata_ctx *nc = ctx;
	uint32_t len;
	char *name;

	if (type == AUXTAP_METADATA_CAPTURE) {
		nc->pi->ours = true;
		return decoder_note_written(nc->dec, data, size);
	}
	if (type != AUXTAP_METADATA_IMAGE || size < 4)
		return 0;
	memcpy(&len, data, 4);
	if (len > size - 4 || len > 4096)
		return 0;
	name = strndup((const char *)data + 4, len);
	if (!name)
		return -ENOMEM;
	auxtap_image_set_note(nc->dec->shared.images, name, (const char *)data + 4 + len,
			      size - 4 - len);
	free(name);
	return 0;
}

static bool same_cause(const struct sideband_aux *aux, enum auxtap_gap_cause cause)
{
	switch (cause) {
	case AUXTAP_GAP_TRUNCATED:
		return aux->flags & PERF_AUX_FLAG_TRUNCATED;
	case AUXTAP_GAP_COLLISION:
		return aux->flags & PERF_AUX_FLAG_COLLISION;
	case AUXTAP_GAP_PARTIAL:
		return aux->flags & PERF_AUX_FLAG_PARTIAL;
	default:
		return false;
	}
}

/*
 * The capture may know the size of what an AUX record only flags: the next such record of the
 * thread is meant.
 */
static int on_gap(void *ctx, uint32_t type, const void *data, size_t size)
{
	struct auxtap_decoder *dec = ((struct metadata_ctx *)ctx)->dec;
	struct auxtap_gap gap;

	if (type != AUXTAP_METADATA_GAP || size < sizeof(gap))
		return 0;
	memcpy(&gap, data, sizeof(gap));
	for (size_t i = 0; i < dec->sideband.nr_aux; i++) {
		struct sideband_aux *aux = &dec->sideband.aux[i];

		if (aux->used || !same_cause(aux, gap.cause) ||
		    (gap.tid >= 0 && aux->tid >= 0 && gap.tid != aux->tid) ||
		    (gap.tid < 0 && gap.cpu >= 0 && gap.cpu != aux->cpu))
			continue;
		aux->used = true;
		aux->nr_bytes = gap.nr_bytes;
		aux->exact = gap.exact;
		return 0;
	}
	return decoder_add_unattributed(dec, &gap, "reported by the recorder");
}

/* ---- streams ---- */

enum auxtap_gap_cause decoder_aux_cause(uint64_t flags)
{
	if (flags & PERF_AUX_FLAG_COLLISION)
		return AUXTAP_GAP_COLLISION;
	if (flags & PERF_AUX_FLAG_TRUNCATED)
		return AUXTAP_GAP_TRUNCATED;
	return AUXTAP_GAP_PARTIAL;
}

/*
 * Does a buffer hold what one thread did? perf writes the number of its workload also where
 * a CPU's buffer holds all that the workload's children did there.
 */
bool decoder_of_one_thread(const struct auxtap_decoder *dec, const struct auxtap_auxtrace *head)
{
	const struct sideband *sb = &dec->sideband;

	return head->tid != UINT32_MAX &&
	       (head->cpu == UINT32_MAX || sb->per_thread || !sb->has_switches);
}

bool decoder_left_out(const struct auxtap_decoder *dec, const struct auxtap_auxtrace *head)
{
	const struct auxtap_decode_opts *opts = &dec->shared.opts;

	return (opts->tid >= 0 && decoder_of_one_thread(dec, head) &&
		(int32_t)head->tid != opts->tid) ||
	       (opts->cpu >= 0 && (int32_t)head->cpu != opts->cpu);
}

int decoder_add_flagged(struct auxtap_decoder *dec, const char *text)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < dec->sideband.nr_aux; i++) {
		const struct sideband_aux *aux = &dec->sideband.aux[i];
		struct auxtap_gap gap = {.cause = decoder_aux_cause(aux->flags),
					 .cpu = aux->cpu,
					 .tid = aux->tid,
					 .pid = sideband_pid(&dec->sideband, aux->tid),
					 .nr_bytes = aux->nr_bytes,
					 .exact = aux->exact,
					 .time_begin = aux->time,
					 .time_end = aux->time};

		ret = decoder_add_unattributed(dec, &gap, text);
	}
	dec->sideband.nr_aux = 0;
	return ret;
}

/* ---- sideband ---- */

static int read_sideband(struct auxtap_decoder *dec, struct auxtap_error *err)
{
	const struct auxtap_build_id *ids;
	struct auxtap_error damage = AUXTAP_ERROR_INIT;
	struct auxtap_record rec;
	size_t nr;
	int ret;

	if (!auxtap_perfdata_build_ids(dec->pd, &ids, &nr))
		for (size_t i = 0; i < nr; i++)
			if (ids[i].filename)
				auxtap_image_set_known_id(dec->shared.images, ids[i].filename,
							  ids[i].id, ids[i].size);
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
	sideband_done(&dec->sideband);
	return 0;
}

static int add_losts(struct auxtap_decoder *dec)
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

int auxtap_decoder_open(struct auxtap_decoder **dec_out, struct auxtap_perfdata *pd,
			struct auxtap_image_set *images, const struct auxtap_decode_opts *opts,
			struct auxtap_error *err)
{
	struct pt_info pi = {0};
	struct metadata_ctx metadata = {.pi = &pi};
	struct auxtap_decoder *dec;
	const char *path = auxtap_perfdata_path(pd);
	const uint64_t *priv;
	uint32_t type;
	bool spe, cs;
	int ret;

	*dec_out = NULL;
	ret = auxtap_perfdata_auxtrace_info(pd, &type, &priv, &pi.nr);
	if (ret)
		return auxtap_error_set(err, ret, path, "no hardware trace in this file");
	spe = type == AUXTAP_AUXTRACE_ARM_SPE;
	cs = type == AUXTAP_AUXTRACE_CS_ETM;
	if (type != AUXTAP_AUXTRACE_INTEL_PT && !spe && !cs)
		return auxtap_error_set(
			err, -ENOTSUP, path,
			"its trace is of type %u; this version decodes Intel PT, Arm SPE and CoreSight",
			type);
	if (pi.nr > AUXTAP_PT_INFO_NR)
		pi.nr = AUXTAP_PT_INFO_NR;
	memcpy(pi.v, priv, pi.nr * sizeof(*priv));
	pi.snapshot = !spe && !cs && pt_info(&pi, AUXTAP_PT_INFO_SNAPSHOT_MODE);
	ret = decoder_new(&dec, images, opts, err);
	if (ret)
		return ret;
	dec->pd = pd;
	if (images)
		auxtap_image_set_of_file(images, pd);
	metadata.dec = dec;
	if (spe || cs)
		spe_decoder_clock(dec);
	else
		pt_configure(dec, &pi);
	if (cs)
		cs_decoder_sideband(dec, pi.v, pi.nr);
	else
		dec->sideband.per_thread = !(spe ? spe_decoder_per_cpu(pi.v, pi.nr) :
						   pt_info(&pi, AUXTAP_PT_INFO_PER_CPU_MMAPS));
	/* the offsets of AUX records are not those of samples either */
	dec->sideband.snapshot |= pi.snapshot || (!spe && decoder_has_samples(pd));
	ret = auxtap_perfdata_metadata(pd, on_metadata, &metadata, err);
	if (ret)
		goto fail;
	ret = find_kcore(dec, err);
	if (ret)
		goto fail;
	ret = read_sideband(dec, err);
	if (ret)
		goto fail;
	ret = auxtap_perfdata_metadata(pd, on_gap, &metadata, err);
	if (ret)
		goto fail;
	ret = spe ? spe_decoder_streams(dec, err) :
	      cs  ? cs_decoder_open_file(dec, err) :
		    pt_add_queues(dec, &pi, err);
	if (ret)
		goto fail;
	ret = add_losts(dec);
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
