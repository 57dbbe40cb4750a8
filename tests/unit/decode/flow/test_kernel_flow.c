// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program's system call into the kernel and on into a module, and back, from a small recording:
 * with every source of the kernel's bytes the flow is the same; without them it continues after
 * a gap, and the image set says what is missing.
 */
#include "support_pt.h"
#include "decode/image/image_private.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define PID    77
#define PMU    8
#define ID     500
#define USER   0x401000ull
#define LINKED 0xffffffff81000000ull
#define BOOTED 0xffffffffa1200000ull
#define MODULE 0xffffffffc0350000ull

/* 1000: nop; syscall; 1003: nop; jmp *%rax */
static const uint8_t user_code[] = {0x90, 0x0f, 0x05, 0x90, 0xff, 0xe0};
/* 0: nop; 1: nop; call *%rbx; 4: nop; sysretq */
static const uint8_t kernel_code[] = {0x90, 0x90, 0xff, 0xd3, 0x90, 0x48, 0x0f, 0x07};
/* nop; ret */
static const uint8_t module_code[] = {0x90, 0xc3};
static const uint8_t kernel_id[20] = {0xab, 0xcd, 1, 2, 3, 4, 5, 6, 7, 8,
				      9,    10,	  1, 2, 3, 4, 5, 6, 7, 8};
static const char kernel_id_hex[] = "abcd0102030405060708090a0102030405060708";

#define ALL                                                                 \
	"401000 401001 ffffffffa1200001 ffffffffa1200002 ffffffffc0350000 " \
	"ffffffffc0350001 ffffffffa1200004 ffffffffa1200005 401003 401004 "

static char dir[] = "/tmp/auxtap-kernel-XXXXXX";

static const char *in_dir(const char *fmt, ...)
{
	static char paths[4][512];
	static unsigned int at;
	char *path = paths[at++ % 4];
	size_t len = (size_t)snprintf(path, 512, "%s/", dir);
	va_list args;

	va_start(args, fmt);
	vsnprintf(path + len, 512 - len, fmt, args);
	va_end(args);
	return path;
}

static int run(const char *fmt, ...)
{
	char cmd[2048];
	size_t len = (size_t)snprintf(cmd, sizeof(cmd), "cd %s && ", dir);
	va_list args;

	va_start(args, fmt);
	vsnprintf(cmd + len, sizeof(cmd) - len, fmt, args);
	va_end(args);
	return system(cmd);
}

static void write_file(const char *name, const void *data, size_t size)
{
	FILE *f = fopen(in_dir("%s", name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	fclose(f);
}

/* An ELF core of the kernel's memory as 'perf record --kcore' saves it. */
static void write_kcore(const char *name)
{
	uint8_t file[0x3000] = {0};
	Elf64_Ehdr eh = {.e_ident = ELFMAG,
			 .e_type = ET_CORE,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(eh),
			 .e_ehsize = sizeof(eh),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2};
	Elf64_Phdr ph[2] = {{.p_type = PT_LOAD,
			     .p_flags = PF_R | PF_W | PF_X,
			     .p_offset = 0x1000,
			     .p_vaddr = BOOTED,
			     .p_filesz = 0x1000,
			     .p_memsz = 0x1000},
			    {.p_type = PT_LOAD,
			     .p_flags = PF_R | PF_W | PF_X,
			     .p_offset = 0x2000,
			     .p_vaddr = MODULE,
			     .p_filesz = 0x1000,
			     .p_memsz = 0x1000}};

	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(file, &eh, sizeof(eh));
	memcpy(file + sizeof(eh), ph, sizeof(ph));
	memcpy(file + 0x1000, kernel_code, sizeof(kernel_code));
	memcpy(file + 0x2000, module_code, sizeof(module_code));
	write_file(name, file, sizeof(file));
}

static void source(const char *name, const uint8_t *code, size_t size)
{
	char text[256] = ".globl _text\n_text: .byte 0x90";

	for (size_t i = 1; i < size; i++)
		sprintf(text + strlen(text), ",%u", code[i]);
	strcat(text, "\n");
	write_file(name, text, strlen(text));
}

static void make_trace(struct pt_bytes *pt)
{
	pt->nr = 0;
	pt_raw(pt, "02820282028202820282028202820282");
	pt_raw(pt, "1900200000000000"); /* TSC 2000 hexadecimal, after all of the sideband */
	pt_raw(pt, "9901");
	pt_fup(pt, USER);
	pt_raw(pt, "0223");
	pt_tip(pt, BOOTED + 1);
	pt_tip(pt, MODULE);
	pt_tip(pt, BOOTED + 4);
	pt_tip(pt, USER + 3);
	pt_tip(pt, USER);
	pt_fup(pt, USER);
	pt_pgd(pt);
}

static void put(struct auxtap_perfdata_writer *w, uint32_t type, uint16_t misc, const void *body,
		size_t size, uint64_t time)
{
	struct {
		struct perf_event_header header;
		uint8_t bytes[512];
	} rec = {.header = {.type = type, .misc = misc}};
	struct {
		int32_t pid, tid;
		uint64_t time, id;
	} sid = {PID, PID, time, ID};

	memcpy(rec.bytes, body, size);
	memcpy(rec.bytes + size, &sid, sizeof(sid));
	rec.header.size = (uint16_t)(sizeof(rec.header) + size + sizeof(sid));
	assert_int_equal(auxtap_perfdata_writer_record(w, &rec, rec.header.size, NULL, 0, NULL), 0);
}

static void put_map(struct auxtap_perfdata_writer *w, int32_t pid, uint64_t addr, uint64_t len,
		    uint64_t pgoff, const char *name, uint64_t time)
{
	struct {
		int32_t pid, tid;
		uint64_t addr, len, pgoff;
		char name[256];
	} body = {pid, pid == -1 ? 0 : pid, addr, len, pgoff, ""};

	snprintf(body.name, sizeof(body.name), "%s", name);
	put(w, PERF_RECORD_MMAP, pid == -1 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER, &body,
	    sizeof(body), time);
}

static void write_data(const char *name)
{
	struct perf_event_attr attr = {.type = PMU,
				       .size = sizeof(attr),
				       .config = 1 << 1 | 1 << 10 | 1 << 13,
				       .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						      PERF_SAMPLE_IDENTIFIER,
				       .sample_id_all = 1};
	uint64_t info[AUXTAP_PT_INFO_NR] = {[AUXTAP_PT_INFO_PMU_TYPE] = PMU,
					    [AUXTAP_PT_INFO_TIME_MULT] = 1,
					    [AUXTAP_PT_INFO_CAP_USER_TIME_ZERO] = 1};
	struct auxtap_build_id id = {.pid = -1,
				     .misc = PERF_RECORD_MISC_KERNEL,
				     .size = 20,
				     .filename = "[kernel.kallsyms]"};
	struct auxtap_auxtrace head = {.reference = 1, .tid = PID, .cpu = UINT32_MAX};
	struct auxtap_perfdata_writer *w;
	struct pt_bytes pt;

	memcpy(id.id, kernel_id, 20);
	assert_int_equal(auxtap_perfdata_writer_create(&w, in_dir("%s", name), NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(w, &attr, "intel_pt//"), 0);
	assert_int_equal(auxtap_perfdata_writer_add_id(w, 0, ID), 0);
	assert_int_equal(auxtap_perfdata_writer_begin(w, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_auxtrace_info(w, AUXTAP_AUXTRACE_INTEL_PT, info,
							      AUXTAP_PT_INFO_NR, NULL),
			 0);
	put_map(w, -1, BOOTED, 0x1000000, BOOTED, "[kernel.kallsyms]_text", 1);
	put_map(w, -1, MODULE, 0x4000, 0, "/lib/modules/6.1.0/kernel/fs/mod.ko", 2);
	put_map(w, PID, USER, 0x1000, 0x1000, in_dir("prog"), 3);
	make_trace(&pt);
	assert_int_equal(auxtap_perfdata_writer_auxtrace(w, &head, pt.at, pt.nr, NULL, 0, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_build_id(w, &id), 0);
	assert_int_equal(auxtap_perfdata_writer_round(w, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
}

static int setup(void **state)
{
	struct pt_bytes pt;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	setenv("HOME", in_dir("home"), 1);
	source("user.s", user_code, sizeof(user_code));
	source("kernel.s", kernel_code, sizeof(kernel_code));
	if (run("cc -nostdlib -static -no-pie -Wl,--build-id=none,-e,_text,-z,separate-code "
		"-o prog user.s") ||
	    run("cc -nostdlib -static -no-pie -Wl,--build-id=0x%s,-e,_text,-z,noseparate-code,"
		"-Ttext=0x%llx -o vmlinux kernel.s && "
		"cc -nostdlib -static -no-pie -Wl,--build-id=0x0102,-e,_text,-z,noseparate-code,"
		"-Ttext=0x%llx -o other kernel.s",
		kernel_id_hex, LINKED, LINKED))
		return -1;
	write_kcore("kcore");
	write_file("module", module_code, sizeof(module_code));
	write_data("data");
	make_trace(&pt);
	write_file("trace", pt.at, pt.nr);
	return run("mkdir -p home root");
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

static struct auxtap_image_set *new_set(const char *vmlinux, const char *kcore)
{
	struct auxtap_image_set_opts opts = {.size = sizeof(opts),
					     .vmlinux = vmlinux,
					     .kcore = kcore};
	struct auxtap_image_set *images;
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	if (auxtap_image_set_new(&images, &opts, &err))
		fail_msg("%s: %s", err.what, err.why);
	return images;
}

static void expect_flow(struct auxtap_decoder *dec, const char *want)
{
	struct auxtap_event ev = {.size = sizeof(ev)};
	char got[1024] = "";

	while (auxtap_decoder_next(dec, &ev, NULL) == 1) {
		char *end = got + strlen(got);

		assert_true(end - got + 40 < (ptrdiff_t)sizeof(got));
		if (ev.type == AUXTAP_EVENT_INSN)
			sprintf(end, "%llx ", (unsigned long long)ev.ip);
		else
			sprintf(end, "%s ", auxtap_gap_cause_name(ev.gap->cause));
	}
	assert_string_equal(got, want);
	auxtap_decoder_close(dec);
}

static const struct auxtap_decode_opts decode_opts = {.size = sizeof(decode_opts),
						      .jobs = 1,
						      .events =
							      AUXTAP_EVENT_INSN | AUXTAP_EVENT_GAP};

/*
 * The instruction decoder uses libipt's sections, the callback the rest: both see the same bytes.
 */
static void expect(struct auxtap_image_set *images, const char *data, const char *want)
{
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;

	assert_int_equal(auxtap_perfdata_open(&pd, data, NULL), 0);
	assert_int_equal(auxtap_decoder_open(&dec, pd, images, &decode_opts, NULL), 0);
	expect_flow(dec, want);
	auxtap_perfdata_close(pd);
}

static void expect_raw(struct auxtap_image_set *images, const char *want)
{
	struct auxtap_raw_opts raw = {.size = sizeof(raw), .family = "pt"};
	struct auxtap_decoder *dec;

	assert_int_equal(auxtap_image_set_add_file(images, in_dir("prog"), 0, 0, 0, NULL), 0);
	assert_int_equal(auxtap_decoder_open_raw(&dec, in_dir("trace"), &raw, images, &decode_opts,
						 NULL),
			 0);
	expect_flow(dec, want);
	auxtap_image_set_free(images);
}

static bool info_of(struct auxtap_image_set *images, const char *name,
		    struct auxtap_image_info *info)
{
	for (size_t i = 0; !auxtap_image_set_info(images, i, info); i++)
		if (!strcmp(info->name, name))
			return true;
	return false;
}

/* Kernel and module are gaps; the needed files are known, with the kernel's build-id. */
static void without_the_kernel(void **state)
{
	struct auxtap_image_set *images = new_set(NULL, NULL);
	struct auxtap_image_info info = {.size = sizeof(info)};

	(void)state;
	expect(images, in_dir("data"), "401000 401001 no_image 401003 401004 ");
	assert_true(info_of(images, "[kernel.kallsyms]_text", &info));
	assert_int_equal(info.state, AUXTAP_IMAGE_MISSING);
	assert_memory_equal(info.build_id, kernel_id, 20);
	assert_true(info.nr_gaps > 0);
	auxtap_image_set_free(images);
}

static void with_a_kcore(void **state)
{
	struct auxtap_image_set *images = new_set(NULL, in_dir("kcore"));

	(void)state;
	expect(images, in_dir("data"), ALL);
	auxtap_image_set_free(images);
}

/* 'perf record --kcore': a directory with the recording and kcore_dir. */
static void with_the_kcore_of_the_recording(void **state)
{
	struct auxtap_image_set *images = new_set(NULL, NULL);

	(void)state;
	assert_int_equal(run("mkdir -p rec/kcore_dir && cp data rec/data && "
			     "cp kcore rec/kcore_dir/kcore"),
			 0);
	expect(images, in_dir("rec"), ALL);
	auxtap_image_set_free(images);
}

/* 'perf buildid-cache --kcore': the newest of this kernel; that of another kernel is not used. */
static void with_a_saved_kcore(void **state)
{
	struct auxtap_image_set *images;

	(void)state;
	assert_int_equal(run("mkdir -p 'home/.debug/[kernel.kcore]/%s/2026010203040506' "
			     "'home/.debug/[kernel.kcore]/%s/2025010203040506' && "
			     "cp kcore 'home/.debug/[kernel.kcore]/%s/2026010203040506/kcore' && "
			     "cp prog 'home/.debug/[kernel.kcore]/%s/2025010203040506/kcore'",
			     kernel_id_hex, kernel_id_hex, kernel_id_hex, kernel_id_hex),
			 0);
	images = new_set(NULL, NULL);
	/* only the kernel itself is looked up by its build-id */
	expect(images, in_dir("data"),
	       "401000 401001 ffffffffa1200001 ffffffffa1200002 no_image ffffffffa1200004 "
	       "ffffffffa1200005 401003 401004 ");
	auxtap_image_set_free(images);
	assert_int_equal(run("rm -r home/.debug"), 0);
}

static const char without_module[] =
	"401000 401001 ffffffffa1200001 ffffffffa1200002 no_image ffffffffa1200004 "
	"ffffffffa1200005 401003 401004 ";

static void with_vmlinux(void **state)
{
	struct auxtap_image_set *images = new_set(in_dir("vmlinux"), NULL);
	struct auxtap_image_info info = {.size = sizeof(info)};

	(void)state;
	expect(images, in_dir("data"), without_module);
	assert_true(info_of(images, "/lib/modules/6.1.0/kernel/fs/mod.ko", &info));
	assert_int_equal(info.state, AUXTAP_IMAGE_MISSING);
	assert_int_equal(info.nr_gaps, 1);
	auxtap_image_set_free(images);
	/* both: bytes that vmlinux lacks come from kcore */
	images = new_set(in_dir("vmlinux"), in_dir("kcore"));
	expect(images, in_dir("data"), ALL);
	auxtap_image_set_free(images);
}

/*
 * As 'perf record' leaves it if it found a vmlinux: a link by build-id, the file under its
 * name.
 */
static void with_vmlinux_in_the_cache(void **state)
{
	struct auxtap_image_set *images;

	(void)state;
	assert_int_equal(run("mkdir -p 'home/.debug/boot/vmlinux/%s' home/.debug/.build-id/ab && "
			     "cp vmlinux 'home/.debug/boot/vmlinux/%s/elf' && "
			     "ln -s '../../boot/vmlinux/%s' home/.debug/.build-id/ab/%s",
			     kernel_id_hex, kernel_id_hex, kernel_id_hex, kernel_id_hex + 2),
			 0);
	images = new_set(NULL, NULL);
	expect(images, in_dir("data"), without_module);
	auxtap_image_set_free(images);
	assert_int_equal(run("rm -r home/.debug"), 0);
}

/* Another kernel's vmlinux is not used: both build-ids are known, the program's part is decoded. */
static void with_another_vmlinux(void **state)
{
	struct auxtap_image_set *images = new_set(in_dir("other"), NULL);
	struct auxtap_image_info info = {.size = sizeof(info)};

	(void)state;
	expect(images, in_dir("data"), "401000 401001 no_image 401003 401004 ");
	assert_true(info_of(images, "[kernel.kallsyms]_text", &info));
	assert_int_equal(info.state, AUXTAP_IMAGE_DIFFERENT);
	assert_memory_equal(info.build_id, kernel_id, 20);
	assert_string_equal(info.path, in_dir("other"));
	assert_int_equal(info.found_build_id_size, 2);
	assert_memory_equal(info.found_build_id, "\1\2", 2);
	auxtap_image_set_free(images);
}

/* A module's file would need relocation: it is not used as the code that ran. */
static void a_module_s_file_is_no_image(void **state)
{
	struct auxtap_image_set_opts opts = {.size = sizeof(opts), .sysroot = in_dir("root")};
	struct auxtap_image_set *images;
	struct auxtap_image_info info = {.size = sizeof(info)};

	(void)state;
	assert_int_equal(run("mkdir -p root/lib/modules/6.1.0/kernel/fs && cp prog root/prog && "
			     "cc -c -o root/lib/modules/6.1.0/kernel/fs/mod.ko kernel.s"),
			 0);
	assert_int_equal(auxtap_image_set_new(&images, &opts, NULL), 0);
	expect(images, in_dir("data"), "401000 401001 no_image 401003 401004 ");
	assert_true(info_of(images, "/lib/modules/6.1.0/kernel/fs/mod.ko", &info));
	assert_int_equal(info.state, AUXTAP_IMAGE_MISSING);
	auxtap_image_set_free(images);
}

static void raw_traces(void **state)
{
	struct auxtap_image_set *images;

	(void)state;
	expect_raw(new_set(NULL, in_dir("kcore")), ALL);
	/* whole ELF file where it was booted, raw bytes for the module */
	images = new_set(NULL, NULL);
	assert_int_equal(auxtap_image_set_add_file(images, in_dir("vmlinux"), 0, 0, BOOTED, NULL),
			 0);
	assert_int_equal(auxtap_image_set_add_file(images, in_dir("module"), 0, 0, MODULE, NULL),
			 0);
	expect_raw(images, ALL);
	/* a range of an ELF file at a kernel address */
	images = new_set(NULL, NULL);
	assert_int_equal(auxtap_image_set_add_file(images, in_dir("kcore"), 0x1000, 0x1000, BOOTED,
						   NULL),
			 0);
	assert_int_equal(auxtap_image_set_add_file(images, in_dir("kcore"), 0x2000, 0x1000, MODULE,
						   NULL),
			 0);
	expect_raw(images, ALL);
	/* of overlapping images the last one is used: the kernel with its SYSRET a byte earlier */
	images = new_set(NULL, in_dir("kcore"));
	assert_int_equal(auxtap_image_set_add_file(images, in_dir("kcore"), 0, 0, 0, NULL), 0);
	write_file("sysret", kernel_code + 5, 3);
	assert_int_equal(auxtap_image_set_add_file(images, in_dir("sysret"), 0, 0, BOOTED + 4,
						   NULL),
			 0);
	expect_raw(images, "401000 401001 ffffffffa1200001 ffffffffa1200002 ffffffffc0350000 "
			   "ffffffffc0350001 ffffffffa1200004 401003 401004 ");
	/* no record says where the kernel was: vmlinux is at its link address, not there */
	expect_raw(new_set(in_dir("vmlinux"), NULL), "401000 401001 no_image 401003 401004 ");
}

static void refuses_what_is_no_kernel(void **state)
{
	struct auxtap_image_set_opts opts = {.size = sizeof(opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images;

	(void)state;
	opts.vmlinux = in_dir("nowhere");
	assert_int_equal(auxtap_image_set_new(&images, &opts, &err), -ENOENT);
	opts.vmlinux = in_dir("trace");
	assert_int_equal(auxtap_image_set_new(&images, &opts, &err), -EINVAL);
	opts.vmlinux = NULL;
	opts.kcore = in_dir("prog");
	assert_int_equal(auxtap_image_set_new(&images, &opts, &err), -EINVAL);
	assert_non_null(strstr(err.why, "core"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_the_kernel),
		cmocka_unit_test(with_a_kcore),
		cmocka_unit_test(with_the_kcore_of_the_recording),
		cmocka_unit_test(with_a_saved_kcore),
		cmocka_unit_test(with_vmlinux),
		cmocka_unit_test(with_vmlinux_in_the_cache),
		cmocka_unit_test(with_another_vmlinux),
		cmocka_unit_test(a_module_s_file_is_no_image),
		cmocka_unit_test(raw_traces),
		cmocka_unit_test(refuses_what_is_no_kernel),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
