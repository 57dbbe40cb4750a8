// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where a bad pointer came from: each condition for a value, a run of instructions, a call or a
 * block to be known, and what is said of it.
 */
#if defined(__x86_64__)
#include "support_origin.h"

/* clang-format off */
CODE(load, "movq 24(%rbx), %rdx; load_fault: movl (%rdx), %eax");
CODE(through_stack, "movq (%rsp), %rax; movq 24(%rax), %rdx; xorl %eax, %eax;"
		    "through_stack_fault: movl (%rdx), %eax");
CODE(jumped, "movq 24(%rbx), %rdx; jumped_jump: jmp jumped_to; ud2; jumped_to: nop;"
	     "jumped_fault: movl (%rdx), %eax");
CODE(keeps_read, "movq 24(%rbx), %rax; keeps_read_call: call keeps_read_f;"
		 "keeps_read_back: movq %rax, %rdx; keeps_read_fault: movl (%rdx), %eax;"
		 "keeps_read_f: incl %ecx; keeps_read_ret: ret");
CODE(thread_local, "movq %fs:8, %rdx; thread_local_fault: movl (%rdx), %eax");
CODE(calls_mem, "nop; calls_mem_fault: call *16(%rbx)");
CODE(calls_stack, "nop; calls_stack_fault: call *8(%rsp)");
LOAD(counts_bits, "bsfq 24(%rbx), %rdx");
LOAD(constant, "movq $0x1234, %rdx");
LOAD(null_constant, "movq $0, %rdx");
LOAD(null_half, "movl $0, %edx; incl %ecx");
LOAD(null_xor, "xorl %edx, %edx; movl $1, %ecx");
LOAD(null_moved, "xorl %eax, %eax; movl %eax, %edx; movl $1, %eax");
LOAD(null_moved_part, "movq 24(%rbx), %rax; movb $0, %al; movl %eax, %edx");
LOAD(null_part, "movq 24(%rbx), %rdx; movb $0, %dl");
LOAD(xor_others, "movq 24(%rbx), %rdx; xorl %ecx, %edx");
LOAD(null_stored, "movq $0, -16(%rsp); movq -16(%rsp), %rdx");
LOAD(pop_pushed, "movq 8(%rbx), %rsi; pushq %rsi; xorl %esi, %esi; popq %rdx");
LOAD(pop_constant, "pushq $0; popq %rdx");
LOAD(pop_lost, "movq 8(%rbx), %rsi; pushq %rsi; movq %rax, (%r8); popq %r8; subq $8, %rsp;"
	       "popq %rdx");
LOAD(added_most, "movq 24(%rbx), %rdx; addq $0xffff, %rdx; subq $0xffff, %rdx");
LOAD(added_far, "movq 24(%rbx), %rdx; addq $0x10000, %rdx");
LOAD(lea_far, "movq 24(%rbx), %rdx; leaq -0x10000(%rdx), %rdx");
CODE(access_far, "movq 24(%rbx), %rdx; access_far_fault: movl 0x404040(%rdx), %eax");
CODE(access_near, "movq 24(%rbx), %rdx; access_near_fault: movl -16(%rdx), %eax");
CODE(access_index, "movq 24(%rbx), %rdx; access_index_fault: movl (%rdx,%rsi), %eax");
LOAD(segment, "xorl %ecx, %ecx; movl %ds, %edx");
LOAD(local_of_rbp, "movq -8(%rbp), %rdx");
LOAD(lost_local, "movq -8(%rbp), %rdx; bsfq %rcx, %rbp");
LOAD(lost_member, "movq 8(%rbp), %rdx; bsfq %rcx, %rbp");
LOAD(lea_rip, "leaq 0x10(%rip), %rdx; movl $1, %ecx");
LOAD(added_half, "movq 24(%rbx), %rdx; addl $4, %edx");
LOAD(added_reg, "movq 24(%rbx), %rdx; addq %rcx, %rdx");
LOAD(lea_index, "movq 24(%rbx), %rdx; leaq (%rdx,%rcx), %rdx");
LOAD(lea_half, "movq 24(%rbx), %rdx; leaq 4(%edx), %rdx");
LOAD(base_half, "movq 24(%ebx), %rdx");
LOAD(rip_relative, "movq 0x10(%rip), %rdx");
LOAD(other_thread_local, "movq %gs:8, %rdx");
LOAD(steps_24, "movq 24(%rbx), %rdx; .rept 23; incl %ecx; addq $1, %rdx; .endr");
LOAD(steps_25, "movq 24(%rbx), %rdx; .rept 24; incl %ecx; addq $1, %rdx; .endr");
LOAD(insns_256, "movq 24(%rbx), %rdx; .skip 255, 0x90");
LOAD(insns_257, "movq 24(%rbx), %rdx; .skip 256, 0x90");
/* the address of what is read is computed from a word of the stack */
#define FROM_STACK(name, text) \
	LOAD(name, "movq (%rsp), %rax; " text "; movq 24(%rax), %rdx; xorl %eax, %eax")
FROM_STACK(value_added, "addq $0x1000, %rax");
FROM_STACK(value_added_byte, "addq $16, %rax");
FROM_STACK(value_reduced, "addq $-0x1000, %rax");
FROM_STACK(value_of_constant, "movq %rax, %rcx; movq $-16, %rax; addq %rcx, %rax; movl $2, %ecx");
FROM_STACK(value_of_half, "movq %rax, %rcx; movl $-16, %eax; addq %rcx, %rax; movl $2, %ecx");
FROM_STACK(value_subtracted, "subq %rcx, %rax");
FROM_STACK(value_shifted, "shlq %cl, %rax");
FROM_STACK(half_shifted, "shll $36, %eax");
FROM_STACK(value_part, "leaw 8(%rbx), %ax");
FROM_STACK(value_half, "leal 8(%rcx), %eax");
FROM_STACK(word_changed, "movq %rcx, (%rsp)");
FROM_STACK(stack_moved, "addq $8, %rsp; leaq 8(%rsp), %rsp; subq $16, %rsp");
FROM_STACK(popped, "popq %rcx; subq $8, %rsp");
FROM_STACK(pushed_part, "pushw %cx");
FROM_STACK(value_popped, "pushq %rax; xorl %eax, %eax; popq %rax");
FROM_STACK(value_stored_twice, "movq %rax, -16(%rsp); movq -16(%rsp), %rax; movq %rcx, -16(%rsp)");
FROM_STACK(popped_part, "subq $16, %rsp; popw %cx");
FROM_STACK(popped_sp, "subq $16, %rsp; popq %rsp");
FROM_STACK(frame, "leaq -8(%rbp), %rsp");
LOAD(ret_pops, "movq (%rsp), %rax; movq 24(%rax), %rdx; ret_pops_call: call ret_pops_f;"
	       "ret_pops_back: xorl %eax, %eax; jmp ret_pops_fault;"
	       "ret_pops_f: nop; ret_pops_ret: ret $16");
/* the pointer was in a word of the stack */
#define STORED(name, text)                                                            \
	LOAD(name, "movq 8(%rbx), %rsi; movq %rsi, -16(%rsp); xorl %esi, %esi; " text \
		   "; movq -16(%rsp), %rdx")
STORED(around_it, "movq %rcx, -8(%rsp); movq %rcx, -24(%rsp)");
STORED(string_elsewhere, "leaq -64(%rsp), %rdi; rep movsb");
STORED(string_word, "leaq -8(%rsp), %rdi; stosq");
STORED(added_there, "movq 40(%rbx), %r8; addq %r8, -16(%rsp)");
STORED(constant_there, "constant_there_store: movq $16, -16(%rsp)");
extern const char constant_there_store[];
STORED(pop_there, "pushq %rcx; popq -16(%rsp)");
STORED(changed, "movq %rbx, %rsi; xorq %rcx, %rsi; addq $8, %rsi; movq %rsi, -16(%rsp)");
LOAD(push_over, "movq 8(%rbx), %rsi; movq %rsi, -8(%rsp); pushq %rax; movq (%rsp), %rdx");
LOAD(stored_low, "movq 8(%rbx), %rsi; movq %rsi, 32(%rbx); movq 32(%rbx), %rdx");
CODE(moves_word, "movq 8(%rbx), %rsi; movq 16(%rbx), %rdi; moves_word_fault: movsq");
CODE(increments, "nop; increments_fault: incq 8(%rbx)");
CODE(jumps_far, "nop; jumps_far_fault: ljmp *16(%rbx)");
CODE(jumps_stack, "nop; jumps_stack_fault: jmp *8(%rsp)");
CODE(calls_there, "nop; calls_there_fault: call *0x100(%rip)");
CODE(calls_stored, "movq 8(%rbx), %rsi; movq %rsi, 8(%rsp); xorl %esi, %esi;"
		   "calls_stored_fault: call *8(%rsp)");
CODE(twice, "movq 24(%rbx), %rdx; twice_jump: jmp twice_to; ud2; twice_to: nop;"
	    "twice_jump2: jmp twice_to2; ud2; twice_to2: nop; twice_fault: movl (%rdx), %eax");
CODE(counts, "movq 24(%rbx), %rdx; counts_to: decl %ecx; counts_jump: jnz counts_to;"
	     "counts_fault: movl (%rdx), %eax");
CODE(inner, "inner_call: call inner_f; inner_back: movq %rax, %rdx;"
	    "inner_fault: movl (%rdx), %eax; inner_f: xorl %eax, %eax; inner_call2: call inner_g;"
	    "inner_back2: nop; inner_ret: ret; inner_g: nop; inner_ret2: ret");
/* clang-format on */

#define FAULT_LABEL(name) extern const char name##_fault[]
FAULT_LABEL(load);
FAULT_LABEL(through_stack);
FAULT_LABEL(jumped);
FAULT_LABEL(keeps_read);
FAULT_LABEL(thread_local);
FAULT_LABEL(calls_mem);
FAULT_LABEL(calls_stack);
FAULT_LABEL(access_far);
FAULT_LABEL(access_near);
FAULT_LABEL(access_index);
extern const char jumped_jump[], jumped_to[];
extern const char keeps_read_call[], keeps_read_f[], keeps_read_ret[], keeps_read_back[];
extern const char moves_word_fault[], increments_fault[], jumps_far_fault[], jumps_stack_fault[];
extern const char calls_there_fault[], calls_stored_fault[], twice_fault[], counts_fault[];
extern const char inner_fault[], inner_call[], inner_call2[], inner_f[], inner_g[];
extern const char inner_ret[], inner_ret2[], inner_back[], inner_back2[];
extern const char twice_jump[], twice_jump2[], twice_to[], twice_to2[];
extern const char counts_jump[], counts_to[];
extern const char ret_pops_call[], ret_pops_f[], ret_pops_ret[], ret_pops_back[];

/* Instead of an address. */
#define SOMEWHERE 1
#define SET	  2

/* What a program reads the pointer from; 0: it is not known. */
static void values(void **state)
{
#define CASE(name, addr)                             \
	{                                            \
		name, name##_end, name##_fault, addr \
	}
	static const struct {
		const char *begin, *end, *fault;
		uint64_t addr;
	} cases[] = {
		CASE(counts_bits, 0),
		CASE(constant, 0),
		CASE(null_constant, SET),
		CASE(null_half, SET),
		CASE(null_xor, SET),
		CASE(null_moved, SET),
		CASE(null_moved_part, 0),
		CASE(null_part, 0),
		CASE(xor_others, 0),
		CASE(null_stored, SET),
		CASE(pop_pushed, HEAP + 8),
		CASE(pop_constant, SET),
		CASE(pop_lost, STACK - 8),
		CASE(value_popped, HEAP + 0x80 + 24),
		CASE(value_stored_twice, HEAP + 0x80 + 24),
		CASE(added_half, 0),
		CASE(added_reg, 0),
		CASE(lea_index, 0),
		CASE(lea_half, 0),
		CASE(base_half, SOMEWHERE),
		CASE(rip_relative, BASE + 7 + 0x10),
		CASE(other_thread_local, 0xa008),
		CASE(steps_24, HEAP + 24),
		CASE(steps_25, 0), /* it gives up */
		CASE(insns_256, HEAP + 24),
		CASE(insns_257, 0),
		CASE(value_added, HEAP + 0x80 + 0x1000 + 24),
		CASE(value_added_byte, HEAP + 0x80 + 16 + 24),
		CASE(value_reduced, HEAP + 0x80 - 0x1000 + 24),
		CASE(value_of_constant, HEAP + 0x80 - 16 + 24),
		CASE(value_of_half, HEAP + 0x80 + 0xfffffff0ull + 24),
		CASE(value_subtracted, HEAP + 0x80 - 2 + 24),
		CASE(value_shifted, SOMEWHERE),
		CASE(half_shifted, SOMEWHERE),
		CASE(value_part, SOMEWHERE),
		CASE(word_changed, SOMEWHERE),
		CASE(stack_moved, HEAP + 0x80 + 24),
		CASE(popped, HEAP + 0x80 + 24),
		CASE(pushed_part, SOMEWHERE),
		CASE(popped_part, SOMEWHERE),
		CASE(popped_sp, SOMEWHERE),
		CASE(frame, SOMEWHERE),
		CASE(around_it, HEAP + 8),
		CASE(string_elsewhere, STACK - 16),
		CASE(string_word, HEAP + 8),
		CASE(added_there, STACK - 16),
		CASE(constant_there, STACK - 16),
		CASE(push_over, STACK),
		CASE(added_most, HEAP + 24),
		CASE(added_far, 0), /* perhaps an array, and its index */
		CASE(lea_far, 0),
		CASE(access_far, 0),
		CASE(access_near, HEAP + 24),
		CASE(access_index, 0),
		CASE(segment, 0),
		CASE(pop_there, STACK - 16),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		program(cases[i].begin, cases[i].end);
		regs.reg[AUXTAP_X86_GS] = 0xa000;
		for (int k = 0; k < 4; k++)
			stack_words[k] = HEAP + 0x80;
		find(cases[i].fault, false, 0);
		if (cases[i].addr == SOMEWHERE)
			was_read_somewhere();
		else if (cases[i].addr == SET)
			was_set(BASE);
		else if (cases[i].addr)
			was_read(cases[i].addr);
		else
			is_unknown();
	}
	/* a constant was added before it was stored, to what is unknown */
	program(changed, changed_end);
	regs.reg[AUXTAP_X86_DX] = 8;
	find(changed_fault, false, 0);
	was_read(STACK - 16);
	assert_int_equal(origin.value, 8);
	/* in the frame of the function */
	program(local_of_rbp, local_of_rbp_end);
	regs.reg[AUXTAP_X86_BP] = STACK + 8;
	find(local_of_rbp_fault, false, 0);
	was_read(STACK);
	assert_true(origin.is_local);
	program(local_of_rbp, local_of_rbp_end);
	regs.reg[AUXTAP_X86_BP] = HEAP + 8;
	find(local_of_rbp_fault, false, 0);
	was_read(HEAP);
	assert_false(origin.is_local);
	RUN(lost_local);
	was_read_somewhere();
	assert_true(origin.is_local);
	RUN(lost_member);
	was_read_somewhere();
	assert_false(origin.is_local);
	program(lea_rip, lea_rip_end);
	regs.reg[AUXTAP_X86_DX] = BASE + 7 + 0x10;
	find(lea_rip_fault, false, 0);
	was_set(BASE);
	program(constant_there, constant_there_end);
	regs.reg[AUXTAP_X86_DX] = 16;
	find(constant_there_fault, false, 0);
	was_set(at(constant_there_store));
	program(value_half, value_half_end);
	regs.reg[AUXTAP_X86_CX] = 0x500000000 + HEAP;
	find(value_half_fault, false, 0);
	was_read(HEAP + 8 + 24);
}

/* A register that the recording does not have. */
static void without_registers(void **state)
{
	(void)state;
	program(load, load_end);
	regs.valid &= ~(1ull << AUXTAP_X86_BX);
	find(load_fault, false, 0);
	was_read_somewhere();
	program(thread_local, thread_local_end);
	regs.valid &= ~(1ull << AUXTAP_X86_FS);
	find(thread_local_fault, false, 0);
	was_read_somewhere();
	program(through_stack, through_stack_end);
	stack_words[0] = HEAP + 0x200;
	regs.valid &= ~(1ull << AUXTAP_X86_SP);
	find(through_stack_fault, false, 0);
	was_read_somewhere();
	program(value_popped, value_popped_end);
	regs.valid &= ~(1ull << AUXTAP_X86_SP);
	find(value_popped_fault, false, 0);
	was_read_somewhere();
}

/* Memory below the stack is not of it, either. */
static void below_the_stack(void **state)
{
	(void)state;
	program(stored_low, stored_low_end);
	regs.reg[AUXTAP_X86_BX] = LOW;
	find(stored_low_fault, false, 0);
	was_read(LOW + 32);
}

/* Of two operands in memory the one that the access was to. */
static void two_operands(void **state)
{
	(void)state;
	program(moves_word, moves_word_end);
	base_reg = "rsi";
	find(moves_word_fault, false, 0);
	was_read(HEAP + 8);
	program(moves_word, moves_word_end);
	base_reg = "rdi";
	find(moves_word_fault, false, 0);
	was_read(HEAP + 16);
}

/* Runs of instructions that are not what the branches say end what is known. */
static void runs(void **state)
{
	(void)state;
	program(counts, counts_end);
	branch(at(counts_jump), at(counts_to), AUXTAP_BRANCH_COND);
	branches.at[branches.nr - 1].repeat = 47;
	find(counts_fault, false, 0);
	was_read(HEAP + 24);
	program(counts, counts_end);
	branch(at(counts_jump), at(counts_to), AUXTAP_BRANCH_COND);
	branches.at[branches.nr - 1].repeat = 48;
	find(counts_fault, false, 0);
	is_unknown();
	/* the run before the jump does not end there */
	program(jumped, jumped_end);
	branch(at(jumped_jump) + 1, at(jumped_to), AUXTAP_BRANCH_JUMP);
	find(jumped_fault, false, 0);
	is_unknown();
	program(twice, twice_end);
	branch(at(twice_jump), at(twice_to), AUXTAP_BRANCH_JUMP);
	branch(at(twice_jump2) + 1, at(twice_to2), AUXTAP_BRANCH_JUMP);
	find(twice_fault, false, 0);
	is_unknown();
	program(twice, twice_end);
	branch(at(twice_jump), at(twice_to), AUXTAP_BRANCH_JUMP);
	branch(at(twice_jump2), at(twice_to2), AUXTAP_BRANCH_JUMP);
	find(twice_fault, false, 0);
	was_read(HEAP + 24);
}

/* The trace ends elsewhere or has no signal; another process sent it. */
static void not_by_a_fault(void **state)
{
	struct fault fault = {.has_insn = true};
	struct report_headline head = {.fault = &fault, .branches = &branches};
	struct report_out ro = {.pid = -1};

	(void)state;
	program(load, load_end);
	died_off = 1;
	find(load_fault, false, 0);
	is_unknown();
	program(load, load_end);
	si_code = SI_USER;
	find(load_fault, false, 0);
	is_unknown();
	/* no signal is in the trace */
	program(jumped, jumped_end);
	branch(at(jumped_jump), at(jumped_to), AUXTAP_BRANCH_JUMP);
	head.regs = &regs;
	head.ip = at(jumped_fault);
	fault.insn_ip = head.ip;
	fault.access = (struct fault_access){.known = true, .base_reg = "rdx"};
	facts.crash.si_code = SEGV_MAPERR;
	ro.images = images;
	report_origin_find(&ro, &facts, &head);
	assert_int_equal(head.origin.kind, REPORT_ORIGIN_UNKNOWN);
	/* neither registers nor branches */
	head.branches = NULL;
	report_origin_find(&ro, &facts, &head);
	assert_int_equal(head.origin.kind, REPORT_ORIGIN_UNKNOWN);
	head.branches = &branches;
	head.regs = NULL;
	report_origin_find(&ro, &facts, &head);
	assert_int_equal(head.origin.kind, REPORT_ORIGIN_UNKNOWN);
}

static void nested_calls(void **state)
{
	(void)state;
	program(inner, inner_end);
	branch(at(inner_call), at(inner_f), AUXTAP_BRANCH_CALL);
	branch(at(inner_call2), at(inner_g), AUXTAP_BRANCH_CALL);
	branch(at(inner_ret2), at(inner_back2), AUXTAP_BRANCH_RETURN);
	branch(at(inner_ret), at(inner_back), AUXTAP_BRANCH_RETURN);
	find(inner_fault, false, 0);
	assert_int_equal(origin.kind, REPORT_ORIGIN_RETURNED);
	assert_int_equal(origin.ip, at(inner_ret));
	/* called by a pointer, it did not write to rax */
	program(keeps_read, keeps_read_end);
	branch(at(keeps_read_call), at(keeps_read_f), AUXTAP_BRANCH_CALL_INDIRECT);
	branch(at(keeps_read_ret), at(keeps_read_back), AUXTAP_BRANCH_RETURN);
	find(keeps_read_fault, false, 0);
	was_read(HEAP + 24);
	/* a return that removes arguments, too: where the stack pointer was is not known */
	program(ret_pops, ret_pops_end);
	branch(at(ret_pops_call), at(ret_pops_f), AUXTAP_BRANCH_CALL);
	branch(at(ret_pops_ret), at(ret_pops_back), AUXTAP_BRANCH_RETURN);
	branch(at(ret_pops_back) + 2, at(ret_pops_fault), AUXTAP_BRANCH_JUMP);
	for (int i = 0; i < 4; i++)
		stack_words[i] = HEAP + 0x80;
	find(ret_pops_fault, false, 0);
	was_read_somewhere();
}

/* A call or jump that faulted, or went to where nothing is. */
static void targets(void **state)
{
	(void)state;
	program(calls_stored, calls_stored_end);
	find(calls_stored_fault, true, 0x1234);
	assert_int_equal(origin.kind, REPORT_ORIGIN_READ);
	assert_int_equal(origin.addr, HEAP + 8);
	/* a jump has pushed nothing; nor has a call that could not */
	program(jumps_stack, jumps_stack_end);
	branch_kind = AUXTAP_BRANCH_JUMP_INDIRECT;
	find(jumps_stack_fault, true, 0x1234);
	assert_int_equal(origin.addr, STACK + 8);
	program(calls_stack, calls_stack_end);
	base_reg = NULL;
	find(calls_stack_fault, false, 0);
	assert_int_equal(origin.kind, REPORT_ORIGIN_READ);
	assert_int_equal(origin.addr, STACK + 8);
	assert_true(origin.is_code);
	assert_false(origin.has_value);
	/* no word of memory */
	program(jumps_far, jumps_far_end);
	base_reg = NULL;
	find(jumps_far_fault, false, 0);
	is_unknown();
	/* the access was the call's own, to no register's address */
	program(calls_there, calls_there_end);
	base_reg = "";
	find(calls_there_fault, false, 0);
	is_unknown();
	program(increments, increments_end);
	base_reg = NULL;
	find(increments_fault, false, 0);
	is_unknown();
}

/* The last branch is not the one that went to the bad address. */
static void other_branch(void **state)
{
	static const enum auxtap_branch_kind kinds[] = {AUXTAP_BRANCH_RETURN, AUXTAP_BRANCH_CALL};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		program(calls_mem, calls_mem_end);
		branch_kind = kinds[i];
		find(calls_mem_fault, true, 0x1234);
		is_unknown();
	}
	program(calls_mem, calls_mem_end);
	last_off = 1;
	find(calls_mem_fault, true, 0x1234);
	is_unknown();
	program(calls_mem, calls_mem_end);
	has_last = false;
	find(calls_mem_fault, true, 0x1234);
	is_unknown();
}

/* ---- what is said of it ---- */

static void in_blocks(void **state)
{
	struct report_origin o = {.kind = REPORT_ORIGIN_READ, .has_addr = true, .addr = 0x1000};
	struct auxtap_crash_block block = {.addr = 0x1000, .nr_bytes = 16};

	(void)state;
	assert_true(report_origin_is_in(&block, &o));
	o.addr = 0x100f;
	assert_true(report_origin_is_in(&block, &o));
	o.addr = 0x1010;
	assert_false(report_origin_is_in(&block, &o));
	o.addr = 0xfff;
	assert_false(report_origin_is_in(&block, &o));
	o.addr = 0x1000;
	o.kind = REPORT_ORIGIN_RETURNED;
	assert_false(report_origin_is_in(&block, &o));
	o.kind = REPORT_ORIGIN_READ;
	o.has_addr = false;
	assert_false(report_origin_is_in(&block, &o));
	o.has_addr = true;
	block.flags = AUXTAP_BLOCK_MAPPING;
	assert_false(report_origin_is_in(&block, &o));
}

static void printed(const struct report_facts *of, const struct report_origin *o, const char *want)
{
	char text[200] = "";
	struct report_out ro = {.images = images,
				.style = &report_plain,
				.out = fmemopen(text, sizeof(text), "w")};

	assert_non_null(ro.out);
	report_origin_print(&ro, of, o);
	fclose(ro.out);
	assert_string_equal(text, want);
}

/* What is new is said: not a variable of the function's own, nor the line of the fault. */
static void said(void **state)
{
	static struct report_facts of = {.nr_blocks = 2,
					 .blocks = {{.record = {.addr = 0x2000, .nr_bytes = 8}},
						    {.record = {.addr = 0x1000, .nr_bytes = 16}}}};
	const struct report_branch last = {.from = 0x50};
	struct fault fault = {.bad_ip = false};
	struct report_headline head = {.fault = &fault, .ip = 0x60};
	struct report_origin *o = &head.origin;
	struct report_out ro = {.images = images, .pid = -1};

	(void)state;
	*o = (struct report_origin){.kind = REPORT_ORIGIN_READ,
				    .ip = 0x50,
				    .has_addr = true,
				    .addr = 0x1008,
				    .value = 0x10,
				    .used = 0x10,
				    .is_local = true};
	report_origin_check(&ro, &of, &head);
	printed(&of, o,
		"  The pointer was read by 0x50, from byte 8 of the block of 16 bytes at 0x1000\n");
	o->used = 0x18;
	printed(&of, o,
		"  The pointer, before a constant was added, was read by 0x50, from byte 8 of the "
		"block of 16 bytes at 0x1000\n");
	o->value = 0;
	of.blocks[1].record.flags = AUXTAP_BLOCK_FREED;
	printed(&of, o,
		"  The null pointer was read by 0x50, from byte 8 of the freed block of 16 bytes at "
		"0x1000\n");
	o->is_code = true;
	printed(&of, o,
		"  The address was read by 0x50, from byte 8 of the freed block of 16 bytes at 0x1000\n");
	o->addr = 0x1010;
	o->is_local = false;
	report_origin_check(&ro, &of, &head);
	printed(&of, o, "  The address was read by 0x50\n");
	o->is_local = true;
	report_origin_check(&ro, &of, &head);
	assert_int_equal(o->kind, REPORT_ORIGIN_UNKNOWN);
	printed(&of, o, "");
	o->kind = REPORT_ORIGIN_RETURNED;
	report_origin_check(&ro, &of, &head);
	printed(&of, o, "  The address was returned by 0x50\n");
	o->kind = REPORT_ORIGIN_SET;
	report_origin_check(&ro, &of, &head);
	printed(&of, o, "  The address was set by 0x50\n");
	/* at the fault itself, or the call that went to where nothing is */
	fault.bad_ip = true;
	head.last = &last;
	report_origin_check(&ro, &of, &head);
	assert_int_equal(o->kind, REPORT_ORIGIN_UNKNOWN);
	fault.bad_ip = false;
	head.ip = 0x50;
	o->kind = REPORT_ORIGIN_SET;
	report_origin_check(&ro, &of, &head);
	assert_int_equal(o->kind, REPORT_ORIGIN_UNKNOWN);
	o->kind = REPORT_ORIGIN_RETURNED;
	report_origin_check(&ro, &of, &head);
	assert_int_equal(o->kind, REPORT_ORIGIN_RETURNED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(without_registers),
		cmocka_unit_test(below_the_stack),
		cmocka_unit_test(two_operands),
		cmocka_unit_test(runs),
		cmocka_unit_test(not_by_a_fault),
		cmocka_unit_test(nested_calls),
		cmocka_unit_test(targets),
		cmocka_unit_test(other_branch),
		cmocka_unit_test(in_blocks),
		cmocka_unit_test(said),
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
