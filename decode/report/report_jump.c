// SPDX-License-Identifier: BSD-2-Clause
/*
 * Explains how the dead thread came to where no instruction can be executed. The trace shows which
 * branch went there, and its calls show where a return should have gone to. That a return address
 * was overwritten is printed only if it is proved: see is_overwritten().
 */
#include "decode/image/image_private.h"
#include "report_branches.h"
#include "report_facts.h"
#include "report_fault.h"
#include "report_jump.h"
#include "report_out.h"
#include "report_regs.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define MAX_OUTER    64	   /* callers to look for in the stack */
#define STACK_SEARCH 65536 /* bytes of the stack to look for them in */

/*
 * Does the trace go on at another place than where it went off: in a signal handler, or where one
 * returns to? No call entered that place, so that a return from it matches no known address.
 */
static bool resumes_elsewhere(const struct report_return_addrs *r, const struct auxtap_event *ev)
{
	if (!r->trace_off_ip || !ev->has_addr)
		return true;
	return r->trace_off_async ? ev->addr != r->trace_off_ip : ev->addr - r->trace_off_ip > 15;
}

int report_return_addrs_add(struct report_return_addrs *r, const struct auxtap_event *ev)
{
	switch (ev->type) {
	case AUXTAP_EVENT_CALL:
		r->last_call = ev->ip + ev->insn_size;
		return callstack_call(&r->calls, r->last_call) == UINT32_MAX ? -1 : 0;
	case AUXTAP_EVENT_RETURN:
		r->from = ev->ip;
		r->to = ev->addr;
		r->expected = callstack_newest(&r->calls, 0);
		r->unmatched = !callstack_has(&r->calls, ev->addr);
		callstack_return(&r->calls, ev->addr);
		return 0;
	case AUXTAP_EVENT_ASYNC:
		r->trace_off_ip = ev->ip;
		r->trace_off_async = true;
		return 0;
	case AUXTAP_EVENT_TRACE:
		if (!ev->trace_on) {
			if (!r->trace_off_async)
				r->trace_off_ip = ev->has_ip ? ev->ip : 0;
			return 0;
		}
		if (resumes_elsewhere(r, ev) && callstack_call(&r->calls, 0) == UINT32_MAX)
			return -1;
		r->trace_off_ip = 0;
		r->trace_off_async = false;
		return 0;
	case AUXTAP_EVENT_GAP:
		if (ev->gap->cause != AUXTAP_GAP_UNCOUNTED) {
			callstack_gap(&r->calls);
			r->from = r->to = r->expected = 0;
		}
		return 0;
	default:
		return 0;
	}
}

/*
 * Is sp in the stack of the traced calls? Then a return address of one of the outer calls is at a
 * higher address; another stack, of a coroutine or a context, contains none of them.
 */
static bool same_stack(const struct report_facts *facts, const struct report_return_addrs *r,
		       uint64_t sp)
{
	uint64_t outer[MAX_OUTER], word;
	size_t nr = 0;

	for (size_t back = 0; nr < MAX_OUTER && back < r->calls.nr; back++) {
		uint64_t addr = callstack_newest(&r->calls, back);

		if (addr && addr != r->expected)
			outer[nr++] = addr;
	}
	for (uint64_t at = sp; nr && at - sp < STACK_SEARCH; at += 8) {
		if (!report_facts_memory(facts, at, &word, sizeof(word)))
			return false;
		for (size_t i = 0; i < nr; i++)
			if (word == outer[i])
				return true;
	}
	return false;
}

/*
 * Was the return address of the return at 'from' overwritten? It is proved if the return went to no
 * return address of the calls before it, the unwind information says that the return address of
 * the call is at the top of the stack there (not so in setcontext()), the stack is that of the
 * calls (not so where a coroutine switches stacks), and the address that the call pushed is not
 * at the top of the stack now (as it is after "push; ret"), nor below (as where too much was
 * popped), nor elsewhere in it (as where a function without a return ran on into the next one).
 */
static bool is_overwritten(const struct report_out *ro, const struct report_facts *facts,
			   const struct report_return_addrs *r, uint64_t from, uint64_t sp)
{
	uint64_t top;

	return r->expected &&
	       image_set_stack_at(ro->images, ro->pid, ro->time, from, NULL) ==
		       IMAGE_STACK_AS_AT_ENTRY &&
	       report_facts_memory(facts, sp, &top, sizeof(top)) && top != r->expected &&
	       same_stack(facts, r, sp) && !report_return_addr_below(facts, r, sp - 8) &&
	       !report_return_addr_elsewhere(facts, r, 0, sp, sp - 8);
}

/* "main (smash.c:12)"; of the call before addr if that is a return address. */
static void location_text(const struct report_out *ro, uint64_t addr, bool returns, char *text,
			  size_t size)
{
	char name[160], location[120];

	if (returns)
		report_caller_name(ro, addr, name, sizeof(name), location, sizeof(location));
	else
		report_name(ro, addr, name, sizeof(name), location, sizeof(location));
	snprintf(text, size, "%s%s%s%s", name, location[0] ? " (" : "", location,
		 location[0] ? ")" : "");
}

/* Has longjmp() left the calls? Then the newest is not that of the function that returned. */
static bool left_by_longjmp(const struct report_out *ro, uint64_t expected)
{
	char call[300];

	location_text(ro, expected, true, call, sizeof(call));
	return strstr(call, "longjmp");
}

/* Describes a return that matches none of the calls, and where the innermost one was. */
static void describe_unmatched_return(const struct report_out *ro, bool proved,
				      const struct report_return_addrs *r, char *text, size_t size)
{
	char call[300];

	location_text(ro, r->expected, true, call, sizeof(call));
	snprintf(text, size, "%s %s",
		 proved ? ": the return address was overwritten; the call was from" :
			  ", and not to the innermost call that had not returned, which was from",
		 call);
}

/* Explains what happened to the code that the return goes to, or to the return address. */
static void explain_return(const struct report_out *ro, const struct report_facts *facts,
			   const struct auxtap_regs *regs, const struct report_return_addrs *r,
			   uint64_t ip, struct fault *fault)
{
	const struct report_map *map = report_facts_map(facts, ip);
	char call[300], perms[64] = "no longer mapped";
	uint64_t sp = 0;
	int len;

	if (r->to == r->expected) {
		location_text(ro, r->expected, true, call, sizeof(call));
		if (map)
			snprintf(perms, sizeof(perms), "mapped %.4s, no longer executable",
				 map->perms);
		snprintf(fault->why, sizeof(fault->why),
			 "it returned to 0x%" PRIx64 ", to its caller %s, whose code is %s", ip,
			 call, perms);
		return;
	}
	len = snprintf(fault->why, sizeof(fault->why), "it returned to 0x%" PRIx64 ", %s", ip,
		       fault->where);
	report_regs_sp(regs, &sp);
	if (!r->expected || !r->unmatched || len <= 0)
		return;
	if (is_overwritten(ro, facts, r, r->from, sp) && !left_by_longjmp(ro, r->expected))
		fault->overwritten_return = sp - 8;
	describe_unmatched_return(ro, fault->overwritten_return, r, fault->why + len,
				  sizeof(fault->why) - (size_t)len);
}

/* Explains a return at ip that faulted itself: the trace has no branch for it. */
static void explain_refused(const struct report_out *ro, const struct report_facts *facts,
			    const struct auxtap_regs *regs, const struct report_return_addrs *r,
			    uint64_t ip, struct fault *fault)
{
	struct report_return_addrs last = *r;
	size_t len = strlen(fault->why);
	uint64_t sp = 0;

	last.expected = callstack_newest(&r->calls, 0);
	report_regs_sp(regs, &sp);
	if (!last.expected)
		return;
	if (is_overwritten(ro, facts, &last, ip, sp + 8))
		fault->overwritten_return = sp;
	describe_unmatched_return(ro, fault->overwritten_return, &last, fault->why + len,
				  sizeof(fault->why) - len);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool report_was_unloaded(const struct report_out *ro, const struct report_facts *facts,
			 uint64_t addr)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	return facts->nr_maps && !report_facts_map(facts, addr) &&
	       !auxtap_image_set_symbol(ro->images, ro->pid, ro->time, addr, &loc) && loc.image;
}

/* Names the function at ip if its code is mapped but not executable, or was unmapped. */
static void name_function(const struct report_out *ro, const struct report_facts *facts,
			  uint64_t ip, struct fault *fault)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	size_t len = strlen(fault->why);
	const struct report_map *map = report_facts_map(facts, ip);
	char text[300];

	if (!facts->nr_maps || (map && map->perms[2] == 'x') ||
	    auxtap_image_set_resolve(ro->images, ro->pid, ro->time, ip, &loc) || !loc.image ||
	    !loc.nr_frames || !loc.frames[0].symbol)
		return;
	location_text(ro, ip, false, text, sizeof(text));
	if (map)
		snprintf(fault->why + len, sizeof(fault->why) - len, "; it is in %s", text);
	else
		snprintf(fault->why + len, sizeof(fault->why) - len,
			 "; %s, which is unloaded, had %s there", base_name(loc.image), text);
}

void report_jump_explain(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs, const struct report_return_addrs *r,
			 const struct report_branch *b, uint64_t ip, struct fault *fault)
{
	if (fault->bad_return && r)
		explain_refused(ro, facts, regs, r, ip, fault);
	if (!fault->bad_ip)
		return;
	if (!b) {
		/* a jump, a call, a return or the kernel went there: the trace does not show it */
		snprintf(fault->why, sizeof(fault->why), "it went on at 0x%" PRIx64 ", %s", ip,
			 fault->where);
	} else if (b->kind == AUXTAP_BRANCH_CALL || b->kind == AUXTAP_BRANCH_CALL_INDIRECT) {
		snprintf(fault->why, sizeof(fault->why), "it called 0x%" PRIx64 ", %s", ip,
			 fault->where);
	} else if (b->kind == AUXTAP_BRANCH_RETURN) {
		if (r && r->from == b->from && r->to == b->to) {
			explain_return(ro, facts, regs, r, ip, fault);
			if (r->to == r->expected)
				return; /* the sentence names the function */
		} else {
			snprintf(fault->why, sizeof(fault->why), "it returned to 0x%" PRIx64 ", %s",
				 ip, fault->where);
		}
	}
	name_function(ro, facts, ip, fault);
}

bool report_ends_handler(const struct report_out *ro, const struct auxtap_regs *regs, uint64_t addr)
{
	static const uint8_t x86[2][9] = {
		{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, /* mov $15, %rax; syscall */
		{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05},	       /* mov $15, %eax; syscall */
	};
	/* mov x8, #139; svc #0 */
	static const uint8_t a64[8] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
	uint8_t code[9];

	if (regs->arch == AUXTAP_ARCH_AARCH64)
		return auxtap_image_set_read(ro->images, ro->pid, ro->time, addr - 8, code, 8) ==
			       8 &&
		       !memcmp(code, a64, 8);
	return (auxtap_image_set_read(ro->images, ro->pid, ro->time, addr - 9, code, 9) == 9 &&
		!memcmp(code, x86[0], 9)) ||
	       (auxtap_image_set_read(ro->images, ro->pid, ro->time, addr - 7, code, 7) == 7 &&
		!memcmp(code, x86[1], 7));
}

bool report_faults_again(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs, const struct auxtap_crash_fault *handled,
			 struct fault *fault)
{
	struct report_facts first = *facts;
	uint64_t ip = 0;
	uint8_t insn[15];
	ssize_t n;

	if (facts->crash.si_code > 0 || handled->tid != facts->crash.tid ||
	    !report_regs_ip(regs, &ip) || ip != handled->ip)
		return false;
	/* the address of the fault was not recorded: find the access that cannot succeed */
	first.crash.signo = handled->signo;
	first.crash.si_code = SI_KERNEL;
	first.crash.flags &= ~(uint32_t)AUXTAP_CRASH_ADDR_VALID;
	n = auxtap_image_set_read(ro->images, ro->pid, ro->time, ip, insn, sizeof(insn));
	fault_explain(&first, regs, insn, n > 0 ? (size_t)n : 0, fault);
	return fault->access.known && fault->why[0];
}
