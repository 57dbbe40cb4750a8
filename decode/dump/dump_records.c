// SPDX-License-Identifier: BSD-2-Clause
/*
 * Prints bodies of records. Fields are read with body_get(): if the record is too short, "cut" is
 * printed at the end.
 */
#include "dump_family.h"
#include "decode/flow/trace_family.h"

#include <inttypes.h>
#include <string.h>

/* The unread rest of a body. */
struct body {
	const unsigned char *p, *end;
	bool truncated;
};

static uint64_t body_get(struct body *b, size_t size)
{
	uint64_t value = 0;

	if ((size_t)(b->end - b->p) < size) {
		b->truncated = true;
		b->p = b->end;
		return 0;
	}
	memcpy(&value, b->p, size);
	b->p += size;
	return value;
}

static uint64_t body_u64(struct body *b)
{
	return body_get(b, 8);
}

static uint32_t body_u32(struct body *b)
{
	return (uint32_t)body_get(b, 4);
}

static size_t body_left(const struct body *b)
{
	return (size_t)(b->end - b->p);
}

void dump_text(FILE *out, const void *text, size_t size)
{
	const unsigned char *p = text;

	for (size_t i = 0, plain; i < size && p[i]; i += plain) {
		for (plain = 0; i + plain < size && p[i + plain] >= 0x20 && p[i + plain] != 0x7f;
		     plain++)
			;
		if (plain) {
			fwrite(p + i, 1, plain, out);
		} else {
			fprintf(out, "\\x%02x", p[i]);
			plain = 1;
		}
	}
}

static void put_rest_as_text(struct body *b, FILE *out)
{
	dump_text(out, b->p, body_left(b));
	b->p = b->end;
}

static void put_hex(FILE *out, const unsigned char *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		fprintf(out, "%02x", p[i]);
}

struct bit_name {
	uint64_t bit;
	const char *name;
};

/* Prints known bits by name, joined by |, and the others as a number. */
static void put_bits(FILE *out, uint64_t value, const struct bit_name *names, size_t nr)
{
	const char *bar = "";

	for (size_t i = 0; i < nr; i++) {
		if (!(value & names[i].bit))
			continue;
		fprintf(out, "%s%s", bar, names[i].name);
		bar = "|";
		value &= ~names[i].bit;
	}
	if (value || !*bar)
		fprintf(out, "%s0x%" PRIx64, bar, value);
}

static const struct bit_name sample_bits[] = {
	{PERF_SAMPLE_IP, "IP"},
	{PERF_SAMPLE_TID, "TID"},
	{PERF_SAMPLE_TIME, "TIME"},
	{PERF_SAMPLE_ADDR, "ADDR"},
	{PERF_SAMPLE_READ, "READ"},
	{PERF_SAMPLE_CALLCHAIN, "CALLCHAIN"},
	{PERF_SAMPLE_ID, "ID"},
	{PERF_SAMPLE_CPU, "CPU"},
	{PERF_SAMPLE_PERIOD, "PERIOD"},
	{PERF_SAMPLE_STREAM_ID, "STREAM_ID"},
	{PERF_SAMPLE_RAW, "RAW"},
	{PERF_SAMPLE_BRANCH_STACK, "BRANCH_STACK"},
	{PERF_SAMPLE_REGS_USER, "REGS_USER"},
	{PERF_SAMPLE_STACK_USER, "STACK_USER"},
	{PERF_SAMPLE_WEIGHT, "WEIGHT"},
	{PERF_SAMPLE_DATA_SRC, "DATA_SRC"},
	{PERF_SAMPLE_IDENTIFIER, "IDENTIFIER"},
	{PERF_SAMPLE_TRANSACTION, "TRANSACTION"},
	{PERF_SAMPLE_REGS_INTR, "REGS_INTR"},
	{PERF_SAMPLE_PHYS_ADDR, "PHYS_ADDR"},
	{PERF_SAMPLE_AUX, "AUX"},
	{PERF_SAMPLE_CGROUP, "CGROUP"},
	{PERF_SAMPLE_DATA_PAGE_SIZE, "DATA_PAGE_SIZE"},
	{PERF_SAMPLE_CODE_PAGE_SIZE, "CODE_PAGE_SIZE"},
	{PERF_SAMPLE_WEIGHT_STRUCT, "WEIGHT_STRUCT"},
};

static const struct bit_name aux_bits[] = {
	{PERF_AUX_FLAG_TRUNCATED, "TRUNCATED"},
	{PERF_AUX_FLAG_OVERWRITE, "OVERWRITE"},
	{PERF_AUX_FLAG_PARTIAL, "PARTIAL"},
	{PERF_AUX_FLAG_COLLISION, "COLLISION"},
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static const char *pmu_type(uint32_t type)
{
	static const char *const names[] = {"hardware", "software", "tracepoint",
					    "hw_cache", "raw",	    "breakpoint"};

	return type < NR(names) ? names[type] : "pmu";
}

void dump_attr(FILE *out, const struct perf_event_attr *attr)
{
	fprintf(out, "type %u (%s), config 0x%" PRIx64, attr->type, pmu_type(attr->type),
		(uint64_t)attr->config);
	if (attr->config1)
		fprintf(out, ", config1 0x%" PRIx64, (uint64_t)attr->config1);
	if (attr->config2)
		fprintf(out, ", config2 0x%" PRIx64, (uint64_t)attr->config2);
	fprintf(out, ", %s %" PRIu64 ", sample_type ", attr->freq ? "frequency" : "period",
		(uint64_t)attr->sample_period);
	put_bits(out, attr->sample_type, sample_bits, NR(sample_bits));
#define FLAG(name)      \
	if (attr->name) \
	fputs(", " #name, out)
	FLAG(disabled);
	FLAG(inherit);
	FLAG(exclude_user);
	FLAG(exclude_kernel);
	FLAG(exclude_hv);
	FLAG(mmap);
	FLAG(mmap2);
	FLAG(comm);
	FLAG(comm_exec);
	FLAG(task);
	FLAG(enable_on_exec);
	FLAG(sample_id_all);
	FLAG(context_switch);
	FLAG(build_id);
#undef FLAG
	if (attr->aux_watermark)
		fprintf(out, ", aux_watermark %u", attr->aux_watermark);
}

/* ---- kernel records ---- */

static void put_mmap(struct body *b, FILE *out)
{
	uint32_t pid = body_u32(b), tid = body_u32(b);
	uint64_t addr = body_u64(b), len = body_u64(b), pgoff = body_u64(b);

	fprintf(out, "%d/%d [0x%" PRIx64 "(0x%" PRIx64 ") @ 0x%" PRIx64 "] ", (int)pid, (int)tid,
		addr, len, pgoff);
	put_rest_as_text(b, out);
}

static void put_mmap2(const struct perf_event_header *header, struct body *b, FILE *out)
{
	uint32_t pid = body_u32(b), tid = body_u32(b), prot;
	uint64_t addr = body_u64(b), len = body_u64(b), pgoff = body_u64(b);

	fprintf(out, "%d/%d [0x%" PRIx64 "(0x%" PRIx64 ") @ 0x%" PRIx64 " ", (int)pid, (int)tid,
		addr, len, pgoff);
	if (header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		size_t size = body_get(b, 1);

		body_get(b, 3);
		fputs("build-id ", out);
		if (body_left(b) >= 20)
			put_hex(out, b->p, size < 20 ? size : 20);
		for (int i = 0; i < 20; i += 4)
			body_u32(b);
	} else {
		uint32_t maj = body_u32(b), min = body_u32(b);
		uint64_t ino = body_u64(b), generation = body_u64(b);

		fprintf(out, "%02x:%02x %" PRIu64 " %" PRIu64, maj, min, ino, generation);
	}
	prot = body_u32(b);
	fprintf(out, "] %c%c%c%c ", prot & 1 ? 'r' : '-', prot & 2 ? 'w' : '-',
		prot & 4 ? 'x' : '-', body_u32(b) & 1 ? 's' : 'p');
	put_rest_as_text(b, out);
}

static void put_comm(const struct perf_event_header *header, struct body *b, FILE *out)
{
	uint32_t pid = body_u32(b), tid = body_u32(b);

	fprintf(out, "%d/%d %s", (int)pid, (int)tid,
		header->misc & PERF_RECORD_MISC_COMM_EXEC ? "exec " : "");
	put_rest_as_text(b, out);
}

static void put_task(struct body *b, FILE *out)
{
	uint32_t pid = body_u32(b), ppid = body_u32(b), tid = body_u32(b), ptid = body_u32(b);

	fprintf(out, "%d/%d parent %d/%d", (int)pid, (int)tid, (int)ppid, (int)ptid);
}

static void put_sample(const struct auxtap_record *rec, struct body *b, FILE *out)
{
	if (!rec->attr)
		return;
	if (rec->attr->attr.sample_type & PERF_SAMPLE_IDENTIFIER)
		body_u64(b);
	if (rec->attr->attr.sample_type & PERF_SAMPLE_IP)
		fprintf(out, "ip 0x%" PRIx64, body_u64(b));
	if (rec->attr->name) {
		fputs(" of ", out);
		dump_text(out, rec->attr->name, SIZE_MAX);
	}
}

static void put_aux(struct body *b, FILE *out)
{
	uint64_t offset = body_u64(b), size = body_u64(b), flags = body_u64(b);

	fprintf(out, "offset 0x%" PRIx64 " size 0x%" PRIx64 " flags ", offset, size);
	if (!flags) {
		fputs("0", out);
		return;
	}
	put_bits(out, flags & ~(uint64_t)PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK, aux_bits,
		 NR(aux_bits));
	if (flags & PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK)
		fprintf(out, " format %u", (unsigned int)(flags >> 8 & 0xff));
}

static void put_switch(const struct auxtap_record *rec, struct body *b, FILE *out)
{
	uint16_t misc = rec->header->misc;
	const char *way = !(misc & PERF_RECORD_MISC_SWITCH_OUT)	     ? "in" :
			  misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? "out preempt" :
								       "out";

	fputs(way, out);
	if (rec->header->type == PERF_RECORD_SWITCH_CPU_WIDE) {
		uint32_t pid = body_u32(b), tid = body_u32(b);

		fprintf(out, " %s %d/%d", misc & PERF_RECORD_MISC_SWITCH_OUT ? "next" : "prev",
			(int)pid, (int)tid);
	}
}

static void put_namespaces(struct body *b, FILE *out)
{
	uint32_t pid = body_u32(b), tid = body_u32(b);
	uint64_t nr = body_u64(b), nr_read;

	fprintf(out, "%d/%d nr %" PRIu64, (int)pid, (int)tid, nr);
	for (nr_read = 0; nr_read < nr && body_left(b) >= 16; nr_read++) {
		uint64_t dev = body_u64(b), ino = body_u64(b);

		fprintf(out, " %" PRIu64 "/0x%" PRIx64, dev, ino);
	}
	b->truncated |= nr > nr_read;
}

static void put_ksymbol(struct body *b, FILE *out)
{
	uint64_t addr = body_u64(b);
	uint32_t len = body_u32(b), type = (uint32_t)body_get(b, 2),
		 flags = (uint32_t)body_get(b, 2);

	fprintf(out, "addr 0x%" PRIx64 " len %u type %u flags 0x%x ", addr, len, type, flags);
	put_rest_as_text(b, out);
}

static void put_bpf(struct body *b, FILE *out)
{
	uint32_t type = (uint32_t)body_get(b, 2), flags = (uint32_t)body_get(b, 2),
		 id = body_u32(b);

	fprintf(out, "type %u flags 0x%x id %u", type, flags, id);
	b->p = b->end; /* skip the tag */
}

static bool kernel_body(const struct auxtap_record *rec, struct body *b, FILE *out)
{
	uint64_t first, second;

	switch (rec->header->type) {
	case PERF_RECORD_MMAP:
		put_mmap(b, out);
		break;
	case PERF_RECORD_MMAP2:
		put_mmap2(rec->header, b, out);
		break;
	case PERF_RECORD_COMM:
		put_comm(rec->header, b, out);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		put_task(b, out);
		break;
	case PERF_RECORD_LOST:
		first = body_u64(b);
		fprintf(out, "id %" PRIu64 " lost %" PRIu64, first, body_u64(b));
		break;
	case PERF_RECORD_LOST_SAMPLES:
		fprintf(out, "lost %" PRIu64, body_u64(b));
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		first = body_u64(b);
		second = body_u64(b);
		fprintf(out, "at %" PRIu64 " id %" PRIu64 " stream %" PRIu64, first, second,
			body_u64(b));
		break;
	case PERF_RECORD_READ:
	case PERF_RECORD_ITRACE_START:
		first = body_u32(b);
		fprintf(out, "%d/%d", (int)first, (int)body_u32(b));
		break;
	case PERF_RECORD_SAMPLE:
		put_sample(rec, b, out);
		break;
	case PERF_RECORD_AUX:
		put_aux(b, out);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		put_switch(rec, b, out);
		break;
	case PERF_RECORD_NAMESPACES:
		put_namespaces(b, out);
		break;
	case PERF_RECORD_KSYMBOL:
		put_ksymbol(b, out);
		break;
	case PERF_RECORD_BPF_EVENT:
		put_bpf(b, out);
		break;
	case PERF_RECORD_CGROUP:
		fprintf(out, "id %" PRIu64 " ", body_u64(b));
		put_rest_as_text(b, out);
		break;
	case PERF_RECORD_TEXT_POKE:
		first = body_u64(b);
		second = body_get(b, 2);
		fprintf(out, "addr 0x%" PRIx64 " old %u new %u bytes", first, (unsigned int)second,
			(unsigned int)body_get(b, 2));
		break;
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		fprintf(out, "hw_id 0x%" PRIx64, body_u64(b));
		break;
	default:
		return false;
	}
	return true;
}

/* ---- user records ---- */

static void put_auxtrace_info(struct body *b, FILE *out)
{
	uint32_t type = body_u32(b);
	const struct trace_family *family = trace_family_of_type(type);
	const struct dump_family *dump = family ? family->dump : NULL;
	size_t nr_names = dump ? dump->nr_info_names : 0;

	body_u32(b);
	fprintf(out, "type %u (%s)", type, family ? family->pmu : "?");
	for (unsigned int i = 0; body_left(b) >= 8; i++) {
		if (i < nr_names)
			fprintf(out, ", %s 0x%" PRIx64, dump->info_names[i], body_u64(b));
		else
			fprintf(out, ", 0x%" PRIx64, body_u64(b));
	}
}

static void put_auxtrace(struct body *b, FILE *out)
{
	uint64_t size = body_u64(b), offset = body_u64(b), reference = body_u64(b);
	uint32_t idx = body_u32(b), tid = body_u32(b), cpu = body_u32(b);

	fprintf(out,
		"size 0x%" PRIx64 " offset 0x%" PRIx64 " reference 0x%" PRIx64
		" idx %u tid %d cpu %d",
		size, offset, reference, idx, (int)tid, (int)cpu);
	body_u32(b);
}

static void put_auxtrace_error(struct body *b, FILE *out)
{
	uint32_t type = body_u32(b), code = body_u32(b), cpu = body_u32(b), pid = body_u32(b),
		 tid = body_u32(b);
	const uint32_t format = body_u32(b);
	uint64_t ip = body_u64(b), time = 0;
	size_t len;

	/* records of format 0 have the message in the place of the time */
	if (format)
		time = body_u64(b);
	fprintf(out, "type %u code %u cpu %d %d/%d ip 0x%" PRIx64 " time %" PRIu64 ": ", type, code,
		(int)cpu, (int)pid, (int)tid, ip, time);
	len = body_left(b) < 64 ? body_left(b) : 64;
	dump_text(out, b->p, len);
	b->p = b->end;
}

static void put_thread_map(struct body *b, FILE *out)
{
	uint64_t nr = body_u64(b), nr_read;

	fprintf(out, "nr %" PRIu64, nr);
	for (nr_read = 0; nr_read < nr && body_left(b) >= 24; nr_read++) {
		fprintf(out, ", %d ", (int)body_u64(b));
		dump_text(out, b->p, 16);
		b->p += 16;
	}
	b->truncated |= nr > nr_read;
}

static void put_time_conv(struct body *b, FILE *out)
{
	uint64_t shift = body_u64(b), mult = body_u64(b), zero = body_u64(b);

	fprintf(out, "shift %" PRIu64 " mult %" PRIu64 " zero 0x%" PRIx64, shift, mult, zero);
	if (body_left(b) >= 16) {
		uint64_t cycles = body_u64(b), mask = body_u64(b);

		fprintf(out, " cycles 0x%" PRIx64 " mask 0x%" PRIx64, cycles, mask);
	}
}

static void put_event_update(struct body *b, FILE *out)
{
	static const char *const kinds[] = {"unit", "scale", "name", "cpus"};
	uint64_t type = body_u64(b), id = body_u64(b);

	fprintf(out, "%s of id %" PRIu64, type < NR(kinds) ? kinds[type] : "?", id);
	if (type == 0 || type == 2) {
		fputs(": ", out);
		put_rest_as_text(b, out);
	}
}

static void put_attr_record(struct body *b, FILE *out)
{
	struct perf_event_attr attr = {0};
	size_t size = body_left(b) < sizeof(attr) ? body_left(b) : sizeof(attr);

	memcpy(&attr, b->p, size);
	if (attr.size < size)
		memset((char *)&attr + attr.size, 0, size - attr.size);
	dump_attr(out, &attr);
}

static void put_build_id(struct body *b, FILE *out)
{
	uint32_t pid = body_u32(b);

	fprintf(out, "%d ", (int)pid);
	if (body_left(b) < 24) {
		b->truncated = true;
		return;
	}
	put_hex(out, b->p, 20);
	b->p += 24;
	fputc(' ', out);
	put_rest_as_text(b, out);
}

static bool user_body(const struct auxtap_record *rec, struct body *b, FILE *out)
{
	const char *name;
	uint64_t number;

	switch (rec->header->type) {
	case AUXTAP_RECORD_HEADER_ATTR:
		put_attr_record(b, out);
		break;
	case AUXTAP_RECORD_EVENT_TYPE:
		fprintf(out, "config 0x%" PRIx64 " ", body_u64(b));
		put_rest_as_text(b, out);
		break;
	case AUXTAP_RECORD_TRACING_DATA:
		fprintf(out, "%u bytes", body_u32(b));
		break;
	case AUXTAP_RECORD_BUILD_ID:
		put_build_id(b, out);
		break;
	case AUXTAP_RECORD_ID_INDEX:
		fprintf(out, "nr %" PRIu64, body_u64(b));
		break;
	case AUXTAP_RECORD_AUXTRACE_INFO:
		put_auxtrace_info(b, out);
		break;
	case AUXTAP_RECORD_AUXTRACE:
		put_auxtrace(b, out);
		break;
	case AUXTAP_RECORD_AUXTRACE_ERROR:
		put_auxtrace_error(b, out);
		break;
	case AUXTAP_RECORD_THREAD_MAP:
		put_thread_map(b, out);
		break;
	case AUXTAP_RECORD_CPU_MAP:
		number = body_get(b, 2);
		fprintf(out, "type %u", (unsigned int)number);
		break;
	case AUXTAP_RECORD_EVENT_UPDATE:
		put_event_update(b, out);
		break;
	case AUXTAP_RECORD_TIME_CONV:
		put_time_conv(b, out);
		break;
	case AUXTAP_RECORD_HEADER_FEATURE:
		number = body_u64(b);
		name = number < 256 ? auxtap_perfdata_feature_name((unsigned int)number) : NULL;
		fprintf(out, "%s (%" PRIu64 "), %zu bytes", name ? name : "unknown", number,
			body_left(b));
		break;
	case AUXTAP_RECORD_COMPRESSED:
		fprintf(out, "%zu bytes", body_left(b));
		break;
	case AUXTAP_RECORD_COMPRESSED2:
		fprintf(out, "%" PRIu64 " bytes", body_u64(b));
		break;
	case AUXTAP_RECORD_FINISHED_ROUND:
	case AUXTAP_RECORD_FINISHED_INIT:
		break;
	default:
		return false;
	}
	return true;
}

void dump_body(const struct auxtap_record *rec, FILE *out)
{
	const unsigned char *p = (const unsigned char *)(rec->header + 1);
	struct body b = {p, p + rec->body_size, false};

	if (!kernel_body(rec, &b, out) && !user_body(rec, &b, out))
		fprintf(out, "%u bytes", rec->body_size);
	if (b.truncated)
		fputs(" (cut: the record is too short)", out);
}
