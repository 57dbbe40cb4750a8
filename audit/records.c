// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sorts the records of a recording by ring, then checks each ring. Rule numbers (H5) refer to
 * docs/kernel-rules.md.
 */
#include "audit_private.h"
#include "decode/stream/trace_ids.h"
#include "perfdata/capture_lines.h"
#include "perfdata/id_index.h"
#include "util/vector.h"

#include <auxtap/gap.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define REPEATED_MAX 256 /* previous records that are searched for an identical one */

struct collect {
	struct auxtap_audit *audit;
	struct trace_ids ids;
	bool of_threads; /* trace belongs to threads, not to CPUs */
	bool has_trace, has_info;
	uint64_t watermark;
	bool has_watermark;
};

static uint64_t body_word(const struct auxtap_record *rec, size_t index)
{
	uint64_t v = 0;

	if (rec->body_size >= 8 * (index + 1))
		memcpy(&v, (const uint8_t *)(rec->header + 1) + 8 * index, sizeof(v));
	return v;
}

static struct entry *add_entry(struct auxtap_audit *audit, enum entry_kind kind,
			       const struct auxtap_record *rec, uint64_t seq)
{
	struct entry *e;

	if (vector_grow(audit->entries, audit->nr_entries, audit->max_entries))
		return NULL;
	e = &audit->entries[audit->nr_entries++];
	memset(e, 0, sizeof(*e));
	e->kind = kind;
	e->seq = seq;
	e->file_off = rec->offset;
	e->time = rec->fields & AUXTAP_REC_TIME ? rec->time : 0;
	e->cpu = rec->fields & AUXTAP_REC_CPU ? (int32_t)rec->cpu : -1;
	e->tid = rec->fields & AUXTAP_REC_PID_TID ? (int32_t)rec->tid : -1;
	if (e->time) {
		struct auxtap_audit_facts *facts = &audit->facts;

		if (!facts->time_begin || e->time < facts->time_begin)
			facts->time_begin = e->time;
		if (e->time > facts->time_end)
			facts->time_end = e->time;
	}
	return e;
}

static int add_ids(struct collect *c, const struct auxtap_record *rec)
{
	size_t nr = id_index_entries(rec);
	int ret = 0;

	for (size_t i = 0; !ret && i < nr; i++) {
		struct auxtap_perfdata_id id = id_index_entry(rec, i);

		ret = trace_ids_add(&c->ids, &id);
	}
	return ret;
}

static int add_record(struct collect *c, const struct auxtap_record *rec, uint64_t seq)
{
	struct auxtap_audit *audit = c->audit;
	struct auxtap_auxtrace header;
	struct entry *e = NULL;

	switch (rec->header->type) {
	case PERF_RECORD_AUX:
		e = add_entry(audit, ENTRY_AUX, rec, seq);
		if (!e)
			return -ENOMEM;
		e->off = body_word(rec, 0);
		e->size = body_word(rec, 1);
		e->flags = body_word(rec, 2);
		e->key = rec->fields & AUXTAP_REC_ID ? rec->id : 0; /* set_keys() replaces the id */
		e->inherited = !rec->attr || rec->attr->attr.inherit;
		if (rec->attr) {
			e->watermark = rec->attr->attr.aux_watermark;
			c->watermark = e->watermark;
			c->has_watermark = true;
		}
		break;
	case PERF_RECORD_LOST:
		e = add_entry(audit, ENTRY_LOST, rec, seq);
		if (!e)
			return -ENOMEM;
		e->size = body_word(rec, 1);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		audit->facts.nr_lost_samples += body_word(rec, 0);
		break;
	case PERF_RECORD_ITRACE_START:
		e = add_entry(audit, ENTRY_START, rec, seq);
		if (!e)
			return -ENOMEM;
		break;
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		audit->facts.nr_hw_ids++;
		break;
	case AUXTAP_RECORD_ID_INDEX:
		return add_ids(c, rec);
	case AUXTAP_RECORD_AUXTRACE_INFO:
		/* read here, because auxtap_perfdata's query needs another pass over the file */
		audit->family = audit_family_of((uint32_t)body_word(rec, 0));
		c->has_info = true;
		break;
	case AUXTAP_RECORD_AUXTRACE:
		if (rec->header->size < sizeof(header))
			break;
		memcpy(&header, rec->header, sizeof(header));
		e = add_entry(audit, ENTRY_TRACE, rec, seq);
		if (!e)
			return -ENOMEM;
		e->off = header.offset;
		e->size = header.size;
		e->nr_stored = rec->trace_size;
		e->trace_off = rec->trace_off;
		e->cpu = (int32_t)header.cpu;
		e->tid = (int32_t)header.tid;
		c->has_trace = true;
		c->of_threads |= header.cpu == (uint32_t)-1;
		break;
	default:
		break;
	}
	return 0;
}

static int by_ring(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Sets the key of each record's ring, and sorts the records by it. */
static void set_keys(struct collect *c)
{
	for (size_t i = 0; i < c->audit->nr_entries; i++) {
		struct entry *e = &c->audit->entries[i];
		const struct auxtap_perfdata_id *owner = NULL;
		bool of_thread =
			e->kind == ENTRY_TRACE ? e->cpu == -1 : c->of_threads || e->cpu == -1;

		if (e->kind == ENTRY_AUX)
			owner = trace_ids_find(&c->ids, e->key);
		if (owner && owner->cpu != -1) {
			of_thread = false;
			e->cpu = owner->cpu;
		} else if (owner && owner->tid != -1) {
			of_thread = true;
			e->tid = owner->tid;
		}
		e->key = of_thread ? KEY_THREAD | (uint32_t)e->tid : KEY_CPU | (uint32_t)e->cpu;
	}
	if (c->audit->nr_entries)
		qsort(c->audit->entries, c->audit->nr_entries, sizeof(*c->audit->entries), by_ring);
}

static bool is_trace_entry(const struct entry *e)
{
	return e->kind == ENTRY_AUX || e->kind == ENTRY_TRACE;
}

static bool same_record(const struct entry *a, const struct entry *b)
{
	return a->kind == b->kind && a->off == b->off && a->size == b->size &&
	       a->flags == b->flags && a->nr_stored == b->nr_stored && a->time == b->time &&
	       a->cpu == b->cpu && a->tid == b->tid;
}

/*
 * Stock perf (6.1) reads a data ring's head twice: it saves the records up to the second value, and
 * next time continues from the first. So the file contains the records between the two twice, as a
 * whole and in their order.
 */
static size_t drop_repeated(struct auxtap_audit *audit, struct entry *entries, size_t nr)
{
	struct auxtap_audit_ring ring_id = {.cpu = entries[0].cpu, .tid = entries[0].tid};
	size_t kept = 0;

	if (audit->by_auxtap)
		return nr;
	if (entries[0].key >= KEY_THREAD)
		ring_id.cpu = -1;
	else
		ring_id.tid = -1;
	for (size_t i = 0; i < nr; i++) {
		struct entry e = entries[i];
		size_t back = kept > REPEATED_MAX ? kept - REPEATED_MAX : 0, k = kept;
		bool again = false;

		while (e.time && !again && k > back &&
		       (entries[k - 1].time >= e.time || !entries[k - 1].time))
			again = same_record(&entries[--k], &e);
		if (again)
			audit_add_finding(audit, INV_REPEATED, &ring_id, &e,
					  e.kind == ENTRY_AUX ? e.size : 0,
					  "the same record as at 0x%" PRIx64, entries[k].file_off);
		else
			entries[kept++] = e;
	}
	return kept;
}

static void check_ring(struct auxtap_audit *audit, const struct entry *entries, size_t nr)
{
	bool of_thread = entries[0].key >= KEY_THREAD, any = false;
	struct ring_view ring = {.audit = audit, .entries = entries, .nr = nr};

	for (size_t i = 0; i < nr; i++)
		any |= is_trace_entry(&entries[i]);
	if (!any)
		return; /* a data ring with nothing but LOST records */
	audit->nr_skips = 0;
	ring.sums = audit_add_ring(audit, of_thread ? -1 : (int32_t)(uint32_t)entries[0].key,
				   of_thread ? (int32_t)(uint32_t)entries[0].key : -1);
	if (!ring.sums)
		return;
	audit_stream(&ring);
	if (!ring.sums->overwrite)
		audit_cover(&ring);
	audit_compare_unit(&ring);
}

/* A log that names no CPU or thread is accepted if the recording has only one ring. */
static int set_unit_keys(struct auxtap_audit *audit, struct auxtap_error *err)
{
	struct unit_history *u = &audit->units;
	uint64_t key = 0;
	bool several = false;

	for (size_t i = 0; i < audit->nr_entries; i++) {
		if (!is_trace_entry(&audit->entries[i]))
			continue;
		several |= key && audit->entries[i].key != key;
		key = audit->entries[i].key;
	}
	for (size_t i = 0; i < u->nr_extents + u->nr_transactions; i++) {
		uint64_t *k = i < u->nr_extents ? &u->extents[i].key :
						  &u->transactions[i - u->nr_extents].key;
		const char *log = i < u->nr_extents ? u->extents[i].log_path :
						      u->transactions[i - u->nr_extents].log_path;

		if (*k)
			continue;
		if (several) {
			auxtap_error_set(err, -EINVAL, log,
					 "does not say which of the recording's rings it is of");
			auxtap_error_hint(
				err,
				"add a line '# cpu: N', or 'ring' events for rings of threads");
			return -EINVAL;
		}
		*k = key;
	}
	audit_unit_sort(audit);
	return 0;
}

static int read_unit_logs(struct auxtap_audit *audit, struct auxtap_error *err)
{
	for (size_t i = 0; i < audit->opts.nr_unit_logs; i++) {
		int ret = audit_unit_log(audit, audit->opts.unit_logs[i], err);

		if (ret)
			return ret;
	}
	return 0;
}

static int read_all(struct collect *c, struct auxtap_perfdata *pd)
{
	struct auxtap_error damage = AUXTAP_ERROR_INIT;
	struct auxtap_audit *audit = c->audit;
	struct auxtap_record rec = {.size = sizeof(rec)};
	uint64_t seq = 0;
	int ret;

	auxtap_perfdata_rewind(pd);
	while ((ret = auxtap_perfdata_next(pd, &rec, &damage)) == 1) {
		ret = add_record(c, &rec, seq++);
		if (ret)
			return ret;
	}
	if (ret == -ENOMEM)
		return ret;
	if (ret) {
		struct entry at = {.file_off = damage.offset};

		audit_add_finding(audit, INV_FILE_DAMAGED, NULL, &at, 0,
				  "%.180s; what comes before was audited", damage.why);
	}
	if (auxtap_perfdata_get_info(pd)->unfinished)
		audit_add_finding(
			audit, INV_FILE_UNFINISHED, NULL, NULL, 0,
			"the recorder was killed or is still running; audited up to the last complete record");
	audit->incomplete = audit->counts[INV_FILE_DAMAGED] || audit->counts[INV_FILE_UNFINISHED];
	return 0;
}

/* auxtap's recorder knows more about a gap than the kernel's records contain. */
static int on_metadata(void *ctx, uint32_t type, const void *data, size_t size)
{
	struct auxtap_audit *audit = ctx;
	struct auxtap_audit_ring ring_id = {0};
	struct entry at = {.file_off = AUXTAP_OFFSET_NONE};
	struct auxtap_gap gap;

	if (type == AUXTAP_METADATA_WAKEUPS)
		audit_wakeup_log(audit, data, size);
	if (type == AUXTAP_METADATA_CAPTURE) {
		audit->by_auxtap = true;
		audit_parse_noted(audit, data, size);
		audit->cpu0_disable |= capture_lines_is_emulated(data, size);
	}
	if (type != AUXTAP_METADATA_GAP || size < sizeof(gap))
		return 0;
	memcpy(&gap, data, sizeof(gap));
	if ((unsigned int)gap.cause >= AUXTAP_GAP_NR_CAUSES)
		return 0;
	ring_id.cpu = gap.tid >= 0 ? -1 : gap.cpu;
	ring_id.tid = gap.tid;
	at.time = gap.time_begin;
	if (gap.nr_bytes || gap.exact)
		audit_add_finding(audit, INV_NOTED_LOSS, &ring_id, &at, gap.nr_bytes,
				  "%s: %s%llu bytes", auxtap_gap_cause_name(gap.cause),
				  gap.exact ? "" : "at least ", (unsigned long long)gap.nr_bytes);
	else
		audit_add_finding(audit, INV_NOTED_LOSS, &ring_id, &at, 0,
				  "%s, number of bytes unknown", auxtap_gap_cause_name(gap.cause));
	return 0;
}

/* Called after the records were sorted: compares the gap with them. */
static int on_gap(void *ctx, uint32_t type, const void *data, size_t size)
{
	struct auxtap_gap gap;

	if (type != AUXTAP_METADATA_GAP || size < sizeof(gap))
		return 0;
	memcpy(&gap, data, sizeof(gap));
	audit_flags_noted_gap(ctx, &gap);
	return 0;
}

/*
 * Which rules hold for the recorded kernel: those of L1, or those of older kernels. An emulated
 * recording has the release of its host although the model follows 6.1: see on_metadata().
 */
static void set_kernel_facts(struct auxtap_audit *audit, struct auxtap_perfdata *pd)
{
	unsigned int major = 0, minor = 0;
	char text[64] = "";
	const void *data;
	size_t size;

	/* OSRELEASE: length, text */
	if (!auxtap_perfdata_feature(pd, 4, &data, &size) && size > 4) {
		size_t nr = size - 4 < sizeof(text) - 1 ? size - 4 : sizeof(text) - 1;

		memcpy(text, (const char *)data + 4, nr);
	}
	if (sscanf(text, "%u.%u", &major, &minor) != 2) {
		audit->late_disable = true; /* the file does not say which kernel */
		return;
	}
	audit->old_partial = major < 4 || (major == 4 && minor < 12);
	audit->late_disable = major == 6 && minor >= 11 && minor < 16;
	audit->cpu0_disable = major < 6 || (major == 6 && minor < 11);
}

/* H5: PT interrupts at a watermark only if it is a power of two of pages. */
static void check_odd_watermark(struct auxtap_audit *audit)
{
	uint64_t w = audit->facts.watermark;

	if (audit->family->interrupts_at_topa_entries && w &&
	    (w & (w - 1) || w < audit->facts.page_size))
		audit_add_finding(
			audit, INV_ODD_WATERMARK, NULL, NULL, 0,
			"%llu is not a power of two of pages: PT interrupts at the end of the ring, or where it has to stop",
			(unsigned long long)w);
}

static void set_facts(struct collect *c)
{
	struct auxtap_audit *audit = c->audit;

	strcpy(audit->unit, audit->family->name);
	if (!audit->facts.page_size)
		audit->facts.page_size = audit->family->page_size;
	audit->facts.watermark = c->watermark;
	audit->facts.watermark_default = c->has_watermark && !c->watermark;
	if (audit->facts.watermark_default)
		audit->facts.watermark = audit->facts.aux_size / 2; /* C2 */
}

/*
 * I1, J2: an area has at least two pages, so a page is at most half of it. The emulation's page
 * size is known.
 */
static void choose_page_size(struct auxtap_audit *audit)
{
	struct auxtap_audit_facts *facts = &audit->facts;
	uint64_t area = audit->noted.aux_size ? audit->noted.aux_size : facts->aux_size;

	if (audit->opts.page_size)
		return;
	if (audit->noted.emulated)
		facts->page_size = 4096;
	while (area && facts->page_size > 4096 && facts->page_size > area / 2)
		facts->page_size /= 4;
}

static int audit_all(struct collect *c, struct auxtap_perfdata *pd, struct auxtap_error *err)
{
	struct auxtap_audit *audit = c->audit;
	uint64_t nr = 0, nr_overwrite = 0;
	int ret;

	ret = read_all(c, pd);
	if (ret)
		return auxtap_error_set(err, ret, auxtap_perfdata_path(pd), "out of memory");
	set_facts(c);
	for (size_t i = 0; i < audit->nr_entries; i++) {
		if (audit->entries[i].kind != ENTRY_AUX)
			continue;
		nr++;
		nr_overwrite += audit->entries[i].flags & PERF_AUX_FLAG_OVERWRITE ? 1 : 0;
	}
	audit->mostly_overwrite = 2 * nr_overwrite > nr;
	if (!nr && !c->has_trace && !c->has_info && !audit->incomplete)
		return auxtap_error_set(
			err, -ENODATA, auxtap_perfdata_path(pd),
			"no trace was recorded in this file, there is nothing to audit");
	if (!nr)
		audit_add_finding(audit, INV_NO_AUX_RECORDS, NULL, NULL, 0,
				  "there is no AUX record%s", c->has_trace ? ", but trace" : "");
	check_odd_watermark(audit);
	set_kernel_facts(audit, pd);
	auxtap_perfdata_metadata(pd, on_metadata, audit, NULL);
	choose_page_size(audit);
	set_keys(c);
	ret = read_unit_logs(audit, err);
	if (!ret)
		ret = set_unit_keys(audit, err);
	if (ret)
		return ret;
	for (size_t begin = 0, end; begin < audit->nr_entries; begin = end) {
		for (end = begin; end < audit->nr_entries &&
				  audit->entries[end].key == audit->entries[begin].key;)
			end++;
		check_ring(audit, &audit->entries[begin],
			   drop_repeated(audit, &audit->entries[begin], end - begin));
	}
	auxtap_perfdata_metadata(pd, on_gap, audit, NULL);
	audit_flags_noted(audit);
	audit_compare_unit_rest(audit);
	if (audit->no_memory)
		return auxtap_error_set(err, -ENOMEM, auxtap_perfdata_path(pd), "out of memory");
	return 0;
}

int auxtap_audit_perfdata(struct auxtap_audit **out, struct auxtap_perfdata *pd,
			  const struct auxtap_audit_opts *opts, struct auxtap_error *err)
{
	struct auxtap_error why = AUXTAP_ERROR_INIT;
	struct collect c = {.audit = audit_new(opts, &why)};
	int ret;

	if (!c.audit) {
		if (err)
			*err = why;
		return why.code;
	}
	c.audit->pd = pd;
	ret = audit_all(&c, pd, err);
	c.audit->pd = NULL;
	trace_ids_free(&c.ids);
	if (ret)
		auxtap_audit_free(c.audit);
	else
		*out = c.audit;
	return ret;
}
