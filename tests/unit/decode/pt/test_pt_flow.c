// SPDX-License-Identifier: BSD-2-Clause
/*
 * Segments, restarts, gaps and call depth on packets written by hand: packets, reason and expected
 * events side by side.
 */
#include "support_pt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define INSN (AUXTAP_EVENT_INSN | AUXTAP_EVENT_GAP)
#define FLOW                                                                                  \
	(AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN | AUXTAP_EVENT_ASYNC | \
	 AUXTAP_EVENT_TRACE | AUXTAP_EVENT_GAP)

static void expect(const struct pt_bytes *pt, uint32_t events, const char *lines)
{
	char out[8192];

	pt_decode(pt, events, 1, out, sizeof(out));
	assert_string_equal(out, lines);
	/* a second thread changes nothing */
	pt_decode(pt, events, 2, out, sizeof(out));
	assert_string_equal(out, lines);
}

/* After the last packet nothing is listed: no packet says whether the call at 1004 ran. */
static void stops_after_the_last_packet(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	pt_psb(&pt, 0x1000);
	pt_tnt(&pt, "110");
	expect(&pt, INSN,
	       "i 1000\ni 1001\ni 1002\ni 1000\ni 1001\ni 1002\ni 1000\ni 1001\ni 1002\n");
	expect(&pt, FLOW, "b jcc 1002 1000\nb jcc 1002 1000\n");
}

/*
 * The next PSB+ names 1010: the flow reached it, through the direct call; and the second segment
 * does not depend on the first.
 */
static void flows_to_the_next_psb(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	pt_psb(&pt, 0x1000);
	pt_tnt(&pt, "0");
	pt_psb(&pt, 0x1010);
	pt_tip(&pt, 0x1009);
	expect(&pt, INSN, "i 1000\ni 1001\ni 1002\ni 1004\ni 1010\ni 1011\n");
	expect(&pt, FLOW,
	       "b call 1004 1010\ncall 1004 1010 depth 1\n"
	       "b ret 1011 1009\nreturn 1011 1009 depth 0\n");
}

/* Two PSBs with straight code between them and no packet at all. */
static void flows_between_psbs_without_packets(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	pt_psb(&pt, 0x100d);
	pt_psb(&pt, 0x100f);
	pt_tip(&pt, 0x1009);
	expect(&pt, INSN, "i 100d\ni 100e\ni 100f\ni 1010\ni 1011\n");
}

/* Nothing is mapped at 5000: execution there is a gap, up to the next address in the trace. */
static void resumes_after_a_missing_image(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	pt_psb(&pt, 0x1009);
	pt_tip(&pt, 0x5000);
	pt_tnt(&pt, "1");
	pt_tip(&pt, 0x5100);
	pt_tip(&pt, 0x1010);
	pt_tip(&pt, 0x1009);
	expect(&pt, INSN, "i 1009\ngap no_image\ni 1010\ni 1011\n");
	expect(&pt, FLOW,
	       "b ijmp 1009 5000\ngap no_image\nb ret 1011 1009\nreturn 1011 1009 depth 0\n");
}

/* Calls before a gap are not the callers of code after it: depth starts anew. */
static void forgets_calls_over_a_gap(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	pt_psb(&pt, 0x1004);
	pt_psb(&pt, 0x1010);
	pt_ovf(&pt);
	pt_fup(&pt, 0x1004);
	pt_tip(&pt, 0x1009);
	expect(&pt, AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN | AUXTAP_EVENT_GAP,
	       "call 1004 1010 depth 1\ngap hw_overflow\n"
	       "call 1004 1010 depth 1\nreturn 1011 1009 depth 0\n");
}

static void reports_an_overflow(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	pt_psb(&pt, 0x1000);
	pt_tnt(&pt, "1");
	pt_ovf(&pt);
	pt_fup(&pt, 0x1010);
	pt_tip(&pt, 0x1009);
	expect(&pt, INSN, "i 1000\ni 1001\ni 1002\ngap hw_overflow\ni 1010\ni 1011\n");
}

/* An interrupt at 1001: that instruction has not run. */
static void lists_no_interrupted_instruction(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	pt_psb(&pt, 0);
	pt_pge(&pt, 0x1000);
	pt_fup(&pt, 0x1001);
	pt_pgd(&pt);
	pt_pge(&pt, 0x1001);
	pt_tnt(&pt, "1");
	expect(&pt, INSN, "i 1000\ni 1001\ni 1002\n");
	expect(&pt, FLOW, "on 1000\nasync 1001\noff 1001\non 1001\nb jcc 1002 1000\n");
}

/* TIP.PGD without FUP: the syscall instruction itself ran. */
static void lists_the_syscall(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	pt_psb(&pt, 0x1012);
	pt_pgd(&pt);
	expect(&pt, INSN, "i 1012\n");
	expect(&pt, FLOW, "b syscall 1012 ?\noff 1012\n");
}

/* jmp to itself never uses up the TNT bit: an error, not an endless loop. */
static void gives_up_a_spin(void **state)
{
	struct pt_bytes pt = {.nr = 0};
	char out[8192];

	(void)state;
	pt_psb(&pt, 0x100b);
	pt_tnt(&pt, "1");
	pt_tip(&pt, 0x1010);
	pt_tip(&pt, 0x1009);
	pt_decode(&pt, INSN, 1, out, sizeof(out));
	assert_non_null(strstr(out, "gap decode_error\ni 1010\ni 1011\n"));
	pt_decode(&pt, FLOW, 1, out, sizeof(out));
	assert_non_null(strstr(out, "gap decode_error\nb ret 1011 1009\n"));
}

/* Half a packet and an unknown opcode: the rest of the segment is lost, the next one is complete.
 */
static void goes_on_at_the_next_psb(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	pt_psb(&pt, 0x1000);
	pt_tnt(&pt, "1");
	pt_raw(&pt, "02ff02ff");
	pt_psb(&pt, 0x1010);
	pt_tip(&pt, 0x1009);
	expect(&pt, INSN, "i 1000\ni 1001\ni 1002\ngap decode_error\ni 1010\ni 1011\n");
}

static void reports_bytes_before_the_first_psb(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	pt_tnt(&pt, "111");
	pt_psb(&pt, 0x1010);
	pt_tip(&pt, 0x1009);
	expect(&pt, INSN, "gap overwritten\ni 1010\ni 1011\n");
	/* zeros are padding, not trace */
	pt.at[0] = 0;
	expect(&pt, INSN, "i 1010\ni 1011\n");
}

static void reports_a_trace_without_psb(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	for (int i = 0; i < 100; i++)
		pt_tnt(&pt, "101");
	expect(&pt, INSN, "gap overwritten\n");
}

/* The kernel is traced and its image is missing: a gap; the program's own part is complete. */
static void resumes_after_the_kernel(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	pt_psb(&pt, 0x1012);
	pt_tip(&pt, 0xffffffff81000040);
	pt_tnt(&pt, "1011");
	pt_tip(&pt, 0xffffffff81000400);
	pt_tip(&pt, 0x1010);
	pt_tip(&pt, 0x1009);
	expect(&pt, INSN, "i 1012\ngap no_image\ni 1010\ni 1011\n");
}

/* Tracing was on; the next PSB+ has no address, so it is off. Execution in between is unknown. */
static void reports_a_silent_stop(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	pt_psb(&pt, 0x1000);
	pt_tnt(&pt, "1");
	pt_psb(&pt, 0);
	pt_pge(&pt, 0x1010);
	pt_tip(&pt, 0x1009);
	expect(&pt, INSN, "i 1000\ni 1001\ni 1002\ngap unknown\ni 1010\ni 1011\n");
	/* with a TIP.PGD before it there is no gap */
	memset(&pt, 0, sizeof(pt));
	pt_psb(&pt, 0x1012);
	pt_pgd(&pt);
	pt_psb(&pt, 0);
	pt_pge(&pt, 0x1010);
	pt_tip(&pt, 0x1009);
	expect(&pt, INSN, "i 1012\ni 1010\ni 1011\n");
}

static void counts_blocks(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	pt_psb(&pt, 0x1000);
	pt_tnt(&pt, "10");
	expect(&pt, AUXTAP_EVENT_BLOCK, "block 1000 1002 3\nblock 1000 1002 3\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_after_the_last_packet),
		cmocka_unit_test(flows_to_the_next_psb),
		cmocka_unit_test(flows_between_psbs_without_packets),
		cmocka_unit_test(resumes_after_a_missing_image),
		cmocka_unit_test(forgets_calls_over_a_gap),
		cmocka_unit_test(reports_an_overflow),
		cmocka_unit_test(lists_no_interrupted_instruction),
		cmocka_unit_test(lists_the_syscall),
		cmocka_unit_test(gives_up_a_spin),
		cmocka_unit_test(goes_on_at_the_next_psb),
		cmocka_unit_test(reports_bytes_before_the_first_psb),
		cmocka_unit_test(reports_a_trace_without_psb),
		cmocka_unit_test(resumes_after_the_kernel),
		cmocka_unit_test(reports_a_silent_stop),
		cmocka_unit_test(counts_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
