// SPDX-License-Identifier: BSD-2-Clause
/*
 * The report: what died and why, the faulting instruction, backtrace, the calls and branches
 * that led there, what the trace covers, the other threads, images, what to type next.
 * For a file without a crash: an overview of the same.
 */
#include "decode/flow/decoder_private.h"
#include "decode/image/image_private.h"
#include "util/sized.h"
#include "util/vector.h"
#include "report.h"
#include "fault.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* A process became another program. */
struct exec_event {
	int32_t tid;
	bool done;
	uint64_t time;
	char comm[16];
};

/* What was seen of one thread. */
struct thread_view {
	struct thread_view *next;
	int32_t pid, tid;
	char comm[32];
	const char *comm_seen;
	struct call_tree *calls;
	struct report_code code; /* what 'calls' asks for */
	struct report_branches branches;
	struct report_returns returns;
	uint64_t nr_insns, first_time, last_time, last_ip;
	size_t next_map;   /* of report->map_times */
	uint64_t flow_end; /* where it would go on, if flow_end_known */
	bool has_flow;	   /* more than gaps */
	bool ended_before; /* before the snapshot, which keeps nothing of it */
	bool flow_end_known;
	bool in_syscall; /* the flow ends there, as that of a thread that exits */
};

struct report {
	struct report_facts facts;
	struct report_out ro;
	struct auxtap_perfdata *pd; /* NULL: a raw trace, or the directory of a snapshot */
	const char *path;
	const struct auxtap_raw_opts *raw;
	struct report_cover cover;
	struct thread_view *threads;
	unsigned int nr_branches, nr_calls;
	struct exec_event *execs;
	size_t nr_execs, max_execs;
	uint64_t *map_times; /* of records of mappings, ascending */
	size_t nr_maps, max_maps;
};

static struct thread_view *view_of(struct report *r, const struct auxtap_event *ev)
{
	struct thread_view **at = &r->threads;

	for (; *at; at = &(*at)->next) {
		struct thread_view *found = *at;

		if (found->tid != ev->tid)
			continue;
		*at = found->next; /* most recent first: the search stays short */
		found->next = r->threads;
		r->threads = found;
		return found;
	}
	*at = calloc(1, sizeof(**at));
	if (!*at)
		return NULL;
	(*at)->pid = ev->pid;
	(*at)->tid = ev->tid;
	(*at)->code = (struct report_code){.images = r->ro.images, .pid = ev->pid};
	(*at)->calls = call_tree_new(&report_code_ops, &(*at)->code);
	return (*at)->calls ? *at : NULL;
}

/* Did the thread's process become another program before it went on here? */
static int note_exec(struct report *r, struct thread_view *view, const struct auxtap_event *ev)
{
	for (size_t i = 0; i < r->nr_execs; i++) {
		struct exec_event *exec = &r->execs[i];
		char text[40];

		if (exec->done || exec->tid != ev->tid || exec->time > ev->time)
			continue;
		exec->done = true;
		if (!view->has_flow)
			continue; /* before the trace, or in a gap that it begins with */
		snprintf(text, sizeof(text), "exec: becomes %s", exec->comm);
		return call_tree_exec(view->calls, text);
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
 * Has anything been mapped since the thread's last event? Then what the tree of calls knows of the
 * code may not be true any more.
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

static int scan_records(struct report *r, struct auxtap_error *err)
{
	struct auxtap_record rec = {.size = sizeof(rec)};

	while (auxtap_perfdata_next_sorted(r->pd, &rec, NULL) == 1) {
		struct exec_event exec = {0};

		if (report_cover_record(&r->cover, &rec))
			return auxtap_error_set(err, -ENOMEM, r->path, "out of memory");
		if ((rec.header->type == PERF_RECORD_MMAP ||
		     rec.header->type == PERF_RECORD_MMAP2) &&
		    note_map(r, rec.time))
			return auxtap_error_set(err, -ENOMEM, r->path, "out of memory");
		if (rec.header->type != PERF_RECORD_COMM ||
		    !(rec.header->misc & PERF_RECORD_MISC_COMM_EXEC) || rec.body_size < 9)
			continue;
		memcpy(&exec.tid, (const char *)(rec.header + 1) + 4, sizeof(exec.tid));
		exec.time = rec.time;
		snprintf(exec.comm, sizeof(exec.comm), "%.*s", (int)rec.body_size - 8,
			 (const char *)(rec.header + 1) + 8);
		if (vector_grow(r->execs, r->nr_execs, r->max_execs))
			return auxtap_error_set(err, -ENOMEM, r->path, "out of memory");
		r->execs[r->nr_execs++] = exec;
	}
	auxtap_perfdata_rewind_sorted(r->pd);
	return 0; /* the decoder reports damage */
}

/* Where the thread is after ev, if that is known. */
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
		if (ev->kind == AUXTAP_BRANCH_SYSCALL)
			view->flow_end = ev->ip + ev->insn_size;
		else
			view->flow_end = ev->addr;
		view->flow_end_known = ev->kind == AUXTAP_BRANCH_SYSCALL || ev->has_addr;
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
	struct thread_view *view = view_of(r, ev);

	if (!view)
		return -ENOMEM;
	if (ev->comm && ev->comm != view->comm_seen) {
		view->comm_seen = ev->comm; /* the decoder's, and constant */
		snprintf(view->comm, sizeof(view->comm), "%s", ev->comm);
	}
	if (ev->time) {
		view->first_time = view->first_time ? view->first_time : ev->time;
		view->last_time = view->code.time = ev->time;
	}
	view->nr_insns += ev->nr_insns;
	follow_maps(r, view, ev);
	report_branches_note(&view->branches, ev);
	if (report_returns_note(&view->returns, ev))
		return -ENOMEM;
	if ((ev->type == AUXTAP_EVENT_TRACE && ev->trace_on) ||
	    (ev->type != AUXTAP_EVENT_GAP && !view->has_flow)) {
		int ret = note_exec(r, view, ev);

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
	r->cover.sum.size = sizeof(r->cover.sum);
	auxtap_decoder_summary(dec, &r->cover.sum);
	auxtap_decoder_close(dec);
	return ret;
}

static void title(const struct report *r, const char *text)
{
	fprintf(r->ro.out, "\n%s%s%s\n", r->ro.style->title, text, r->ro.style->off);
}

static const struct auxtap_regs *dying_regs(const struct report *r)
{
	for (size_t i = 0; i < r->facts.nr_threads; i++) {
		if (r->facts.threads[i].note.tid == r->facts.crash.tid)
			return &r->facts.threads[i].note.regs;
	}
	return NULL;
}

static void print_location(const struct report *r, uint64_t addr)
{
	report_print_location(&r->ro, addr);
}

/* Frames of the dead thread, and which of them to blame first. */
struct backtrace {
	struct unwind_frames frames;
	int culprit; /* -1: none */
};

/* The innermost frame that is the program's own. */
static int find_culprit(const struct report *r, const struct backtrace *bt, int from)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	for (int i = from; i < bt->frames.nr; i++) {
		if (!auxtap_image_set_resolve(r->ro.images, r->facts.crash.pid, r->facts.crash.time,
					      bt->frames.pcs[i], &loc) &&
		    loc.image && !report_is_runtime(loc.image) && !report_is_helper(&loc))
			return i;
	}
	return -1;
}

/* ip: of the instruction that the signal is about, where regs are known. */
static void print_headline(const struct report *r, struct fault *fault,
			   const struct auxtap_regs *regs, uint64_t ip, const struct backtrace *bt,
			   const struct thread_view *view)
{
	const struct auxtap_crash *c = &r->facts.crash;
	const struct report_branch *b = view ? report_branches_last(&view->branches) : NULL;
	const char *name = fault_signal_name(c->signo);
	/* an ETM leaves out the bits that are always 0 where A64 code is */
	uint64_t left_out = regs && regs->arch == AUXTAP_ARCH_AARCH64 ? 3 : 0;
	char number[32];
	FILE *out = r->ro.out;

	snprintf(number, sizeof(number), "signal %d", c->signo);
	fprintf(out, "%s%s (pid %d", r->ro.style->bad, report_text(&r->ro, c->comm), c->pid);
	if (c->tid != c->pid)
		fprintf(out, ", thread %d", c->tid);
	fprintf(out, ") died of %s: %s%s", name ? name : number, fault_signal_text(c->signo),
		r->ro.style->off);
	if (b && b->to != (ip & ~left_out))
		b = NULL;
	if (regs)
		report_jump_explain(&r->ro, &r->facts, regs, view ? &view->returns : NULL, b, ip,
				    fault);
	if (fault->bad_ip) {
		/* where it came from: the trace knows, whatever became of the stack */
		if (b) {
			fputs(", from ", out);
			print_location(r, b->from);
		} else if (view && view->flow_end_known) {
			fputs(", last traced in ", out);
			print_location(r, view->flow_end);
		} else if (bt->culprit > 0) {
			fputs(", from ", out);
			print_location(r, bt->frames.pcs[bt->culprit]);
		}
	} else if (regs) {
		fputs(" in ", out);
		print_location(r, ip);
		if (bt->culprit > 0) {
			/* library code between them, and calls that left no frame */
			fputs(bt->culprit > 1 ? ",\n  reached from " : ",\n  called from ", out);
			print_location(r, bt->frames.pcs[bt->culprit]);
		}
	}
	fputc('\n', out);
	if (fault->why[0])
		fprintf(out, "  %s\n", report_text(&r->ro, fault->why));
	if (c->flags & AUXTAP_CRASH_EMULATOR)
		fprintf(out, "  This is a limit of the emulator, not the program's fault: run it "
			     "with --source ptrace or on trace hardware.\n");
	if (c->limit_bytes)
		fprintf(out,
			"  auxtap ended it: the processes of this session used more than %llu MiB, "
			"the limit that --max-memory sets.\n",
			(unsigned long long)c->limit_bytes >> 20);
	if (c->flags & AUXTAP_CRASH_NO_MEMORY)
		fprintf(out,
			"  The program's memory could not be read: the kernel refused "
			"process_vm_readv and /proc/PID/mem. The snapshot has no code and no stack.\n");
	if (c->frame_signo && c->signo == SIGSEGV) {
		const char *refused = fault_signal_name(c->frame_signo);

		fputs("  The program's own handler for ", out);
		if (refused)
			fputs(refused, out);
		else
			fprintf(out, "signal %d", c->frame_signo);
		fputs(" could not be started: the kernel could not write its frame to the stack.\n",
		      out);
	}
	if (c->flags & AUXTAP_CRASH_HANDLED_FAULT) {
		const char *first = fault_signal_name(c->fault_signo);
		struct fault first_fault;

		fprintf(out, "  Before, a %s at ", first ? first : "fault");
		print_location(r, c->fault_ip);
		fputs(" went to the program's own handler.\n", out);
		if (regs && report_first_fault(&r->ro, &r->facts, regs, &first_fault))
			fprintf(out,
				"  With the registers below that instruction faults again: %s\n",
				report_text(&r->ro, first_fault.why));
	}
}

/* Code at ip: of its image, else what the snapshot has of the memory. How many bytes. */
static size_t read_code(const struct report *r, uint64_t ip, uint8_t *code, size_t size)
{
	ssize_t n = auxtap_image_set_read(r->ro.images, r->facts.crash.pid, r->facts.crash.time, ip,
					  code, size);

	if (n > 0)
		return (size_t)n;
	while (size && !report_facts_memory(&r->facts, ip, code, size))
		size--;
	return size;
}

static void print_insn(const struct report *r, enum auxtap_isa isa, uint64_t ip)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	uint8_t code[16];
	char text[160];
	size_t n = read_code(r, ip, code, sizeof(code));

	title(r, "Faulting instruction");
	if (n > 0 && auxtap_disassemble_as(r->ro.images, isa, ip, code, n, text, sizeof(text)) > 0)
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
	    loc.image && loc.nr_frames && loc.frames[0].file) {
		fprintf(r->ro.out, "  %s:%u\n", report_text(&r->ro, loc.frames[0].file),
			loc.frames[0].line);
		report_source_line(&r->ro, &loc);
	}
}

static struct thread_view *dying_view(const struct report *r)
{
	for (struct thread_view *v = r->threads; v; v = v->next) {
		if (v->tid == r->facts.crash.tid)
			return v;
	}
	return NULL;
}

/* Of a file without trace, or with none that is decoded, the default of bare streams. */
static const struct trace_family *family_of(const struct report *r)
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

static void compute_coverage(struct report *r)
{
	struct report_cover *cover = &r->cover;

	report_cover_file(cover, r->pd, r->facts.capture != NULL);
	/* Of single CPUs: what a thread does on others leaves no trace. */
	cover->from_start =
		(cover->enable_on_exec || cover->of_threads) && !cover->of_unknown_offsets;
	cover->to_end = r->pd != NULL;
	cover->sum.threads = 0; /* the decoder counts those with nothing but gaps, too */
	for (const struct thread_view *v = r->threads; v; v = v->next) {
		cover->sum.threads += v->has_flow;
		cover->from_start = cover->from_start && v->tid >= 0 &&
				    report_cover_born(cover, v->tid, v->first_time);
		/* those of a crash were stopped by the recorder */
		cover->to_end =
			cover->to_end &&
			(r->facts.have_crash ||
			 (v->in_syscall && report_cover_ended(cover, v->tid, v->last_time)));
	}
	cover->nr_without =
		report_cover_without_trace(cover, r->facts.have_crash ? r->facts.crash.pid : -1,
					   has_trace, r->threads);
}

static void print_coverage(struct report *r)
{
	const struct auxtap_regs *regs = r->facts.have_crash ? dying_regs(r) : NULL;
	const struct thread_view *view = r->facts.have_crash ? dying_view(r) : NULL;
	struct report_cover *cover = &r->cover;

	compute_coverage(r);
	if (regs && view && view->flow_end_known && report_regs_ip(regs, &cover->death_ip)) {
		/* an ETM leaves out the bits that are always 0 where A64 code is */
		uint64_t left_out = regs->arch == AUXTAP_ARCH_AARCH64 ? 3 : 0;

		cover->flow_end = view->flow_end;
		cover->cut_short = (cover->flow_end ^ cover->death_ip) & ~left_out;
		cover->from_handler = report_ends_handler(&r->ro, regs, view->flow_end);
	} else if (r->facts.have_crash) {
		cover->to_end = false;
	}
	cover->library = trace_family_library(family_of(r));
	cover->branches_only = !cover->library;
	title(r, "What the trace covers");
	report_cover_print(&r->ro, &r->facts, cover);
}

/* What it executed; regs: where it was when the program died, or NULL. */
static void print_thread(const struct report *r, const struct thread_view *v,
			 const struct auxtap_regs *regs)
{
	bool known = v->has_flow;
	uint64_t ip = v->last_ip;

	if (v->has_flow)
		fprintf(r->ro.out, "%12" PRIu64 " instructions, last in ", v->nr_insns);
	else
		fputs("no instructions are known", r->ro.out);
	if (regs && report_regs_ip(regs, &ip)) {
		fputs(known ? "" : "; it was in ", r->ro.out);
		known = true;
	}
	if (known)
		print_location(r, ip);
	else if (v->ended_before)
		fputs("; it had ended", r->ro.out);
	fputc('\n', r->ro.out);
}

static void print_threads(const struct report *r, int32_t but)
{
	bool any = false;

	for (const struct thread_view *v = r->threads; v; v = v->next) {
		const struct auxtap_regs *regs = NULL;
		const char *comm = v->comm;

		if (v->tid == but || v->tid < 0)
			continue;
		if (r->facts.have_crash && v->pid != r->facts.crash.pid)
			continue;
		if (!any)
			title(r, but >= 0 ? "The other threads" : "Threads");
		any = true;
		for (size_t i = 0; i < r->facts.nr_threads; i++) {
			if (r->facts.threads[i].note.tid != v->tid)
				continue;
			regs = &r->facts.threads[i].note.regs;
			comm = r->facts.threads[i].note.comm;
		}
		fprintf(r->ro.out, "  %-16s %6d  ", report_text(&r->ro, comm), v->tid);
		print_thread(r, v, regs);
	}
}

static void print_next(const struct report *r)
{
	const char *path = report_text(&r->ro, r->path);

	if (r->raw)
		return; /* its options would have to be said again */
	title(r, "Next");
	fprintf(r->ro.out, "  trace: %s\n", path);
	if (r->facts.have_crash)
		fprintf(r->ro.out,
			"  auxtap decode --tid %d --events insn -F ip,sym,srcline,asm --last 100 %s\n",
			r->facts.crash.tid, path);
	else
		fprintf(r->ro.out, "  auxtap decode --events call,return --last 100 %s\n", path);
	if (!r->pd)
		return; /* perf reads no directories with a CoreSight snapshot */
	fprintf(r->ro.out, "  perf script -i %s --itrace=b -F tid,%sip,sym,addr\n", path,
		family_of(r)->perf_has_times ? "time," : "");
}

/* Where the instruction is that the signal is about: for a trap of x86 it is before ip. */
static uint64_t insn_of_signal(const struct report *r, const struct auxtap_regs *regs, uint64_t ip)
{
	const struct auxtap_crash *c = &r->facts.crash;
	uint8_t before[2];

	if (regs->arch != AUXTAP_ARCH_X86_64 || c->signo != SIGTRAP ||
	    (c->si_code != SI_KERNEL && c->si_code != TRAP_BRKPT) ||
	    auxtap_image_set_read(r->ro.images, c->pid, c->time, ip - sizeof(before), before,
				  sizeof(before)) != sizeof(before))
		return ip;
	return fault_x86_trap_ip(before, ip);
}

static void print_crash(struct report *r)
{
	const struct auxtap_crash *c = &r->facts.crash;
	const struct auxtap_regs *regs = dying_regs(r);
	struct thread_view *view = dying_view(r);
	struct backtrace bt = {.culprit = -1};
	struct fault fault = {0};
	struct auxtap_regs trapped;
	uint64_t ip = 0;
	bool unloaded;
	char end[64];

	if (regs && !report_regs_ip(regs, &ip))
		regs = NULL;
	if (regs) {
		uint8_t insn[15];

		ip = insn_of_signal(r, regs, ip);
		fault_explain(&r->facts, regs, insn, read_code(r, ip, insn, sizeof(insn)), &fault);
		trapped = *regs;
		if (c->signo == SIGTRAP && fault.has_insn) {
			/* it may be the last one of its function: the next one is of another */
			report_regs_move(&trapped, ip);
			fault.has_insn = regs->arch == AUXTAP_ARCH_AARCH64 || ip != fault.insn_ip;
			fault.insn_ip = ip;
		}
		unwind_backtrace(&r->facts, r->ro.images, &trapped,
				 view ? view->returns.last_call : 0,
				 view ? report_branches_jump_to(&view->branches, ip) : 0,
				 &bt.frames);
		bt.culprit = find_culprit(r, &bt, 0);
		if (c->signo == SIGABRT && (c->si_code == SI_TKILL || c->sender_pid == c->pid))
			report_abort(&r->ro, bt.frames.pcs, bt.frames.nr, fault.why,
				     sizeof(fault.why));
	}
	print_headline(r, &fault, regs, fault.has_insn ? fault.insn_ip : ip, &bt, view);
	if (regs && fault.has_insn && !fault.bad_ip)
		print_insn(r, regs->arch == AUXTAP_ARCH_AARCH64 ? AUXTAP_ISA_A64 : AUXTAP_ISA_X86,
			   fault.insn_ip);
	if (regs) {
		title(r, "Registers");
		report_regs_print(r->ro.out, regs);
		title(r, "Backtrace");
		report_frames_print(&r->ro, &r->facts, &bt.frames);
	}
	unloaded = regs && report_was_unloaded(&r->ro, &r->facts, ip);
	snprintf(end, sizeof(end), "%s here%s",
		 fault_signal_name(c->signo) ? fault_signal_name(c->signo) : "died",
		 unloaded ? " (unloaded)" : "");
	title(r, "The calls that led there");
	if (view) {
		if (regs && call_tree_died(view->calls, fault.has_insn ? fault.insn_ip : ip))
			fprintf(r->ro.out, "  (out of memory)\n");
		report_calls_print(&r->ro, view->calls, r->nr_calls, end);
		if (regs && regs->arch == AUXTAP_ARCH_AARCH64)
			report_branches_complete(&view->branches, ip);
		report_branches_print(&r->ro, &view->branches, r->nr_branches,
				      r->facts.have_crash ? c->signo : 0, unloaded);
	} else {
		fprintf(r->ro.out, "  thread %d left no trace in this file\n", c->tid);
	}
	print_coverage(r);
	print_threads(r, c->tid);
	report_images_print(&r->ro, &r->facts);
	print_next(r);
}

static void print_overview(struct report *r)
{
	fprintf(r->ro.out, "%s%s%s: no crash in this file\n", r->ro.style->title,
		report_text(&r->ro, r->path), r->ro.style->off);
	print_coverage(r);
	print_threads(r, -1);
	report_images_print(&r->ro, &r->facts);
	print_next(r);
}

/* Decodes and prints; 0, or the decoder's last result. */
static int run(struct report *r, const struct auxtap_report_opts *opts, FILE *out,
	       struct auxtap_error *err)
{
	struct report_clean clean = {.next = 0};
	int ret;

	r->nr_branches = opts->nr_branches ? opts->nr_branches : 16;
	r->nr_calls = opts->nr_calls;
	ret = decode_all(r, err);
	if (ret < 0 && !r->pd && !r->cover.sum.bytes)
		return ret; /* it was not opened */
	r->ro.out = out;
	r->ro.clean = &clean;
	r->ro.style = opts->colour ? &report_coloured : &report_plain;
	r->ro.width = opts->width ? opts->width : 100;
	r->ro.pid = r->facts.have_crash ? r->facts.crash.pid : (r->threads ? r->threads->pid : -1);
	r->ro.time = r->facts.have_crash ? r->facts.crash.time : r->cover.sum.time_end;
	if (r->facts.have_crash)
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
	free(r->execs);
	free(r->map_times);
	report_cover_free(&r->cover);
	return ret;
}

static int take_opts(struct auxtap_report_opts *known, const struct auxtap_report_opts *given,
		     struct auxtap_error *err)
{
	return sized_take(known, sizeof(*known), SIZED_UP_TO(struct auxtap_report_opts, sysroot),
			  given, "struct auxtap_report_opts", err);
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
		ret = raw_opts_take(&known_raw, raw, err);
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

int auxtap_report(struct auxtap_perfdata *pd, const struct auxtap_report_opts *opts, FILE *out,
		  struct auxtap_error *err)
{
	struct report r = {.pd = pd, .path = auxtap_perfdata_path(pd)};
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_report_opts known;
	const struct auxtap_trace_family *family = auxtap_family_of_file(pd);
	int ret = take_opts(&known, opts, err);

	if (ret)
		return ret;
	opts = &known;
	image_opts.sysroot = opts->sysroot;
	image_opts.vmlinux = opts->vmlinux;
	image_opts.kcore = opts->kcore;
	image_opts.debuginfod = opts->debuginfod;
	/* what came through a pipe may belong to any user */
	if (!auxtap_perfdata_owner(pd, &r.ro.owner))
		r.ro.owner = (uid_t)-1;
	ret = report_facts_read(&r.facts, pd, err);
	if (ret < 0)
		goto out_facts;
	ret = auxtap_image_set_new(&r.ro.images, &image_opts, err);
	if (ret < 0)
		goto out_facts;
	auxtap_image_set_of_file(r.ro.images, pd);
	if (family && family->samples) {
		ret = report_samples(pd, r.path, NULL, r.ro.images, opts, out, err);
	} else {
		ret = scan_records(&r, err);
		if (!ret)
			ret = run(&r, opts, out, err);
	}
	if (!ret && auxtap_image_set_no_memory(r.ro.images)) {
		ret = auxtap_error_set(
			err, -ENOMEM, r.path,
			"out of memory or descriptors: images, functions or lines are missing");
		auxtap_error_todo(err, "allow more (ulimit -v, ulimit -n)");
	}
	auxtap_image_set_free(r.ro.images);
out_facts:
	report_cover_free(&r.cover);
	report_facts_free(&r.facts);
	return ret;
}
