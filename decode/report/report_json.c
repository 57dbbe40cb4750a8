// SPDX-License-Identifier: BSD-2-Clause
/*
 * The report as JSON; docs/report-json.md is its schema. Unknown values are null. Names are not
 * shortened; json_text.c escapes their bytes.
 */
#include "report_json.h"
#include "decode/image/image_private.h"
#include "fault.h"
#include "perfdata/capture_lines.h"
#include "util/number.h"
#include "report.h"
#include "report_regs.h"
#include "report_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SOURCES 64

static void put_signal(struct json_out *j, const char *key, int signo, const char *text)
{
	json_out_open(j, key, '{');
	json_out_i64(j, "number", signo);
	json_out_text(j, "name", fault_signal_name(signo));
	json_out_text(j, "text", text);
	json_out_close(j, '}');
}

void report_json_signal(struct json_out *j, const char *key, int signo)
{
	put_signal(j, key, signo, fault_signal_text(signo));
}

void report_json_time(struct json_out *j, const char *key, uint64_t time)
{
	if (time)
		json_out_u64(j, key, time);
	else
		json_out_null(j, key);
}

static void put_source(struct report_json *json, const char *image,
		       const struct auxtap_frame *frame)
{
	struct json_out *j = &json->j;
	struct report_source source;

	if (!json->nr_sources)
		return;
	json->nr_sources--;
	if (!report_source_packed(&json->r->ro, frame, &source) &&
	    (json->r->ro.images->nr_packed ||
	     !report_source_read(&json->r->ro, image, frame, REPORT_SOURCE_AROUND, &source)))
		return;
	json_out_open(j, "source", '{');
	json_out_u64(j, "first_line", source.first);
	json_out_bool(j, "newer_than_program", source.newer);
	json_out_open(j, "lines", '[');
	for (unsigned int i = 0; i < source.nr; i++) {
		struct report_source_line *line = &source.lines[i];
		char text[sizeof(line->text) + 1];

		for (size_t k = 0; k < line->len; k++)
			text[k] =
				line->text[k] ? line->text[k] : '\x01'; /* NUL would end the text */
		text[line->len] = '\0';
		json_out_text(j, NULL, text);
	}
	json_out_close(j, ']');
	json_out_close(j, '}');
}

void report_json_place(struct report_json *json, const struct auxtap_location *loc,
		       unsigned int level, bool source)
{
	const struct auxtap_frame *frame = &loc->frames[level];
	struct json_out *j = &json->j;

	json_out_text(j, "function", frame->symbol);
	json_out_text(j, "file", frame->file);
	if (frame->file && frame->line)
		json_out_u64(j, "line", frame->line);
	else
		json_out_null(j, "line");
	json_out_bool(j, "inlined", frame->inlined);
	if (frame->near_file) {
		json_out_open(j, "near", '{');
		json_out_text(j, "file", frame->near_file);
		json_out_u64(j, "line", frame->near_line);
		json_out_close(j, '}');
	}
	if (source && frame->file)
		put_source(json, loc->image, frame);
}

void report_json_function(struct report_json *json, const char *key,
			  const struct auxtap_location *loc, unsigned int level, bool source)
{
	if (key)
		json_out_open(&json->j, key, '{');
	report_json_place(json, loc, level, source);
	json_out_text(&json->j, "image", loc->image);
	json_out_hex(&json->j, "image_offset", loc->image_off);
	if (key)
		json_out_close(&json->j, '}');
}

static void put_location(struct report_json *json, const struct report_out *ro, const char *key,
			 struct report_caller at, bool source)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	const uint64_t addr = at.pc;
	struct json_out *j = &json->j;
	int level = at.level;

	json_out_open(j, key, '{');
	json_out_hex(j, "address", addr + at.returns);
	if (level == REPORT_BY_JUMP || level == REPORT_BY_ANY_JUMP)
		json_out_bool(j, "tail_call", true);
	if (level == REPORT_REPLACED)
		json_out_bool(j, "replaced", true);
	else if (!auxtap_image_set_resolve(ro->images, ro->pid, ro->time, addr, &loc) &&
		 loc.image) {
		if (level < 0 && level != REPORT_BY_JUMP)
			image_set_entry_line(ro->images, ro->pid, ro->time, addr, &loc);
		if (level < 0 || (unsigned int)level >= loc.nr_frames)
			level = (int)loc.nr_frames - 1;
		loc.image_off += at.returns;
		report_json_function(json, NULL, &loc, (unsigned int)level, source);
	}
	json_out_close(j, '}');
}

void report_json_location(struct report_json *json, const struct report_out *ro, const char *key,
			  uint64_t addr, bool called)
{
	put_location(json, ro, key, (struct report_caller){.pc = addr, .level = called ? -1 : 0},
		     false);
}

void report_json_caller(struct report_json *json, const char *key, struct report_caller caller)
{
	put_location(json, &json->r->ro, key, caller, false);
}

static void put_insn(struct report_json *json, const struct report_death *death)
{
	const uint64_t ip = death->fault.insn_ip;
	const struct report *r = json->r;
	struct json_out *j = &json->j;
	uint8_t code[16];
	char text[160], hex[3];
	size_t n;
	int size;

	if (!report_death_has_insn(death)) {
		json_out_null(j, "instruction");
		return;
	}
	n = report_read_code(r, ip, code, sizeof(code));
	size = n ? auxtap_disassemble_as(r->ro.images, report_isa(death->head.regs), ip, code, n,
					 text, sizeof(text)) :
		   0;
	json_out_open(j, "instruction", '{');
	json_out_hex(j, "address", ip);
	json_out_text(j, "text", size > 0 || size == -ENOSYS ? text : NULL);
	json_out_open(j, "bytes", '[');
	for (int i = 0; i < size; i++) {
		snprintf(hex, sizeof(hex), "%02x", code[i]);
		json_out_text(j, NULL, hex);
	}
	json_out_close(j, ']');
	put_location(json, &r->ro, "location", (struct report_caller){.pc = ip}, true);
	json_out_close(j, '}');
}

/* Writes where the program was, and where it came from. */
static void put_where(struct report_json *json, const struct report_death *death)
{
	const struct report_headline *head = &death->head;
	const struct report_own_frame own_frame = head->own_frame;
	const struct report_out *ro = &json->r->ro;
	struct json_out *j = &json->j;

	if (head->regs)
		put_location(json, ro, "location", (struct report_caller){.pc = head->ip}, false);
	else
		json_out_null(j, "location");
	if (own_frame.frame >= 0 && own_frame.frame + own_frame.at.level + own_frame.tail > 0)
		put_location(json, ro, "called_from", own_frame.at, false);
	else
		json_out_null(j, "called_from");
	/* otherwise library code, or a call without a frame, is in between */
	json_out_bool(j, "called_directly",
		      own_frame.frame >= 0 && own_frame.frame + own_frame.at.level <= 1);
	if (head->regs && head->fault->bad_ip && head->last)
		put_location(json, ro, "came_from", (struct report_caller){.pc = head->last->from},
			     false);
	else
		json_out_null(j, "came_from");
	if (head->regs && head->fault->bad_ip && !head->last && head->flow_end_known)
		put_location(json, ro, "last_traced",
			     (struct report_caller){.pc = report_last_traced(head)}, false);
	else
		json_out_null(j, "last_traced");
	json_out_bool(j, "unloaded", death->unloaded);
}

static void put_handled(struct report_json *json, const struct report_headline *head)
{
	const struct report_facts *facts = &json->r->facts;
	const struct report_out *ro = &json->r->ro;
	static const char *const orders[] = {[REPORT_HANDLED_FIRST] = "first",
					     [REPORT_HANDLED_NEWEST] = "newest",
					     [REPORT_HANDLED_OTHER] = "other"};
	const struct auxtap_crash_fault *handled = &head->handled.fault;
	const struct report_out then = report_at(ro, handled->time, handled->ip);
	struct json_out *j = &json->j;
	struct fault fault;

	json_out_open(j, "handled_fault", '{');
	report_json_signal(j, "signal", handled->signo);
	put_location(json, &then, "location", (struct report_caller){.pc = handled->ip}, true);
	if (head->handled.nr_faults)
		json_out_u64(j, "nr_faults", head->handled.nr_faults);
	else
		json_out_null(j, "nr_faults");
	json_out_text(j, "order", orders[head->handled.order]);
	json_out_text(j, "faults_again",
		      head->regs && report_faults_again(ro, facts, head->regs, handled, &fault) ?
			      fault.why :
			      NULL);
	json_out_text(j, "cause", report_handled_fault(ro, facts, head, &fault) ? fault.why : NULL);
	json_out_close(j, '}');
}

static void put_crash(struct report_json *json, const struct report_death *death)
{
	const struct auxtap_crash *c = &json->r->facts.crash;
	const struct report_headline *head = &death->head;
	struct json_out *j = &json->j;

	json_out_open(j, "crash", '{');
	json_out_i64(j, "pid", c->pid);
	json_out_i64(j, "tid", c->tid);
	json_out_text(j, "name", c->comm);
	if (c->signo)
		put_signal(j, "signal", c->signo, fault_death_text(c));
	else
		json_out_null(j, "signal");
	json_out_i64(j, "code", c->si_code);
	if (c->sender_pid)
		json_out_i64(j, "sender_pid", c->sender_pid);
	else
		json_out_null(j, "sender_pid");
	report_json_time(j, "time_ns", c->time);
	if (c->flags & AUXTAP_CRASH_ADDR_VALID)
		json_out_hex(j, "fault_address", c->fault_addr);
	else
		json_out_null(j, "fault_address");
	json_out_text(j, "cause", death->fault.why[0] ? death->fault.why : NULL);
	json_out_text(j, "message", json->r->facts.message);
	report_exception_json(json, death->head.regs, death->fault.uncaught);
	report_json_origin(json, &head->origin);
	report_json_slice(json, &head->slice);
	put_where(json, death);
	put_insn(json, death);
	json_out_bool(j, "emulator_limit", c->flags & AUXTAP_CRASH_EMULATOR && !head->unknown_insn);
	json_out_bool(j, "unknown_instruction",
		      c->flags & AUXTAP_CRASH_EMULATOR && head->unknown_insn);
	json_out_bool(j, "emulator_crashed", c->flags & AUXTAP_CRASH_EMULATOR_CRASHED);
	json_out_bool(j, "memory_unreadable", c->flags & AUXTAP_CRASH_MEMORY_UNREADABLE);
	if (c->limit_bytes)
		json_out_u64(j, "memory_limit_bytes", c->limit_bytes);
	else
		json_out_null(j, "memory_limit_bytes");
	if (c->frame_signo)
		report_json_signal(j, "handler_not_started", c->frame_signo);
	else
		json_out_null(j, "handler_not_started");
	if (head->handled.fault.signo)
		put_handled(json, head);
	else
		json_out_null(j, "handled_fault");
	json_out_close(j, '}');
}

static void put_gaps(struct json_out *j, const struct report_cover *cover)
{
	json_out_open(j, "gaps", '[');
	for (int i = 0; i < AUXTAP_GAP_NR_CAUSES; i++) {
		const struct report_gap_count *gap = &cover->gaps[i];

		if (!gap->nr)
			continue;
		json_out_open(j, NULL, '{');
		json_out_text(j, "cause", auxtap_gap_cause_name((enum auxtap_gap_cause)i));
		json_out_u64(j, "count", gap->nr);
		json_out_u64(j, "bytes", gap->nr_bytes);
		json_out_bool(j, "exact", gap->exact);
		json_out_close(j, '}');
	}
	json_out_close(j, ']');
}

/* Writes the threads that exited before the snapshot, which contains no trace of them. */
static void put_ended(struct json_out *j, const struct report_facts *facts)
{
	char value[32];
	uint64_t nr;

	if (report_facts_capture(facts, CAPTURE_LINE_THREADS_ENDED, value, sizeof(value)) &&
	    number_parse_decimal(value, UINT64_MAX, &nr))
		json_out_u64(j, "threads_ended", nr);
	else
		json_out_null(j, "threads_ended");
}

static void put_coverage(struct report_json *json)
{
	const struct report_cover *cover = &json->r->cover;
	const struct report_facts *facts = &json->r->facts;
	const uint64_t duration = report_cover_duration(facts, cover);
	const bool end_lost = report_cover_end_lost(cover);
	struct json_out *j = &json->j;

	json_out_open(j, "coverage", '{');
	json_out_u64(j, "instructions", cover->sum.instructions);
	json_out_u64(j, "branches", cover->sum.branches);
	json_out_u64(j, "threads", cover->sum.threads);
	json_out_u64(j, "trace_bytes", cover->sum.bytes);
	report_json_time(j, "time_begin_ns", cover->sum.time_begin);
	report_json_time(j, "time_end_ns", cover->sum.time_end);
	report_json_time(j, "duration_ns", duration);
	json_out_bool(j, "time_is_emulated", report_cover_emulated(facts));
	json_out_text(j, "decoder", cover->library);
	json_out_bool(j, "branches_only", cover->branches_only);
	put_gaps(j, cover);
	json_out_bool(j, "from_start", cover->from_start);
	json_out_bool(j, "to_end", cover->to_end);
	json_out_u64(j, "threads_without_trace", cover->nr_without);
	put_ended(j, facts);
	if (end_lost)
		json_out_hex(j, "flow_ends_at", cover->flow_end);
	else
		json_out_null(j, "flow_ends_at");
	if (end_lost)
		json_out_hex(j, "died_at", cover->death_ip);
	else
		json_out_null(j, "died_at");
	json_out_close(j, '}');
}

static void put_threads(struct report_json *json)
{
	const struct report *r = json->r;
	struct json_out *j = &json->j;

	json_out_open(j, "threads", '[');
	for (const struct thread_view *v = r->threads; v; v = v->next) {
		const struct report_thread *thread = report_find_thread(r, v->tid);
		uint64_t ip;
		const bool known = report_thread_ip(v, thread ? &thread->record.regs : NULL, &ip);

		if (!report_has_thread(r, v))
			continue;
		json_out_open(j, NULL, '{');
		json_out_i64(j, "pid", v->pid);
		json_out_i64(j, "tid", v->tid);
		json_out_text(j, "name", thread ? thread->record.comm : v->comm);
		json_out_bool(j, "died",
			      r->facts.have_crash && !report_is_user_snapshot(r) &&
				      v->tid == r->facts.crash.tid);
		json_out_bool(j, "traced", v->has_flow);
		json_out_bool(j, "ended_before", v->ended_before);
		json_out_u64(j, "instructions", v->nr_insns);
		report_json_time(j, "first_time_ns", v->first_time);
		report_json_time(j, "last_time_ns", v->last_time);
		if (known)
			put_location(json, &r->ro, "location", (struct report_caller){.pc = ip},
				     true);
		else
			json_out_null(j, "location");
		if (r->facts.have_crash &&
		    (v->tid == r->facts.crash.tid || v->rank <= REPORT_THREADS_WITH_CALLS))
			report_json_last_calls(json, v->calls);
		json_out_close(j, '}');
	}
	json_out_close(j, ']');
}

static void put_build_id(struct json_out *j, const char *key, const uint8_t *id, size_t size)
{
	char text[41];

	for (size_t i = 0; i < size && i < 20; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	json_out_text(j, key, size ? text : NULL);
}

static void put_images(struct report_json *json)
{
	struct auxtap_image_info info = {.size = sizeof(info)};
	struct json_out *j = &json->j;

	json_out_open(j, "images", '[');
	for (size_t i = 0; i < auxtap_image_set_count(json->r->ro.images); i++) {
		if (auxtap_image_set_info(json->r->ro.images, i, &info))
			continue;
		json_out_open(j, NULL, '{');
		json_out_text(j, "name", info.name);
		json_out_text(j, "path", info.path);
		json_out_text(j, "state",
			      info.state == AUXTAP_IMAGE_FOUND	 ? "found" :
			      info.denied			 ? "denied" :
			      info.state == AUXTAP_IMAGE_MISSING ? "missing" :
								   "different");
		put_build_id(j, "build_id", info.build_id, info.build_id_size);
		put_build_id(j, "found_build_id", info.found_build_id, info.found_build_id_size);
		json_out_bool(j, "changed", info.changed);
		json_out_u64(j, "gaps", info.nr_gaps);
		json_out_close(j, '}');
	}
	json_out_close(j, ']');
}

static void put_memory(struct report_json *json)
{
	const struct report_facts *facts = &json->r->facts;
	struct json_out *j = &json->j;
	char text[200];

	report_memory_text(facts, text, sizeof(text));
	json_out_open(j, "memory", '{');
	json_out_text(j, "text", text);
	json_out_bool(j, "redacted", facts->redacted);
	json_out_u64(j, "generated_code_bytes", report_generated_bytes(facts));
	json_out_close(j, '}');
}

static void put_next(struct report_json *json)
{
	struct report_command commands[REPORT_NEXT_MAX];
	const unsigned int nr = report_next_commands(json->r, commands);

	json_out_open(&json->j, "next", '[');
	for (unsigned int i = 0; i < nr; i++) {
		json_out_open(&json->j, NULL, '[');
		for (unsigned int k = 0; k < commands[i].nr; k++)
			json_out_text(&json->j, NULL, commands[i].words[k]);
		json_out_close(&json->j, ']');
	}
	json_out_close(&json->j, ']');
}

static void put_death(struct report_json *json, struct report_death *death)
{
	const struct auxtap_regs *regs = death->head.regs;
	struct json_out *j = &json->j;

	put_crash(json, death);
	if (regs)
		report_regs_json(j, regs);
	else
		json_out_null(j, "registers");
	report_json_pointed_memory(json, regs);
	report_json_overruns(json, regs);
	if (regs)
		report_json_backtrace(json, death);
	else
		json_out_null(j, "backtrace");
	if (death->view) {
		report_json_calls(json, death->view->calls, death->out_of_memory);
		report_json_branches(json, death->before ? death->before : &death->view->branches);
		json_out_text(j, "branches_before", death->before ? death->what : NULL);
	}
}

void report_json_print(struct report *r)
{
	struct report_json json = {.r = r, .nr_sources = MAX_SOURCES};
	struct report_death death = {.view = NULL};
	struct json_out *j = &json.j;

	json_out_init(j, r->ro.out, 3);
	if (r->facts.have_crash)
		report_death_explain(r, &death);
	report_coverage(r);
	report_sort_threads(r);
	json_out_open(j, NULL, '{');
	json_out_text(j, "format", "auxtap-report");
	json_out_u64(j, "version", REPORT_JSON_VERSION);
	json_out_text(j, "file", r->path);
	json_out_text(j, "kind",
		      !r->facts.have_crash	 ? "overview" :
		      report_is_user_snapshot(r) ? "interrupted" :
						   "crash");
	if (r->facts.have_crash)
		put_death(&json, &death);
	if (!r->facts.have_crash) {
		report_json_functions(&json);
		report_json_trees(&json);
	}
	put_coverage(&json);
	put_threads(&json);
	put_images(&json);
	if (r->facts.have_crash)
		put_memory(&json);
	put_next(&json);
	json_out_close(j, '}');
}
