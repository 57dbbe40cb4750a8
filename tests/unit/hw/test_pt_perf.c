// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stock perf decodes the unit's stream of random programs: the executed instructions,
 * their times within stated bounds, and one error for each overflow.
 */
#include "support_program.h"
#include <auxtap/perfdata.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define PMU_TYPE 10
#define ID_PT	 100
#define ID_DUMMY 200
#define PID	 4242

#define CTC_N 84
#define CTC_D 2

struct sample_id { /* sample_type TID | TIME | IDENTIFIER */
	u32 pid, tid;
	u64 time, id;
};

struct comm {
	u32 pid, tid;
	char name[16];
};

struct mmap2 {
	u32 pid, tid;
	u64 addr, len, pgoff;
	u32 maj, min;
	u64 ino, generation;
	u32 prot, flags;
	char name[128];
};

struct recording {
	char dir[64], code[96], data[96];
	struct auxtap_perfdata_writer *writer;
	u64 time;
};

static struct program program;
static struct machine machine;

static void put(struct recording *rec, u32 type, u16 misc, const void *body, size_t size, u64 id)
{
	u8 record[512];
	struct perf_event_header header = {type, misc, 0};
	struct sample_id sample = {PID, PID, rec->time++, id};
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	header.size = (u16)(sizeof(header) + size + sizeof(sample));
	assert_true(header.size <= sizeof(record));
	memcpy(record, &header, sizeof(header));
	memcpy(record + sizeof(header), body, size);
	memcpy(record + sizeof(header) + size, &sample, sizeof(sample));
	assert_int_equal(auxtap_perfdata_writer_record(rec->writer, record, header.size, record, 0,
						       &err),
			 0);
}

static void put_sideband(struct recording *rec)
{
	struct comm comm = {PID, PID, "random"};
	u32 who[2] = {PID, PID};

	put(rec, PERF_RECORD_COMM, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_COMM_EXEC, &comm,
	    sizeof(comm), ID_DUMMY);
	put(rec, PERF_RECORD_ITRACE_START, 0, who, sizeof(who), ID_PT);
	for (int r = 0; r < NR_REGIONS; r++) {
		struct mmap2 map = {.pid = PID,
				    .tid = PID,
				    .addr = program.base[r],
				    .len = REGION_SIZE,
				    .pgoff = (u64)r * REGION_SIZE,
				    .prot = 5,
				    .flags = 2};

		memcpy(map.name, rec->code, strlen(rec->code));
		put(rec, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &map, sizeof(map), ID_DUMMY);
	}
}

static void create(struct recording *rec, u64 ctl)
{
	struct perf_event_attr attr = {
		.type = PMU_TYPE,
		.size = sizeof(attr),
		/* the terms' bits are RTIT_CTL's, but for 'pt' and the privilege levels */
		.config = (ctl & ~(RTIT_CTL_OS | RTIT_CTL_USR)) | 1,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_IDENTIFIER,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct perf_event_attr dummy = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(dummy),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = attr.sample_type,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
	};
	uint64_t info[AUXTAP_PT_INFO_NR] = {
		[AUXTAP_PT_INFO_PMU_TYPE] = PMU_TYPE,
		[AUXTAP_PT_INFO_TIME_MULT] = 1, /* a tick is a nanosecond */
		[AUXTAP_PT_INFO_CAP_USER_TIME_ZERO] = 1,
		[AUXTAP_PT_INFO_TSC_BIT] = RTIT_CTL_TSCEN,
		[AUXTAP_PT_INFO_NORETCOMP_BIT] = RTIT_CTL_DISRETC,
		[AUXTAP_PT_INFO_MTC_BIT] = RTIT_CTL_MTCEN,
		[AUXTAP_PT_INFO_MTC_FREQ_BITS] = 0xfull << RTIT_CTL_MTC_RANGE_SHIFT,
		[AUXTAP_PT_INFO_TSC_CTC_N] = CTC_N,
		[AUXTAP_PT_INFO_TSC_CTC_D] = CTC_D,
		[AUXTAP_PT_INFO_CYC_BIT] = RTIT_CTL_CYCEN,
		[AUXTAP_PT_INFO_MAX_NONTURBO_RATIO] = machine.unit.config.max_nonturbo_ratio,
	};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	FILE *code;

	memset(rec, 0, sizeof(*rec));
	rec->time = 1000;
	strcpy(rec->dir, "/tmp/auxtap-test-XXXXXX");
	assert_non_null(mkdtemp(rec->dir));
	snprintf(rec->code, sizeof(rec->code), "%s/code", rec->dir);
	snprintf(rec->data, sizeof(rec->data), "%s/auxtap.data", rec->dir);
	code = fopen(rec->code, "w");
	assert_non_null(code);
	assert_int_equal(fwrite(program.code, sizeof(program.code), 1, code), 1);
	assert_int_equal(fclose(code), 0);
	assert_int_equal(auxtap_perfdata_writer_create(&rec->writer, rec->data, &err), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(rec->writer, &attr, "intel_pt//u"), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(rec->writer, &dummy, "dummy:u"), 1);
	assert_int_equal(auxtap_perfdata_writer_begin(rec->writer, &err), 0);
	assert_int_equal(auxtap_perfdata_writer_add_id(rec->writer, 0, ID_PT), 0);
	assert_int_equal(auxtap_perfdata_writer_add_id(rec->writer, 1, ID_DUMMY), 0);
	assert_int_equal(auxtap_perfdata_writer_auxtrace_info(rec->writer, AUXTAP_AUXTRACE_INTEL_PT,
							      info, AUXTAP_PT_INFO_NR, &err),
			 0);
}

static void write_recording(struct recording *rec, u64 ctl)
{
	u64 nr_bytes = machine.unit.out.nr_written, aux[3] = {0, nr_bytes, 0};
	/* perf takes a reference of 0 for a missing buffer */
	struct auxtap_auxtrace head = {.reference = 1, .tid = PID, .cpu = (u32)-1};
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	create(rec, ctl);
	put_sideband(rec);
	put(rec, PERF_RECORD_AUX, 0, aux, sizeof(aux), ID_PT);
	assert_int_equal(auxtap_perfdata_writer_auxtrace(rec->writer, &head, machine.trace,
							 nr_bytes, machine.trace, 0, &err),
			 0);
	assert_int_equal(auxtap_perfdata_writer_round(rec->writer, &err), 0);
	assert_int_equal(auxtap_perfdata_writer_finish(rec->writer, &err), 0);
}

static void remove_recording(const struct recording *rec)
{
	unlink(rec->code);
	unlink(rec->data);
	assert_int_equal(rmdir(rec->dir), 0);
}

struct bounds {
	s64 early, late;
};

/* Every line is the next instruction of the ground truth, or the next overflow. */
static struct bounds read_flow(FILE *perf)
{
	struct bounds off = {0, 0};
	size_t at = 0, nr_lost = 0;
	char line[512];

	while (fgets(line, sizeof(line), perf)) {
		unsigned long long sec, nsec, ip;
		s64 error;

		if (strstr(line, "Overflow packet")) {
			const struct lost_run *lost = &machine.lost[nr_lost++];

			assert_true(nr_lost <= machine.nr_lost);
			assert_in_range(at, lost->at_least, lost->resume);
			at = lost->resume;
			continue;
		}
		if (sscanf(line, " %llu.%9llu: %llx", &sec, &nsec, &ip) != 3)
			fail_msg("instruction %zu: %s", at, line);
		assert_true(at < machine.nr_executed);
		if (ip != machine.executed_ip[at])
			fail_msg("instruction %zu: %llx decoded, %llx executed", at, ip,
				 (unsigned long long)machine.executed_ip[at]);
		error = (s64)(sec * 1000000000 + nsec - machine.executed_tsc[at++]);
		if (error < off.early)
			off.early = error;
		if (error > off.late)
			off.late = error;
	}
	assert_int_equal(at, machine.nr_executed);
	assert_int_equal(nr_lost, machine.nr_lost);
	return off;
}

static struct bounds compare_run(const struct run_config *config, u64 seed)
{
	struct recording rec;
	struct bounds off;
	char command[256];
	FILE *perf;

	program_make(&program, seed, 64);
	machine_run(&machine, &program, config, seed * 7 + 1);
	write_recording(&rec, config->ctl);
	snprintf(
		command, sizeof(command),
		"PERF_CONFIG=/dev/null perf script -i %s --itrace=i1ie -F ip,time --ns 2>/dev/null",
		rec.data);
	perf = popen(command, "r");
	assert_non_null(perf);
	off = read_flow(perf);
	assert_int_equal(pclose(perf), 0);
	remove_recording(&rec);
	machine_free(&machine);
	return off;
}

/*
 * Without MTC and CYC the time is constant between TIP.PGEs. With MTC it is late by a period and
 * a stretch of code without packets; with CYC off by what one TNT of six bits covers.
 */
#define STRETCH 160

struct sort {
	u64 ctl;
	u8 ratio;
	s64 early, late;
};

static void test_perf(void **state)
{
	/* clang-format off */
	static const struct sort sorts[] = {
		{ RTIT_CTL_DISRETC, 20, 1 << 20, 0 },
		{ 0, 20, 1 << 20, 0 },
		{ RTIT_CTL_MTCEN, 20, CTC_N / CTC_D + STRETCH, STRETCH },
		{ RTIT_CTL_MTCEN | 3ull << RTIT_CTL_MTC_RANGE_SHIFT, 20,
		  8 * CTC_N / CTC_D + STRETCH, STRETCH },
		{ RTIT_CTL_CYCEN, 20, STRETCH, STRETCH },
		{ RTIT_CTL_CYCEN, 30, STRETCH, STRETCH },
		{ RTIT_CTL_CYCEN | 5ull << RTIT_CTL_CYC_THRESH_SHIFT, 20, STRETCH, STRETCH },
		{ RTIT_CTL_CYCEN | RTIT_CTL_MTCEN | 2ull << RTIT_CTL_MTC_RANGE_SHIFT, 25,
		  4 * CTC_N / CTC_D + STRETCH, STRETCH },
	};
	/* clang-format on */
	const char *thorough = getenv("AUXTAP_LONG");

	(void)state;
	if (system("perf version >/dev/null 2>&1")) {
		print_message("skipped: no perf\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		/* clang-format off */
		struct run_config config = {
			.ctl = RTIT_CTL_USR | RTIT_CTL_BRANCHEN | RTIT_CTL_TSCEN | sorts[i].ctl,
			.tsc_ctc_n = CTC_N, .tsc_ctc_d = CTC_D,
			.core_bus_ratio = sorts[i].ratio, .max_nonturbo_ratio = 20,
			.nr_insns = thorough && *thorough ? 200000 : 40000,
			.async = 30, .lost_return = 20,
		};
		/* clang-format on */
		struct bounds off = compare_run(&config, i + 1);

		print_message("RTIT_CTL %#llx: time off by %lld to %lld ticks\n",
			      (unsigned long long)config.ctl, (long long)off.early,
			      (long long)off.late);
		assert_in_range(-off.early, 0, sorts[i].early);
		assert_in_range(off.late, 0, sorts[i].late);
		config.overflow = 5;
		compare_run(&config, i + 101);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_perf)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
