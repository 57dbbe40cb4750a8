/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * x86-64 programs that are assembled in a test, executed in thought up to an instruction that
 * faults or a call, and where their bad pointer came from.
 */
#ifndef AUXTAP_SUPPORT_ORIGIN_H
#define AUXTAP_SUPPORT_ORIGIN_H

#include "decode/report/report_branches.h"
#include "decode/report/report_facts.h"
#include "decode/report/report_fault.h"
#include "decode/report/report_headline.h"
#include "decode/report/report_origin.h"
#include "decode/report/report_out.h"
#include <auxtap/image.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define CODE(name, text)                                           \
	__asm__(".pushsection .text\n" #name ":\n" text "\n" #name \
		"_end:\n .skip 16\n.popsection");                  \
	extern const char name[], name##_end[]

#define BASE  0x400000
#define STACK 0x7000 /* what rsp is */
#define HEAP  0x100000
#define LOW   0x3000 /* mapped below the stack */

/* As CODE(), with the access after the text. */
#define LOAD(name, text)                                         \
	CODE(name, text "; " #name "_fault: movl (%rdx), %eax"); \
	extern const char name##_fault[]

static struct report_facts facts;
static char no_name[] = "";
static struct report_map maps[] =
	{{.start = LOW, .end = LOW + 0x1000, .perms = "rw-p", .name = no_name},
	 {.start = 0x6000, .end = 0x8000, .perms = "rw-p", .name = no_name},
	 {.start = HEAP, .end = HEAP + 0x1000, .perms = "rw-p", .name = no_name}};
static uint64_t stack_words[16];
static uint64_t heap_words[] = {HEAP + 0x400};
static struct report_memory memory[] =
	{{.addr = STACK, .nr_bytes = sizeof(stack_words), .bytes = (unsigned char *)stack_words},
	 {.addr = HEAP, .nr_bytes = sizeof(heap_words), .bytes = (unsigned char *)heap_words}};
static struct report_branches branches;
static struct auxtap_regs regs;
static struct auxtap_image_set *images;
static struct report_origin origin;
static const char *code;
/* how the program dies */
static const char *base_reg; /* of the access; NULL: there is none */
static int si_code;
static uint64_t died_off; /* from the instruction */
/* the branch to the bad address, that the report knows */
static enum auxtap_branch_kind branch_kind;
static uint64_t last_off; /* of what it says, from where the program is */
static bool has_last;

static inline uint64_t at(const char *label)
{
	return BASE + (uint64_t)(label - code);
}

static inline void branch(uint64_t from, uint64_t to, enum auxtap_branch_kind kind)
{
	branches.at[branches.nr++] = (struct report_branch){.from = from,
							    .to = to,
							    .kind = kind,
							    .has_from = true,
							    .has_to = true,
							    .repeat = 1,
							    .gap = -1};
}

/* The program begins, after a call. */
static inline void program(const char *begin, const char *end)
{
	const struct auxtap_image_set_opts opts = {.size = sizeof(opts)};
	char path[] = "/tmp/auxtap-origin-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0 && write(fd, begin, (size_t)(end - begin) + 16) > 0 && !close(fd));
	auxtap_image_set_free(images);
	assert_int_equal(auxtap_image_set_new(&images, &opts, NULL), 0);
	assert_int_equal(auxtap_image_set_add_file(images, path, 0, 0, BASE, NULL), 0);
	unlink(path);
	code = begin;
	memset(&branches, 0, sizeof(branches));
	memset(&regs, 0, sizeof(regs));
	memset(stack_words, 0, sizeof(stack_words));
	regs.arch = AUXTAP_ARCH_X86_64;
	regs.valid = UINT64_MAX;
	regs.reg[AUXTAP_X86_BX] = HEAP;
	regs.reg[AUXTAP_X86_CX] = 2;
	regs.reg[AUXTAP_X86_SP] = STACK;
	branch(0x1, BASE, AUXTAP_BRANCH_CALL);
	base_reg = "rdx";
	si_code = SEGV_MAPERR;
	died_off = last_off = 0;
	branch_kind = AUXTAP_BRANCH_CALL_INDIRECT;
	has_last = true;
}

static inline void find(const char *fault_label, bool went_there, uint64_t target)
{
	struct fault fault = {.has_insn = true, .insn_ip = at(fault_label)};
	struct report_headline head = {.regs = &regs, .fault = &fault, .branches = &branches};
	const struct report_out ro = {.images = images, .pid = -1};

	memset(&facts, 0, sizeof(facts));
	facts.crash.signo = SIGSEGV;
	facts.crash.si_code = si_code;
	facts.maps = maps;
	facts.nr_maps = sizeof(maps) / sizeof(maps[0]);
	facts.memory = memory;
	facts.nr_memory = 2;
	head.ip = went_there ? target : at(fault_label);
	if (went_there) {
		branch(at(fault_label), target + last_off, branch_kind);
		fault.bad_ip = true;
		head.last = has_last ? &branches.at[branches.nr - 1] : NULL;
	} else if (base_reg) {
		fault.access =
			(struct fault_access){.known = true, .base = regs.reg[AUXTAP_X86_DX]};
		snprintf(fault.access.base_reg, sizeof(fault.access.base_reg), "%s", base_reg);
	}
	branch(head.ip + died_off, 0, AUXTAP_BRANCH_NONE);
	branches.at[branches.nr - 1].async = true;
	report_origin_find(&ro, &facts, &head);
	origin = head.origin;
}

#define RUN(name)                             \
	do {                                  \
		program(name, name##_end);    \
		find(name##_fault, false, 0); \
	} while (0)

static inline void was_read(uint64_t addr)
{
	assert_int_equal(origin.kind, REPORT_ORIGIN_READ);
	assert_true(origin.has_addr);
	assert_int_equal(origin.addr, addr);
	assert_false(origin.is_code);
}

/* It is not known from where. */
static inline void was_read_somewhere(void)
{
	assert_int_equal(origin.kind, REPORT_ORIGIN_READ);
	assert_false(origin.has_addr);
}

static inline void was_set(uint64_t ip)
{
	assert_int_equal(origin.kind, REPORT_ORIGIN_SET);
	assert_true(origin.has_value);
	assert_int_equal(origin.ip, ip);
}

static inline void is_unknown(void)
{
	assert_int_equal(origin.kind, REPORT_ORIGIN_UNKNOWN);
}

#endif
