// SPDX-License-Identifier: BSD-2-Clause
/* A recording and the log of its unit: what only one of them has. */
#include "support_recording.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

struct pair {
	const char *found, *recording, *log;
};

#define RECORDING "watermark 4096\naux 0 100 0 100\naux 0 200 100 50\ntrace 0 0 150"
#define LOG	  "# cpu: 0\n0,begin,0\n0,limit,4096\n1,write,100\n2,end\n3,begin,100\n3,limit,4096\n"
#define LOG_END	  "4,write,150\n5,end"

static const struct pair pairs[] = {
	{"", RECORDING, LOG LOG_END},
	/* bytes */
	{"bytes-not-written", RECORDING, LOG "4,write,149\n5,end"},
	{"unit-bytes-unrecorded", RECORDING, LOG "4,write,151\n5,end"},
	{"bytes-not-written unit-bytes-unrecorded", RECORDING,
	 LOG "3,jump,101\n4,write,151\n5,end"},
	{"record-lost", "aux 0 100 0 100\nlost 0 150 1\naux 0 200 4096 50\ntrace 0 0 4146",
	 LOG "4,write,4096\n5,end\n6,begin,4096\n6,limit,8192\n7,write,4146\n8,end"},
	{"unit-bytes-unrecorded ring-unlogged", RECORDING, "# cpu: 1\n0,begin,0\n1,write,8\n2,end"},
	{"ring-unlogged", RECORDING, "# cpu: 1\n0,begin,0\n2,end"},
	/* a log without a CPU is of the only ring */
	{"", RECORDING, "0,begin,0\n1,write,100\n2,end\n3,begin,100\n4,write,150\n5,end"},
	/* a ring of a thread */
	{"", "aux t7 100 0 100\ntrace t7 0 100",
	 "# cpu: 0\n0,ring,7\n0,begin,0\n1,write,100\n2,end"},
	{"unit-bytes-unrecorded ring-unlogged", "aux t7 100 0 100\ntrace t7 0 100",
	 "# cpu: 0\n0,ring,8\n0,begin,0\n1,write,100\n2,end"},
	/* flags */
	{"lost lost-with-space loss-unflagged", RECORDING, LOG "4,write,150\n4,lost,3\n5,end"},
	{"loss-unflagged", RECORDING, LOG "4,write,150\n4,hole\n5,end"},
	{"partial", "aux 0 100 0 100\naux 0 200 100 50 4\ntrace 0 0 150",
	 LOG "4,write,150\n4,hole\n5,end"},
	{"truncated", "aux 0 100 0 100\naux 0 200 100 3996 1\ntrace 0 0 4096",
	 LOG "4,write,4096\n5,end"},
	{"truncated flag-without-cause", "aux 0 100 0 100\naux 0 200 100 3996 1\ntrace 0 0 4096",
	 "# cpu: 0\n0,begin,0\n0,limit,4096\n1,write,100\n2,end\n3,begin,100\n3,limit,8192\n"
	 "4,write,4096\n5,end"},
	/* J4: a collision has the cause of a truncation, on a TRBE only */
	{"collision flag-without-cause",
	 "family 3\naux 0 100 0 100 0x100\naux 0 200 100 50 0x108\ntrace 0 0 150", LOG LOG_END},
	{"collision", "family 4\naux 0 100 0 100\naux 0 200 100 50 8\ntrace 0 0 150", LOG LOG_END},
	/* I10: SPE has no flag for it */
	{"lost loss-silent", "family 4\naux 0 100 0 100\naux 0 200 100 3996\ntrace 0 0 4096",
	 LOG "4,write,4096\n4,lost,64\n5,end"},
	{"lost loss-unflagged", "aux 0 100 0 100\naux 0 200 100 3996\ntrace 0 0 4096",
	 LOG "4,write,4096\n4,lost,64\n5,end"},
	{"loss-unflagged", "family 4\naux 0 100 0 100\naux 0 200 100 50\ntrace 0 0 150",
	 LOG "4,write,150\n4,hole\n5,end"},
	/* a loss without any record */
	{"lost lost-with-space loss-unflagged", RECORDING,
	 "# cpu: 0\n0,begin,0\n0,limit,4096\n0,lost,5\n0,end\n0,begin,0\n0,limit,4096\n"
	 "1,write,100\n2,end\n3,begin,100\n3,limit,4096\n" LOG_END},
	/* events are missing: what they may explain is not reported */
	{"log-gap", RECORDING, LOG "4,write,149\n5,gap"},
	{"log-gap", RECORDING, LOG "4,gap"},
	{"log-gap", RECORDING, LOG "4,write,150\n4,hole\n5,gap"},
	{"log-gap ring-unlogged", RECORDING, "# cpu: 1\n0,begin,0\n0,gap\n1,begin,100\n2,end"},
	/* H6: the empty record is of a begin that failed, not of the transaction after it */
	{"truncated unit-bytes-unrecorded", "aux 0 100 0 100\naux 0 200 100 0 1\ntrace 0 0 100",
	 LOG LOG_END},
	{"truncated loss-unflagged",
	 "aux 0 100 0 100\naux 0 200 100 0 1\naux 0 300 100 50\ntrace 0 0 150",
	 LOG "4,write,150\n4,hole\n5,end"},
	/* an overwritten ring's offsets are no positions */
	{"", "aux 0 100 100 4096 2\ntrace 0 0 4096", LOG LOG_END},
};

static int audit_pair(const char *recording, const char *log, struct auxtap_audit **audit,
		      struct auxtap_error *err)
{
	const char *path = audit_file(log);
	struct auxtap_audit_opts opts = {.size = sizeof(opts),
					 .unit_logs = &path,
					 .nr_unit_logs = 1};
	int ret = 0;

	if (audit)
		*audit = audit_recording(recording, &opts);
	else
		ret = audit_recording_error(recording, &opts, err);
	unlink(path);
	free((void *)path);
	return ret;
}

static void test_pairs(void **state)
{
	bool passed = true;

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct auxtap_audit *audit;

		audit_pair(pairs[i].recording, pairs[i].log, &audit, NULL);
		if (!audit_found(audit, pairs[i].found, pairs[i].recording)) {
			print_message("and\n%s\n", pairs[i].log);
			passed = false;
		}
		assert_int_equal(auxtap_audit_get_facts(audit)->nr_unit_logs, 1);
		auxtap_audit_free(audit);
	}
	assert_true(passed);
}

/* Findings say which of the files they are in. */
static void test_locations(void **state)
{
	struct auxtap_audit *audit;
	const struct auxtap_finding *f;

	(void)state;
	audit_pair(RECORDING, LOG "4,write,149\n5,end", &audit, NULL);
	f = audit_first(audit, "bytes-not-written");
	assert_null(f->log);
	assert_int_equal(f->nr_bytes, 1);
	assert_int_equal(f->time_ns, 200);
	auxtap_audit_free(audit);

	audit_pair(RECORDING, LOG "4,write,153\n5,end", &audit, NULL);
	f = audit_first(audit, "unit-bytes-unrecorded");
	assert_non_null(f->log);
	assert_int_equal(f->nr_bytes, 3);
	assert_int_equal(f->cpu, 0);
	assert_int_equal(f->file_off, strlen(LOG));
	/* the ring of the recording comes after that of the log */
	assert_string_equal(auxtap_audit_get_ring(audit, 0)->log, f->log);
	assert_null(auxtap_audit_get_ring(audit, 1)->log);
	auxtap_audit_free(audit);
}

static void test_errors(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	const char *missing = "/nonexistent/log";
	struct auxtap_audit_opts opts = {.size = sizeof(opts),
					 .unit_logs = &missing,
					 .nr_unit_logs = 1};

	(void)state;
	assert_int_equal(audit_recording_error(RECORDING, &opts, &err), -ENOENT);
	assert_string_equal(err.what, missing);
	/* two rings, and the log does not say of which it is */
	assert_int_equal(audit_pair("aux 0 100 0 8\naux 1 100 0 8\ntrace 0 0 8\ntrace 1 0 8",
				    "0,begin,0\n1,write,8\n2,end", NULL, &err),
			 -EINVAL);
	assert_non_null(strstr(err.hint, "# cpu: N"));
	assert_int_equal(audit_pair(RECORDING, "no log", NULL, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_locations),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
