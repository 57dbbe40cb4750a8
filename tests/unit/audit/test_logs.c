// SPDX-License-Identifier: BSD-2-Clause
/* Each finding of event logs, at the position where it begins and one before it. */
#include "support_recording.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

struct log_case {
	const char *found, *text;
};

static const struct log_case lines[] = {
	{"", "0,write,1"},
	{"", "time,event,value\n# a remark\n\n0,write,1\r\n 0x10,write, 5\n"},
	{"log-damaged", "0,write,1\n1,wrote,2"},
	{"log-damaged", "0,write,1\n1,write"}, /* needs a value */
	{"log-damaged", "0,write,1\n1,write,x"},
	{"log-damaged", "0,write,1\n1,write,2 3"},
	{"log-damaged", "0,write,1\nx,write,2"},
	{"log-damaged", "0,write,1\n1,write,99999999999999999999"},
	{"log-damaged:2", "0,write,1\n1\n2,writes,2"},
	{"log-time-back", "5,write,1\n4,write,2"},
	{"", "5,write,1\n5,write,2"},
	{"pointer-back", "0,write,100\n1,write,99"},
	{"", "0,write,100\n1,write,100"},
	{"pointer-back", "0,write,100\n1,tail,50\n2,tail,49"},
	{"", "0,write,100\n1,jump,50\n2,write,60"},
	{"log-gap", "0,write,1\n1,gap"},
	{"lost", "0,write,1\n1,lost,5"},
};

static const struct log_case limits[] = {
	{"", "0,limit,100\n1,write,100"},
	{"write-past-limit", "0,limit,100\n1,write,101\n2,write,102"}, /* once for each limit */
	{"write-past-limit:2", "0,limit,100\n1,write,101\n2,limit,102\n3,write,103"},
	{"", "# buffer: 4096\n0,limit,4096\n1,write,4096"},
	{"limit-ahead", "# buffer: 4096\n0,limit,4097"},
	{"limit-ahead", "# buffer: 4096\n0,write,10\n0,tail,10\n0,limit,4107"},
	{"", "# buffer: 4096\n0,write,10\n0,tail,10\n0,limit,4106"},
	{"unread-overwritten", "# buffer: 4096\n0,write,4097\n1,write,4098"},
	{"unread-overwritten", "# buffer: 4096\n0,write,100\n1,tail,100\n2,write,4197"},
	{"", "# buffer: 4096\n0,write,100\n1,tail,100\n2,write,4196"},
	{"", "# buffer: 4096\n# mode: overwrite\n0,limit,9000\n0,write,9000"},
	{"tail-ahead", "0,write,10\n1,tail,11"},
	{"", "0,write,10\n1,tail,10"},
	/* bytes lost with the unit on and space before the limit */
	{"lost", "0,begin,0\n0,limit,100\n1,write,100\n2,lost,1"},
	{"lost lost-with-space", "0,begin,0\n0,limit,100\n1,write,99\n2,lost,1"},
	{"lost", "# max-record: 16\n0,begin,0\n0,limit,100\n1,write,85\n2,lost,1"},
	{"lost lost-with-space", "# max-record: 16\n0,begin,0\n0,limit,100\n1,write,84\n2,lost,1"},
	{"lost", "0,limit,100\n1,write,99\n2,lost,1"}, /* the log does not say whether it is on */
};

static const struct log_case interrupts[] = {
	{"", "0,mark,100\n1,write,100\n2,irq"},
	{"interrupt-early", "0,mark,100\n1,write,99\n2,irq"},
	{"interrupt-early", "0,write,1\n1,irq"},
	{"", "0,limit,100\n1,write,100\n2,irq"}, /* it stopped there, and says so */
	{"interrupt-early", "0,limit,100\n1,write,99\n2,irq"},
	{"interrupt-doubled", "0,mark,100\n1,write,100\n2,irq\n3,irq"},
	{"", "0,mark,100\n1,write,100\n2,irq\n2,mark,200\n3,write,200\n4,irq"},
	/* an interrupt at a position that it names */
	{"", "0,mark,100\n1,irq,100"},
	{"interrupt-early", "0,mark,100\n1,irq,99"},
	{"interrupt-late", "# max-skid: 10\n0,mark,100\n1,write,111\n2,irq"},
	{"", "# max-skid: 10\n0,mark,100\n1,write,110\n2,irq"},
	{"interrupt-late", "# max-delay: 10\n0,mark,100\n1,write,100\n12,irq"},
	{"", "# max-delay: 10\n0,mark,100\n1,write,100\n11,irq"},
	/* lost bytes count as if they were written */
	{"interrupt-late lost", "# max-skid: 10\n0,mark,100\n1,write,105\n2,lost,6\n3,irq"},
	{"lost", "# max-skid: 10\n0,mark,100\n1,write,105\n2,lost,5\n3,irq"},
	{"interrupt-missing", "0,mark,100\n1,write,101"},
	{"", "0,mark,100\n1,write,100"},
	{"interrupt-missing", "# max-skid: 10\n0,mark,100\n1,write,111\n2,mark,200"},
	{"", "# max-skid: 10\n0,mark,100\n1,write,110\n2,mark,200"},
	{"interrupt-missing", "# max-skid: 9\n# max-delay: 5\n0,mark,100\n1,write,100\n7,mark,300"},
	{"", "# max-skid: 9\n# max-delay: 5\n0,mark,100\n1,write,100\n6,mark,300"},
	{"", "0,write,100\n0,mark,100\n1,write,5000"}, /* at the pointer: it never comes */
	/* a unit that is off */
	{"interrupt-stopped", "0,begin,0\n1,write,10\n2,end\n3,irq"},
	{"", "0,begin,0\n0,mark,10\n1,write,10\n2,end\n3,irq"},
	{"", "0,begin,0\n0,limit,10\n1,write,10\n2,end\n3,irq"},
	{"interrupt-stopped", "0,begin,0\n0,limit,10\n1,write,10\n2,end\n3,irq\n4,irq"},
};

#define WATERMARK "# page: 4096\n# watermark: 8192\n"
static const struct log_case thresholds[] = {
	{"", WATERMARK "0,begin,0\n0,limit,16384\n0,mark,8192"},
	{"threshold-late", WATERMARK "0,begin,0\n0,limit,16384\n0,mark,8193"},
	/* without a mark, at the limit */
	{"threshold-late", WATERMARK "0,begin,0\n0,limit,16384\n0,mark,0"},
	{"", WATERMARK "0,begin,0\n0,limit,8192\n0,mark,0"},
	{"", WATERMARK "0,begin,0\n0,limit,16384\n0,mark,20000"}, /* it never comes */
	{"", WATERMARK "0,limit,16384\n0,mark,8193"},		  /* no transactions */
	{"", WATERMARK "# mode: overwrite\n0,begin,0\n0,limit,16384\n0,mark,8193"},
	/* up to the page of the watermark; PT only at powers of two of pages */
	{"", "# page: 4096\n# watermark: 6000\n0,begin,0\n0,limit,16384\n0,mark,8192"},
	{"threshold-late",
	 "# page: 4096\n# watermark: 6000\n0,begin,0\n0,limit,16384\n0,mark,8193"},
	{"", "# unit: intel_pt\n# page: 4096\n# watermark: 6000\n0,begin,0\n0,limit,16384\n"
	     "0,mark,16384"},
	{"", "# unit: intel_pt\n# page: 4096\n# watermark: 2048\n0,begin,0\n0,limit,16384\n"
	     "0,mark,16384"},
	{"threshold-late",
	 "# unit: intel_pt\n# page: 4096\n# watermark: 4096\n0,begin,0\n0,limit,16384\n"
	 "0,mark,4097"},
};

static const struct log_case kernel[] = {
	{"", WATERMARK "0,head,8191\n1,head,8191"},
	{"wakeup-not-sent", WATERMARK "0,head,8191\n1,head,8192\n2,write,1"},
	{"", WATERMARK "0,head,8191\n1,head,8192\n2,wakeup"},
	{"", WATERMARK "0,head,8192\n1,head,16383\n2,write,1"},
	{"wakeup-overwrite", "# mode: overwrite\n0,begin,0\n1,wakeup"},
	/* D21: truncated by an interrupt, and twice more while the tail is where it was */
	{"truncated-goes-on", "0,limit,0\n0,irq\n0,truncated,7\n1,truncated,7\n2,truncated,7"},
	{"", "0,limit,0\n0,irq\n0,truncated,7\n1,truncated,7"},
	{"", "0,limit,0\n0,irq\n0,truncated,7\n1,truncated,7\n2,truncated,8"},
	{"", "0,limit,0\n0,truncated,7\n1,truncated,7\n2,truncated,7"}, /* while it begins */
	{"truncated-goes-on", "0,begin,0\n0,limit,9\n1,write,9\n1,irq\n1,end\n1,truncated,7\n"
			      "2,truncated,7\n3,truncated,7"},
	/* the driver had ended the transaction before: the event is truncated while it begins */
	{"", "0,begin,0\n0,limit,9\n1,write,9\n1,end\n1,irq\n2,truncated,7\n3,truncated,7\n"
	     "4,truncated,7"},
	{"", "0,write,9\n0,limit,9\n0,irq\n0,truncated,7\n1,tail,9\n1,truncated,7\n2,truncated,7"},
	{"", "0,begin,0\n1,end\n2,freed"},
	{"", "0,begin,0\n1,end\n2,freed,0"},
	{"freed-in-transaction", "0,begin,0\n1,end\n2,freed,1"},
	{"freed-in-transaction", "0,begin,0\n1,freed"},
	{"", "0,write,100\n1,freed\n2,write,50"}, /* another area */
};

static bool check(const struct log_case *cases, size_t nr)
{
	bool passed = true;

	for (size_t i = 0; i < nr; i++) {
		struct auxtap_audit *audit = audit_log_text(cases[i].text, NULL);

		passed &= audit_found(audit, cases[i].found, cases[i].text);
		assert_true(auxtap_audit_get_facts(audit)->of_log);
		auxtap_audit_free(audit);
	}
	return passed;
}

#define TEST(name)                                                        \
	static void test_##name(void **state)                             \
	{                                                                 \
		(void)state;                                              \
		assert_true(check(name, sizeof(name) / sizeof(name[0]))); \
	}
TEST(lines)
TEST(limits)
TEST(interrupts)
TEST(thresholds)
TEST(kernel)

/* ---- what no log is ---- */

static int error_of(const char *text, struct auxtap_error *err)
{
	char *path = audit_file(text);
	struct auxtap_audit *audit;
	int ret = auxtap_audit_log(&audit, path, NULL, err);

	if (!ret)
		auxtap_audit_free(audit);
	unlink(path);
	free(path);
	return ret;
}

static void test_not_a_log(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_audit_opts opts = {.size = 1};
	struct auxtap_audit *audit;

	(void)state;
	assert_int_equal(error_of("PERFILE2", &err), -EINVAL);
	assert_non_null(strstr(err.hint, "TIME,EVENT,VALUE"));
	assert_int_equal(error_of("# unit: x\n\nno event", &err), -EINVAL);
	assert_int_equal(err.offset, 11);
	assert_int_equal(error_of("", &err), -EINVAL);
	assert_int_equal(error_of("# unit: x\n", &err), -EINVAL);
	assert_int_equal(auxtap_audit_log(&audit, "/nonexistent/log", NULL, &err), -ENOENT);
	assert_int_equal(auxtap_audit_log(&audit, "/tmp", NULL, &err), -EIO);
	assert_int_equal(auxtap_audit_log(&audit, "/nonexistent/log", &opts, &err), -EINVAL);
	assert_int_equal(auxtap_audit_log(&audit, "/nonexistent/log", &opts, NULL), -EINVAL);
}

/* ---- sums, facts, options ---- */

static void test_sums(void **state)
{
	const char *text = "# unit: fpga\n# cpu: 3\n# buffer: 4096\n# page: 4096\n"
			   "# watermark: 2048\n10,limit,4096\n10,mark,2048\n20,write,2000\n"
			   "30,write,2051\n40,irq\n50,tail,1000\n50,tail,2000\n60,lost,7\n"
			   "70,mark,3000\n80,write,3000\n90,irq";
	struct auxtap_audit *audit = audit_log_text(text, NULL);
	const struct auxtap_audit_facts *facts = auxtap_audit_get_facts(audit);
	const struct auxtap_audit_ring *r = auxtap_audit_get_ring(audit, 0);

	assert_int_equal(facts->size, sizeof(*facts));
	assert_int_equal(r->size, sizeof(*r));
	(void)state;
	assert_true(audit_found(audit, "lost", text));
	assert_string_equal(facts->unit, "fpga");
	assert_int_equal(facts->aux_size, 4096);
	assert_int_equal(facts->watermark, 2048);
	assert_int_equal(facts->time_begin, 10);
	assert_int_equal(facts->time_end, 90);
	assert_int_equal(r->cpu, 3);
	assert_non_null(r->log);
	assert_int_equal(r->nr_records, 3);
	assert_int_equal(r->nr_bytes, 3000);
	assert_int_equal(r->last_end, 3000);
	assert_int_equal(r->nr_reads, 2);
	assert_int_equal(r->nr_read_bytes, 2000);
	assert_int_equal(r->nr_lost_bytes, 7);
	assert_int_equal(r->largest_unread, 2051);
	assert_int_equal(r->nr_passed, 2);
	assert_int_equal(r->nr_interrupts, 2);
	assert_int_equal(r->overshoots[2], 1); /* three bytes */
	assert_int_equal(r->overshoots[0], 1);
	auxtap_audit_free(audit);
}

/* [n]: from 2^(n-1) on; all that is larger is in the last one. */
static void test_overshoots(void **state)
{
	static const struct {
		const char *text;
		unsigned int bucket;
	} cases[] = {
		{"0,mark,1\n1,write,1\n2,irq", 0},
		{"0,mark,1\n1,write,2\n2,irq", 1},
		{"0,mark,1\n1,write,3\n2,irq", 2},
		{"0,mark,1\n1,write,4\n2,irq", 2},
		{"0,mark,1\n1,write,5\n2,irq", 3},
		{"0,mark,1\n1,write,0x80000000\n2,irq", 31},
		{"0,mark,1\n1,write,0x80000001\n2,irq", 32},
		{"0,mark,1\n1,write,0xffffffffffffffff\n2,irq", 32},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct auxtap_audit *audit = audit_log_text(cases[i].text, NULL);

		assert_int_equal(auxtap_audit_get_ring(audit, 0)->overshoots[cases[i].bucket], 1);
		auxtap_audit_free(audit);
	}
}

/* The last bucket has no upper limit. */
static void test_largest_overshoot(void **state)
{
	struct auxtap_audit *audit = audit_log_text("0,mark,1\n1,write,0x300000000\n2,irq", NULL);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	assert_int_equal(auxtap_audit_print_text(audit, "log", out), 0);
	assert_int_equal(auxtap_audit_print_json(audit, "log", out), 0);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "2147483648 or more: 1\n"));
	assert_non_null(strstr(text, "[{\"at_least\": 2147483648, \"count\": 1}]"));
	free(text);
	auxtap_audit_free(audit);
}

/* Options win over what the log says. */
static void test_options(void **state)
{
	struct auxtap_audit_opts opts = {
		.size = sizeof(opts),
		.aux_size = 8192,
		.page_size = 65536,
		.max_overshoot = 10,
		.max_delay = 10,
	};
	const char *text = "# buffer: 4096\n# page: 4096\n# max-skid: 1000\n# max-delay: 1000\n"
			   "0,mark,100\n1,write,111\n2,irq\n3,mark,200\n4,write,200\n15,irq\n"
			   "16,write,8192";
	struct auxtap_audit *audit = audit_log_text(text, &opts);

	(void)state;
	assert_true(audit_found(audit, "interrupt-late:2", text));
	assert_int_equal(auxtap_audit_get_facts(audit)->aux_size, 8192);
	assert_int_equal(auxtap_audit_get_facts(audit)->page_size, 65536);
	auxtap_audit_free(audit);
	audit = audit_log_text(text, NULL);
	assert_true(audit_found(audit, "unread-overwritten", text));
	auxtap_audit_free(audit);
}

static void test_finding(void **state)
{
	const char *text = "# cpu: 2\n0,write,100\n7,write,40\n";
	struct auxtap_audit *audit = audit_log_text(text, NULL);
	const struct auxtap_finding *f = audit_first(audit, "pointer-back");

	(void)state;
	assert_int_equal(f->file_off, strlen("# cpu: 2\n0,write,100\n"));
	assert_int_equal(f->cpu, 2);
	assert_int_equal(f->time_ns, 7);
	assert_int_equal(f->nr_bytes, 60);
	assert_non_null(f->log);
	auxtap_audit_free(audit);
}

/* A thousand transactions may have one wakeup, of the data ring (E6). */
static void test_overwrite_wakeups(void **state)
{
	struct auxtap_audit *audit;
	char *text = malloc(20000), *at = text;

	(void)state;
	assert_non_null(text);
	at += sprintf(at, "# mode: overwrite\n");
	for (int i = 0; i < 1000; i++)
		at += sprintf(at, "%d,begin,0\n", i);
	strcpy(at, "1000,wakeup\n");
	audit = audit_log_text(text, NULL);
	assert_true(audit_found(audit, "", "one wakeup"));
	auxtap_audit_free(audit);
	strcat(at, "1001,wakeup\n");
	audit = audit_log_text(text, NULL);
	assert_true(audit_found(audit, "wakeup-overwrite", "two wakeups"));
	auxtap_audit_free(audit);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_interrupts),
		cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_not_a_log),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_overshoots),
		cmocka_unit_test(test_largest_overshoot),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_finding),
		cmocka_unit_test(test_overwrite_wakeups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
