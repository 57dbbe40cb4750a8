// SPDX-License-Identifier: BSD-2-Clause
/*
 * Crash mode: keeps the sideband records that describe each running process, until it ends. Memory
 * is limited: records that no longer matter are dropped, and beyond the limits the oldest mapping
 * is dropped and counted.
 */
#include "sideband_write.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MMAPS_MAX  4096u       /* MMAP2 records of one process */
#define EXECS_KEPT 8u	       /* execs of one process */
#define BYTES_MAX  (12u << 20) /* records of all processes */

static const struct perf_event_header *record_header(const struct kept_record *r)
{
	return (const void *)r->bytes;
}

static bool is_exec(const struct perf_event_header *h)
{
	return h->type == PERF_RECORD_COMM && (h->misc & PERF_RECORD_MISC_COMM_EXEC);
}

/* The tid of the thread that a COMM, FORK, EXIT or ITRACE_START is about. */
static uint32_t record_tid(const struct perf_event_header *h)
{
	uint32_t ids[4] = {0};
	size_t body = h->size - sizeof(*h);

	memcpy(ids, h + 1, body < sizeof(ids) ? body : sizeof(ids));
	return h->type == PERF_RECORD_FORK || h->type == PERF_RECORD_EXIT ? ids[2] : ids[1];
}

struct process *process_find(struct process_table *table, pid_t pid)
{
	for (size_t i = 0; i < table->nr; i++) {
		if (table->items[i]->pid == pid)
			return table->items[i];
	}
	return NULL;
}

struct process *process_get(struct process_table *table, pid_t pid)
{
	struct process *p = process_find(table, pid);

	if (p)
		return p;
	if (vector_grow(table->items, table->nr, table->max))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	table->items[table->nr++] = p;
	return p;
}

static void drop_record(struct process_table *table, struct process *p, size_t i)
{
	const struct perf_event_header *h = record_header(p->records[i]);

	if (h->type == PERF_RECORD_MMAP2)
		p->nr_mmaps--;
	table->bytes -= sizeof(struct kept_record) + h->size;
	free(p->records[i]);
	memmove(&p->records[i], &p->records[i + 1], (p->nr - i - 1) * sizeof(*p->records));
	p->nr--;
}

static bool mapping_covers(const struct mmap2_body *a, const struct mmap2_body *b)
{
	return a->addr <= b->addr && a->addr + a->len >= b->addr + b->len;
}

/*
 * Drops the oldest mapping that the newer one covers (no code can run there, so nothing is lost),
 * or else the oldest mapping, which is counted.
 */
static void drop_one_mapping(struct process_table *table, struct process *p,
			     const struct mmap2_body *newer)
{
	size_t oldest = p->nr;

	for (size_t i = 0; i < p->nr; i++) {
		const struct mmap2_body *old = record_mmap2(p->records[i]->bytes);

		if (!old)
			continue;
		if (oldest == p->nr)
			oldest = i;
		if (newer && mapping_covers(newer, old)) {
			drop_record(table, p, i);
			return;
		}
	}
	if (oldest < p->nr) {
		drop_record(table, p, oldest);
		table->dropped++;
	}
}

static int store_record(struct process_table *table, struct process *p, const void *record)
{
	const struct perf_event_header *h = record;
	const struct trailer *trailer;
	struct kept_record *r;
	size_t body_size;

	if (!record_parts(record, &body_size, &trailer))
		return 0;
	while (p->nr_mmaps && (p->nr_mmaps >= MMAPS_MAX || table->bytes > BYTES_MAX))
		drop_one_mapping(table, p, record_mmap2(record));
	if (vector_grow(p->records, p->nr, p->max))
		return -ENOMEM;
	r = malloc(sizeof(*r) + h->size);
	if (!r)
		return -ENOMEM;
	r->time = trailer->time;
	memcpy(r->bytes, record, h->size);
	p->records[p->nr++] = r;
	if (h->type == PERF_RECORD_MMAP2)
		p->nr_mmaps++;
	table->bytes += sizeof(*r) + h->size;
	return 0;
}

/*
 * A ring may contain trace of several programs that one process executed. The records of the last
 * few are kept; a decoder reports trace from before the first kept exec as a gap.
 */
static void drop_first_execs(struct process_table *table, struct process *p)
{
	size_t nr = 0, first = p->nr;

	/* EXECS_KEPT includes the exec that is added now */
	while (first && nr < EXECS_KEPT - 1)
		nr += is_exec(record_header(p->records[--first]));
	while (nr == EXECS_KEPT - 1 && first--)
		drop_record(table, p, 0);
}

static void drop_records_of_type(struct process_table *table, struct process *p, uint32_t type,
				 pid_t tid)
{
	for (size_t i = p->nr; i-- > 0;) {
		const struct perf_event_header *h = record_header(p->records[i]);

		if (h->type == type && !is_exec(h) && record_tid(h) == (uint32_t)tid)
			drop_record(table, p, i);
	}
}

static void drop_aux(struct process_table *table, struct process *p, const void *record)
{
	const struct trailer *newer, *older;
	size_t size;

	if (!record_parts(record, &size, &newer))
		return;
	for (size_t i = p->nr; i-- > 0;) {
		const struct perf_event_header *h = record_header(p->records[i]);

		if (h->type == PERF_RECORD_AUX && record_parts(h, &size, &older) &&
		    older->tid == newer->tid && older->id == newer->id)
			drop_record(table, p, i);
	}
}

static int keep_switch(struct process_table *table, const void *record)
{
	const struct perf_event_header *h = record;
	const struct trailer *trailer;
	struct kept_record *r, **slot;
	size_t size;

	if (!record_parts(record, &size, &trailer))
		return 0;
	if (!table->switches)
		table->switches = calloc(MAX_SWITCHES, sizeof(*table->switches));
	r = malloc(sizeof(*r) + h->size);
	if (!r || !table->switches) {
		free(r);
		return -ENOMEM;
	}
	r->time = trailer->time;
	memcpy(r->bytes, record, h->size);
	slot = &table->switches[table->nr_switches++ % MAX_SWITCHES];
	free(*slot);
	*slot = r;
	return 0;
}

static void free_trace(struct process_table *table, struct exited_thread *t)
{
	if (!t->trace)
		return;
	table->exited_bytes -= t->trace->size;
	free(t->trace);
	t->trace = NULL;
}

/* Drops the records of a thread that only its trace needs. */
static void drop_trace_records(struct process_table *table, struct process *p, pid_t tid)
{
	drop_records_of_type(table, p, PERF_RECORD_EXIT, tid);
	if (tid == p->pid) /* the first thread's start is that of the process */
		return;
	drop_records_of_type(table, p, PERF_RECORD_FORK, tid);
	drop_records_of_type(table, p, PERF_RECORD_ITRACE_START, tid);
}

/* A new thread has the TID of an exited one, whose kept trace would be taken for its own. */
static void drop_reused_tid(struct process_table *table, struct process *p,
			    const struct perf_event_header *fork)
{
	const struct trailer *trailer;
	size_t size;

	if (!record_parts(fork, &size, &trailer))
		return;
	for (size_t i = 0; p->exited && i < EXITED_MAX; i++) {
		struct exited_thread *t = &p->exited[i];

		/* a thread's FORK may be read after its exit: it is in the ring of its parent */
		if (!t->trace || t->tid != (pid_t)record_tid(fork) || trailer->time <= t->time_end)
			continue;
		free_trace(table, t);
		drop_trace_records(table, p, t->tid);
	}
}

int process_keep_record(struct process_table *table, pid_t pid, const void *record)
{
	const struct perf_event_header *h = record;
	struct process *p = process_get(table, pid);
	uint32_t ids[2];

	if (!p)
		return -ENOMEM;
	switch (h->type) {
	case PERF_RECORD_COMM:
		if (is_exec(h))
			drop_first_execs(table, p);
		else
			drop_records_of_type(table, p, PERF_RECORD_COMM, (pid_t)record_tid(h));
		return store_record(table, p, record);
	case PERF_RECORD_FORK:
		memcpy(ids, h + 1, sizeof(ids));
		if (ids[0] != ids[1]) /* a new process: process_fork() */
			return 0;
		drop_reused_tid(table, p, h);
		drop_records_of_type(table, p, PERF_RECORD_FORK, (pid_t)record_tid(h));
		return store_record(table, p, record);
	case PERF_RECORD_EXIT:
		drop_records_of_type(table, p, PERF_RECORD_EXIT, (pid_t)record_tid(h));
		return store_record(table, p, record);
	case PERF_RECORD_ITRACE_START:
		drop_records_of_type(table, p, PERF_RECORD_ITRACE_START, (pid_t)record_tid(h));
		return store_record(table, p, record);
	case PERF_RECORD_MMAP2:
		return record_mmap2(record) ? store_record(table, p, record) : 0;
	case PERF_RECORD_AUX: /* keep each thread's last one, for the snapshot */
		drop_aux(table, p, record);
		return store_record(table, p, record);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return keep_switch(table, record);
	default:
		return 0;
	}
}

int process_fork(struct process_table *table, pid_t parent, pid_t child)
{
	struct process *from = process_find(table, parent);
	unsigned char *copy;
	int ret = 0;

	process_remove(table, child); /* a reused PID */
	if (!process_get(table, child))
		return -ENOMEM;
	if (!from)
		return 0;
	copy = malloc(UINT16_MAX);
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < from->nr && !ret; i++) {
		const struct perf_event_header *h = record_header(from->records[i]);
		uint32_t ids[2] = {(uint32_t)child, (uint32_t)child};
		const struct trailer *trailer;
		size_t body_size;

		/*
		 * Copy the name and the mappings of the process; of its threads, the child has only
		 * the caller of fork().
		 */
		if (h->type != PERF_RECORD_MMAP2 &&
		    !(h->type == PERF_RECORD_COMM && record_tid(h) == (uint32_t)parent))
			continue;
		if (!record_parts(h, &body_size, &trailer))
			continue;
		memcpy(copy, h, h->size);
		memcpy(copy + sizeof(*h), ids, sizeof(ids));
		memcpy(copy + ((const char *)trailer - (const char *)h), ids, sizeof(ids));
		ret = store_record(table, process_find(table, child), copy);
	}
	free(copy);
	return ret;
}

static bool has_fork_record(const struct process *p, pid_t tid)
{
	for (size_t i = 0; i < p->nr; i++)
		if (record_header(p->records[i])->type == PERF_RECORD_FORK &&
		    record_tid(record_header(p->records[i])) == (uint32_t)tid)
			return true;
	return false;
}

/* Drops the name of an exited thread without an entry, unless a new thread has its TID. */
static void drop_exited_name(struct process_table *table, struct process *p, pid_t tid)
{
	for (size_t i = 0; p->exited && i < EXITED_MAX; i++)
		if (p->exited[i].tid == tid)
			return;
	if (tid && tid != p->pid && !has_fork_record(p, tid))
		drop_records_of_type(table, p, PERF_RECORD_COMM, tid);
}

/* Drops the oldest kept traces until there is space for size bytes. */
static void drop_oldest_traces(struct process_table *table, size_t size)
{
	while (table->exited_bytes && table->exited_bytes + size > EXITED_TRACES_MAX) {
		struct exited_thread *oldest = NULL;
		struct process *owner = NULL;

		for (size_t i = 0; i < table->nr; i++) {
			struct process *p = table->items[i];

			for (size_t k = 0; p->exited && k < EXITED_MAX; k++) {
				struct exited_thread *t = &p->exited[k];

				if (!t->trace || (oldest && t->trace->seq > oldest->trace->seq))
					continue;
				oldest = t;
				owner = p;
			}
		}
		if (!oldest)
			return;
		free_trace(table, oldest);
		drop_trace_records(table, owner, oldest->tid);
	}
}

static void remember_exited(struct process_table *table, struct process *p,
			    const struct exited_thread *t)
{
	struct exited_thread *slot;
	pid_t former = t->tid;

	if (!p->exited)
		p->exited = calloc(EXITED_MAX, sizeof(*p->exited));
	if (p->exited) {
		slot = &p->exited[p->nr_exited % EXITED_MAX];
		p->older_exited_bytes += slot->nr_bytes;
		former = slot->tid;
		if (slot->trace) {
			free_trace(table, slot);
			drop_trace_records(table, p, slot->tid);
		}
		*slot = *t;
		if (slot->trace) {
			slot->trace->seq = table->nr_exited_traces++;
			table->exited_bytes += slot->trace->size;
		}
	} else {
		free(t->trace);
		p->older_exited_bytes += t->nr_bytes;
	}
	p->nr_exited++;
	drop_exited_name(table, p, former);
}

void process_thread_exit(struct process_table *table, pid_t pid, const struct exited_thread *t)
{
	struct process *p = process_find(table, pid);

	if (!p) {
		free(t->trace);
		return;
	}
	if (t->trace)
		drop_oldest_traces(table, t->trace->size);
	else
		drop_trace_records(table, p, t->tid);
	remember_exited(table, p, t);
}

void process_remove(struct process_table *table, pid_t pid)
{
	for (size_t i = 0; i < table->nr; i++) {
		struct process *p = table->items[i];

		if (p->pid != pid)
			continue;
		while (p->nr)
			drop_record(table, p, p->nr - 1);
		for (size_t k = 0; p->exited && k < EXITED_MAX; k++)
			free_trace(table, &p->exited[k]);
		free(p->records);
		free(p->exited);
		free(p);
		table->items[i] = table->items[--table->nr];
		return;
	}
}

void process_table_free(struct process_table *table)
{
	while (table->nr)
		process_remove(table, table->items[0]->pid);
	for (size_t i = 0; table->switches && i < MAX_SWITCHES; i++)
		free(table->switches[i]);
	free(table->switches);
	free(table->items);
	memset(table, 0, sizeof(*table));
}
