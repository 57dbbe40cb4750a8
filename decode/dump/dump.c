// SPDX-License-Identifier: BSD-2-Clause
/* The listing of a perf.data file: its header, all records, and at the end the counts of types. */
#include "dump_private.h"
#include "decode/flow/sideband.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NR_BASE_TYPES	128
#define MAX_OTHER_TYPES 64 /* types above NR_BASE_TYPES that have their own counts */

struct totals {
	uint64_t by_type[NR_BASE_TYPES];
	struct {
		uint32_t type;
		uint64_t nr;
	} others[MAX_OTHER_TYPES];
	unsigned int nr_others;
	uint64_t nr_rest; /* records of types that did not fit into others[] */
	uint64_t nr_unknown;
	uint64_t undecoded; /* AUXTRACE records with packets that cannot be decoded */
};

static void count(struct totals *totals, uint32_t type)
{
	unsigned int i;

	totals->nr_unknown += !auxtap_record_name(type);
	if (type < NR_BASE_TYPES) {
		totals->by_type[type]++;
		return;
	}
	for (i = 0; i < totals->nr_others; i++)
		if (totals->others[i].type == type)
			break;
	if (i == MAX_OTHER_TYPES) {
		totals->nr_rest++;
		return;
	}
	totals->others[i].type = type;
	totals->others[i].nr++;
	if (i == totals->nr_others)
		totals->nr_others++;
}

static void put_total(FILE *out, uint32_t type, uint64_t nr)
{
	const char *name = auxtap_record_name(type);

	if (!nr)
		return;
	if (name)
		fprintf(out, "  %-20s %10" PRIu64 "\n", name, nr);
	else
		fprintf(out, "  unknown %-12u %10" PRIu64 "\n", type, nr);
}

static void put_totals(FILE *out, const struct totals *totals)
{
	fputs("\nrecords:\n", out);
	for (uint32_t type = 0; type < NR_BASE_TYPES; type++)
		put_total(out, type, totals->by_type[type]);
	for (unsigned int i = 0; i < totals->nr_others; i++)
		put_total(out, totals->others[i].type, totals->others[i].nr);
	if (totals->nr_rest)
		fprintf(out, "  %-20s %10" PRIu64 "\n", "other unknown kinds", totals->nr_rest);
	fprintf(out, "records of unknown kind: %" PRIu64 "\n", totals->nr_unknown);
}

int dump_output_failed(FILE *out)
{
	if (!ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

static void put_header(struct auxtap_perfdata *pd, FILE *out)
{
	static const char *const forms[] = {"file", "pipe", "directory"};
	const struct auxtap_perfdata_info *info = auxtap_perfdata_get_info(pd);

	fprintf(out, "%s: perf.data, %s form\n", auxtap_perfdata_path(pd), forms[info->form]);
	fprintf(out, "data: offset 0x%" PRIx64 ", size 0x%" PRIx64 "%s\n", info->data_off,
		info->data_size,
		info->unfinished ? " (the recorder did not finish this file)" : "");
	for (uint32_t i = 0; i < info->nr_attrs; i++) {
		const struct auxtap_perfdata_attr *attr = auxtap_perfdata_get_attr(pd, i);

		fprintf(out, "attribute %u: ", i);
		if (attr->name) {
			dump_text(out, attr->name, SIZE_MAX);
			fputs(", ", out);
		}
		dump_attr(out, &attr->attr);
		fprintf(out, ", %u bytes, ids", attr->file_size);
		for (uint32_t j = 0; j < attr->nr_ids; j++)
			fprintf(out, " %" PRIu64, attr->ids[j]);
		fputc('\n', out);
	}
	if (info->features_damaged)
		fputs("features: their table lies beyond the end of the file\n", out);
	dump_features(pd, out);
}

static int put_metadata(void *ctx, uint32_t type, const void *data, size_t size)
{
	static const char *const names[] = {"?",	  "capture",   "crash",	    "thread",
					    "memory",	  "maps",      "gap",	    "image",
					    "reader",	  "message",   "values",    "code",
					    "code names", "exception", "code dump", "block"};
	static const char *const packed[] = {"pack", "packed image", "packed source lines"};
	const char *name = "unknown";
	FILE *out = ctx;

	if (type < sizeof(names) / sizeof(names[0]))
		name = names[type];
	else if (type >= AUXTAP_METADATA_PACK && type <= AUXTAP_METADATA_PACK_SOURCE)
		name = packed[type - AUXTAP_METADATA_PACK];
	fprintf(out, "metadata %u %s: %zu bytes\n", type, name, size);
	if (type == AUXTAP_METADATA_CAPTURE || type == AUXTAP_METADATA_MAPS ||
	    type == AUXTAP_METADATA_MESSAGE || type == AUXTAP_METADATA_EXCEPTION) {
		const char *p = data, *end = p + size;

		while (p < end) {
			const char *stop = memchr(p, '\n', (size_t)(end - p));

			if (!stop)
				stop = end;
			fputs("  ", out);
			dump_text(out, p, (size_t)(stop - p));
			fputc('\n', out);
			p = stop + 1;
		}
	}
	return 0;
}

static void put_record(const struct auxtap_record *rec, FILE *out)
{
	const char *name = auxtap_record_name(rec->header->type);
	char number[32];

	if (!name) {
		snprintf(number, sizeof(number), "UNKNOWN(%u)", rec->header->type);
		name = number;
	}
	fprintf(out, "0x%" PRIx64, rec->offset);
	if (rec->decompressed)
		fprintf(out, "+0x%" PRIx64, rec->decompressed_off);
	fprintf(out, " [0x%x] %s", rec->file_size, name);
	if (rec->fields & AUXTAP_REC_PID_TID)
		fprintf(out, " %d/%d", (int)rec->pid, (int)rec->tid);
	if (rec->fields & AUXTAP_REC_CPU)
		fprintf(out, " cpu %d", (int)rec->cpu);
	if (rec->fields & AUXTAP_REC_TIME)
		fprintf(out, " time %" PRIu64 ".%09" PRIu64, rec->time / 1000000000,
			rec->time % 1000000000);
	if (rec->fields & AUXTAP_REC_ID)
		fprintf(out, " id %" PRIu64, rec->id);
	fputs(": ", out);
	dump_body(rec, out);
	fputc('\n', out);
}

static int put_sideband(void *ctx, const struct auxtap_record *rec)
{
	FILE *out = ctx;

	put_record(rec, out);
	return dump_output_failed(out);
}

int dump_raw_sideband(const char *path, uint64_t sample_type, const struct dump_opts *opts,
		      struct auxtap_error *err)
{
	int ret;

	fprintf(opts->out, "%s: perf records\n", path);
	ret = sideband_each_raw(path, sample_type, put_sideband, opts->out, err);
	fputc('\n', opts->out);
	return ret == -EBADMSG && !ferror(opts->out) ? 1 : ret;
}

static int dump_records(struct auxtap_perfdata *pd, const struct dump_opts *opts,
			struct dump_trace *trace, struct totals *totals, struct auxtap_error *err)
{
	struct auxtap_record rec = {.size = sizeof(rec)};
	int ret, failed;

	auxtap_perfdata_rewind(pd);
	while ((ret = auxtap_perfdata_next(pd, &rec, err)) > 0) {
		count(totals, rec.header->type);
		put_record(&rec, opts->out);
		if (trace && rec.header->type == AUXTAP_RECORD_AUXTRACE && !rec.decompressed) {
			ret = dump_trace_next(trace, opts->out, err);
			if (ret < 0)
				return ret;
			totals->undecoded += ret > 0;
		}
		failed = dump_output_failed(opts->out);
		if (failed)
			return failed;
	}
	return ret;
}

int dump_perfdata(struct auxtap_perfdata *pd, const struct dump_opts *opts,
		  struct auxtap_error *err)
{
	struct totals *totals = calloc(1, sizeof(*totals));
	struct auxtap_error metadata_err = AUXTAP_ERROR_INIT;
	struct dump_trace *trace = NULL;
	FILE *out = opts->out;
	int ret, metadata;

	if (!totals)
		return auxtap_error_set(err, -ENOMEM, auxtap_perfdata_path(pd), "no memory");
	if (opts->packets) {
		ret = dump_trace_open(&trace, pd, err);
		if (ret)
			goto out;
	}
	put_header(pd, out);
	metadata = auxtap_perfdata_metadata(pd, put_metadata, out, &metadata_err);
	fputc('\n', out);
	ret = dump_records(pd, opts, trace, totals, err);
	if (ferror(out) || ret == -ENOMEM)
		goto out;
	put_totals(out, totals);
	if (totals->undecoded)
		fprintf(out, "AUXTRACE records with packets that cannot be decoded: %" PRIu64 "\n",
			totals->undecoded);
	if (ret) {
		fprintf(out, "damaged at offset %" PRIu64 ": %s\n", err->offset, err->why);
		ret = 1;
	} else if (metadata) {
		fprintf(out, "damaged at offset %" PRIu64 ": %s\n", metadata_err.offset,
			metadata_err.why);
		if (err)
			*err = metadata_err;
		ret = 1;
	} else if (auxtap_perfdata_get_info(pd)->features_damaged) {
		ret = 1;
		auxtap_error_set(err, -EBADMSG, auxtap_perfdata_path(pd),
				 "the table of features lies beyond the end of the file");
	}
out:
	dump_trace_close(trace);
	free(totals);
	return ret;
}
