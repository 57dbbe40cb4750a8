// SPDX-License-Identifier: BSD-2-Clause
/* Images: where files are found, which are refused, what is mapped when, names and lines. */
#include "decode/image_private.h"

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

#define PID 42
#define NOW 1000

static char dir[] = "/tmp/auxtap-images-XXXXXX";

static const char source[] =
	"static inline __attribute__((always_inline)) int inner(int x)\n" /* line 1 */
	"{\n"
	"	return x * 7 + 1;\n" /* line 3 */
	"}\n"
	"int outer(int x)\n"
	"{\n"
	"	return inner(x) ^ 0x55;\n" /* line 7 */
	"}\n"
	"__asm__(\".globl bare\\n.type bare,@function\\nbare: nop\\nnop\\nret\\n\");\n"
	"int puts(const char *);\n"
	"int calls(void) { return puts(\"x\") + 1; }\n";

static int build(const char *fmt, ...)
{
	char cmd[2048];
	va_list args;

	va_start(args, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, args);
	va_end(args);
	return system(cmd);
}

static int setup(void **state)
{
	char path[256];
	FILE *f;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/lib.c", dir);
	f = fopen(path, "w");
	if (!f)
		return -1;
	fputs(source, f);
	fclose(f);
	return build("cd %s && cc -g -O1 -shared -fPIC -Wl,--build-id=sha1 -o lib.so lib.c && "
		     "cc -g -O1 -shared -fPIC -Wl,--build-id=sha1 -DX -DY -o other.so -x c - "
		     "</dev/null && strip -o stripped.so lib.so && "
		     "mkdir -p root/%s && cp lib.so root/%s/moved.so",
		     dir, dir, dir);
}

static int teardown(void **state)
{
	(void)state;
	return build("rm -rf %s", dir);
}

static struct auxtap_image_set *new_set(const char *sysroot)
{
	struct auxtap_image_set_opts opts = {.size = sizeof(opts), .sysroot = sysroot};
	struct auxtap_image_set *set;

	assert_int_equal(auxtap_image_set_new(&set, &opts, NULL), 0);
	return set;
}

static const char *file(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* The whole file at base, as a mapping with page offset 0: addresses are base + file offset. */
static void map(struct auxtap_image_set *set, uint64_t time, uint64_t base, const char *name,
		const uint8_t *id, unsigned int id_size)
{
	assert_int_equal(auxtap_image_set_map(set, PID, time, base, 1 << 20, 0, name, id,
					      id_size),
			 0);
}

static enum auxtap_image_state state_of(struct auxtap_image_set *set, size_t index)
{
	struct auxtap_image_info info;

	assert_int_equal(auxtap_image_set_info(set, index, &info), 0);
	return info.state;
}

/* ELF address of a symbol, by the image's own table: its code is at the same file offset in these small files' text. */
static uint64_t address_of(struct auxtap_image *image, const char *name, uint64_t *size)
{
	image_symbol_find(image, 0);
	for (size_t i = 0; i < image->nr_symbols; i++) {
		uint64_t off, left;

		if (strcmp(image->symbols[i].name, name))
			continue;
		assert_int_equal(image_vaddr_to_off(image, image->symbols[i].start, &off, &left),
				 0);
		*size = image->symbols[i].end - image->symbols[i].start;
		return off;
	}
	fail_msg("no symbol %s", name);
	return 0;
}

static void names_and_lines(void **state)
{
	struct auxtap_image_set *set = new_set(NULL);
	struct auxtap_location loc;
	uint64_t off, size;
	bool inlined = false;

	(void)state;
	map(set, 0, 0x10000, file("lib.so"), NULL, 0);
	assert_int_equal(state_of(set, 0), AUXTAP_IMAGE_FOUND);
	off = address_of(set->images[0], "outer", &size);
	for (uint64_t at = 0; at < size; at++) {
		assert_int_equal(auxtap_image_set_resolve(set, PID, NOW, 0x10000 + off + at, &loc),
				 0);
		assert_true(loc.nr_frames >= 1);
		assert_string_equal(loc.frames[loc.nr_frames - 1].symbol, "outer");
		if (loc.nr_frames == 2 && loc.frames[0].inlined) {
			assert_string_equal(loc.frames[0].symbol, "inner");
			assert_int_equal(loc.frames[0].line, 3);
			assert_int_equal(loc.frames[1].line, 7);
			assert_non_null(strstr(loc.frames[1].file, "lib.c"));
			inlined = true;
		}
	}
	assert_true(inlined);
	/* a symbol without size reaches to the next one */
	off = address_of(set->images[0], "bare", &size);
	auxtap_image_set_symbol(set, PID, NOW, 0x10000 + off + 2, &loc);
	assert_string_equal(loc.frames[0].symbol, "bare");
	assert_int_equal(loc.frames[0].symbol_off, 2);
	address_of(set->images[0], "puts@plt", &size);
	auxtap_image_set_free(set);
}

/* Without .symtab only exported functions with a size have names, and only inside it. */
static void no_neighbours_name(void **state)
{
	struct auxtap_image_set *set = new_set(NULL);
	struct auxtap_location loc;
	uint64_t off, size;

	(void)state;
	map(set, 0, 0x10000, file("stripped.so"), NULL, 0);
	off = address_of(set->images[0], "outer", &size);
	auxtap_image_set_resolve(set, PID, NOW, 0x10000 + off, &loc);
	assert_string_equal(loc.frames[0].symbol, "outer");
	off = address_of(set->images[0], "bare", &size);
	assert_int_equal(size, 1);
	auxtap_image_set_resolve(set, PID, NOW, 0x10000 + off + 2, &loc);
	assert_null(loc.frames[0].symbol);
	assert_non_null(loc.image);
	auxtap_image_set_free(set);
}

static void another_build_is_not_used(void **state)
{
	struct auxtap_image_set *set = new_set(NULL);
	struct auxtap_image_info info;
	const uint8_t id[20] = {1, 2, 3};
	uint8_t buf[4];

	(void)state;
	map(set, 0, 0x10000, file("lib.so"), id, 20);
	auxtap_image_set_info(set, 0, &info);
	assert_int_equal(info.state, AUXTAP_IMAGE_DIFFERENT);
	assert_int_equal(info.build_id[0], 1);
	assert_int_equal(info.found_build_id_size, 20);
	assert_int_equal(auxtap_image_set_read(set, PID, NOW, 0x10000, buf, 4), -ENOENT);
	auxtap_image_set_free(set);

	/* and the right one is */
	set = new_set(NULL);
	map(set, 0, 0x10000, file("lib.so"), info.found_build_id, 20);
	assert_int_equal(state_of(set, 0), AUXTAP_IMAGE_FOUND);
	auxtap_image_set_free(set);
}

static void missing_is_told(void **state)
{
	struct auxtap_image_set *set = new_set(NULL);
	uint8_t buf[4];

	(void)state;
	map(set, 0, 0x10000, file("nowhere.so"), NULL, 0);
	assert_int_equal(state_of(set, 0), AUXTAP_IMAGE_MISSING);
	assert_int_equal(auxtap_image_set_read(set, PID, NOW, 0x10000, buf, 4), -ENOENT);
	assert_int_equal(auxtap_image_set_read(set, PID, NOW, 0x5000, buf, 4), 0);
	auxtap_image_set_free(set);
}

/* Only under the sysroot; this machine's file of the name counts only with its build-id. */
static void sysroot_first(void **state)
{
	char root[256], want[1024];
	struct auxtap_image_set *set;
	struct auxtap_image_info info;

	(void)state;
	snprintf(root, sizeof(root), "%s/root", dir);
	set = new_set(root);
	map(set, 0, 0x10000, file("moved.so"), NULL, 0);
	auxtap_image_set_info(set, 0, &info);
	assert_int_equal(info.state, AUXTAP_IMAGE_FOUND);
	snprintf(want, sizeof(want), "%s%s", root, file("moved.so"));
	assert_string_equal(info.path, want);
	map(set, 0, 0x900000, file("lib.so"), NULL, 0);
	assert_int_equal(state_of(set, 1), AUXTAP_IMAGE_MISSING);
	auxtap_image_set_free(set);
}

static void perf_cache_by_build_id(void **state)
{
	struct auxtap_image_set *set = new_set(NULL);
	struct auxtap_image_info info;
	char hex[41], home[256];

	(void)state;
	map(set, 0, 0x10000, file("lib.so"), NULL, 0);
	auxtap_image_set_info(set, 0, &info);
	auxtap_image_set_free(set);
	for (int i = 0; i < 20; i++)
		sprintf(hex + 2 * i, "%02x", info.found_build_id[i]);
	assert_int_equal(build("cd %s && mkdir -p .debug/.build-id/%.2s/%s && "
			       "cp lib.so .debug/.build-id/%.2s/%s/elf",
			       dir, hex, hex + 2, hex, hex + 2),
			 0);
	snprintf(home, sizeof(home), "%s", dir);
	setenv("HOME", home, 1);
	set = new_set(NULL);
	map(set, 0, 0x10000, "/gone/lib.so", info.found_build_id, 20);
	assert_int_equal(state_of(set, 0), AUXTAP_IMAGE_FOUND);
	auxtap_image_set_free(set);
}

static const char *image_at(struct auxtap_image_set *set, pid_t pid, uint64_t time,
			    uint64_t addr)
{
	static struct auxtap_location loc;

	auxtap_image_set_symbol(set, pid, time, addr, &loc);
	return loc.image ? strrchr(loc.image, '/') + 1 : "none";
}

static void maps_over_time(void **state)
{
	struct auxtap_image_set *set = new_set(NULL);

	(void)state;
	map(set, 0, 0x10000, "/x/a", NULL, 0);
	/* b hides the middle of a from 100 on */
	auxtap_image_set_map(set, PID, 100, 0x20000, 0x1000, 0, "/x/b", NULL, 0);
	assert_string_equal(image_at(set, PID, 50, 0x20000), "a");
	assert_string_equal(image_at(set, PID, 100, 0x20000), "b");
	assert_string_equal(image_at(set, PID, 100, 0x1ffff), "a");
	assert_string_equal(image_at(set, PID, 100, 0x21000), "a");
	/* a child has what its parent had; its exec takes all away from it alone */
	auxtap_image_set_fork(set, PID, 43, 150);
	auxtap_image_set_exec(set, 43, 200);
	auxtap_image_set_map(set, 43, 201, 0x70000, 0x1000, 0, "/x/c", NULL, 0);
	assert_string_equal(image_at(set, 43, 150, 0x20000), "b");
	assert_string_equal(image_at(set, 43, 250, 0x20000), "none");
	assert_string_equal(image_at(set, 43, 250, 0x70000), "c");
	assert_string_equal(image_at(set, PID, 250, 0x20000), "b");
	assert_string_equal(image_at(set, 99, 250, 0x20000), "none");
	auxtap_image_set_free(set);
}

static void demangles(void **state)
{
	char *name = image_demangle("_ZN3foo3barEi");

	(void)state;
	assert_string_equal(name, "foo::bar(int)");
	free(name);
	name = image_demangle("_ZN3foo3barEi@plt");
	assert_string_equal(name, "foo::bar(int)@plt");
	free(name);
	assert_null(image_demangle("main"));
}

static void disassembles(void **state)
{
	struct auxtap_image_set *set = new_set(NULL);
	const uint8_t code[] = {0x48, 0x8b, 0x07};
	char text[64];

	(void)state;
	assert_int_equal(auxtap_disassemble(set, 0x1000, code, 3, text, sizeof(text)), 3);
	assert_string_equal(text, "movq (%rdi), %rax");
	assert_true(auxtap_disassemble(set, 0x1000, "\x06", 1, text, sizeof(text)) < 0);
	auxtap_image_set_free(set);
}

/* vmlinux is linked for one address and was booted at another: the recorded _text tells. */
static void moves_the_kernel(void **state)
{
	static const uint64_t linked = 0xffffffff81000000, booted = 0xffffffffa1200000;
	struct auxtap_image_set_opts opts = {.size = sizeof(opts)};
	struct auxtap_location loc;
	struct auxtap_image_set *set;
	uint8_t code[2];
	char path[256];

	(void)state;
	assert_int_equal(build("cd %s && printf '.globl _text\\n_text: nop\\nret\\n"
			       ".globl inside\\n.type inside,@function\\ninside: nop\\nret\\n"
			       ".size inside,2\\n' >kernel.s && cc -nostdlib -static -no-pie "
			       "-Wl,--build-id=none,-e,_text,-N,-Ttext=0x%llx -o vmlinux kernel.s",
			       dir, (unsigned long long)linked), 0);
	snprintf(path, sizeof(path), "%s/vmlinux", dir);
	opts.vmlinux = path;
	assert_int_equal(auxtap_image_set_new(&set, &opts, NULL), 0);
	assert_int_equal(auxtap_image_set_kernel_map(set, 0, booted, 0x1000000, booted,
						     "[kernel.kallsyms]_text", NULL, 0), 0);
	assert_int_equal(auxtap_image_set_read(set, PID, NOW, booted + 2, code, 2), 2);
	assert_int_equal(code[0], 0x90);
	assert_int_equal(code[1], 0xc3);
	assert_int_equal(auxtap_image_set_symbol(set, PID, NOW, booted + 3, &loc), 0);
	assert_string_equal(loc.frames[0].symbol, "inside");
	auxtap_image_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_lines),
		cmocka_unit_test(no_neighbours_name),
		cmocka_unit_test(another_build_is_not_used),
		cmocka_unit_test(missing_is_told),
		cmocka_unit_test(sysroot_first),
		cmocka_unit_test(perf_cache_by_build_id),
		cmocka_unit_test(maps_over_time),
		cmocka_unit_test(demangles),
		cmocka_unit_test(disassembles),
		cmocka_unit_test(moves_the_kernel),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
