// SPDX-License-Identifier: BSD-2-Clause
/*
 * Real hardware traces. Without their images every stretch of execution is a gap with that
 * cause, and the decoder lists no instruction; with a program of the same layout, given by hand
 * or found under a sysroot by the sideband's mapping, the flow is exact.
 */
#include <auxtap/decode.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

struct counts {
	unsigned int insns, no_image, other_gaps, on, off;
	uint64_t first_on;
	struct auxtap_decode_summary sum;
};

static const char *root;

static void count(struct auxtap_decoder *dec, struct counts *c)
{
	struct auxtap_event ev = {.size = sizeof(ev)};

	memset(c, 0, sizeof(*c));
	while (auxtap_decoder_next(dec, &ev, NULL) == 1) {
		if (ev.type == AUXTAP_EVENT_GAP && ev.gap->cause == AUXTAP_GAP_NO_IMAGE)
			c->no_image++;
		else if (ev.type == AUXTAP_EVENT_GAP)
			c->other_gaps++;
		else if (ev.type == AUXTAP_EVENT_TRACE && ev.trace_on && !c->on++)
			c->first_on = ev.addr;
		else if (ev.type == AUXTAP_EVENT_TRACE && !ev.trace_on)
			c->off++;
		else if (ev.type == AUXTAP_EVENT_INSN)
			c->insns++;
	}
	c->sum.size = sizeof(c->sum);
	auxtap_decoder_summary(dec, &c->sum);
}

static const struct auxtap_decode_opts opts = {
	.size = sizeof(opts),
	.events = AUXTAP_EVENT_INSN | AUXTAP_EVENT_TRACE | AUXTAP_EVENT_GAP,
	.jobs = 1,
};

static struct auxtap_image_set *new_set(void)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_image_set *images;

	assert_int_equal(auxtap_image_set_new(&images, &image_opts, NULL), 0);
	return images;
}

static void raw(const char *name, struct counts *c)
{
	struct auxtap_raw_opts raw_opts = {.size = sizeof(raw_opts), .family = "pt"};
	struct auxtap_image_set *images = new_set();
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_decoder *dec;
	char path[512];

	snprintf(path, sizeof(path), "%s/intel-pt/%s", root, name);
	if (auxtap_decoder_open_raw(&dec, path, &raw_opts, images, &opts, &err))
		fail_msg("%s: %s", err.what, err.why);
	count(dec, c);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
	assert_int_equal(c->insns, 0);
	assert_int_equal(c->sum.instructions, 0);
	assert_int_equal(c->other_gaps, 0);
}

/* Tracing was on twice: 400511 and 400518 (see packets.txt beside the trace). */
static void lldb_loop(void **state)
{
	struct counts c;

	(void)state;
	raw("lldb-loop/3842849.trace", &c);
	assert_int_equal(c.on, 2);
	assert_int_equal(c.no_image, 2);
	assert_int_equal(c.first_on, 0x400511);
	assert_int_equal(c.sum.bytes, 4096);
}

static void lldb_multi_file(void **state)
{
	struct counts c;

	(void)state;
	raw("lldb-multi-file/multi-file.trace", &c);
	assert_int_equal(c.on, 6);
	assert_int_equal(c.no_image, 6);
	assert_int_equal(c.first_on, 0x40066f);
}

/* The page fault before the first instruction needs no image; everything after it does. */
static void static_hello(void **state)
{
	struct counts c;

	(void)state;
	raw("static-hello/pt.bin", &c);
	assert_int_equal(c.on, 2);
	assert_int_equal(c.off, 1);
	assert_int_equal(c.no_image, 1);
	assert_int_equal(c.first_on, 0x4016a0);
}

/* Sideband in files: thread, name and mapping are known, the program's file is missing. */
static void asm_hello_with_sideband(void **state)
{
	char primary[512], secondary[512], path[512];
	const char *sideband[] = {primary, secondary};
	struct auxtap_raw_opts raw_opts = {.size = sizeof(raw_opts),
					   .family = "pt",
					   .cpu_family = 6,
					   .cpu_model = 85,
					   .cpu_stepping = 4,
					   .sideband = sideband,
					   .nr_sideband = 2,
					   .sample_type = 0x10086,
					   .time_shift = 31,
					   .time_mult = 581029125,
					   .time_zero = 18444502336406842448ull};
	struct auxtap_image_set *images = new_set();
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	unsigned int gaps = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/intel-pt/asm-hello-64/pt.bin", root);
	snprintf(primary, sizeof(primary), "%s/intel-pt/asm-hello-64/primary.sideband.pevent",
		 root);
	snprintf(secondary, sizeof(secondary), "%s/intel-pt/asm-hello-64/secondary.sideband.pevent",
		 root);
	assert_int_equal(auxtap_decoder_open_raw(&dec, path, &raw_opts, images, &opts, NULL), 0);
	while (auxtap_decoder_next(dec, &ev, NULL) == 1) {
		assert_int_equal(ev.tid, 0x36af7);
		/* between the first and the last record of the sideband */
		assert_in_range(ev.time, 0x4ec21f908c998, 0x4ec21f919a256);
		if (ev.type != AUXTAP_EVENT_GAP)
			continue;
		gaps++;
		assert_int_equal(ev.gap->cause, AUXTAP_GAP_NO_IMAGE);
		assert_non_null(strstr(ev.text, "/hello"));
	}
	assert_int_equal(gaps, 1);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
}

/* The program that asm-hello-64 traces, by its addresses: two system calls, eight instructions. */
static const char hello_source[] =
	".globl _start\n_start: mov $1,%eax\nmov $1,%edi\nmovabs $msg,%rsi\nmov $14,%edx\n"
	"syscall\nmov $60,%eax\nmov $0,%edi\nsyscall\n"
	".data\nmsg: .ascii \"Hello, world!\\n\"\n";

static char dir[] = "/tmp/auxtap-real-XXXXXX";

static int build_hello(void **state)
{
	char path[256], cmd[512];
	FILE *f;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/hello.s", dir);
	f = fopen(path, "w");
	if (!f)
		return -1;
	fputs(hello_source, f);
	fclose(f);
	snprintf(cmd, sizeof(cmd),
		 "cd %s && cc -nostdlib -static -no-pie -Wl,--build-id=none,-z,separate-code "
		 "-o hello hello.s && cp hello given && mkdir root && cp hello root/hello",
		 dir);
	return system(cmd);
}

static int remove_hello(void **state)
{
	char cmd[256];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return system(cmd);
}

static void expect_hello(struct auxtap_image_set *images, bool with_sideband)
{
	static const uint64_t want[] = {0x401000, 0x401005, 0x40100a, 0x401014,
					0x401019, 0x40101b, 0x401020, 0x401025};
	char primary[512], secondary[512], path[512];
	const char *sideband[] = {primary, secondary};
	struct auxtap_raw_opts raw_opts = {.size = sizeof(raw_opts),
					   .family = "pt",
					   .cpu_family = 6,
					   .cpu_model = 85,
					   .cpu_stepping = 4,
					   .sideband = sideband,
					   .nr_sideband = with_sideband ? 2 : 0,
					   .sample_type = 0x10086,
					   .time_shift = 31,
					   .time_mult = 581029125,
					   .time_zero = 18444502336406842448ull};
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	unsigned int nr = 0;

	snprintf(path, sizeof(path), "%s/intel-pt/asm-hello-64/pt.bin", root);
	snprintf(primary, sizeof(primary), "%s/intel-pt/asm-hello-64/primary.sideband.pevent",
		 root);
	snprintf(secondary, sizeof(secondary), "%s/intel-pt/asm-hello-64/secondary.sideband.pevent",
		 root);
	assert_int_equal(auxtap_decoder_open_raw(&dec, path, &raw_opts, images, &opts, NULL), 0);
	while (auxtap_decoder_next(dec, &ev, NULL) == 1) {
		assert_int_not_equal(ev.type, AUXTAP_EVENT_GAP);
		if (ev.type != AUXTAP_EVENT_INSN)
			continue;
		assert_in_range(nr, 0, 7);
		assert_int_equal(ev.ip, want[nr]);
		assert_int_equal(ev.tid, with_sideband ? 0x36af7 : -1);
		nr++;
	}
	assert_int_equal(nr, 8);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
}

static void hello_given(const char *name, uint64_t addr, bool with_sideband)
{
	struct auxtap_image_set *images = new_set();
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(auxtap_image_set_add_file(images, path, 0, 0, addr, NULL), 0);
	expect_hello(images, with_sideband);
}

/*
 * Loaded by hand: at the first segment's address or the text's; also next to a recorded mapping
 * whose file is missing.
 */
static void flow_with_an_image_given(void **state)
{
	(void)state;
	hello_given("given", 0x400000, false);
	hello_given("given", 0x401000, false);
	hello_given("given", 0x400000, true);
	/* the same base name as recorded: mapped as the sideband says, wherever the file is */
	hello_given("hello", 0x70000000, true);
}

static void flow_with_a_sysroot(void **state)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_image_set *images;
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/root", dir);
	image_opts.sysroot = path;
	assert_int_equal(auxtap_image_set_new(&images, &image_opts, NULL), 0);
	expect_hello(images, true);
}

/* asm-hello-32 by its addresses: 32-bit code, INT 0x80 twice. */
static const uint8_t hello_32[] = {0xb8, 4, 0, 0,    0,	 0xbb, 1, 0, 0,	   0,	 0xb9, 0,
				   0xa0, 4, 8, 0xba, 14, 0,    0, 0, 0xcd, 0x80, 0xb8, 1,
				   0,	 0, 0, 0xbb, 0,	 0,    0, 0, 0xcd, 0x80};

/* With MTC and CYC the times are exact, not those of the last timestamp before. */
static void asm_hello_32_times(void **state)
{
	static const uint64_t want[] = {0x8049000, 0x8049005, 0x804900a,
					0x804900f, 0x8049016, 0x804901b};
	char primary[512], secondary[512], path[512], code[256];
	const char *sideband[] = {primary, secondary};
	struct auxtap_raw_opts raw_opts = {.size = sizeof(raw_opts),
					   .family = "pt",
					   .cpu_family = 6,
					   .cpu_model = 85,
					   .cpu_stepping = 4,
					   .sideband = sideband,
					   .nr_sideband = 2,
					   .sample_type = 0x10086,
					   .time_shift = 31,
					   .time_mult = 581029125,
					   .time_zero = 18444502336406842448ull,
					   .mtc_freq = 3,
					   .nom_freq = 37,
					   .cpuid_0x15_eax = 2,
					   .cpuid_0x15_ebx = 308};
	struct auxtap_image_set *images = new_set();
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	uint64_t last = 0x22e7c83333721; /* the last MMAP2 before the AUX record */
	unsigned int nr = 0;
	FILE *f;

	(void)state;
	snprintf(code, sizeof(code), "%s/code32", dir);
	f = fopen(code, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(hello_32, sizeof(hello_32), 1, f), 1);
	fclose(f);
	assert_int_equal(auxtap_image_set_add_file(images, code, 0, 0, 0x8049000, NULL), 0);
	snprintf(path, sizeof(path), "%s/intel-pt/asm-hello-32/pt.bin", root);
	snprintf(primary, sizeof(primary), "%s/intel-pt/asm-hello-32/primary.sideband.pevent",
		 root);
	snprintf(secondary, sizeof(secondary), "%s/intel-pt/asm-hello-32/secondary.sideband.pevent",
		 root);
	assert_int_equal(auxtap_decoder_open_raw(&dec, path, &raw_opts, images, &opts, NULL), 0);
	while (auxtap_decoder_next(dec, &ev, NULL) == 1) {
		assert_int_not_equal(ev.type, AUXTAP_EVENT_GAP);
		assert_in_range(ev.time, last, 0x22e7c83356a1c); /* of the AUX record */
		last = ev.time;
		assert_string_equal(ev.comm, "hello");
		if (ev.type != AUXTAP_EVENT_INSN)
			continue;
		assert_in_range(nr, 0, 5);
		assert_int_equal(ev.ip, want[nr++]);
		assert_int_equal(ev.isa, AUXTAP_ISA_X86_32);
	}
	assert_int_equal(nr, 6);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
}

/* lldb-loop by its addresses: main from +4 to a breakpoint after a loop of four. */
static const uint8_t loop[] = {0x55, 0x48, 0x89, 0xe5, 0xc7, 0x45, 0xfc, 0,    0,    0,
			       0,    0xc7, 0x45, 0xf8, 0,    0,	   0,	 0,    0xeb, 0x08,
			       0x83, 0x75, 0xfc, 0x01, 0x83, 0x45, 0xf8, 0x01, 0x83, 0x7d,
			       0xf8, 0x03, 0x7e, 0xf2, 0x8b, 0x45, 0xfc, 0x5d, 0xc3};

static void lldb_loop_with_its_code(void **state)
{
	struct auxtap_raw_opts raw_opts = {.size = sizeof(raw_opts),
					   .family = "pt",
					   .cpu_family = 6,
					   .cpu_model = 79,
					   .cpu_stepping = 1};
	struct auxtap_image_set *images = new_set();
	struct auxtap_decoder *dec;
	char path[512];
	struct counts c;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/loop", dir);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(loop, sizeof(loop), 1, f), 1);
	fclose(f);
	assert_int_equal(auxtap_image_set_add_file(images, path, 0, 0, 0x40050d, NULL), 0);
	snprintf(path, sizeof(path), "%s/intel-pt/lldb-loop/3842849.trace", root);
	assert_int_equal(auxtap_decoder_open_raw(&dec, path, &raw_opts, images, &opts, NULL), 0);
	count(dec, &c);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
	assert_int_equal(c.insns, 21);
	assert_int_equal(c.no_image + c.other_gaps, 0);
	assert_int_equal(c.on, 2);
	assert_int_equal(c.off, 2);
}

static void perf_4_14(void **state)
{
	struct auxtap_image_set *images = new_set();
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;
	struct counts c;
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/intel-pt-perfdata/intel_pt-4.14/perf.data", root);
	assert_int_equal(auxtap_perfdata_open(&pd, path, NULL), 0);
	assert_int_equal(auxtap_decoder_open(&dec, pd, images, &opts, NULL), 0);
	count(dec, &c);
	auxtap_decoder_close(dec);
	auxtap_perfdata_close(pd);
	auxtap_image_set_free(images);
	assert_int_equal(c.insns, 0);
	assert_int_equal(c.other_gaps, 0);
	assert_true(c.no_image > 0);
	assert_int_equal(c.first_on, 0xffffffffb960d302);
	assert_int_equal(c.sum.bytes, 149968);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lldb_loop),
		cmocka_unit_test(lldb_multi_file),
		cmocka_unit_test(static_hello),
		cmocka_unit_test(asm_hello_with_sideband),
		cmocka_unit_test(flow_with_an_image_given),
		cmocka_unit_test(flow_with_a_sysroot),
		cmocka_unit_test(asm_hello_32_times),
		cmocka_unit_test(lldb_loop_with_its_code),
		cmocka_unit_test(perf_4_14),
	};

	root = getenv("AUXTAP_TRACES") ? getenv("AUXTAP_TRACES") : AUXTAP_TRACES_DEFAULT;
	if (access(root, R_OK)) {
		printf("skipped: no real traces in '%s' (set AUXTAP_TRACES)\n", root);
		return 77;
	}
	return cmocka_run_group_tests(tests, build_hello, remove_hello);
}
