// SPDX-License-Identifier: BSD-2-Clause
/*
 * "What the trace covers": gaps by cause, and whether the trace is complete. It is reported as
 * complete only if that is proved: each thread's exec or fork is in the file, its trace starts
 * there, nothing is lost, each thread has trace, and each exits; after a crash, the flow of the
 * dead thread ends where the snapshot says that it died.
 */
#include "report_cover.h"
#include "report_facts.h"
#include "report_out.h"
#include "decode/flow/trace_family.h"
#include "perfdata/capture_lines.h"
#include "util/vector.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A record of a thread that was created, executed a program, began to be traced, or exited. */
struct life_event {
	enum life_event_kind { LIFE_FORK, LIFE_EXEC, LIFE_TRACED, LIFE_EXIT } kind;
	int32_t pid, tid;
	uint64_t time;
};

/*
 * The kernel writes FORK on behalf of the parent. Recorders synthesise others for threads that
 * exist already; the sample id of those names no thread, or the new one itself.
 */
static bool by_parent(const struct auxtap_record *rec)
{
	int32_t ids[4]; /* pid, ppid, tid, ptid */

	if (rec->body_size < sizeof(ids) || !(rec->fields & AUXTAP_REC_PID_TID))
		return false;
	memcpy(ids, rec->header + 1, sizeof(ids));
	return (int32_t)rec->tid == ids[3] && ids[2] != ids[3];
}

static bool parse(const struct auxtap_record *rec, struct life_event *life_event)
{
	const char *body = (const char *)(rec->header + 1);
	size_t tid_at = 4;

	switch (rec->header->type) {
	case PERF_RECORD_FORK: /* pid, ppid, tid */
		if (!by_parent(rec))
			return false;
		life_event->kind = LIFE_FORK;
		tid_at = 8;
		break;
	case PERF_RECORD_EXIT:
		life_event->kind = LIFE_EXIT;
		tid_at = 8;
		break;
	case PERF_RECORD_COMM:
		if (!(rec->header->misc & PERF_RECORD_MISC_COMM_EXEC))
			return false;
		life_event->kind = LIFE_EXEC;
		break;
	case PERF_RECORD_ITRACE_START:
		life_event->kind = LIFE_TRACED;
		break;
	default:
		return false;
	}
	if (rec->body_size < tid_at + sizeof(life_event->tid))
		return false;
	memcpy(&life_event->pid, body, sizeof(life_event->pid));
	memcpy(&life_event->tid, body + tid_at, sizeof(life_event->tid));
	life_event->time = rec->time;
	return true;
}

int report_cover_record(struct report_cover *cover, const struct auxtap_record *rec)
{
	struct life_event life_event;

	if (rec->time > cover->last_record)
		cover->last_record = rec->time;
	if (!parse(rec, &life_event))
		return 0;
	if (vector_grow(cover->life_events, cover->nr_life_events, cover->max_life_events))
		return -1;
	cover->life_events[cover->nr_life_events++] = life_event;
	return 0;
}

void report_cover_free(struct report_cover *cover)
{
	free(cover->life_events);
	cover->life_events = NULL;
}

void report_cover_file(struct report_cover *cover, struct auxtap_perfdata *pd, bool ours)
{
	const struct auxtap_perfdata_attr *attr;
	const struct auxtap_perfdata_aux *aux;
	const struct trace_family *family;
	const uint64_t *priv;
	uint32_t type;
	size_t nr;

	if (!pd)
		return;
	for (uint32_t i = 0; (attr = auxtap_perfdata_get_attr(pd, i)); i++)
		cover->enable_on_exec = cover->enable_on_exec || attr->attr.enable_on_exec;
	cover->of_threads = !auxtap_perfdata_auxtraces(pd, &aux, &nr, NULL);
	for (size_t i = 0; cover->of_threads && i < nr; i++)
		cover->of_threads = aux[i].auxtrace.cpu == UINT32_MAX;
	/* in snapshots of stock perf offsets do not start at the first byte of the trace */
	if (ours || auxtap_perfdata_auxtrace_info(pd, &type, &priv, &nr))
		return;
	family = trace_family_of_type(type);
	cover->of_unknown_offsets = !family || !family->info_snapshot ||
				    nr <= family->info_snapshot || priv[family->info_snapshot];
}

bool report_cover_has_start(const struct report_cover *cover, int32_t tid, uint64_t first_time)
{
	bool exec = false, fork = false, traced = false;
	uint64_t exec_time = 0, traced_time = 0;

	/* the first of each kind: records are sorted by time */
	for (size_t i = 0; i < cover->nr_life_events; i++) {
		const struct life_event *b = &cover->life_events[i];

		if (b->tid != tid || b->kind == LIFE_EXIT)
			continue;
		if (b->kind == LIFE_FORK) {
			fork = fork || !first_time || b->time <= first_time;
		} else if (b->kind == LIFE_EXEC && !exec) {
			exec = true;
			exec_time = b->time;
		} else if (b->kind == LIFE_TRACED && !traced) {
			traced = true;
			traced_time = b->time;
		}
	}
	if (fork || (exec && cover->enable_on_exec))
		return true;
	/* A process that was attached to may execute another program later. */
	if (!exec || (first_time && exec_time > first_time))
		return false;
	return traced ? traced_time >= exec_time : first_time != 0;
}

bool report_cover_has_end(const struct report_cover *cover, int32_t tid, uint64_t last_time)
{
	for (size_t i = cover->nr_life_events; i--;) {
		const struct life_event *b = &cover->life_events[i];

		if (b->tid == tid)
			return b->kind == LIFE_EXIT && b->time >= last_time;
	}
	return false;
}

size_t report_cover_without_trace(const struct report_cover *cover, int32_t pid,
				  bool (*has_trace)(const void *ctx, int32_t tid), const void *ctx)
{
	size_t nr = 0;

	for (size_t i = 0; i < cover->nr_life_events; i++) {
		const struct life_event *b = &cover->life_events[i];
		bool counted = false;

		if ((pid >= 0 && b->pid != pid) || has_trace(ctx, b->tid))
			continue;
		for (size_t k = 0; k < i && !counted; k++)
			counted = cover->life_events[k].tid == b->tid;
		nr += !counted;
	}
	return nr;
}

void report_cover_event(struct report_cover *cover, const struct auxtap_event *ev)
{
	struct report_gap_count *gap = &cover->gaps[ev->gap->cause];

	gap->exact = gap->nr ? gap->exact && ev->gap->exact : ev->gap->exact;
	gap->nr++;
	gap->nr_bytes += ev->gap->nr_bytes;
}

static void print_gap_sum(const struct report_out *ro, enum auxtap_gap_cause cause,
			  const struct report_gap_count *gap, const char *nr_ended)
{
	bool not_decoded = auxtap_gap_is_undecoded(&(struct auxtap_gap){.cause = cause});

	fprintf(ro->out, "  %" PRIu64 " gap%s: %s", gap->nr, gap->nr == 1 ? "" : "s",
		auxtap_gap_cause_name(cause));
	if (cause == AUXTAP_GAP_OVERWRITTEN)
		fputs(" (the recorder keeps only the newest trace)", ro->out);
	else if (gap->nr_bytes)
		fprintf(ro->out, ", %s%" PRIu64 " bytes %s", gap->exact ? "" : "at least ",
			gap->nr_bytes, not_decoded ? "not decoded" : "lost");
	if (cause == AUXTAP_GAP_DISCARDED)
		fprintf(ro->out, " (no trace is kept of the %s%sthread%s that had ended)", nr_ended,
			*nr_ended ? " " : "", strcmp(nr_ended, "1") ? "s" : "");
	fputc('\n', ro->out);
}

static uint64_t print_gaps(const struct report_out *ro, const struct report_cover *cover,
			   const char *nr_ended)
{
	uint64_t nr = 0;

	for (int i = 0; i < AUXTAP_GAP_NR_CAUSES; i++) {
		const struct report_gap_count *gap = &cover->gaps[i];

		if (gap->nr)
			print_gap_sum(ro, (enum auxtap_gap_cause)i, gap, nr_ended);
		nr += gap->nr;
	}
	return nr;
}

bool report_cover_emulated(const struct report_facts *facts)
{
	char value[128];

	return report_facts_capture(facts, CAPTURE_LINE_BACKEND, value, sizeof(value)) &&
	       !strcmp(value, CAPTURE_LINE_EMULATED);
}

/*
 * The last packet with a time may be long before the end; the emulated kernel writes a record at
 * the end, whose time is exact.
 */
uint64_t report_cover_duration(const struct report_facts *facts, const struct report_cover *cover)
{
	const struct auxtap_decode_summary *sum = &cover->sum;
	uint64_t end = sum->time_end;

	if (cover->last_record > end && report_cover_emulated(facts))
		end = cover->last_record;
	return sum->time_begin && end > sum->time_begin ? end - sum->time_begin : 0;
}

/*
 * A flow without gaps that ends with rt_sigreturn() is complete: a pending signal killed the thread
 * there. The first instruction after it would have started the trace again.
 */
bool report_cover_end_lost(const struct report_cover *cover)
{
	bool gaps = false;

	for (int i = 0; i < AUXTAP_GAP_NR_CAUSES; i++)
		gaps |= cover->gaps[i].nr != 0;
	return cover->cut_short && (gaps || !cover->from_handler);
}

void report_cover_print(const struct report_out *ro, const struct report_facts *facts,
			const struct report_cover *cover)
{
	const struct auxtap_decode_summary *sum = &cover->sum;
	const uint64_t duration = report_cover_duration(facts, cover);
	char nr_ended[32] = "";
	uint64_t nr_gaps;

	fprintf(ro->out,
		"  %" PRIu64 " instructions, %" PRIu64 " branches in %" PRIu64
		" thread%s, from %" PRIu64 " bytes of trace\n",
		sum->instructions, sum->branches, sum->threads, sum->threads == 1 ? "" : "s",
		sum->bytes);
	if (cover->library && sum->bytes)
		fprintf(ro->out, "  decoded by %s\n", cover->library);
	if (cover->branches_only && sum->bytes)
		fputs("  Intel BTS: taken branches, without the instructions between them\n",
		      ro->out);
	if (duration)
		fprintf(ro->out, "  %.6f s of %s\n", (double)duration / 1e9,
			report_cover_emulated(facts) ? "emulated time (one instruction is one ns)" :
						       "time");
	report_facts_capture(facts, CAPTURE_LINE_THREADS_ENDED, nr_ended, sizeof(nr_ended));
	nr_gaps = print_gaps(ro, cover, nr_ended);
	if (report_cover_end_lost(cover))
		fprintf(ro->out,
			"  the flow of the dead thread ends at 0x%" PRIx64
			", but the thread died at 0x%" PRIx64 ": what ran between is not known\n",
			cover->flow_end, cover->death_ip);
	else if (!nr_gaps && !sum->bytes)
		fputs("  no trace in this file: what ran is not known\n", ro->out);
	else if (!nr_gaps && !sum->instructions)
		fputs("  no instructions in this trace: what ran is not known\n", ro->out);
	else if (!nr_gaps && !(cover->from_start && cover->to_end))
		fprintf(ro->out, "  no gaps within the trace; what ran %s is not known\n",
			cover->from_start ? "after it ends" :
			cover->to_end	  ? "before it starts" :
					    "before it starts and after it ends");
	else if (!nr_gaps && !cover->nr_without)
		fputs("  no gaps: complete from the first instruction\n", ro->out);
	if (nr_gaps == cover->gaps[AUXTAP_GAP_UNKNOWN].nr && sum->bytes && cover->nr_without)
		fprintf(ro->out, "  no trace of %zu other thread%s: what %s ran is not known\n",
			cover->nr_without, cover->nr_without == 1 ? "" : "s",
			cover->nr_without == 1 ? "it" : "they");
}
