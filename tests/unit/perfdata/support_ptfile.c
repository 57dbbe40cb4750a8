// SPDX-License-Identifier: BSD-2-Clause
/* See support_ptfile.h. */
#include "support_ptfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include <cmocka.h>

/* clang-format off */
static const unsigned char code[] = {
	0x90, 0x90, 0x90, /* 0: nop nop nop */
	0x48, 0x31, 0xc0, /* 3: xor %rax,%rax */
	0x74, 0x02,       /* 6: je a */
	0x90, 0x90,       /* 8: not executed */
	0x90,             /* a: nop */
	0x0f, 0x05,       /* b: syscall */
};
/* clang-format on */
const unsigned int ptfile_executed[] = {0x0, 0x1, 0x2, 0x3, 0x6, 0xa, 0xb};
const unsigned int ptfile_nr_executed = sizeof(ptfile_executed) / sizeof(ptfile_executed[0]);

struct trailer { /* sample_type TID | TIME | IDENTIFIER */
	uint32_t pid, tid;
	uint64_t time, id;
};

static void put(struct ptfile *pt, uint32_t type, uint16_t misc, const void *body, size_t size,
		uint64_t id)
{
	unsigned char record[512];
	struct perf_event_header header = {type, misc, 0};
	struct trailer trailer = {PTFILE_PID, PTFILE_PID, pt->time++, id};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	size_t cut;

	assert_true(sizeof(header) + size + sizeof(trailer) <= sizeof(record));
	header.size = (uint16_t)(sizeof(header) + size + sizeof(trailer));
	memcpy(record, &header, sizeof(header));
	memcpy(record + sizeof(header), body, size);
	memcpy(record + sizeof(header) + size, &trailer, sizeof(trailer));
	cut = 8 * (pt->time % (header.size / 8)); /* as if the ring wrapped anywhere */
	assert_int_equal(auxtap_perfdata_writer_record(pt->w, record, cut, record + cut,
						       header.size - cut, &err),
			 0);
}

static void put_sideband(struct ptfile *pt)
{
	struct {
		uint32_t pid, tid;
		char name[16];
	} comm = {PTFILE_PID, PTFILE_PID, "tiny"};
	struct {
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint32_t maj, min;
		uint64_t ino, generation;
		uint32_t prot, flags;
		char name[128];
	} mmap2 = {.pid = PTFILE_PID,
		   .tid = PTFILE_PID,
		   .addr = PTFILE_BASE,
		   .len = 0x1000,
		   .prot = 5,
		   .flags = 2};
	uint32_t who[2] = {PTFILE_PID, PTFILE_PID};

	snprintf(mmap2.name, sizeof(mmap2.name), "%s", pt->code);
	put(pt, PERF_RECORD_COMM, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_COMM_EXEC, &comm,
	    sizeof(comm), PTFILE_ID_DUMMY);
	put(pt, PERF_RECORD_ITRACE_START, 0, who, sizeof(who), PTFILE_ID_PT);
	put(pt, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &mmap2, sizeof(mmap2), PTFILE_ID_DUMMY);
}

void ptfile_begin(struct ptfile *pt)
{
	/* clang-format off */
	struct perf_event_attr attr = {
		.type = PTFILE_PMU,
		.size = sizeof(attr),
		.config = 1 << 1 | 1 << 13 | 1 << 10 |
			  1 << 11, /* pt, branch, tsc, noretcomp */
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_IDENTIFIER,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	/* clang-format on */
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
	/* clang-format off */
	uint64_t info[AUXTAP_PT_INFO_NR] = {
		[AUXTAP_PT_INFO_PMU_TYPE] = PTFILE_PMU,
		[AUXTAP_PT_INFO_TIME_MULT] = 1,
		[AUXTAP_PT_INFO_CAP_USER_TIME_ZERO] = 1,
		[AUXTAP_PT_INFO_TSC_BIT] = 1 << 10,
		[AUXTAP_PT_INFO_NORETCOMP_BIT] = 1 << 11,
	};
	/* clang-format on */
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	FILE *f;

	memset(pt, 0, sizeof(*pt));
	strcpy(pt->dir, "/tmp/auxtap-test-XXXXXX");
	assert_non_null(mkdtemp(pt->dir));
	snprintf(pt->code, sizeof(pt->code), "%s/code", pt->dir);
	snprintf(pt->data, sizeof(pt->data), "%s/auxtap.data", pt->dir);
	f = fopen(pt->code, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(code, sizeof(code), 1, f), 1);
	assert_int_equal(fclose(f), 0);
	pt->time = 1000;
	assert_int_equal(auxtap_perfdata_writer_create(&pt->w, pt->data, &err), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(pt->w, &attr, "intel_pt//u"), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(pt->w, &dummy, "dummy:u"), 1);
	assert_int_equal(auxtap_perfdata_writer_begin(pt->w, &err), 0);
	/* Ids added after begin, like those of later threads. */
	assert_int_equal(auxtap_perfdata_writer_add_id(pt->w, 0, PTFILE_ID_PT), 0);
	assert_int_equal(auxtap_perfdata_writer_add_id(pt->w, 1, PTFILE_ID_DUMMY), 0);
	assert_int_equal(auxtap_perfdata_writer_auxtrace_info(pt->w, AUXTAP_AUXTRACE_INTEL_PT, info,
							      AUXTAP_PT_INFO_NR, &err),
			 0);
	put_sideband(pt);
}

static size_t make_trace(unsigned char *p, uint64_t tsc)
{
	unsigned char *start = p;
	uint64_t ip = PTFILE_BASE;

	for (int i = 0; i < 8; i++) { /* PSB */
		*p++ = 0x02;
		*p++ = 0x82;
	}
	*p++ = 0x19; /* TSC */
	memcpy(p, &tsc, 7);
	p += 7;
	memcpy(p, "\x02\x03\x20\x00", 4); /* CBR */
	p += 4;
	memcpy(p, "\x99\x01\x02\x23\x99\x01", 6); /* MODE.Exec 64-bit, PSBEND, MODE.Exec */
	p += 6;
	*p++ = 0x11 | 6 << 5; /* TIP.PGE, full IP */
	memcpy(p, &ip, 8);
	p += 8;
	*p++ = 0x06; /* TNT: taken */
	*p++ = 0x01; /* TIP.PGD, IP suppressed */
	return (size_t)(p - start);
}

void ptfile_run(struct ptfile *pt)
{
	unsigned char trace[64];
	size_t size = make_trace(trace, pt->time++);
	struct auxtap_auxtrace head = {.offset = pt->aux_head,
				       .reference = pt->time,
				       .tid = PTFILE_PID,
				       .cpu = (uint32_t)-1};
	uint64_t aux[3] = {pt->aux_head, size, 0};
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	put(pt, PERF_RECORD_AUX, 0, aux, sizeof(aux), PTFILE_ID_PT);
	assert_int_equal(auxtap_perfdata_writer_auxtrace(pt->w, &head, trace, 17, trace + 17,
							 size - 17, &err),
			 0);
	pt->aux_head += (size + 7) & ~7ULL;
}

void ptfile_round(struct ptfile *pt)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	assert_int_equal(auxtap_perfdata_writer_round(pt->w, &err), 0);
}

void ptfile_remove(struct ptfile *pt)
{
	char *out;

	assert_int_equal(run_command(&out, "rm -r %s", pt->dir), 0);
	free(out);
}

int run_command(char **out, const char *fmt, ...)
{
	char command[1024], *text;
	size_t size = 0, capacity = 1 << 16, got;
	va_list args;
	FILE *f;
	int status;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	text = malloc(capacity);
	assert_non_null(text);
	f = popen(command, "r");
	assert_non_null(f);
	while ((got = fread(text + size, 1, capacity - size - 1, f)) > 0) {
		size += got;
		if (capacity - size < 4096) {
			capacity *= 2;
			text = realloc(text, capacity);
			assert_non_null(text);
		}
	}
	text[size] = '\0';
	status = pclose(f);
	*out = text;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int have_command(const char *name)
{
	char *out;
	int status = run_command(&out, "command -v %s", name);

	free(out);
	return !status;
}
