// SPDX-License-Identifier: BSD-2-Clause
/*
 * The listing of files whose records and packets are written by hand (perf_event_open(2), perf's
 * documentation of perf.data, SDM): every field, in its place.
 */
#include <auxtap/dump.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <cmocka.h>

#define NAME "intel_pt//u"

static char dir[] = "/tmp/auxtap-dump-XXXXXX";
static char path[64];
static struct auxtap_perfdata_writer *w;
static uint64_t at; /* file offset of the next record */
static char want[1 << 16];
static size_t nr_want;
static unsigned int counts[128];

static struct {
	struct perf_event_header header;
	uint8_t body[2048];
} rec;

static void begin(const struct perf_event_attr *attr)
{
	assert_int_equal(auxtap_perfdata_writer_create(&w, path, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(w, attr, NAME), 0);
	assert_int_equal(auxtap_perfdata_writer_add_id(w, 0, 11), 0);
	assert_int_equal(auxtap_perfdata_writer_begin(w, NULL), 0);
	at = auxtap_perfdata_writer_size(w);
	nr_want = 0;
	memset(counts, 0, sizeof(counts));
}

/* A digit: a number of that size; s: text with its NUL; z: zeros; *: as many bytes from 1 on. */
static void fill(const char *layout, va_list ap)
{
	uint8_t *to = rec.body;

	for (; *layout; layout++) {
		uint64_t number;
		const char *text;

		if (*layout == 's') {
			text = va_arg(ap, const char *);
			memcpy(to, text, strlen(text) + 1);
			to += strlen(text) + 1;
			continue;
		}
		number = va_arg(ap, uint64_t);
		if (*layout == 'z') {
			memset(to, 0, number);
			to += number;
		} else if (*layout == '*') {
			for (uint8_t i = 1; i <= number; i++)
				*to++ = i;
		} else {
			memcpy(to, &number, (size_t)(*layout - '0'));
			to += *layout - '0';
		}
	}
	while ((to - rec.body) % 8)
		*to++ = 0;
	rec.header.size = (uint16_t)(8 + (to - rec.body));
}

/* Writes a record of that body, and notes the line that it is listed as. */
static void record(uint32_t type, uint16_t misc, const char *line, const char *layout, ...)
{
	va_list ap;

	rec.header.type = type;
	rec.header.misc = misc;
	va_start(ap, layout);
	fill(layout, ap);
	va_end(ap);
	assert_int_equal(auxtap_perfdata_writer_record(w, &rec, rec.header.size, NULL, 0, NULL), 0);
	nr_want += (size_t)snprintf(want + nr_want, sizeof(want) - nr_want,
				    "0x%" PRIx64 " [0x%x] %s\n", at, rec.header.size, line);
	assert_true(nr_want < sizeof(want));
	at += rec.header.size;
	counts[type < 128 ? type : 0]++;
}

static char *list(bool no_packets, int result)
{
	const struct auxtap_dump_opts opts = {.size = sizeof(opts), .no_packets = no_packets};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(auxtap_perfdata_open(&pd, path, NULL), 0);
	assert_int_equal(auxtap_dump(pd, &opts, out, &err), result);
	auxtap_perfdata_close(pd);
	fclose(out);
	return text;
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

/* ---- records ---- */

#define ARG(number) ((uint64_t)(number))

static void kernel_records(void)
{
	record(PERF_RECORD_MMAP, 0, "MMAP 7/8: 7/8 [0x1000(0x2000) @ 0x3] /bin/a", "44888s", ARG(7),
	       ARG(8), ARG(0x1000), ARG(0x2000), ARG(3), "/bin/a");
	record(PERF_RECORD_MMAP2, 0, "MMAP2 7/8: 7/8 [0x1000(0x2000) @ 0x3 08:1f 5 6] r-xp /bin/a",
	       "44888448844s", ARG(7), ARG(8), ARG(0x1000), ARG(0x2000), ARG(3), ARG(8), ARG(0x1f),
	       ARG(5), ARG(6), ARG(5), ARG(2), "/bin/a");
	record(PERF_RECORD_MMAP2, 0,
	       "MMAP2 7/-1: 7/-1 [0x1000(0x2000) @ 0x3 00:00 0 0] -w-s //anon", "44888448844s",
	       ARG(7), ARG(-1), ARG(0x1000), ARG(0x2000), ARG(3), ARG(0), ARG(0), ARG(0), ARG(0),
	       ARG(2), ARG(1), "//anon");
	record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID,
	       "MMAP2 7/8: 7/8 [0x1000(0x2000) @ 0x3 build-id "
	       "0102030405060708090a0b0c0d0e0f1011121314] r--p /bin/a",
	       "448881z*44s", ARG(7), ARG(8), ARG(0x1000), ARG(0x2000), ARG(3), ARG(20), ARG(3),
	       ARG(20), ARG(1), ARG(2), "/bin/a");
	record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID,
	       "MMAP2 7/8: 7/8 [0x1000(0x2000) @ 0x3 build-id 01020304] r--p /bin/a", "448881z*44s",
	       ARG(7), ARG(8), ARG(0x1000), ARG(0x2000), ARG(3), ARG(4), ARG(3), ARG(20), ARG(1),
	       ARG(2), "/bin/a");
	record(PERF_RECORD_COMM, 0, "COMM 7/8: 7/8 \\x1b[1m\xc3\xbc~\\x7f", "44s", ARG(7), ARG(8),
	       "\033[1m\xc3\xbc~\x7f");
	record(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, "COMM 7/8: 7/8 exec a b", "44s",
	       ARG(7), ARG(8), "a b");
	record(PERF_RECORD_FORK, 0, "FORK 7/8 time 0.000000099: 7/8 parent 5/6", "44448", ARG(7),
	       ARG(5), ARG(8), ARG(6), ARG(99));
	record(PERF_RECORD_EXIT, 0, "EXIT 7/8 time 0.000000099: 7/8 parent 5/6", "44448", ARG(7),
	       ARG(5), ARG(8), ARG(6), ARG(99));
	record(PERF_RECORD_LOST, 0, "LOST: id 11 lost 3", "88", ARG(11), ARG(3));
	record(PERF_RECORD_LOST_SAMPLES, 0, "LOST_SAMPLES: lost 4", "8", ARG(4));
	record(PERF_RECORD_THROTTLE, 0, "THROTTLE: at 1 id 11 stream 3", "888", ARG(1), ARG(11),
	       ARG(3));
	record(PERF_RECORD_UNTHROTTLE, 0, "UNTHROTTLE: at 1 id 11 stream 3", "888", ARG(1), ARG(11),
	       ARG(3));
	record(PERF_RECORD_ITRACE_START, 0, "ITRACE_START 7/8: 7/8", "44", ARG(7), ARG(8));
	record(PERF_RECORD_SAMPLE, 1, "SAMPLE: ip 0x1234 of " NAME, "8", ARG(0x1234));
	record(PERF_RECORD_AUX, 0, "AUX: offset 0x10 size 0x20 flags 0", "888", ARG(16), ARG(32),
	       ARG(0));
	record(PERF_RECORD_AUX, 0,
	       "AUX: offset 0x10 size 0x20 flags TRUNCATED|OVERWRITE|PARTIAL|COLLISION", "888",
	       ARG(16), ARG(32), ARG(15));
	record(PERF_RECORD_AUX, 0, "AUX: offset 0x10 size 0x20 flags TRUNCATED|0x20", "888",
	       ARG(16), ARG(32), ARG(0x21));
	record(PERF_RECORD_AUX, 0, "AUX: offset 0x10 size 0x20 flags PARTIAL format 3", "888",
	       ARG(16), ARG(32), ARG(0x304));
	record(PERF_RECORD_SWITCH, 0, "SWITCH: in", "");
	record(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, "SWITCH: out", "");
	record(PERF_RECORD_SWITCH,
	       PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
	       "SWITCH: out preempt", "");
	record(PERF_RECORD_SWITCH_CPU_WIDE, 0, "SWITCH_CPU_WIDE: in prev 7/8", "44", ARG(7),
	       ARG(8));
	record(PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT,
	       "SWITCH_CPU_WIDE: out next 7/8", "44", ARG(7), ARG(8));
	record(PERF_RECORD_NAMESPACES, 0, "NAMESPACES: 7/8 nr 2 3/0xf0 4/0xf1", "4488888", ARG(7),
	       ARG(8), ARG(2), ARG(3), ARG(0xf0), ARG(4), ARG(0xf1));
	record(PERF_RECORD_NAMESPACES, 0,
	       "NAMESPACES: 7/8 nr 2 3/0xf0 (cut: the record is too short)", "44888", ARG(7),
	       ARG(8), ARG(2), ARG(3), ARG(0xf0));
	record(PERF_RECORD_KSYMBOL, 0, "KSYMBOL: addr 0x1000 len 16 type 2 flags 0x3 bpf_a",
	       "8422s", ARG(0x1000), ARG(16), ARG(2), ARG(3), "bpf_a");
	record(PERF_RECORD_BPF_EVENT, 0, "BPF_EVENT: type 1 flags 0x2 id 3", "2248", ARG(1), ARG(2),
	       ARG(3), ARG(4));
	record(PERF_RECORD_CGROUP, 0, "CGROUP: id 5 /user", "8s", ARG(5), "/user");
	record(PERF_RECORD_TEXT_POKE, 0, "TEXT_POKE: addr 0x1000 old 5 new 6 bytes", "822*",
	       ARG(0x1000), ARG(5), ARG(6), ARG(11));
	record(PERF_RECORD_AUX_OUTPUT_HW_ID, 0, "AUX_OUTPUT_HW_ID: hw_id 0x77", "8", ARG(0x77));
	record(PERF_RECORD_AUX, 0,
	       "AUX: offset 0x10 size 0x0 flags 0 (cut: the record is too short)", "8", ARG(16));
}

static void user_records(void)
{
	record(AUXTAP_RECORD_EVENT_TYPE, 0, "EVENT_TYPE: config 0x5 cycles", "8s", ARG(5),
	       "cycles");
	record(AUXTAP_RECORD_BUILD_ID, 0,
	       "BUILD_ID: -1 0102030405060708090a0b0c0d0e0f1011121314 /bin/a", "4*s", ARG(-1),
	       ARG(24), "/bin/a");
	record(AUXTAP_RECORD_BUILD_ID, 0, "BUILD_ID: 7  (cut: the record is too short)", "4*",
	       ARG(7), ARG(4));
	record(AUXTAP_RECORD_TRACING_DATA, 0, "TRACING_DATA: 24 bytes", "4", ARG(24));
	record(AUXTAP_RECORD_ID_INDEX, 0, "ID_INDEX: nr 1", "88888", ARG(1), ARG(11), ARG(0),
	       ARG(0), ARG(8));
	record(AUXTAP_RECORD_AUXTRACE_INFO, 0,
	       "AUXTRACE_INFO: type 1 (intel_pt), pmu_type 0x9, time_shift 0x1f", "4488", ARG(1),
	       ARG(0), ARG(9), ARG(0x1f));
	record(AUXTAP_RECORD_AUXTRACE_INFO, 0, "AUXTRACE_INFO: type 77 (?), 0x9", "448", ARG(77),
	       ARG(0), ARG(9));
	record(AUXTAP_RECORD_AUXTRACE_ERROR, 0,
	       "AUXTRACE_ERROR: type 1 code 2 cpu 3 7/8 ip 0x9 time 10: lost", "44444488sz", ARG(1),
	       ARG(2), ARG(3), ARG(7), ARG(8), ARG(1), ARG(9), ARG(10), "lost", ARG(59));
	record(AUXTAP_RECORD_AUXTRACE_ERROR, 0,
	       "AUXTRACE_ERROR: type 1 code 2 cpu -1 7/8 ip 0x9 time 0: lost", "4444448sz", ARG(1),
	       ARG(2), ARG(-1), ARG(7), ARG(8), ARG(0), ARG(9), "lost", ARG(59));
	/* a message that is shorter than its field */
	record(AUXTAP_RECORD_AUXTRACE_ERROR, 0,
	       "AUXTRACE_ERROR: type 1 code 2 cpu 3 7/8 ip 0x9 time 10: lost", "44444488sz", ARG(1),
	       ARG(2), ARG(3), ARG(7), ARG(8), ARG(1), ARG(9), ARG(10), "lost", ARG(3));
	record(AUXTAP_RECORD_THREAD_MAP, 0,
	       "THREAD_MAP: nr 2, 7 one (cut: the record is too short)", "88sz", ARG(2), ARG(7),
	       "one", ARG(12));
	record(AUXTAP_RECORD_THREAD_MAP, 0, "THREAD_MAP: nr 2, 7 one, 8 other", "88sz8sz", ARG(2),
	       ARG(7), "one", ARG(12), ARG(8), "other", ARG(10));
	record(AUXTAP_RECORD_CPU_MAP, 0, "CPU_MAP: type 1", "2z", ARG(1), ARG(6));
	record(AUXTAP_RECORD_EVENT_UPDATE, 0, "EVENT_UPDATE: unit of id 11: Joules", "88s", ARG(0),
	       ARG(11), "Joules");
	record(AUXTAP_RECORD_EVENT_UPDATE, 0, "EVENT_UPDATE: scale of id 11", "888", ARG(1),
	       ARG(11), ARG(3));
	record(AUXTAP_RECORD_EVENT_UPDATE, 0, "EVENT_UPDATE: name of id 11: pt", "88s", ARG(2),
	       ARG(11), "pt");
	record(AUXTAP_RECORD_EVENT_UPDATE, 0, "EVENT_UPDATE: cpus of id 11", "888", ARG(3), ARG(11),
	       ARG(3));
	record(AUXTAP_RECORD_EVENT_UPDATE, 0, "EVENT_UPDATE: ? of id 11", "88", ARG(4), ARG(11));
	record(AUXTAP_RECORD_TIME_CONV, 0, "TIME_CONV: shift 1 mult 2 zero 0x3", "888", ARG(1),
	       ARG(2), ARG(3));
	record(AUXTAP_RECORD_TIME_CONV, 0, "TIME_CONV: shift 1 mult 2 zero 0x3 cycles 0x4 mask 0x5",
	       "88888", ARG(1), ARG(2), ARG(3), ARG(4), ARG(5));
	record(AUXTAP_RECORD_FINISHED_ROUND, 0, "FINISHED_ROUND: ", "");
	record(100, 0, "UNKNOWN(100): 16 bytes", "88", ARG(0), ARG(0));
	record(200, 0, "UNKNOWN(200): 0 bytes", "");
	record(300, 0, "UNKNOWN(300): 8 bytes", "8", ARG(0));
	record(200, 0, "UNKNOWN(200): 0 bytes", "");
}

static void records(void **state)
{
	const struct perf_event_attr attr = {.size = sizeof(attr),
					     .type = 9,
					     .config = 0x300e601,
					     .sample_period = 1,
					     .sample_type = PERF_SAMPLE_IP,
					     .exclude_kernel = 1,
					     .aux_watermark = 4096};
	char line[200], *text;
	unsigned int all = 0;
	const char *first;

	(void)state;
	begin(&attr);
	kernel_records();
	user_records();
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
	text = list(true, 0);
	first = strstr(text, "\n\n0x");
	assert_non_null(first);
	if (strncmp(first + 2, want, nr_want) != 0)
		fail_msg("%s\n--- instead of\n%s", first + 2, want);
	first += 2 + nr_want;
	for (unsigned int type = 1; type < 100; type++)
		if (counts[type]) {
			snprintf(line, sizeof(line), "\n  %-20s %10u\n", auxtap_record_name(type),
				 counts[type]);
			has(first, line);
			all++;
		}
	assert_int_equal(all, 31);
	has(first, "\n  unknown 100                   1\n  unknown 200                   2\n"
		   "  unknown 300                   1\nrecords of unknown kind: 4\n");
	snprintf(line, sizeof(line), "%s: perf.data, file form\ndata: offset 0x", path);
	assert_memory_equal(text, line, strlen(line));
	snprintf(line, sizeof(line),
		 "\nattribute 0: " NAME ", type 9 (pmu), config 0x300e601, period 1, sample_type "
		 "IP, exclude_kernel, aux_watermark 4096, %zu bytes, ids 11\n",
		 sizeof(attr));
	has(text, line);
	free(text);
}

/* What stands before the body, and the attribute's flags. */
static void sample_ids(void **state)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_RAW,
				       .config = 3,
				       .config1 = 4,
				       .config2 = 5,
				       .sample_freq = 99,
				       .freq = 1,
				       .sample_id_all = 1,
				       .disabled = 1,
				       .inherit = 1,
				       .mmap = 1,
				       .mmap2 = 1,
				       .comm = 1,
				       .comm_exec = 1,
				       .task = 1,
				       .context_switch = 1};
	char *text;

	(void)state;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU;
	begin(&attr);
	record(PERF_RECORD_COMM, 0, "COMM 7/8 cpu 3 time 2.000000005 id 11: 9/10 a", "44sz448844",
	       ARG(9), ARG(10), "a", ARG(6), ARG(7), ARG(8), ARG(2000000005), ARG(11), ARG(3),
	       ARG(0));
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
	text = list(true, 0);
	has(text, want);
	has(text, ", type 4 (raw), config 0x3, config1 0x4, config2 0x5, frequency 99, sample_type "
		  "TID|TIME|ID|CPU, disabled, inherit, mmap, mmap2, comm, comm_exec, task, "
		  "sample_id_all, context_switch, ");
	free(text);
}

/* ---- features ---- */

static void features(void **state)
{
	const struct perf_event_attr attr = {.size = sizeof(attr),
					     .type = 9,
					     .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
					     .sample_id_all = 1};
	const struct auxtap_build_id id = {.pid = -1,
					   .size = 4,
					   .id = {1, 2, 0xab, 4},
					   .filename = "/bin/a"};
	char *const argv[] = {"auxtap", "record", "a\tb"};
	char line[300], host[200] = "";
	struct utsname uts;
	const uint8_t padding[8] = {0};
	struct auxtap_auxtrace head = {.tid = 8, .cpu = UINT32_MAX};
	char *text;

	(void)state;
	begin(&attr);
	record(PERF_RECORD_COMM, 0, "", "44sz448", ARG(9), ARG(10), "a", ARG(6), ARG(7), ARG(8),
	       ARG(5));
	record(PERF_RECORD_COMM, 0, "", "44sz448", ARG(9), ARG(10), "a", ARG(6), ARG(7), ARG(8),
	       ARG(3000000000));
	assert_int_equal(auxtap_perfdata_writer_auxtrace(w, &head, padding, 8, NULL, 0, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_build_id(w, &id), 0);
	assert_int_equal(auxtap_perfdata_writer_cmdline(w, 3, argv), 0);
	assert_int_equal(auxtap_perfdata_writer_metadata(w, AUXTAP_METADATA_MESSAGE, "one\ntwo", 7),
			 0);
	assert_int_equal(auxtap_perfdata_writer_metadata(w, AUXTAP_METADATA_CRASH, "hidden", 6), 0);
	assert_int_equal(auxtap_perfdata_writer_metadata(w, 34, "a", 1), 0);
	assert_int_equal(auxtap_perfdata_writer_metadata(w, 35, "a", 1), 0);
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
	text = list(true, 0);
	gethostname(host, sizeof(host) - 1);
	snprintf(line, sizeof(line), "\nfeature 3 HOSTNAME: %s\n", host);
	has(text, line);
	snprintf(line, sizeof(line), "\nfeature 7 NRCPUS: %ld %ld\n", sysconf(_SC_NPROCESSORS_CONF),
		 sysconf(_SC_NPROCESSORS_ONLN));
	has(text, line);
	assert_int_equal(uname(&uts), 0);
	snprintf(line, sizeof(line), "\nfeature 4 OSRELEASE: %s\n", uts.release);
	has(text, line);
	snprintf(line, sizeof(line), "\nfeature 6 ARCH: %s\n", uts.machine);
	has(text, line);
	snprintf(line, sizeof(line), "\nfeature 10 TOTAL_MEM: %" PRIu64 " kB\n",
		 (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 1024);
	has(text, line);
	has(text, "\nfeature 11 CMDLINE: auxtap record a\\x09b\n");
	has(text, "\nfeature 12 EVENT_DESC: " NAME " (1 ids)\n");
	has(text, "\nfeature 2 BUILD_ID: 1\n    0102ab04 /bin/a\n");
	has(text, "\nfeature 18 AUXTRACE: 1 AUXTRACE records\n");
	has(text, "\nfeature 21 SAMPLE_TIME: 5 3000000000 ns\n");
	has(text,
	    "\nmetadata 9 message: 7 bytes\n  one\n  two\nmetadata 2 crash: 6 bytes\nmetadata 34 packed "
	    "source lines: 1 bytes\nmetadata 35 unknown: 1 bytes\n\n");
	assert_null(strstr(text, "hidden"));
	free(text);
}

static void piped(FILE *f, uint32_t type, const char *layout, ...)
{
	va_list ap;

	rec.header.type = type;
	rec.header.misc = 0;
	va_start(ap, layout);
	fill(layout, ap);
	va_end(ap);
	assert_int_equal(fwrite(&rec, 1, rec.header.size, f), rec.header.size);
}

static FILE *begin_pipe(void)
{
	const struct {
		char magic[8];
		uint64_t size;
	} header = {{'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'}, 16};
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(&header, 1, sizeof(header), f), sizeof(header));
	return f;
}

/* What came through a pipe: attributes and features are records; their texts may be cut. */
static void piped_features(void **state)
{
	FILE *f = begin_pipe();
	char *text;

	(void)state;
	/* type, size, config, period, sample_type, read_format, flags: disabled, inherit; id */
	piped(f, AUXTAP_RECORD_HEADER_ATTR, "44888888z8", ARG(1), ARG(64), ARG(9), ARG(100), ARG(2),
	      ARG(0), ARG(3), ARG(0), ARG(8), ARG(77));
	piped(f, AUXTAP_RECORD_HEADER_FEATURE, "844s", ARG(3), ARG(4), ARG(0x74736f68), "");
	/* two strings, and a third that is not counted */
	piped(f, AUXTAP_RECORD_HEADER_FEATURE, "844s4s4s", ARG(11), ARG(2), ARG(4), "abc", ARG(4),
	      "def", ARG(4), "ghi");
	/* a length beyond the end */
	piped(f, AUXTAP_RECORD_HEADER_FEATURE, "84s", ARG(9), ARG(100), "abc");
	/* one PMU, and another that is not counted */
	piped(f, AUXTAP_RECORD_HEADER_FEATURE, "8444s44s", ARG(16), ARG(1), ARG(4), ARG(4), "cpu",
	      ARG(5), ARG(4), "abc");
	piped(f, AUXTAP_RECORD_HEADER_FEATURE, "88", ARG(17), ARG(0));
	piped(f, AUXTAP_RECORD_HEADER_FEATURE, "844z44s8z44s", ARG(12), ARG(2), ARG(8), ARG(8),
	      ARG(1), ARG(4), "one", ARG(11), ARG(8), ARG(0), ARG(4), "two");
	piped(f, AUXTAP_RECORD_HEADER_FEATURE, "888", ARG(21), ARG(5), ARG(6));
	assert_int_equal(fclose(f), 0);
	text = list(true, 0);
	has(text, ": perf.data, pipe form\n");
	has(text,
	    "attribute 0: one, type 1 (software), config 0x9, period 100, sample_type TID, disabled, "
	    "inherit, 64 bytes, ids 77\n");
	has(text, "] ATTR: type 1 (software), config 0x9, period 100, sample_type TID, "
		  "disabled, inherit\n");
	has(text, "feature 3 HOSTNAME: host\n");
	has(text, "feature 11 CMDLINE: abc def\n");
	has(text, "feature 9 CPUID: \n");
	has(text, "feature 12 EVENT_DESC: one (1 ids), two (0 ids)\n");
	has(text, "feature 16 PMU_MAPPINGS: cpu = 4\n");
	has(text, "feature 17 GROUP_DESC: 8 bytes\n");
	has(text, "feature 21 SAMPLE_TIME: 5 6 ns\n");
	has(text, "] FEATURE: SAMPLE_TIME (21), 16 bytes\n");
	free(text);
}

/* Fewer strings than their number says: those that are there. */
static void few_strings(void **state)
{
	FILE *f = begin_pipe();
	char *text;

	(void)state;
	piped(f, AUXTAP_RECORD_HEADER_FEATURE, "844s", ARG(11), ARG(3), ARG(8), "abcdefg");
	assert_int_equal(fclose(f), 0);
	text = list(true, 0);
	has(text, "feature 11 CMDLINE: abcdefg\n");
	free(text);
	/* the second has more bytes than there are */
	f = begin_pipe();
	piped(f, AUXTAP_RECORD_HEADER_FEATURE, "844s44s", ARG(11), ARG(3), ARG(4), "abc", ARG(100),
	      ARG(4), "def");
	assert_int_equal(fclose(f), 0);
	text = list(true, 0);
	has(text, "feature 11 CMDLINE: abc \n");
	free(text);
	/* not even their number */
	f = begin_pipe();
	piped(f, AUXTAP_RECORD_HEADER_FEATURE, "8", ARG(11));
	assert_int_equal(fclose(f), 0);
	text = list(true, 0);
	has(text, "feature 11 CMDLINE:\n");
	free(text);
}

/* What tracepoints are is after the record, which says how much; then the next record begins. */
static void tracing_data(void **state)
{
	static const struct {
		struct perf_event_header header;
		uint32_t nr_bytes;
		char bytes[16];
	} data = {.header = {AUXTAP_RECORD_TRACING_DATA, 0, 12},
		  .nr_bytes = 11,
		  .bytes = "\x17\x08\x44tracing"};
	FILE *f = begin_pipe();
	char *text;

	(void)state;
	assert_int_equal(fwrite(&data, 1, 12 + 16, f), 12 + 16);
	piped(f, AUXTAP_RECORD_HEADER_FEATURE, "844s", ARG(3), ARG(4), ARG(0x74736f68), "");
	assert_int_equal(fclose(f), 0);
	text = list(true, 0);
	has(text, "\n0x10 [0xc] TRACING_DATA: 11 bytes\n0x2c [");
	has(text, "feature 3 HOSTNAME: host\n");
	free(text);
}

/* ---- packets ---- */

/* PSB, PSBEND, and a TIP of which the last byte is missing */
static const uint8_t front[24] = {2, 0x82, 2, 0x82, 2, 0x82, 2,	   0x82, 2,    0x82, 2,	   0x82,
				  2, 0x82, 2, 0x82, 2, 0x23, 0x6d, 0x60, 0x50, 0x40, 0x30, 0x20};

static void put_trace(uint64_t off, const void *bytes, size_t size)
{
	static uint64_t reference;
	const struct auxtap_auxtrace head = {.offset = off,
					     .tid = 8,
					     .cpu = UINT32_MAX,
					     .reference = ++reference};

	assert_int_equal(auxtap_perfdata_writer_auxtrace(w, &head, bytes, size, NULL, 0, NULL), 0);
}

static void trace_file(void)
{
	const struct perf_event_attr attr = {.size = sizeof(attr), .type = 9};
	const uint64_t info[AUXTAP_PT_INFO_NR] = {9};

	begin(&attr);
	assert_int_equal(auxtap_perfdata_writer_auxtrace_info(w, AUXTAP_AUXTRACE_INTEL_PT, info,
							      AUXTAP_PT_INFO_NR, NULL),
			 0);
}

/* A packet that begins in one buffer and ends in the next one. */
static void joined(void **state)
{
	/* the TIP's end, a TNT of two branches, a TIP without address, padding, PSBEND */
	const uint8_t back[8] = {0x10, 0x0c, 0x0d, 0, 0, 0, 2, 0x23};
	const char *list1 = "0000000000000000  02820282028202820282028202820282  psb\n"
			    "0000000000000010  0223                              psbend\n";
	const char *list2 = "0000000000000012  6d605040302010 ";
	const char *list3 = "0000000000000019  0c                                tnt";
	const char *list4 = "000000000000001e  0223                              psbend\n";
	const char *part;
	char *text;

	(void)state;
	trace_file();
	put_trace(0, front, sizeof(front));
	put_trace(24, back, sizeof(back));
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
	text = list(false, 0);
	has(text, list1);
	has(text, list2);
	has(text, "ip   0000102030405060\n");
	part = strstr(text, list3);
	assert_non_null(part);
	has(part, "\n000000000000001a  0d                                tip ");
	has(part, "ip   <suppressed>\n");
	has(part, list4);
	assert_null(strstr(text, "error"));
	assert_null(strstr(text, " pad"));
	assert_null(strstr(text, "cannot be decoded"));
	free(text);
}

/* A buffer of more than is read at once, with a packet across the border. */
static void long_buffer(void **state)
{
	const size_t size = (2 << 20) + 64, border = (1 << 20) - 3;
	uint8_t *bytes = calloc(1, size);
	char *text;

	(void)state;
	assert_non_null(bytes);
	memcpy(bytes, front, 18);
	memcpy(bytes + border, front + 18, 6);
	bytes[border + 6] = 0x10;
	memcpy(bytes + size - 24, front, 18);
	trace_file();
	put_trace(0, bytes, size);
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
	text = list(false, 0);
	has(text, "psbend\n00000000000ffffd  6d605040302010                    tip ");
	has(text, "ip   0000102030405060\n0000000000200028  02820282028202820282028202820282  psb\n"
		  "0000000000200038  0223                              psbend\n\n");
	assert_null(strstr(text, "error"));
	free(text);
	free(bytes);
}

/* What another buffer does not continue is an error, counted by buffers. */
static void not_joined(void **state)
{
	char *text;

	(void)state;
	trace_file();
	put_trace(0, front, sizeof(front));
	put_trace(32, front, 18);
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
	text = list(false, 0);
	has(text, "0000000000000020  02820282028202820282028202820282  psb\n");
	has(text, "0000000000000030  0223                              psbend\n");
	has(text, "\nAUXTRACE records with packets that cannot be decoded: 1\n");
	free(text);
	text = list(true, 0);
	assert_null(strstr(text, "psbend"));
	free(text);
}

/* More than is read at once, with a packet across the border. */
static void raw(void **state)
{
	const struct auxtap_raw_opts opts = {.size = sizeof(opts), .family = "pt"};
	const size_t border = (1 << 20) - 3;
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	FILE *out, *f = fopen(path, "w");
	char *text;
	size_t size;

	(void)state;
	assert_non_null(f);
	assert_int_equal(fwrite(front, 1, 18, f), 18);
	for (size_t i = 18; i < border; i++)
		fputc(0, f);
	assert_int_equal(fwrite(front + 18, 1, 6, f), 6);
	assert_int_equal(fwrite("\x10\x0c", 1, 2, f), 2);
	assert_int_equal(fclose(f), 0);
	out = open_memstream(&text, &size);
	assert_int_equal(auxtap_dump_raw(path, &opts, out, &err), 0);
	fclose(out);
	assert_string_equal(text, "0000000000000000  02820282028202820282028202820282  psb\n"
				  "0000000000000010  0223                              psbend\n"
				  "00000000000ffffd  6d605040302010                    tip        "
				  "3: 0000102030405060       ip   0000102030405060\n"
				  "0000000000100004  0c                                tnt.8      "
				  "!.\n");
	free(text);
}

/* A file that ends within a record: what is before it is listed, and where it ends. */
static void damaged(void **state)
{
	const struct perf_event_attr attr = {.size = sizeof(attr), .type = 9};
	char line[64], *text;

	(void)state;
	begin(&attr);
	record(PERF_RECORD_COMM, 0, "COMM 9/10: 9/10 a", "44s", ARG(9), ARG(10), "a");
	record(PERF_RECORD_COMM, 0, "", "44s", ARG(9), ARG(10), "b");
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
	assert_int_equal(truncate(path, (off_t)at - 8), 0);
	text = list(true, 1);
	has(text, "] COMM 9/10: 9/10 a\n");
	has(text, "\n  COMM                          1\n");
	snprintf(line, sizeof(line), "\ndamaged at offset %" PRIu64 ": ", at - rec.header.size);
	has(text, line);
	has(text, "\nfeatures: their table lies beyond the end of the file\n");
	free(text);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/data", dir);
	return 0;
}

static int tear_down(void **state)
{
	char command[80];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records),     cmocka_unit_test(sample_ids),
		cmocka_unit_test(features),    cmocka_unit_test(piped_features),
		cmocka_unit_test(few_strings), cmocka_unit_test(tracing_data),
		cmocka_unit_test(joined),      cmocka_unit_test(long_buffer),
		cmocka_unit_test(not_joined),  cmocka_unit_test(raw),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
