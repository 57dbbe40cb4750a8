// SPDX-License-Identifier: BSD-2-Clause
/*
 * Copies a recording with one error, for tests of the auditor. Usage: damage_aux IN OUT KIND N
 * [VALUE]: the N-th AUX (or AUXTRACE) record, from 0 on, in the file.
 */
#include <auxtap/perfdata.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct auxtap_error err = AUXTAP_ERROR_INIT;
static struct auxtap_perfdata_writer *writer;
static const char *kind;
static uint64_t at, value;
static bool done;

struct aux {
	struct perf_event_header header;
	uint64_t off, size, flags;
};

static void need(int ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "damage_aux: %s: %s\n", err.what, err.why);
	exit(3);
}

static bool is(const char *name)
{
	return !strcmp(kind, name);
}

static void put(const void *record, size_t size)
{
	need(auxtap_perfdata_writer_record(writer, record, size, NULL, 0, &err));
}

/* A LOST record with the sample id of this one. */
static void put_lost(const struct auxtap_record *rec)
{
	size_t trailer = rec->header->size - sizeof(struct aux);
	unsigned char out[512];
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} lost = {{PERF_RECORD_LOST, 0, 0}, 0, 3};

	lost.header.size = (uint16_t)(sizeof(lost) + trailer);
	memcpy(out, &lost, sizeof(lost));
	memcpy(out + sizeof(lost), (const char *)rec->header + sizeof(struct aux), trailer);
	put(out, lost.header.size);
}

static void damage_aux(const struct auxtap_record *rec, unsigned char *bytes)
{
	static unsigned char held[512];
	static size_t nr_held;
	struct aux aux;

	memcpy(&aux, bytes, sizeof(aux));
	if (nr_held) { /* order: the record before follows this one */
		put(bytes, rec->header->size);
		put(held, nr_held);
		nr_held = 0;
		return;
	}
	if (is("drop-aux"))
		return;
	if (is("lost")) {
		put_lost(rec);
		return;
	}
	if (is("order")) {
		memcpy(held, bytes, rec->header->size);
		nr_held = rec->header->size;
		at++; /* also the next one */
		return;
	}
	if (is("overlap")) {
		aux.off -= value;
		aux.size += value;
	} else if (is("hole")) {
		aux.off += value;
		aux.size -= value;
	} else if (is("range")) {
		aux.off = UINT64_MAX - 7;
	} else if (is("empty")) {
		aux.size = aux.flags = 0;
	} else if (is("flags")) {
		aux.flags ^= value;
	} else if (is("time")) {
		uint64_t time;

		for (size_t i = sizeof(aux); i + 8 <= rec->header->size; i += 4) {
			memcpy(&time, bytes + i, 8);
			if (time != rec->time)
				continue;
			time -= value;
			memcpy(bytes + i, &time, 8);
			break;
		}
	}
	memcpy(bytes, &aux, sizeof(aux));
	put(bytes, rec->header->size);
}

static void put_trace(struct auxtap_perfdata *pd, const struct auxtap_record *rec, bool here)
{
	struct auxtap_auxtrace head;
	char *bytes = malloc(rec->trace_size + 1);

	memcpy(&head, rec->header, sizeof(head));
	if (!bytes || auxtap_perfdata_pread(pd, bytes, rec->trace_size, rec->trace_off) !=
			      (ssize_t)rec->trace_size)
		exit(3);
	if (here && is("trace-overlap"))
		head.offset -= value;
	if (!here || !is("drop-trace"))
		need(auxtap_perfdata_writer_auxtrace(writer, &head, bytes, rec->trace_size, NULL, 0,
						     &err));
	free(bytes);
}

int main(int argc, char **argv)
{
	const struct auxtap_perfdata_attr *attr;
	uint64_t nr_aux = 0, nr_trace = 0;
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};
	bool of_trace;
	int ret;

	if (argc < 5)
		return 2;
	kind = argv[3];
	at = strtoull(argv[4], NULL, 0);
	value = argc > 5 ? strtoull(argv[5], NULL, 0) : 0;
	of_trace = is("drop-trace") || is("trace-overlap");
	need(auxtap_perfdata_open(&pd, argv[1], &err));
	need(auxtap_perfdata_writer_create(&writer, argv[2], &err));
	for (uint32_t i = 0; (attr = auxtap_perfdata_get_attr(pd, i)); i++) {
		struct perf_event_attr changed = attr->attr;

		if (is("watermark"))
			changed.aux_watermark = (uint32_t)value;
		need(auxtap_perfdata_writer_add_attr(writer, &changed, attr->name));
	}
	need(auxtap_perfdata_writer_begin(writer, &err));
	for (uint32_t i = 0; (attr = auxtap_perfdata_get_attr(pd, i)); i++)
		for (uint32_t n = 0; n < attr->nr_ids; n++)
			need(auxtap_perfdata_writer_add_id(writer, (int)i, attr->ids[n]));
	while ((ret = auxtap_perfdata_next(pd, &rec, &err)) == 1) {
		unsigned char bytes[65536];
		bool here = false;

		memcpy(bytes, rec.header, rec.header->size);
		if (rec.header->type == AUXTAP_RECORD_AUXTRACE) {
			here = of_trace && nr_trace++ == at;
			put_trace(pd, &rec, here);
		} else if (rec.header->type == PERF_RECORD_AUX && !of_trace && nr_aux++ == at) {
			here = true;
			damage_aux(&rec, bytes);
		} else {
			put(bytes, rec.header->size);
		}
		done |= here;
	}
	need(ret);
	auxtap_perfdata_close(pd);
	need(auxtap_perfdata_writer_finish(writer, &err));
	return done || is("watermark") || is("none") ? 0 : 4;
}
