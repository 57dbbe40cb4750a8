// SPDX-License-Identifier: BSD-2-Clause
/* Parses sideband records: see sideband.h. They are untrusted: every length is checked. */
#include "sideband.h"
#include "decode/image/image_private.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void sideband_init(struct sideband *sb, struct auxtap_image_set *images)
{
	memset(sb, 0, sizeof(*sb));
	sb->images = images;
	sb->first_pid = sb->first_tid = -1;
}

void sideband_free(struct sideband *sb)
{
	for (size_t i = 0; i < sb->nr_threads; i++) {
		free(sb->threads[i]->comms);
		free(sb->threads[i]);
	}
	for (size_t i = 0; i < sb->nr_cpus; i++)
		free(sb->cpus[i].switches);
	free(sb->threads);
	hash_map_free(&sb->thread_index);
	free(sb->cpus);
	trace_auxes_free(&sb->lossy);
	trace_keys_free(&sb->ring_keys);
	free(sb->lost);
	free(sb->aux_ranges);
	free(sb->rings);
	trace_ids_free(&sb->ids);
	memset(sb, 0, sizeof(*sb));
}

/* ---- threads ---- */

struct sideband_thread *sideband_thread(struct sideband *sb, int32_t tid, bool create)
{
	uint64_t hash = hash_number((uint32_t)tid);
	size_t index = hash_map_find(&sb->thread_index, hash);
	struct sideband_thread *thread;

	if (index != HASH_MAP_NONE)
		return sb->threads[index];
	if (!create || vector_grow(sb->threads, sb->nr_threads, sb->max_threads))
		return NULL;
	thread = calloc(1, sizeof(*thread));
	if (!thread || hash_map_add(&sb->thread_index, hash, sb->nr_threads)) {
		free(thread);
		return NULL;
	}
	thread->tid = tid;
	thread->pid = -1;
	sb->threads[sb->nr_threads++] = thread;
	return thread;
}

int32_t sideband_pid(const struct sideband *sb, int32_t tid)
{
	const struct sideband_thread *thread = sideband_thread((struct sideband *)sb, tid, false);

	return thread ? thread->pid : -1;
}

uint64_t sideband_trace_start(const struct sideband *sb, int32_t tid)
{
	const struct sideband_thread *thread = sideband_thread((struct sideband *)sb, tid, false);

	return thread ? thread->trace_start : 0;
}

static int set_comm(struct sideband *sb, int32_t pid, int32_t tid, uint64_t time, const char *comm)
{
	struct sideband_thread *thread = sideband_thread(sb, tid, true);
	struct sideband_comm *comms;
	char name[16] = "";
	size_t at;

	if (!thread)
		return -ENOMEM;
	thread->pid = pid;
	if (!comm)
		return 0;
	/* comm may point into thread->comms, which may move */
	memcpy(name, comm, strnlen(comm, 15));
	if (vector_grow(thread->comms, thread->nr_comms, thread->max_comms))
		return -ENOMEM;
	comms = thread->comms;
	/* Sideband files are read one after the other, so times may go back. */
	/* The analyzer does not see that the first nr_comms entries are initialised. */
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
	for (at = thread->nr_comms; at && comms[at - 1].time > time; at--)
		comms[at] = comms[at - 1];
	comms[at].time = time;
	memcpy(comms[at].comm, name, sizeof(name));
	thread->nr_comms++;
	return 0;
}

const char *sideband_comm(const struct sideband *sb, int32_t tid, uint64_t time)
{
	const struct sideband_thread *thread = sideband_thread((struct sideband *)sb, tid, false);
	const char *best;

	if (!thread || !thread->nr_comms)
		return NULL;
	best = thread->comms[0].comm;
	if (!time)
		return thread->comms[thread->nr_comms - 1].comm;
	for (size_t i = 1; i < thread->nr_comms && thread->comms[i].time <= time; i++)
		best = thread->comms[i].comm;
	return best;
}

/* ---- CPUs ---- */

static struct sideband_cpu *get_cpu(struct sideband *sb, int cpu)
{
	for (size_t i = 0; i < sb->nr_cpus; i++)
		if (sb->cpus[i].cpu == cpu)
			return &sb->cpus[i];
	if (sb->nr_cpus >= 65536 || vector_grow(sb->cpus, sb->nr_cpus, sb->max_cpus))
		return NULL;
	sb->cpus[sb->nr_cpus] = (struct sideband_cpu){.cpu = cpu, .itrace_start_tid = -1};
	return &sb->cpus[sb->nr_cpus++];
}

/* From time on pid/tid runs on cpu; the record 'before', unless NULL, names what ran until then. */
static int add_switch(struct sideband *sb, int cpu, uint64_t time, int32_t pid, int32_t tid,
		      const struct auxtap_record *before)
{
	struct sideband_cpu *timeline = get_cpu(sb, cpu);
	struct sideband_switch *sw;

	if (!timeline || vector_grow(timeline->switches, timeline->nr, timeline->max))
		return -ENOMEM;
	sw = &timeline->switches[timeline->nr];
	*sw = (struct sideband_switch){time, pid, tid};
	if (!timeline->nr++) {
		timeline->first = *sw;
		if (before && before->fields & AUXTAP_REC_PID_TID) {
			timeline->first.pid = (int32_t)before->pid;
			timeline->first.tid = (int32_t)before->tid;
		}
	}
	return 0;
}

bool sideband_running(const struct sideband *sb, int cpu, uint64_t time, int32_t *pid, int32_t *tid)
{
	for (size_t c = 0; c < sb->nr_cpus; c++) {
		const struct sideband_cpu *timeline = &sb->cpus[c];
		const struct sideband_switch *sw = &timeline->first;
		size_t lo = 0, hi = timeline->nr;

		if (timeline->cpu != cpu)
			continue;
		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;

			if (timeline->switches[mid].time <= time)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo)
			sw = &timeline->switches[lo - 1];
		/* The kernel starts tracing before it records the switch to a thread. */
		if (sw->tid == -1 && lo < timeline->nr)
			sw = &timeline->switches[lo];
		*pid = sw->pid;
		*tid = sw->tid;
		return *tid != -1;
	}
	return false;
}

static int by_cpu_and_offset(const void *a, const void *b)
{
	const struct sideband_aux_range *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

static int by_switch_time(const void *a, const void *b)
{
	const struct sideband_switch *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/*
 * A flight recorder keeps only the newest records of a process. Without an ITRACE_START its start
 * was dropped: what was mapped before the first record is unknown.
 */
static void mark_starts_unknown(struct sideband *sb)
{
	for (size_t i = 0; i < sb->nr_threads; i++) {
		const struct sideband_thread *thread = sb->threads[i];

		if (thread->tid == thread->pid && !thread->trace_start)
			image_set_mark_start_unknown(sb->images, thread->pid);
	}
}

int sideband_finish(struct sideband *sb)
{
	if (sb->per_thread && (sb->aux_offsets_unusable || sb->has_overwrite_aux))
		mark_starts_unknown(sb);
	if (sb->nr_aux_ranges)
		qsort(sb->aux_ranges, sb->nr_aux_ranges, sizeof(*sb->aux_ranges),
		      by_cpu_and_offset);
	/* Sideband files are read one after the other, so times may go back. */
	for (size_t c = 0; c < sb->nr_cpus; c++) {
		struct sideband_cpu *timeline = &sb->cpus[c];
		size_t i;

		for (i = 1; i < timeline->nr; i++)
			if (timeline->switches[i].time < timeline->switches[i - 1].time)
				break;
		if (i < timeline->nr)
			qsort(timeline->switches, timeline->nr, sizeof(*timeline->switches),
			      by_switch_time);
	}
	return trace_auxes_index(&sb->lossy);
}

bool sideband_owner(const struct sideband *sb, int cpu, uint64_t off, int32_t *pid, int32_t *tid)
{
	size_t lo = 0, hi = sb->nr_aux_ranges;
	const struct sideband_aux_range *range;

	if (!sb->traces_some_tasks || sb->aux_offsets_unusable)
		return false;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		range = &sb->aux_ranges[mid];
		if (range->cpu < cpu || (range->cpu == cpu && range->off <= off))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return false;
	range = &sb->aux_ranges[lo - 1];
	if (range->cpu != cpu || off >= range->end)
		return false;
	*pid = range->pid;
	*tid = range->tid;
	return true;
}

/* ---- records ---- */

struct cursor {
	const uint8_t *at;
	size_t left;
};

static uint32_t get_u32(struct cursor *b)
{
	uint32_t v = 0;

	if (b->left >= 4) {
		memcpy(&v, b->at, 4);
		b->at += 4;
		b->left -= 4;
	} else {
		b->left = 0;
	}
	return v;
}

static uint64_t get_u64(struct cursor *b)
{
	uint64_t v = 0;

	if (b->left >= 8) {
		memcpy(&v, b->at, 8);
		b->at += 8;
		b->left -= 8;
	} else {
		b->left = 0;
	}
	return v;
}

static const char *get_string(struct cursor *b)
{
	return b->left && memchr(b->at, 0, b->left) ? (const char *)b->at : NULL;
}

static int on_mmap(struct sideband *sb, const struct auxtap_record *rec, struct cursor b)
{
	int32_t pid = (int32_t)get_u32(&b), tid = (int32_t)get_u32(&b);
	uint64_t addr = get_u64(&b), len = get_u64(&b), pgoff = get_u64(&b);
	unsigned int mode = rec->header->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	uint8_t id[20];
	struct file_identity file = {0};
	unsigned int id_size = 0;
	const char *name;

	if (rec->header->type == PERF_RECORD_MMAP2) {
		if (b.left < 32)
			return 0;
		if (rec->header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
			id_size = b.at[0] <= 20 ? b.at[0] : 20;
			memcpy(id, b.at + 4, 20);
		} else {
			memcpy(&file.maj, b.at, sizeof(file.maj));
			memcpy(&file.min, b.at + 4, sizeof(file.min));
			memcpy(&file.ino, b.at + 8, sizeof(file.ino));
		}
		b.at += 32;
		b.left -= 32;
	}
	name = get_string(&b);
	if (!name)
		return 0;
	if (mode == PERF_RECORD_MISC_KERNEL || pid == -1)
		return image_set_add_kernel_map(sb->images, rec->time, addr, len, pgoff, name, id,
						id_size);
	if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER)
		return 0;
	if (rec->header->misc & PERF_RECORD_MISC_MMAP_DATA && rec->header->type == PERF_RECORD_MMAP)
		return 0;
	if (!sideband_thread(sb, tid, false) && set_comm(sb, pid, tid, rec->time, NULL))
		return -ENOMEM;
	return image_set_add_map(sb->images, pid, rec->time, addr, len, pgoff, name, id, id_size,
				 &file);
}

static int on_comm(struct sideband *sb, const struct auxtap_record *rec, struct cursor b)
{
	int32_t pid = (int32_t)get_u32(&b), tid = (int32_t)get_u32(&b);
	const char *comm = get_string(&b);

	if (rec->header->misc & PERF_RECORD_MISC_COMM_EXEC) {
		int ret = auxtap_image_set_exec(sb->images, pid, rec->time);

		if (ret)
			return ret;
		if (sb->first_tid == -1) {
			sb->first_pid = pid;
			sb->first_tid = tid;
		}
	}
	return set_comm(sb, pid, tid, rec->time, comm);
}

static int on_fork(struct sideband *sb, const struct auxtap_record *rec, struct cursor b)
{
	int32_t pid = (int32_t)get_u32(&b), ppid = (int32_t)get_u32(&b);
	int32_t tid = (int32_t)get_u32(&b), ptid = (int32_t)get_u32(&b);
	int ret;

	if (!b.left)
		return 0;
	ret = set_comm(sb, pid, tid, rec->time, sideband_comm(sb, ptid, rec->time));
	if (!ret && pid != ppid)
		ret = auxtap_image_set_fork(sb->images, ppid, pid, rec->time);
	return ret;
}

/* Records of an exiting task have pid and tid -1: the thread at such an offset is found by time. */
static int add_aux_range(struct sideband *sb, const struct auxtap_record *rec,
			 const struct trace_aux *aux)
{
	const uint32_t need = AUXTAP_REC_PID_TID | AUXTAP_REC_CPU;

	if (sb->per_thread || sb->aux_offsets_unusable || !aux->size ||
	    (rec->fields & need) != need || (int32_t)rec->tid <= 0)
		return 0;
	if (vector_grow(sb->aux_ranges, sb->nr_aux_ranges, sb->max_aux_ranges))
		return -ENOMEM;
	sb->aux_ranges[sb->nr_aux_ranges++] = (struct sideband_aux_range){.off = aux->off,
									  .end = trace_aux_end(aux),
									  .pid = (int32_t)rec->pid,
									  .tid = (int32_t)rec->tid,
									  .cpu = (int)rec->cpu};
	return 0;
}

struct sideband_ring *sideband_ring(struct sideband *sb, int32_t tid, int cpu)
{
	struct trace_key key = {.cpu = cpu, .tid = tid};
	size_t index;

	/* grow first, so that every key has a ring even if adding the key fails */
	if (vector_grow(sb->rings, sb->ring_keys.nr, sb->max_rings))
		return NULL;
	sb->rings[sb->ring_keys.nr] =
		(struct sideband_ring){.tid = tid, .cpu = cpu, .begin = UINT64_MAX};
	return trace_keys_add(&sb->ring_keys, key, &index) ? NULL : &sb->rings[index];
}

static int32_t tid_of_event(const struct sideband *sb, uint64_t id)
{
	const struct auxtap_perfdata_id *event = trace_ids_find(&sb->ids, id);

	return event ? event->tid : -1;
}

static int note_event_tid(struct sideband *sb, uint64_t id, int32_t tid)
{
	const struct auxtap_perfdata_id event = {.id = id, .cpu = -1, .tid = tid};

	return sb->per_thread && tid > 0 ? trace_ids_add(&sb->ids, &event) : 0;
}

/* Records of an exiting task have pid and tid -1, but the id of its event: that gives aux->tid. */
static int resolve_aux_tid(struct sideband *sb, const struct auxtap_record *rec,
			   struct trace_aux *aux)
{
	const uint32_t need = AUXTAP_REC_PID_TID | AUXTAP_REC_ID;
	int32_t tid;

	if (!sb->per_thread || (rec->fields & need) != need)
		return 0;
	if (note_event_tid(sb, rec->id, aux->tid))
		return -ENOMEM;
	tid = aux->tid <= 0 ? tid_of_event(sb, rec->id) : -1;
	if (tid > 0)
		aux->tid = tid;
	return 0;
}

static int extend_ring(struct sideband *sb, const struct auxtap_record *rec,
		       const struct trace_aux *aux)
{
	uint32_t need = sb->per_thread ? AUXTAP_REC_PID_TID : AUXTAP_REC_CPU;
	struct sideband_ring *ring;

	if (sb->aux_offsets_unusable || !aux->size || (rec->fields & need) != need ||
	    (sb->per_thread && aux->tid <= 0))
		return 0;
	ring = sb->per_thread ? sideband_ring(sb, aux->tid, -1) : sideband_ring(sb, -1, aux->cpu);
	if (!ring)
		return -ENOMEM;
	ring->begin = aux->off < ring->begin ? aux->off : ring->begin;
	ring->end = trace_aux_end(aux) > ring->end ? trace_aux_end(aux) : ring->end;
	ring->time = rec->time;
	return 0;
}

static int on_aux(struct sideband *sb, const struct auxtap_record *rec)
{
	struct trace_aux aux;

	if (!trace_aux_read(&aux, rec))
		return 0;
	if (resolve_aux_tid(sb, rec, &aux))
		return -ENOMEM;
	/* in overwrite mode aux_offset is the head, not the start */
	if (aux.flags & PERF_AUX_FLAG_OVERWRITE)
		sb->has_overwrite_aux = true;
	else if (extend_ring(sb, rec, &aux))
		return -ENOMEM;
	if (add_aux_range(sb, rec, &aux))
		return -ENOMEM;
	return aux.flags & TRACE_AUX_LOSS ? trace_auxes_add(&sb->lossy, &aux) : 0;
}

static int on_lost(struct sideband *sb, const struct auxtap_record *rec, struct cursor b)
{
	struct sideband_lost *lost;
	uint64_t nr;

	get_u64(&b);
	if (b.left < 8)
		return 0;
	nr = get_u64(&b);
	if (vector_grow(sb->lost, sb->nr_lost, sb->max_lost))
		return -ENOMEM;
	lost = &sb->lost[sb->nr_lost++];
	*lost = (struct sideband_lost){.time = rec->time, .nr = nr, .tid = -1, .cpu = -1};
	if (rec->fields & AUXTAP_REC_PID_TID)
		lost->tid = (int32_t)rec->tid;
	if (rec->fields & AUXTAP_REC_CPU)
		lost->cpu = (int)rec->cpu;
	return 0;
}

static int on_switch(struct sideband *sb, const struct auxtap_record *rec, struct cursor b)
{
	bool out = rec->header->misc & PERF_RECORD_MISC_SWITCH_OUT;
	int32_t pid = (int32_t)rec->pid, tid = (int32_t)rec->tid;

	if (!(rec->fields & AUXTAP_REC_CPU) || sb->per_thread)
		return 0;
	sb->has_switches = true;
	if (rec->header->type == PERF_RECORD_SWITCH_CPU_WIDE && out) {
		pid = (int32_t)get_u32(&b);
		tid = (int32_t)get_u32(&b);
	} else if (out) {
		pid = tid = -1;
	} else if (!(rec->fields & AUXTAP_REC_PID_TID)) {
		return 0;
	}
	return add_switch(sb, (int)rec->cpu, rec->time, pid, tid, out ? rec : NULL);
}

/* Layout of the tracepoint sched:sched_switch, the same in all 64-bit kernels. */
#define SCHED_SWITCH_NEXT_PID 56
#define SCHED_SWITCH_SIZE     64

static int on_sample(struct sideband *sb, const struct auxtap_record *rec, struct cursor b)
{
	static const uint64_t before_raw[] = {PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,
					      PERF_SAMPLE_TID,	      PERF_SAMPLE_TIME,
					      PERF_SAMPLE_ADDR,	      PERF_SAMPLE_ID,
					      PERF_SAMPLE_STREAM_ID,  PERF_SAMPLE_CPU,
					      PERF_SAMPLE_PERIOD};
	uint64_t type;
	int32_t tid;

	if (sb->per_thread || !(rec->fields & AUXTAP_REC_CPU) || !rec->attr || !rec->attr->name ||
	    rec->attr->attr.type != PERF_TYPE_TRACEPOINT ||
	    strcmp(rec->attr->name, "sched:sched_switch"))
		return 0;
	type = rec->attr->attr.sample_type;
	if (!(type & PERF_SAMPLE_RAW) || type & (PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN))
		return 0;
	for (size_t i = 0; i < sizeof(before_raw) / sizeof(before_raw[0]); i++)
		if (type & before_raw[i])
			get_u64(&b);
	if (get_u32(&b) < SCHED_SWITCH_SIZE || b.left < SCHED_SWITCH_SIZE)
		return 0;
	memcpy(&tid, b.at + SCHED_SWITCH_NEXT_PID, sizeof(tid));
	sb->has_switches = true;
	if (tid < 0)
		return 0;
	return add_switch(sb, (int)rec->cpu, rec->time, tid ? sideband_pid(sb, tid) : 0, tid, rec);
}

/*
 * With one event per CPU, ITRACE_START comes once per CPU. If it comes for different threads, each
 * thread has its own event.
 */
static int on_itrace_start(struct sideband *sb, const struct auxtap_record *rec, struct cursor b)
{
	int32_t pid = (int32_t)get_u32(&b), tid = (int32_t)get_u32(&b);
	struct sideband_thread *thread;
	struct sideband_cpu *timeline;

	if (sb->first_tid == -1) {
		sb->first_pid = pid;
		sb->first_tid = tid;
	}
	if (set_comm(sb, pid, tid, rec->time, NULL) ||
	    (rec->fields & AUXTAP_REC_ID && note_event_tid(sb, rec->id, tid)))
		return -ENOMEM;
	thread = sideband_thread(sb, tid, false);
	if (!thread->trace_start || rec->time < thread->trace_start)
		thread->trace_start = rec->time;
	if (!(rec->fields & AUXTAP_REC_CPU) || sb->per_thread)
		return 0;
	timeline = get_cpu(sb, (int)rec->cpu);
	if (!timeline)
		return -ENOMEM;
	if (timeline->itrace_start_tid != -1 && timeline->itrace_start_tid != tid)
		sb->traces_some_tasks = true;
	timeline->itrace_start_tid = tid;
	return add_switch(sb, (int)rec->cpu, rec->time, pid, tid, NULL);
}

int sideband_record(struct sideband *sb, const struct auxtap_record *rec)
{
	struct cursor b = {(const uint8_t *)(rec->header + 1), rec->body_size};

	switch (rec->header->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return on_mmap(sb, rec, b);
	case PERF_RECORD_COMM:
		return on_comm(sb, rec, b);
	case PERF_RECORD_FORK:
		return on_fork(sb, rec, b);
	case PERF_RECORD_AUX:
		return on_aux(sb, rec);
	case PERF_RECORD_LOST:
		return on_lost(sb, rec, b);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return on_switch(sb, rec, b);
	case PERF_RECORD_ITRACE_START:
		return on_itrace_start(sb, rec, b);
	case PERF_RECORD_SAMPLE:
		return on_sample(sb, rec, b);
	default:
		return 0;
	}
}
