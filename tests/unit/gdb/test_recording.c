// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a recording contains of a process: bytes of memory in fragments, registers, its program, and
 * what a core file adds.
 */
#include "gdb/recording.h"

#include "gdb/gdb_core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_memory(void **state)
{
	/* in no order; one ends where another starts; one at the end of the address space */
	struct report_memory fragments[] = {
		{0x2000, 4, (unsigned char *)"efgh"},
		{0x1ffc, 4, (unsigned char *)"abcd"},
		{0x2005, 2, (unsigned char *)"xy"},
		{UINT64_MAX - 1, 2, (unsigned char *)"yz"},
	};
	struct recording rec = {.facts = {.memory = fragments, .nr_memory = 4}};
	char buf[16] = "";

	(void)state;
	assert_int_equal(recording_memory(&rec, 0x1ffc, buf, 8), 8);
	assert_memory_equal(buf, "abcdefgh", 8);
	assert_int_equal(recording_memory(&rec, 0x1ffe, buf, 4), 4);
	assert_memory_equal(buf, "cdef", 4);
	assert_int_equal(recording_memory(&rec, 0x2003, buf, 8), 1); /* up to the hole */
	assert_int_equal(buf[0], 'h');
	assert_int_equal(recording_memory(&rec, 0x1ffb, buf, 8), 0);
	assert_int_equal(recording_memory(&rec, 0x2004, buf, 1), 0);
	assert_int_equal(recording_memory(&rec, 0x2007, buf, 1), 0);
	assert_int_equal(recording_memory(&rec, 0x2006, buf, 9), 1);
	assert_int_equal(buf[0], 'y');
	assert_int_equal(recording_memory(&rec, UINT64_MAX, buf, 8), 1);
	assert_int_equal(buf[0], 'z');
	assert_int_equal(recording_memory(&rec, 0x2000, buf, 0), 0);
}

static void test_pc(void **state)
{
	struct auxtap_regs regs = {.arch = AUXTAP_ARCH_X86_64};
	uint64_t pc = 1;

	(void)state;
	regs.reg[AUXTAP_X86_IP] = 0x1234;
	regs.valid = ~(1ull << AUXTAP_X86_IP);
	assert_false(recording_pc(NULL, &pc));
	assert_false(recording_pc(&regs, &pc));
	assert_int_equal(pc, 1);
	regs.valid = 1ull << AUXTAP_X86_IP;
	assert_true(recording_pc(&regs, &pc));
	assert_int_equal(pc, 0x1234);
	regs.arch = AUXTAP_ARCH_AARCH64;
	regs.reg[AUXTAP_A64_PC] = 0x5678;
	assert_false(recording_pc(&regs, &pc));
	regs.valid = 1ull << AUXTAP_A64_PC;
	assert_true(recording_pc(&regs, &pc));
	assert_int_equal(pc, 0x5678);
}

static void test_program(void **state)
{
	struct recording_program programs[] = {
		{.pid = 1, .name = (char *)"one"},
		{.pid = 2, .expected = true},
		{.pid = 3, .name = (char *)"three"},
	};
	struct recording rec = {.programs = programs, .nr_programs = 3, .pid = 3};

	(void)state;
	assert_ptr_equal(recording_program(&rec), &programs[2]);
	rec.pid = 1;
	assert_ptr_equal(recording_program(&rec), &programs[0]);
	rec.pid = 2; /* its first mapping was not seen */
	assert_null(recording_program(&rec));
	rec.pid = 4;
	assert_null(recording_program(&rec));
}

/* A core file adds registers where the recording has none, and the death where none is known. */
static void test_core(void **state)
{
	struct core_thread threads[2] = {{.tid = 12}, {.tid = 11}};
	struct core_dump core = {.threads = threads, .nr_threads = 2, .signo = 11};
	struct recording rec = {.pid = 11, .time = 77};
	uint64_t pc;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		threads[i].regs.arch = AUXTAP_ARCH_X86_64;
		threads[i].regs.valid = 1ull << AUXTAP_X86_IP;
		threads[i].regs.reg[AUXTAP_X86_IP] = 0x1000 + i;
	}
	assert_null(recording_regs(&rec, 11));
	assert_int_equal(recording_take_core(&rec, &core), 0);
	assert_true(rec.has_crash);
	assert_int_equal(rec.facts.crash.pid, 11);
	assert_int_equal(rec.facts.crash.tid, 12);
	assert_int_equal(rec.facts.crash.signo, 11);
	assert_int_equal(rec.facts.nr_threads, 2);
	assert_true(recording_pc(recording_regs(&rec, 11), &pc));
	assert_int_equal(pc, 0x1001);
	assert_int_equal(rec.facts.threads[0].record.pid, 11);

	/* a second one changes nothing that is known */
	threads[1].regs.reg[AUXTAP_X86_IP] = 0x9999;
	core.signo = 6;
	assert_int_equal(recording_take_core(&rec, &core), 0);
	assert_int_equal(rec.facts.nr_threads, 2);
	assert_int_equal(rec.facts.crash.signo, 11);
	assert_true(recording_pc(recording_regs(&rec, 11), &pc));
	assert_int_equal(pc, 0x1001);

	/* nothing of it is another process's */
	recording_choose(&rec, 11);
	assert_true(rec.has_crash);
	assert_int_equal(rec.time, 77);
	recording_choose(&rec, 12);
	assert_false(rec.has_crash);
	assert_null(recording_regs(&rec, 11));
	assert_true(rec.time == UINT64_MAX);
	recording_free(&rec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_pc),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_core),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
