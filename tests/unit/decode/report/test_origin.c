// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where a bad pointer came from, backwards through x86 instructions: each program ends with the
 * instruction that faults, "movl (%rdx), %eax", or a call.
 */
#if defined(__x86_64__)
#include "support_origin.h"

/* clang-format off */
CODE(load, "movq 24(%rbx), %rdx; load_fault: movl (%rdx), %eax");
CODE(indexed, "movq 8(%rbx,%rcx,4), %rdx; nop; indexed_fault: movl (%rdx), %eax");
CODE(base_lost, "movq 24(%rbx), %rdx; xorl %ebx, %ebx; base_lost_fault: movl (%rdx), %eax");
CODE(base_known, "leaq 16(%rbx), %rdx; movq 24(%rdx), %rdx; base_known_fault: movl (%rdx), %eax");
CODE(byte_written, "movq 24(%rbx), %rdx; movb $1, %dl; byte_written_fault: movl (%rdx), %eax");
CODE(half_read, "movl 24(%rbx), %edx; half_read_fault: movl (%rdx), %eax");
CODE(selected, "movq 24(%rbx), %rdx; testl %eax, %eax; cmovzq %rsi, %rdx;"
	       "selected_fault: movl (%rdx), %eax");
CODE(exchanged, "movq 24(%rbx), %rdx; xchgq %rdx, %rsi; exchanged_fault: movl (%rdx), %eax");
CODE(added, "movq 8(%rbx), %rdx; addq $16, %rdx; subq $4, %rdx; added_fault: movl (%rdx), %eax");
CODE(moved, "movq 8(%rbx), %rsi; movq %rsi, %rdi; leaq 32(%rdi), %rdx;"
	    "moved_fault: movl (%rdx), %eax");
CODE(stored, "movq 8(%rbx), %rsi; movq %rsi, -16(%rsp); xorl %esi, %esi; movq -16(%rsp), %rdx;"
	     "stored_fault: movl (%rdx), %eax");
CODE(overwritten, "movq 8(%rbx), %rsi; movq %rsi, -16(%rsp); movl $0, -12(%rsp);"
		  "movq -16(%rsp), %rdx; overwritten_fault: movl (%rdx), %eax");
CODE(stored_wide, "movq 8(%rbx), %rsi; movq %rsi, -16(%rsp); movaps %xmm0, -16(%rsp);"
		  "movq -16(%rsp), %rdx; stored_wide_fault: movl (%rdx), %eax");
CODE(stored_unknown, "movq 8(%rbx), %rsi; movq %rsi, -16(%rsp); movq %rax, (%r8); popq %r8;"
		     "movq -24(%rsp), %rdx; stored_unknown_fault: movl (%rdx), %eax");
CODE(stored_heap, "movq 8(%rbx), %rsi; movq %rsi, 32(%rbx); movq 32(%rbx), %rdx;"
		  "stored_heap_fault: movl (%rdx), %eax");
CODE(pushed, "pushq %rax; movq 8(%rsp), %rsi; movq 24(%rsi), %rdx; xorl %esi, %esi;"
	     "pushed_fault: movl (%rdx), %eax");
CODE(through_stack, "movq (%rsp), %rax; movq 24(%rax), %rdx; xorl %eax, %eax;"
		    "through_stack_fault: movl (%rdx), %eax");
CODE(stack_changed, "movq (%rsp), %rax; movq 24(%rax), %rdx; xorl %eax, %eax; movq %rax, (%rsp);"
		    "stack_changed_fault: movl (%rdx), %eax");
CODE(string_moved, "movq (%rsp), %rax; movq 24(%rax), %rdx; xorl %eax, %eax; rep movsb;"
		   "string_moved_fault: movl (%rdx), %eax");
CODE(element, "movslq 8(%rsp), %rax; shlq $3, %rax; movq (%rsp), %rsi; addq %rsi, %rax;"
	      "movq (%rax), %rdx; xorl %eax, %eax; xorl %esi, %esi;"
	      "element_fault: movl (%rdx), %eax");
CODE(jumped, "movq 24(%rbx), %rdx; jumped_jump: jmp jumped_to; ud2; jumped_to: nop;"
	     "jumped_fault: movl (%rdx), %eax");
CODE(loops, "movq 24(%rbx), %rdx; loops_to: addq $8, %rdx; decl %ecx; loops_jump: jnz loops_to;"
	    "loops_fault: movl (%rdx), %eax");
CODE(returns, "returns_call: call returns_f; returns_back: movq %rax, %rdx;"
	      "returns_fault: movl (%rdx), %eax; returns_f: xorl %eax, %eax; returns_ret: ret");
CODE(keeps, "keeps_call: call keeps_f; keeps_back: movq %rax, %rdx;"
	    "keeps_fault: movl (%rdx), %eax; keeps_f: incl %ecx; keeps_ret: ret");
CODE(keeps_read, "movq 24(%rbx), %rax; keeps_read_call: call keeps_read_f;"
		 "keeps_read_back: movq %rax, %rdx; keeps_read_fault: movl (%rdx), %eax;"
		 "keeps_read_f: incl %ecx; keeps_read_ret: ret");
CODE(half_moved, "movq 24(%rbx), %rsi; movl %esi, %edx; half_moved_fault: movl (%rdx), %eax");
CODE(pushed_since, "movq 8(%rsp), %rsi; movq 24(%rsi), %rdx; pushq %rcx; xorl %esi, %esi;"
		   "pushed_since_fault: movl (%rdx), %eax");
CODE(through_heap, "movq (%rbx), %rax; movq 24(%rax), %rdx; xorl %eax, %eax;"
		   "through_heap_fault: movl (%rdx), %eax");
CODE(part_written, "movq (%rsp), %rax; movw $8, %ax; movq 24(%rax), %rdx; xorl %eax, %eax;"
		   "part_written_fault: movl (%rdx), %eax");
CODE(thread_local, "movq %fs:8, %rdx; thread_local_fault: movl (%rdx), %eax");
CODE(other_reg, "movq 24(%rbx), %rdx; other_reg_call: call other_reg_f; other_reg_back: nop;"
		"other_reg_fault: movl (%rdx), %eax; other_reg_f: movq %rbx, %rax; other_reg_ret: ret");
CODE(calls_reg, "movq 16(%rbx), %rax; calls_reg_fault: call *%rax");
CODE(calls_mem, "nop; calls_mem_fault: call *16(%rbx)");
CODE(calls_stack, "nop; calls_stack_fault: call *8(%rsp)");
#define FRAME "pushq %rbp; movq %rsp, %rbp; subq $32, %rsp;"
/* a local variable is set, then functions with frames of their own are called */
#define LOCAL(name, f, g)                                                                    \
	CODE(name, "movq %rsp, %rbp; subq $64, %rsp; movq 8(%rbx), %rax; movq %rax, -8(%rbp);" \
		   "xorl %eax, %eax; " #name "_call: call " #name "_f; " #name "_back:"          \
		   "movq -8(%rbp), %rdx; " #name "_fault: movl (%rdx), %eax;" #name "_f:" f      \
		   #name "_ret: ret; " #name "_g:" g #name "_ret2: ret");                        \
	extern const char name##_call[], name##_f[], name##_back[], name##_ret[];            \
	extern const char name##_g[], name##_ret2[], name##_fault[]
LOCAL(frame, FRAME "movq $1, -8(%rbp); leave;", "nop;");
LOCAL(no_frame, "movq $1, -8(%rsp); leave;", "nop;");
LOCAL(other_frame, "pushq %rbp; leaq (%rsp), %rbp; movq $1, -8(%rbp); leave;", "nop;");
LOCAL(switched, FRAME "movq %rsp, %r9; movq %r9, %rsp; leave;", "nop;");
LOCAL(frames, FRAME "frames_call2: call frames_g; frames_back2: movq $1, -8(%rbp); leave;",
      FRAME "movq $2, -8(%rbp); leave;");
LOCAL(frame_popped,
      FRAME "frame_popped_call2: call frame_popped_g; frame_popped_back2: movq $1, -8(%rbp); leave;",
      "pushq %rbp; movq %rsp, %rbp; popq %rbp;");
LOCAL(saved_lost,
      FRAME "saved_lost_call2: call saved_lost_g; saved_lost_back2: movq $1, -8(%rbp); leave;",
      FRAME "movb $1, (%rbp); leave;");
/* clang-format on */
extern const char frames_call2[], frames_back2[], frame_popped_call2[], frame_popped_back2[];
extern const char saved_lost_call2[], saved_lost_back2[];

#define FAULT_LABEL(name) extern const char name##_fault[]
FAULT_LABEL(load);
FAULT_LABEL(indexed);
FAULT_LABEL(base_lost);
FAULT_LABEL(base_known);
FAULT_LABEL(byte_written);
FAULT_LABEL(half_read);
FAULT_LABEL(selected);
FAULT_LABEL(exchanged);
FAULT_LABEL(added);
FAULT_LABEL(moved);
FAULT_LABEL(stored);
FAULT_LABEL(overwritten);
FAULT_LABEL(stored_wide);
FAULT_LABEL(stored_unknown);
FAULT_LABEL(stored_heap);
FAULT_LABEL(pushed);
FAULT_LABEL(through_stack);
FAULT_LABEL(stack_changed);
FAULT_LABEL(string_moved);
FAULT_LABEL(element);
FAULT_LABEL(jumped);
FAULT_LABEL(loops);
FAULT_LABEL(returns);
FAULT_LABEL(keeps);
FAULT_LABEL(keeps_read);
FAULT_LABEL(half_moved);
FAULT_LABEL(pushed_since);
FAULT_LABEL(through_heap);
FAULT_LABEL(part_written);
FAULT_LABEL(thread_local);
FAULT_LABEL(other_reg);
FAULT_LABEL(calls_reg);
FAULT_LABEL(calls_mem);
FAULT_LABEL(calls_stack);
extern const char jumped_jump[], jumped_to[], loops_jump[], loops_to[];
extern const char other_reg_call[], other_reg_f[], other_reg_ret[], other_reg_back[];
extern const char returns_call[], returns_f[], returns_ret[], returns_back[];
extern const char keeps_call[], keeps_f[], keeps_ret[], keeps_back[];
extern const char keeps_read_call[], keeps_read_f[], keeps_read_ret[], keeps_read_back[];

static void one_load(void **state)
{
	(void)state;
	RUN(load);
	was_read(HEAP + 24);
	assert_int_equal(origin.ip, BASE);
	RUN(indexed);
	was_read(HEAP + 8 + 2 * 4);
	RUN(base_lost); /* from where is unknown */
	was_read_somewhere();
	assert_int_equal(origin.ip, BASE);
	RUN(base_known);
	was_read(HEAP + 16 + 24);
	RUN(byte_written);
	is_unknown();
	RUN(half_read);
	is_unknown();
	RUN(half_moved);
	is_unknown();
	RUN(selected);
	is_unknown();
	RUN(exchanged);
	is_unknown();
	program(thread_local, thread_local_end);
	regs.reg[AUXTAP_X86_FS] = 0x9000;
	find(thread_local_fault, false, 0);
	was_read(0x9008);
}

static void constants_and_moves(void **state)
{
	(void)state;
	program(added, added_end);
	regs.reg[AUXTAP_X86_DX] = 12;
	find(added_fault, false, 0);
	was_read(HEAP + 8);
	assert_true(origin.has_value);
	assert_int_equal(origin.value, 0);
	program(moved, moved_end);
	regs.reg[AUXTAP_X86_DX] = 0x1020;
	find(moved_fault, false, 0);
	was_read(HEAP + 8);
	assert_int_equal(origin.value, 0x1000);
}

/* A value in the stack is followed to where it came from; one that may have changed is not. */
static void through_memory(void **state)
{
	(void)state;
	RUN(stored);
	was_read(HEAP + 8);
	RUN(overwritten);
	was_read(STACK - 16);
	RUN(stored_wide);
	was_read(STACK - 16);
	RUN(stored_unknown);
	was_read(STACK - 24);
	RUN(stored_heap); /* other threads may have written there */
	was_read(HEAP + 32);
}

/* The address that it was read from is in memory. */
static void address_in_memory(void **state)
{
	(void)state;
	program(pushed, pushed_end);
	stack_words[1] = HEAP + 0x100;
	find(pushed_fault, false, 0);
	was_read(HEAP + 0x100 + 24);
	program(through_stack, through_stack_end);
	stack_words[0] = HEAP + 0x200;
	find(through_stack_fault, false, 0);
	was_read(HEAP + 0x200 + 24);
	program(pushed_since, pushed_since_end);
	stack_words[2] = HEAP + 0x300;
	find(pushed_since_fault, false, 0);
	was_read(HEAP + 0x300 + 24);
	program(part_written, part_written_end);
	stack_words[0] = HEAP + 0x200;
	find(part_written_fault, false, 0);
	was_read_somewhere();
	RUN(through_heap); /* other threads may have written there */
	was_read_somewhere();
	program(stack_changed, stack_changed_end);
	stack_words[0] = HEAP + 0x200;
	find(stack_changed_fault, false, 0);
	was_read_somewhere();
	program(string_moved, string_moved_end);
	stack_words[0] = HEAP + 0x200;
	find(string_moved_fault, false, 0);
	was_read_somewhere();
	program(element, element_end);
	stack_words[0] = HEAP + 0x80;
	stack_words[1] = 0xffffffff00000000 | (uint32_t)-3; /* an int, and what is next to it */
	find(element_fault, false, 0);
	was_read(HEAP + 0x80 - 24);
}

static void over_branches(void **state)
{
	(void)state;
	program(jumped, jumped_end);
	branch(at(jumped_jump), at(jumped_to), AUXTAP_BRANCH_JUMP);
	find(jumped_fault, false, 0);
	was_read(HEAP + 24);
	/* three rounds: the loop goes on twice */
	program(loops, loops_end);
	branch(at(loops_jump), at(loops_to), AUXTAP_BRANCH_COND);
	branches.at[branches.nr - 1].repeat = 2;
	regs.reg[AUXTAP_X86_DX] = 0x5018;
	find(loops_fault, false, 0);
	was_read(HEAP + 24);
	assert_int_equal(origin.value, 0x5000);
}

/* Before what may have changed registers nothing is known. */
static void not_over(void **state)
{
	(void)state;
	for (int what = 0; what < 7; what++) {
		struct report_branch *b;

		program(jumped, jumped_end);
		branch(at(jumped_jump), at(jumped_to), AUXTAP_BRANCH_JUMP);
		b = &branches.at[branches.nr - 1];
		if (what == 0)
			b->gap = AUXTAP_GAP_OVERWRITTEN;
		else if (what == 1)
			b->uncounted = true;
		else if (what == 2)
			b->async = true;
		else if (what == 3)
			b->kind = AUXTAP_BRANCH_SYSCALL;
		else if (what == 4)
			b->has_to = false;
		else if (what == 5)
			b->gap = AUXTAP_GAP_UNKNOWN;
		else
			b->has_from = false;
		find(jumped_fault, false, 0);
		is_unknown();
	}
	/* the trace ends before the fault, or elsewhere */
	program(load, load_end);
	branches.after_gap = true;
	find(load_fault, false, 0);
	is_unknown();
	program(jumped, jumped_end);
	branch(at(jumped_jump), at(jumped_to) + 1, AUXTAP_BRANCH_JUMP);
	find(jumped_to, false, 0);
	is_unknown();
	/* not by a fault */
	RUN(load);
	was_read(HEAP + 24);
	regs.arch = AUXTAP_ARCH_AARCH64;
	find(load_fault, false, 0);
	is_unknown();
}

static void returned(void **state)
{
	(void)state;
	program(returns, returns_end);
	branch(at(returns_call), at(returns_f), AUXTAP_BRANCH_CALL);
	branch(at(returns_ret), at(returns_back), AUXTAP_BRANCH_RETURN);
	find(returns_fault, false, 0);
	assert_int_equal(origin.kind, REPORT_ORIGIN_RETURNED);
	assert_int_equal(origin.ip, at(returns_ret));
	/* the pointer was in another register */
	program(other_reg, other_reg_end);
	branch(at(other_reg_call), at(other_reg_f), AUXTAP_BRANCH_CALL);
	branch(at(other_reg_ret), at(other_reg_back), AUXTAP_BRANCH_RETURN);
	find(other_reg_fault, false, 0);
	was_read(HEAP + 24);
	/* it did not write to rax */
	program(keeps, keeps_end);
	branch(at(keeps_call), at(keeps_f), AUXTAP_BRANCH_CALL);
	branch(at(keeps_ret), at(keeps_back), AUXTAP_BRANCH_RETURN);
	find(keeps_fault, false, 0);
	is_unknown();
	program(keeps_read, keeps_read_end);
	branch(at(keeps_read_call), at(keeps_read_f), AUXTAP_BRANCH_CALL);
	branch(at(keeps_read_ret), at(keeps_read_back), AUXTAP_BRANCH_RETURN);
	find(keeps_read_fault, false, 0);
	was_read(HEAP + 24);
}

#define RUN_FRAME(name)                                                        \
	do {                                                                   \
		program(name, name##_end);                                     \
		regs.reg[AUXTAP_X86_BP] = STACK + 64;                          \
		branch(at(name##_call), at(name##_f), AUXTAP_BRANCH_CALL);     \
		branch(at(name##_ret), at(name##_back), AUXTAP_BRANCH_RETURN); \
		find(name##_fault, false, 0);                                  \
	} while (0)
#define RUN_FRAMES(name)                                                         \
	do {                                                                     \
		program(name, name##_end);                                       \
		regs.reg[AUXTAP_X86_BP] = STACK + 64;                            \
		branch(at(name##_call), at(name##_f), AUXTAP_BRANCH_CALL);       \
		branch(at(name##_call2), at(name##_g), AUXTAP_BRANCH_CALL);      \
		branch(at(name##_ret2), at(name##_back2), AUXTAP_BRANCH_RETURN); \
		branch(at(name##_ret), at(name##_back), AUXTAP_BRANCH_RETURN);   \
		find(name##_fault, false, 0);                                    \
	} while (0)

/* What functions called since store in their own frames is elsewhere. */
static void frames_of_calls(void **state)
{
	(void)state;
	RUN_FRAME(frame);
	was_read(HEAP + 8);
	RUN_FRAME(no_frame);
	was_read(STACK + 56);
	assert_true(origin.is_local);
	RUN_FRAME(other_frame);
	was_read(STACK + 56);
	RUN_FRAME(switched); /* perhaps to another stack */
	was_read(STACK + 56);
	RUN_FRAMES(frames);
	was_read(HEAP + 8);
	RUN_FRAMES(frame_popped);
	was_read(HEAP + 8);
	RUN_FRAMES(saved_lost); /* where f stores then is unknown */
	was_read(STACK + 56);
}

static void called(void **state)
{
	(void)state;
	program(calls_reg, calls_reg_end);
	regs.reg[AUXTAP_X86_AX] = 0x1234;
	find(calls_reg_fault, true, 0x1234);
	assert_int_equal(origin.kind, REPORT_ORIGIN_READ);
	assert_int_equal(origin.addr, HEAP + 16);
	assert_int_equal(origin.value, 0x1234);
	assert_true(origin.is_code);
	program(calls_mem, calls_mem_end);
	find(calls_mem_fault, true, 0x1234);
	assert_int_equal(origin.addr, HEAP + 16);
	assert_true(origin.has_value);
	assert_int_equal(origin.value, 0x1234);
	/* the call has pushed its return address */
	program(calls_stack, calls_stack_end);
	find(calls_stack_fault, true, 0x1234);
	assert_int_equal(origin.addr, STACK + 8 + 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_load),	   cmocka_unit_test(constants_and_moves),
		cmocka_unit_test(through_memory),  cmocka_unit_test(address_in_memory),
		cmocka_unit_test(over_branches),   cmocka_unit_test(not_over),
		cmocka_unit_test(returned),	   cmocka_unit_test(called),
		cmocka_unit_test(frames_of_calls),
	};
	int ret = cmocka_run_group_tests(tests, NULL, NULL);

	auxtap_image_set_free(images);
	return ret;
}
#else
#include <stdio.h>

int main(void)
{
	printf("skipped: its programs are for x86-64\n");
	return 77;
}
#endif
