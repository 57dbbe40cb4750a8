// SPDX-License-Identifier: BSD-2-Clause
/* Stock perf reads what the writer writes: finished, killed after a commit, with many
 * ids. */
#include "support_ptfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* The decoded addresses, one a line, of 'runs' executions. */
static void check_flow(const char *data, unsigned int runs)
{
	char expected[4096], *out, *line, *save = NULL;
	size_t used = 0;
	char got[4096];

	for (unsigned int r = 0; r < runs; r++)
		for (unsigned int i = 0; i < ptfile_nr_executed; i++)
			used += (size_t)snprintf(expected + used, sizeof(expected) - used, "%llx\n",
						 PTFILE_BASE + ptfile_executed[i]);
	assert_int_equal(run_command(&out, "perf script -i %s --itrace=i1i -F ip 2>&1", data), 0);
	used = 0;
	got[0] = '\0';
	for (line = strtok_r(out, " \n", &save); line; line = strtok_r(NULL, " \n", &save))
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s\n", line);
	assert_string_equal(got, expected);
	free(out);
}

static void check_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static void check_dump(const char *data)
{
	char *out;

	assert_int_equal(run_command(&out, "perf script -D -i %s 2>&1", data), 0);
	check_has(out, "PERF_RECORD_AUXTRACE_INFO type: 1");
	check_has(out, "PERF_RECORD_AUXTRACE size: 0x30  offset: 0");
	check_has(out, "PERF_RECORD_MMAP2 4242/4242: [0x400000(0x1000)");
	check_has(out, "PERF_RECORD_COMM exec: tiny:4242/4242");
	check_has(out, "TIP.PGE 0x400000");
	assert_null(strstr(out, "fail"));
	assert_null(strstr(out, "rror:"));
	free(out);
}

static void test_finished(void **state)
{
	struct auxtap_build_id id = {.pid = -1,
				     .misc = PERF_RECORD_MISC_USER,
				     .size = 20,
				     .id = {0xab, 0xcd},
				     .filename = "/some/where"};
	char *argv[] = {"auxtap", "record", "--", "tiny", NULL};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct ptfile pt;
	char *out;

	(void)state;
	ptfile_begin(&pt);
	ptfile_run(&pt);
	ptfile_round(&pt);
	ptfile_run(&pt);
	assert_int_equal(auxtap_perfdata_writer_build_id(pt.w, &id), 0);
	assert_int_equal(auxtap_perfdata_writer_cmdline(pt.w, 4, argv), 0);
	assert_int_equal(auxtap_perfdata_writer_metadata(pt.w, AUXTAP_METADATA_CAPTURE, "a: b\n",
							 5),
			 0);
	assert_int_equal(auxtap_perfdata_writer_finish(pt.w, &err), 0);
	check_flow(pt.data, 2);
	check_dump(pt.data);

	assert_int_equal(run_command(&out, "perf report --header-only -I -i %s 2>&1", pt.data), 0);
	check_has(out, "# cmdline : auxtap record -- tiny");
	check_has(out, "# event : name = intel_pt//u,");
	check_has(out, "id = { 100 }");
	check_has(out, "# event : name = dummy:u,");
	check_has(out, "# contains AUX area data");
	check_has(out, "# perf version : auxtap ");
	check_has(out, "# arch : ");
	check_has(out, "# time of first sample : 0.000001");
	check_has(out, "# pmu mappings: intel_pt = 10");
	assert_null(strstr(out, "fail"));
	free(out);

	assert_int_equal(run_command(&out, "perf buildid-list -i %s 2>&1", pt.data), 0);
	check_has(out, "abcd000000000000000000000000000000000000 /some/where");
	free(out);
	assert_int_equal(run_command(&out, "perf inject -i %s -o %s/injected --itrace=i1i 2>&1",
				     pt.data, pt.dir),
			 0);
	free(out);
	assert_int_equal(run_command(&out, "perf script -i %s/injected -F ip 2>&1 | wc -l", pt.dir),
			 0);
	assert_int_equal(atoi(out), 2 * ptfile_nr_executed);
	free(out);
	assert_int_equal(run_command(&out, "perf inject -b -i %s -o %s/injected2 2>&1", pt.data,
				     pt.dir),
			 0);
	free(out);
	snprintf(pt.data, sizeof(pt.data), "%s/injected2", pt.dir);
	check_flow(pt.data, 2);
	ptfile_remove(&pt);
}

/* Not finished: the committed records are in the file, later ones are not. */
static void test_killed(void **state)
{
	struct ptfile pt;
	char copy[160], *out;

	(void)state;
	ptfile_begin(&pt);
	ptfile_run(&pt);
	ptfile_round(&pt);
	ptfile_run(&pt);
	snprintf(copy, sizeof(copy), "%s/copy", pt.dir);
	assert_int_equal(run_command(&out, "cp %s %s", pt.data, copy), 0);
	free(out);
	check_flow(copy, 1);
	check_dump(copy);
	auxtap_perfdata_writer_abort(pt.w);
	assert_int_equal(access(pt.data, F_OK), -1);
	ptfile_remove(&pt);
}

/* More ids than the space before the data: the attributes move after the data. */
static void test_many_ids(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct ptfile pt;
	char *out;

	(void)state;
	ptfile_begin(&pt);
	for (uint64_t id = 1000; id < 11000; id++)
		assert_int_equal(auxtap_perfdata_writer_add_id(pt.w, (int)(id & 1), id), 0);
	ptfile_run(&pt);
	ptfile_round(&pt);
	assert_int_equal(auxtap_perfdata_writer_finish(pt.w, &err), 0);
	check_flow(pt.data, 1);
	check_dump(pt.data);
	assert_int_equal(run_command(&out, "perf report --header-only -I -i %s 2>&1", pt.data), 0);
	check_has(out, ", 10998 }");
	check_has(out, ", 10999 }");
	free(out);
	ptfile_remove(&pt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finished),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_many_ids),
	};

	if (!have_command("perf")) {
		puts("skipped: stock perf is not installed");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
