// SPDX-License-Identifier: BSD-2-Clause
/* What the library says of families of traces: by name, by file. */
#include "decode/flow/trace_family.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void test_raw_names(void **state)
{
	const struct auxtap_trace_family *pt = auxtap_family_of_raw("pt");
	const struct auxtap_trace_family *spe = auxtap_family_of_raw("spe");
	const struct auxtap_trace_family *etm = auxtap_family_of_raw("etm");

	(void)state;
	assert_ptr_equal(auxtap_family_of_raw(NULL), pt);
	assert_string_equal(pt->name, "Intel PT");
	assert_int_equal(pt->auxtrace_type, AUXTAP_AUXTRACE_INTEL_PT);
	assert_true(pt->raw_takes_cpu_model && !pt->raw_needs_units && !pt->samples);
	assert_string_equal(spe->name, "Arm SPE");
	assert_int_equal(spe->auxtrace_type, AUXTAP_AUXTRACE_ARM_SPE);
	assert_true(!spe->raw_takes_cpu_model && !spe->raw_needs_units && spe->samples);
	assert_string_equal(etm->name, "CoreSight");
	assert_int_equal(etm->auxtrace_type, AUXTAP_AUXTRACE_CS_ETM);
	assert_true(!etm->raw_takes_cpu_model && etm->raw_needs_units && !etm->samples);
	/* Intel BTS has no such form */
	assert_null(auxtap_family_of_raw("bts"));
	assert_null(auxtap_family_of_raw("Intel PT"));
	assert_null(auxtap_family_of_raw(""));
	assert_null(auxtap_family_of_snapshot("/nonexistent"));
}

/* Every family has what its readers do not check for; none contains what it lacks. */
static void test_objects(void **state)
{
	char names[128];

	(void)state;
	for (uint32_t type = AUXTAP_AUXTRACE_INTEL_PT; type <= AUXTAP_AUXTRACE_ARM_SPE; type++) {
		const struct trace_family *family = trace_family_of_type(type);

		assert_non_null(family);
		assert_int_equal(family->info.size, sizeof(family->info));
		assert_int_equal(family->info.auxtrace_type, type);
		assert_true(*family->info.name && *family->info.contents && *family->pmu);
		assert_int_equal(family->info.lacks != 0, *family->info.lacks_text != '\0');
		assert_int_equal(family->info.lacks & (AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_GAP), 0);
		/* raw streams can be listed, as auxtap_dump_raw() promises */
		assert_true(!family->info.raw_name || family->dump);
		assert_int_equal(trace_family_library(family) != NULL, family->flows != NULL);
	}
	/* where perf writes that snapshots were taken */
	assert_int_equal(trace_family_of_type(AUXTAP_AUXTRACE_INTEL_PT)->info_snapshot, 8);
	assert_int_equal(trace_family_of_type(AUXTAP_AUXTRACE_CS_ETM)->info_snapshot, 2);
	assert_null(trace_family_of_type(0));
	assert_null(trace_family_of_type(AUXTAP_AUXTRACE_ARM_SPE + 1));
	assert_string_not_equal(trace_family_library(
					trace_family_of_type(AUXTAP_AUXTRACE_INTEL_PT)),
				trace_family_library(trace_family_of_type(AUXTAP_AUXTRACE_CS_ETM)));
	trace_family_names(names, sizeof(names));
	assert_string_equal(names, "Intel PT, Intel BTS, Arm SPE, CoreSight");
}

static const struct auxtap_trace_family *of_file(uint32_t type)
{
	struct perf_event_attr attr = {.type = 8, .size = sizeof(attr)};
	const struct auxtap_trace_family *family;
	char path[] = "/tmp/auxtap-family-XXXXXX";
	const uint64_t info[16] = {8};
	struct auxtap_perfdata_writer *w;
	struct auxtap_perfdata *pd;

	close(mkstemp(path));
	assert_int_equal(auxtap_perfdata_writer_create(&w, path, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(w, &attr, "unit//u"), 0);
	assert_int_equal(auxtap_perfdata_writer_begin(w, NULL), 0);
	if (type)
		assert_int_equal(auxtap_perfdata_writer_auxtrace_info(w, type, info, 16, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
	assert_int_equal(auxtap_perfdata_open(&pd, path, NULL), 0);
	family = auxtap_family_of_file(pd);
	auxtap_perfdata_close(pd);
	unlink(path);
	return family;
}

static void test_files(void **state)
{
	(void)state;
	assert_null(of_file(0));
	assert_ptr_equal(of_file(AUXTAP_AUXTRACE_INTEL_PT), auxtap_family_of_raw("pt"));
	assert_string_equal(of_file(AUXTAP_AUXTRACE_INTEL_BTS)->contents,
			    "the branches of Intel BTS");
	assert_ptr_equal(of_file(AUXTAP_AUXTRACE_ARM_SPE), auxtap_family_of_raw("spe"));
	assert_null(of_file(77));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_raw_names),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
