// SPDX-License-Identifier: BSD-2-Clause
/*
 * The report: what died and why, the faulting instruction, backtrace, the calls and branches
 * that led there, what the trace covers, the other threads, images, suggested commands.
 * For a file without a crash: an overview of the same.
 */
#include "decode/flow/branch_insn.h"
#include "decode/flow/decoder_private.h"
#include "decode/image/image_private.h"
#include "util/sized.h"
#include "util/vector.h"
#include "report_json.h"
#include "fault.h"
#include "report.h"
#include "report_abort.h"
#include "report_blocks.h"
#include "report_calls.h"
#include "report_regs.h"
#include "report_source.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct thread_view *view_of(struct report *r, int32_t pid, int32_t tid)
{
	struct thread_view **at = &r->threads;

	for (; *at; at = &(*at)->next) {
		struct thread_view *found = *at;

		if (found->tid != tid)
			continue;
		*at = found->next; /* move it to the front: the search stays short */
		found->next = r->threads;
		r->threads = found;
		return found;
	}
	*at = calloc(1, sizeof(**at));
	if (!*at)
		return NULL;
	(*at)->pid = pid;
	(*at)->tid = tid;
	(*at)->branches.is_emulated = report_cover_emulated(&r->facts);
	(*at)->code = (struct report_code){.images = r->ro.images, .pid = pid};
	(*at)->calls = call_tree_new(&report_code_ops, &(*at)->code);
	if (!(*at)->calls || (!r->facts.have_crash && call_tree_count((*at)->calls)))
		return NULL;
	return *at;
}

/* Notes the programs that the thread has executed until then. */
static int note_exec(struct report *r, struct thread_view *view, uint64_t until)
{
	int ret;

	for (size_t i = 0; i < r->nr_execs; i++) {
		struct exec_event *exec = &r->execs[i];
		char text[40];

		if (exec->done || exec->tid != view->tid || exec->time > until)
			continue;
		exec->done = true;
		if (!view->has_flow)
			continue; /* before the trace, or in the gap that it starts with */
		snprintf(text, sizeof(text), "exec: becomes %s", exec->comm);
		ret = call_tree_exec(view->calls, text);
		if (ret)
			return ret;
	}
	return 0;
}

static int note_map(struct report *r, uint64_t time)
{
	if (r->nr_maps && r->map_times[r->nr_maps - 1] >= time)
		return 0;
	if (vector_grow(r->map_times, r->nr_maps, r->max_maps))
		return -ENOMEM;
	r->map_times[r->nr_maps++] = time;
	return 0;
}

/*
 * If anything has been mapped since the thread's last event, what the tree of calls knows about the
 * code may be outdated.
 */
static void follow_maps(const struct report *r, struct thread_view *view,
			const struct auxtap_event *ev)
{
	size_t next = view->next_map;

	while (next < r->nr_maps && r->map_times[next] <= ev->time)
		next++;
	if (next != view->next_map)
		call_tree_code_changed(view->calls);
	view->next_map = next;
}

static int note_comm(struct report *r, const struct auxtap_record *rec)
{
	const char *body = (const char *)(rec->header + 1);
	struct exec_event exec = {.time = rec->time};
	struct name_event name;

	if (rec->body_size < 9)
		return 0;
	memcpy(&exec.tid, body + 4, sizeof(exec.tid));
	snprintf(exec.comm, sizeof(exec.comm), "%.*s", (int)rec->body_size - 8, body + 8);
	name.tid = exec.tid;
	memcpy(name.comm, exec.comm, sizeof(name.comm));
	if (vector_grow(r->names, r->nr_names, r->max_names))
		return -ENOMEM;
	r->names[r->nr_names++] = name;
	if (!(rec->header->misc & PERF_RECORD_MISC_COMM_EXEC))
		return 0;
	if (vector_grow(r->execs, r->nr_execs, r->max_execs))
		return -ENOMEM;
	r->execs[r->nr_execs++] = exec;
	return 0;
}

static int scan_records(struct report *r, struct auxtap_error *err)
{
	struct auxtap_record rec = {.size = sizeof(rec)};
	int ret = 0;

	while (!ret && auxtap_perfdata_next_sorted(r->pd, &rec, NULL) == 1) {
		ret = report_cover_record(&r->cover, &rec);
		if (!ret &&
		    (rec.header->type == PERF_RECORD_MMAP || rec.header->type == PERF_RECORD_MMAP2))
			ret = note_map(r, rec.time);
		if (!ret && rec.header->type == PERF_RECORD_COMM)
			ret = note_comm(r, &rec);
	}
	if (ret)
		return auxtap_error_set(err, ret, r->path, "out of memory");
	auxtap_perfdata_rewind_sorted(r->pd);
	return 0; /* the decoder reports damaged records */
}

/* Notes where the thread is after ev, if that is known. */
static void note_end(struct thread_view *view, const struct auxtap_event *ev)
{
	if (ev->type != AUXTAP_EVENT_TRACE || ev->trace_on)
		view->in_syscall =
			ev->type == AUXTAP_EVENT_BRANCH && ev->kind == AUXTAP_BRANCH_SYSCALL;
	switch (ev->type) {
	case AUXTAP_EVENT_ASYNC:
		view->flow_end = ev->ip;
		view->flow_end_known = true;
		break;
	case AUXTAP_EVENT_BRANCH:
		if (branch_enters_kernel(ev->kind))
			view->flow_end = ev->ip + ev->insn_size;
		else
			view->flow_end = ev->addr;
		view->flow_end_known = branch_enters_kernel(ev->kind) || ev->has_addr;
		break;
	case AUXTAP_EVENT_TRACE:
		if (ev->trace_on) {
			view->flow_end = ev->addr;
			view->flow_end_known = ev->has_addr;
		}
		break;
	default:
		break;
	}
}

static int on_event(struct report *r, const struct auxtap_event *ev)
{
	struct thread_view *view = view_of(r, ev->pid, ev->tid);

	if (!view)
		return -ENOMEM;
	if (ev->comm && ev->comm != view->comm_seen) {
		view->comm_seen = ev->comm; /* owned by the decoder, and constant */
		snprintf(view->comm, sizeof(view->comm), "%s", ev->comm);
	}
	if (ev->time) {
		view->first_time = view->first_time ? view->first_time : ev->time;
		view->last_time = view->code.time = ev->time;
	}
	view->nr_insns += ev->nr_insns;
	follow_maps(r, view, ev);
	report_branches_add(&view->branches, ev);
	if (r->at_abort.nr && view->tid == r->facts.crash.tid)
		report_branches_at_calls_add(&r->at_abort, &view->branches, r->nr_branches, ev);
	if (report_return_addrs_add(&view->returns, ev))
		return -ENOMEM;
	if ((ev->type == AUXTAP_EVENT_TRACE && ev->trace_on) ||
	    (ev->type != AUXTAP_EVENT_GAP && !view->has_flow)) {
		int ret = note_exec(r, view, ev->time);

		if (ret)
			return ret;
	}
	if (ev->type == AUXTAP_EVENT_GAP)
		report_cover_event(&r->cover, ev);
	else
		note_end(view, ev);
	view->has_flow = view->has_flow || ev->type != AUXTAP_EVENT_GAP;
	if (ev->type == AUXTAP_EVENT_GAP && ev->gap->cause == AUXTAP_GAP_DISCARDED)
		view->ended_before = true;
	if (ev->has_addr)
		view->last_ip = ev->addr;
	else if (ev->has_ip)
		view->last_ip = ev->ip;
	return call_tree_event(view->calls, ev);
}

/* Adds the living threads, including those without trace. */
static int add_living_threads(struct report *r)
{
	for (size_t i = 0; i < r->facts.nr_threads; i++)
		if (!view_of(r, r->facts.threads[i].record.pid, r->facts.threads[i].record.tid))
			return -ENOMEM;
	return 0;
}

/* Notes what the thread that died executed after the end of its trace, if that is known. */
static int note_untraced_end(struct report *r)
{
	const struct auxtap_crash *c = &r->facts.crash;
	const struct auxtap_gap gap = {.cause = AUXTAP_GAP_UNKNOWN};
	const struct auxtap_event ev = {.type = AUXTAP_EVENT_GAP,
					.gap = &gap,
					.text = "32-bit code, which is not traced"};
	struct thread_view *view = report_dying_view(r);
	const struct auxtap_regs *regs;

	if (!r->facts.have_crash || !view || !view->last_time)
		return 0;
	for (size_t i = 0; i < r->nr_execs; i++)
		if (r->execs[i].tid == c->tid && r->execs[i].time > view->last_time)
			return note_exec(r, view, c->time);
	regs = report_dying_regs(r);
	return regs && auxtap_regs_32bit(regs) ? call_tree_event(view->calls, &ev) : 0;
}

static int decode_all(struct report *r, struct auxtap_error *err)
{
	struct auxtap_decode_opts opts = {
		.size = sizeof(opts),
		.events = AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN |
			  AUXTAP_EVENT_ASYNC | AUXTAP_EVENT_TRACE | AUXTAP_EVENT_GAP,
		.jobs = 0,
	};
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	int ret;

	if (r->raw)
		ret = auxtap_decoder_open_raw(&dec, r->path, r->raw, r->ro.images, &opts, err);
	else if (!r->pd)
		ret = auxtap_decoder_open_snapshot(&dec, r->path, r->ro.images, &opts, err);
	else
		ret = auxtap_decoder_open(&dec, r->pd, r->ro.images, &opts, err);
	if (ret < 0)
		return ret;
	while ((ret = auxtap_decoder_next(dec, &ev, err)) == 1) {
		ret = on_event(r, &ev);
		if (ret < 0) {
			auxtap_error_set(err, ret, r->path, "out of memory");
			break;
		}
	}
	for (struct thread_view *v = r->threads; v; v = v->next)
		report_branches_end(&v->branches);
	if (!ret)
		ret = note_untraced_end(r);
	r->cover.sum.size = sizeof(r->cover.sum);
	auxtap_decoder_summary(dec, &r->cover.sum);
	auxtap_decoder_close(dec);
	return ret;
}

static void title(const struct report *r, const char *text)
{
	fprintf(r->ro.out, "\n%s%s%s\n", r->ro.style->title, text, r->ro.style->off);
}

static void print_location(const struct report *r, uint64_t addr)
{
	report_print_location(&r->ro, addr);
}

static void print_insn(const struct report *r, const struct report_death *death)
{
	const enum auxtap_isa isa = report_isa(death->head.regs);
	const uint64_t ip = death->fault.insn_ip;
	struct auxtap_location loc = {.size = sizeof(loc)};
	uint8_t code[16];
	char text[160];
	size_t n = report_read_code(r, ip, code, sizeof(code));
	int size =
		n ? auxtap_disassemble_as(r->ro.images, isa, ip, code, n, text, sizeof(text)) : 0;

	title(r, "Faulting instruction");
	if (size > 0 || size == -ENOSYS) /* text says what is missing */
		fprintf(r->ro.out, "  0x%" PRIx64 "  %s%s%s%s\n", ip, r->ro.style->bad, text,
			r->ro.style->off,
			!strncmp(text, ".inst ", 6) ? "  (not known to the disassembler)" : "");
	else if (n >= 4)
		fprintf(r->ro.out,
			"  0x%" PRIx64 "  (not known to the disassembler: %02x %02x %02x %02x)\n",
			ip, code[0], code[1], code[2], code[3]);
	else
		fprintf(r->ro.out, "  0x%" PRIx64 "  (no code is known at this address)\n", ip);
	if (!auxtap_image_set_resolve(r->ro.images, r->facts.crash.pid, r->facts.crash.time, ip,
				      &loc) &&
	    loc.image && loc.nr_frames && (loc.frames[0].file || loc.frames[0].near_file)) {
		struct auxtap_frame *at = &loc.frames[0];
		const char *word = at->file ? "" : "near ";

		if (!at->file) {
			at->file = at->near_file;
			at->line = at->near_line;
		}
		fprintf(r->ro.out, "  %s%s:%u\n", word, report_text(&r->ro, at->file), at->line);
		report_source_line(&r->ro, &loc);
	}
}

const struct trace_family *report_family(const struct report *r)
{
	const struct trace_family *family = NULL;
	const uint64_t *priv;
	uint32_t type;
	size_t nr;

	if (r->raw)
		return trace_family_of_raw(r->raw->family);
	if (!r->pd)
		return trace_family_of_snapshot(r->path);
	if (!auxtap_perfdata_auxtrace_info(r->pd, &type, &priv, &nr))
		family = trace_family_of_type(type);
	return family ? family : trace_family_of_raw(NULL);
}

static bool has_trace(const void *ctx, int32_t tid)
{
	for (const struct thread_view *v = ctx; v; v = v->next) {
		if (v->tid == tid)
			return v->has_flow;
	}
	return false;
}

/* The thread may have been renamed after the last instruction that the trace shows. */
static void take_last_name(const struct report *r, struct thread_view *v)
{
	for (size_t i = 0; i < r->nr_names; i++) {
		if (r->names[i].tid == v->tid)
			snprintf(v->comm, sizeof(v->comm), "%s", r->names[i].comm);
	}
}

void report_coverage(struct report *r)
{
	const struct auxtap_regs *regs = r->facts.have_crash ? report_dying_regs(r) : NULL;
	const struct thread_view *view = r->facts.have_crash ? report_dying_view(r) : NULL;
	struct report_cover *cover = &r->cover;

	report_cover_file(cover, r->pd, r->facts.capture != NULL);
	/* if only some CPUs are traced, there is no trace of a thread on the others */
	cover->from_start =
		(cover->enable_on_exec || cover->of_threads) && !cover->of_unknown_offsets;
	cover->to_end = r->pd != NULL;
	cover->sum.threads = 0; /* the decoder also counts threads that have nothing but gaps */
	for (struct thread_view *v = r->threads; v; v = v->next) {
		cover->sum.threads += v->has_flow;
		if (r->facts.have_crash && v->has_flow &&
		    report_cover_has_end(cover, v->tid, v->last_time)) {
			v->ended_before = true;
			take_last_name(r, v);
		}
		cover->from_start = cover->from_start && v->tid >= 0 &&
				    report_cover_has_start(cover, v->tid, v->first_time);
		/* those of a crash were stopped by the recorder */
		cover->to_end =
			cover->to_end &&
			(r->facts.have_crash ||
			 (v->in_syscall && report_cover_has_end(cover, v->tid, v->last_time)));
	}
	cover->nr_without =
		report_cover_without_trace(cover, r->facts.have_crash ? r->facts.crash.pid : -1,
					   has_trace, r->threads);
	if (regs && view && view->flow_end_known && report_regs_ip(regs, &cover->death_ip)) {
		/* an ETM leaves out the bits that are always 0 where A64 code is */
		uint64_t left_out = regs->arch == AUXTAP_ARCH_AARCH64 ? 3 : 0;

		cover->flow_end = view->flow_end;
		cover->cut_short = (cover->flow_end ^ cover->death_ip) & ~left_out;
		cover->from_handler = report_ends_handler(&r->ro, regs, view->flow_end);
	} else if (r->facts.have_crash) {
		cover->to_end = false;
	}
	cover->library = trace_family_library(report_family(r));
	cover->branches_only = !cover->library;
}

static void print_coverage(const struct report *r)
{
	title(r, "What the trace covers");
	report_cover_print(&r->ro, &r->facts, &r->cover);
}

bool report_thread_ip(const struct thread_view *v, const struct auxtap_regs *regs, uint64_t *ip)
{
	uint64_t next;

	*ip = v->last_ip;
	if (!regs || !report_regs_ip(regs, &next))
		return v->has_flow;
	/* in a system call they are those for the next instruction, which it may never execute */
	if (!v->has_flow || !v->in_syscall || !v->flow_end_known || next != v->flow_end)
		*ip = next;
	return true;
}

/* Prints what the thread executed; regs: its registers when the program died, or NULL. */
static void print_thread(const struct report *r, const struct thread_view *v,
			 const struct auxtap_regs *regs)
{
	uint64_t ip;
	const bool known = report_thread_ip(v, regs, &ip);

	if (v->has_flow)
		fprintf(r->ro.out, "%12" PRIu64 " instructions, last in ", v->nr_insns);
	else
		fprintf(r->ro.out, "no instructions are known%s", known ? "; it was in " : "");
	if (known)
		print_location(r, ip);
	if (v->ended_before)
		fputs("; it had ended", r->ro.out);
	fputc('\n', r->ro.out);
}

static int by_tid(const void *a, const void *b)
{
	const struct thread_view *x = *(struct thread_view *const *)a;
	const struct thread_view *y = *(struct thread_view *const *)b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* The views are in the order of the last event of each; without memory they stay so. */
void report_sort_threads(struct report *r)
{
	struct thread_view **all, *v;
	size_t nr = 0;

	for (v = r->threads; v; v = v->next)
		nr++;
	all = malloc((nr + 1) * sizeof(*all));
	if (!all)
		return;
	nr = 0;
	for (v = r->threads; v; v = v->next) {
		v->rank = nr; /* newest first */
		all[nr++] = v;
	}
	all[nr] = NULL;
	qsort(all, nr, sizeof(*all), by_tid);
	r->threads = all[0];
	for (size_t i = 0; i < nr; i++)
		all[i]->next = all[i + 1];
	free(all);
}

const struct report_thread *report_find_thread(const struct report *r, int32_t tid)
{
	const struct report_thread *found = NULL;

	for (size_t i = 0; i < r->facts.nr_threads; i++)
		if (r->facts.threads[i].record.tid == tid)
			found = &r->facts.threads[i];
	return found;
}

bool report_has_thread(const struct report *r, const struct thread_view *v)
{
	return v->tid >= 0 && (!r->facts.have_crash || v->pid == r->facts.crash.pid);
}

/* Prints the last calls of the thread that died, to compare the times of the others with. */
static void print_dead_thread(const struct report *r, const struct thread_view *v)
{
	if (!v || !v->has_flow)
		return;
	fprintf(r->ro.out, "  %-16s %6d  its tree of calls is above\n",
		report_text(&r->ro, r->facts.crash.comm), v->tid);
	report_last_calls_print(&r->ro, v->calls, REPORT_LAST_CALLS);
}

static bool has_times(const struct report *r)
{
	for (const struct thread_view *v = r->threads; v && r->ro.time; v = v->next)
		if (v->last_time)
			return true;
	return false;
}

static void print_threads(const struct report *r, int32_t but)
{
	const struct thread_view *dead = NULL;
	bool any = false;

	for (const struct thread_view *v = r->threads; v; v = v->next) {
		const struct report_thread *thread = report_find_thread(r, v->tid);

		if (v->tid == but)
			dead = v;
		if (v->tid == but || !report_has_thread(r, v))
			continue;
		if (!any)
			title(r, but >= 0 ? "The other threads" : "Threads");
		if (!any && but >= 0 && has_times(r))
			fprintf(r->ro.out,
				"  -N: called at most N ns before the %s; of several calls the last\n",
				report_is_user_snapshot(r) ? "snapshot" : "death");
		any = true;
		fprintf(r->ro.out, "  %-16s %6d  ",
			report_text(&r->ro, thread ? thread->record.comm : v->comm), v->tid);
		print_thread(r, v, thread ? &thread->record.regs : NULL);
		if (but >= 0 && v->rank <= REPORT_THREADS_WITH_CALLS)
			report_last_calls_print(&r->ro, v->calls, REPORT_LAST_CALLS);
	}
	if (any && but >= 0)
		print_dead_thread(r, dead);
}

/* The process did not die: the user asked for a snapshot of the running program. */
static void print_user_snapshot(const struct report *r)
{
	const struct auxtap_crash *c = &r->facts.crash;

	fprintf(r->ro.out,
		"%s%s (pid %d) was interrupted%s: a snapshot was asked for; it did not die\n",
		r->ro.style->title, report_text(&r->ro, c->comm), c->pid, r->ro.style->off);
}

static void print_flow(struct report *r, const struct report_death *death)
{
	const struct auxtap_crash *c = &r->facts.crash;
	const bool is_known = !(c->flags & AUXTAP_CRASH_EMULATOR_CRASHED);
	const char *name = fault_signal_name(c->signo);
	char end[64];

	snprintf(end, sizeof(end), "%s here%s",
		 report_is_user_snapshot(r) ? "interrupted" :
		 !is_known		    ? "last traced" :
		 name			    ? name :
					      "died",
		 death->unloaded ? " (unloaded)" : "");
	title(r, "The calls that led there");
	if (!death->view) {
		fprintf(r->ro.out, "  thread %d left no trace in this file\n", c->tid);
		return;
	}
	if (death->out_of_memory)
		fprintf(r->ro.out, "  (out of memory)\n");
	report_tree_print(&r->ro, death->view->calls, r->nr_calls, end);
	if (death->before)
		report_branches_print(&r->ro, death->before, r->nr_branches, death->what, NULL,
				      false);
	else
		report_branches_print(&r->ro, &death->view->branches, r->nr_branches, NULL,
				      !is_known ? "trace end" :
				      name	? name :
				      c->signo	? "signal" :
						  NULL,
				      death->unloaded);
}

static void print_crash(struct report *r)
{
	const struct auxtap_regs *regs;
	struct report_death death;

	report_death_explain(r, &death);
	report_coverage(r);
	report_sort_threads(r);
	regs = death.head.regs;
	if (report_is_user_snapshot(r))
		print_user_snapshot(r);
	else
		report_headline_print(&r->ro, &r->facts, &death.head);
	if (report_death_has_insn(&death))
		print_insn(r, &death);
	if (regs) {
		title(r, "Registers");
		report_regs_print(r->ro.out, regs);
		if (r->facts.nr_overruns) {
			title(r, "Heap corruption");
			report_overruns_print(&r->ro, &r->facts, regs);
		}
		if (r->facts.nr_blocks) {
			title(r, "Memory involved");
			report_blocks_print(&r->ro, &r->facts, regs);
		}
		title(r, "Backtrace");
		report_frames_print(&r->ro, &r->facts, &death.frames);
		if (death.view && !r->cover.cut_short)
			report_outer_print(&r->ro, &r->facts, death.view->calls, &death.frames);
	}
	print_flow(r, &death);
	print_coverage(r);
	print_threads(r, r->facts.crash.tid);
	report_images_print(&r->ro, &r->facts);
	report_next_print(r);
	report_memory_print(&r->ro, &r->facts);
}

static void print_overview(struct report *r)
{
	report_coverage(r);
	report_sort_threads(r);
	fprintf(r->ro.out, "%s%s%s: no crash in this file\n", r->ro.style->title,
		report_text(&r->ro, r->path), r->ro.style->off);
	title(r, "Hottest functions");
	report_functions_print(r);
	report_trees_print(r);
	print_coverage(r);
	print_threads(r, -1);
	report_images_print(&r->ro, &r->facts);
	report_next_print(r);
}

/* Decodes and prints; 0, or the decoder's last result. */
static int run(struct report *r, const struct auxtap_report_opts *opts, FILE *out,
	       struct auxtap_error *err)
{
	struct report_text_ring text_ring = {.next = 0};
	int ret;

	r->nr_branches = opts->nr_branches ? opts->nr_branches : 16;
	r->nr_calls = opts->nr_calls;
	ret = add_living_threads(r) ? auxtap_error_set(err, -ENOMEM, r->path, "out of memory") :
				      decode_all(r, err);
	if (ret < 0 && !r->pd && !r->cover.sum.bytes)
		return ret; /* the file could not be opened */
	r->ro.out = out;
	r->ro.text_ring = &text_ring;
	/* JSON has all names in full */
	r->ro.names = opts->format == AUXTAP_REPORT_JSON ? NULL : report_names_new();
	r->ro.style = opts->colour ? &report_coloured : &report_plain;
	r->ro.width = opts->width ? opts->width : 100;
	r->ro.pid = r->facts.have_crash ? r->facts.crash.pid : (r->threads ? r->threads->pid : -1);
	r->ro.time = r->facts.have_crash ? r->facts.crash.time : r->cover.sum.time_end;
	if (opts->format == AUXTAP_REPORT_JSON)
		report_json_print(r);
	else if (r->facts.have_crash)
		print_crash(r);
	else
		print_overview(r);
	if (!ret && ferror(out))
		ret = auxtap_error_set(err, -EIO, "report", "it could not be written");
	while (r->threads) {
		struct thread_view *next = r->threads->next;

		call_tree_free(r->threads->calls);
		callstack_free(&r->threads->returns.calls);
		free(r->threads);
		r->threads = next;
	}
	report_names_free(r->ro.names);
	free(r->execs);
	free(r->names);
	free(r->map_times);
	report_cover_free(&r->cover);
	return ret;
}

static int take_opts(struct auxtap_report_opts *known, const struct auxtap_report_opts *given,
		     struct auxtap_error *err)
{
	int ret =
		sized_copy_in(known, sizeof(*known), SIZED_UP_TO(struct auxtap_report_opts, images),
			      given, "struct auxtap_report_opts", err);

	if (ret || known->format == AUXTAP_REPORT_TEXT || known->format == AUXTAP_REPORT_JSON)
		return ret;
	return auxtap_error_set(err, -EINVAL, "struct auxtap_report_opts", "unknown format %d",
				(int)known->format);
}

int auxtap_report_raw(const char *path, const struct auxtap_raw_opts *raw,
		      struct auxtap_image_set *images, const struct auxtap_report_opts *opts,
		      FILE *out, struct auxtap_error *err)
{
	struct auxtap_report_opts known;
	struct auxtap_raw_opts known_raw;
	const struct auxtap_trace_family *family;
	struct report r = {.path = path, .raw = &known_raw, .ro = {.images = images}};
	int ret = take_opts(&known, opts, err);

	if (!ret)
		ret = raw_opts_copy_in(&known_raw, raw, err);
	if (ret)
		return ret;
	opts = &known;
	raw = &known_raw;
	family = auxtap_family_of_raw(raw->family);
	if (family && family->samples)
		return report_samples(NULL, path, raw, images, opts, out, err);
	return run(&r, opts, out, err);
}

int auxtap_report_snapshot(const char *dir, struct auxtap_image_set *images,
			   const struct auxtap_report_opts *opts, FILE *out,
			   struct auxtap_error *err)
{
	struct report r = {.path = dir, .ro = {.images = images}};
	struct auxtap_report_opts known;
	int ret = take_opts(&known, opts, err);

	return ret ? ret : run(&r, &known, out, err);
}

int report_recording(struct auxtap_perfdata *pd, struct auxtap_image_set *images,
		     const struct auxtap_report_opts *opts, FILE *out, struct auxtap_error *err)
{
	struct report r = {.pd = pd, .path = auxtap_perfdata_path(pd), .ro = {.images = images}};
	const struct auxtap_trace_family *family = auxtap_family_of_file(pd);
	int ret;

	/* a file that was read from a pipe may belong to any user */
	if (!auxtap_perfdata_owner(pd, &r.ro.owner))
		r.ro.owner = (uid_t)-1;
	ret = report_facts_read(&r.facts, pd, err);
	if (ret < 0)
		goto out_facts;
	image_set_set_recording(r.ro.images, pd);
	if (family && family->samples) {
		ret = report_samples(pd, r.path, NULL, r.ro.images, opts, out, err);
	} else {
		const struct auxtap_regs *regs = report_dying_regs(&r);

		if (r.facts.have_crash && regs && report_is_abort(&r.facts.crash))
			report_abort_calls(&r.facts, regs, opts->images, pd, &r.at_abort);
		ret = scan_records(&r, err);
		if (!ret)
			ret = run(&r, opts, out, err);
	}
	if (!ret && auxtap_image_set_no_memory(r.ro.images)) {
		ret = auxtap_error_set(
			err, -ENOMEM, r.path,
			"out of memory or descriptors: images, functions or lines are missing");
		auxtap_error_hint(err, "allow more (ulimit -v, ulimit -n)");
	}
out_facts:
	report_cover_free(&r.cover);
	report_facts_free(&r.facts);
	return ret;
}

int auxtap_report(struct auxtap_perfdata *pd, const struct auxtap_report_opts *opts, FILE *out,
		  struct auxtap_error *err)
{
	struct auxtap_image_set *images;
	struct auxtap_report_opts known;
	int ret = take_opts(&known, opts, err);

	if (ret)
		return ret;
	ret = auxtap_image_set_new(&images, known.images, err);
	if (ret < 0)
		return ret;
	ret = report_recording(pd, images, &known, out, err);
	auxtap_image_set_free(images);
	return ret;
}
