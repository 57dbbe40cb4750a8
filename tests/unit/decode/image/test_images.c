// SPDX-License-Identifier: BSD-2-Clause
/* Images: where files are found, which are refused, mappings by time, names and lines. */
#include "decode/image/image_private.h"

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
	assert_int_equal(auxtap_image_set_add_mapping(set, PID, time, base, 1 << 20, 0, name, id,
						      id_size),
			 0);
}

static enum auxtap_image_state state_of(struct auxtap_image_set *set, size_t index)
{
	struct auxtap_image_info info = {.size = sizeof(info)};

	assert_int_equal(auxtap_image_set_info(set, index, &info), 0);
	return info.state;
}

/*
 * ELF address of a symbol, by the image's own table: its code is at the same file offset in these
 * small files' text.
 */
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
	struct auxtap_location loc = {.size = sizeof(loc)};
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
	/* a symbol without size ends at the next one */
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
	struct auxtap_location loc = {.size = sizeof(loc)};
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
	struct auxtap_image_info info = {.size = sizeof(info)};
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

	/* and the right one is found */
	set = new_set(NULL);
	map(set, 0, 0x10000, file("lib.so"), info.found_build_id, 20);
	assert_int_equal(state_of(set, 0), AUXTAP_IMAGE_FOUND);
	auxtap_image_set_free(set);
}

static void missing_is_reported(void **state)
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

/* Only under the sysroot; this machine's file of that name is used only if its build-id matches. */
static void sysroot_first(void **state)
{
	char root[256], want[1024];
	struct auxtap_image_set *set;
	struct auxtap_image_info info = {.size = sizeof(info)};

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
	struct auxtap_image_info info = {.size = sizeof(info)};
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

static void build_id_of(const char *name, uint8_t id[20], char hex[41])
{
	struct auxtap_image_set *set = new_set(NULL);
	struct auxtap_image_info info = {.size = sizeof(info)};

	map(set, 0, 0x10000, file(name), NULL, 0);
	auxtap_image_set_info(set, 0, &info);
	auxtap_image_set_free(set);
	assert_int_equal(info.found_build_id_size, 20);
	memcpy(id, info.found_build_id, 20);
	for (int i = 0; i < 20; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
}

static void expect_found(struct auxtap_image_set *set, const char *name, const uint8_t *id,
			 const char *path_end)
{
	struct auxtap_image_info info = {.size = sizeof(info)};
	size_t len;

	map(set, 0, 0x10000, name, id, 20);
	assert_int_equal(auxtap_image_set_info(set, 0, &info), 0);
	assert_int_equal(info.state, AUXTAP_IMAGE_FOUND);
	len = strlen(info.path);
	assert_true(len > strlen(path_end));
	assert_string_equal(info.path + len - strlen(path_end), path_end);
	auxtap_image_set_free(set);
}

/*
 * What 'perf archive' packs, unpacked in ~/.debug or under a sysroot: files by name, links by
 * build-id.
 */
static void perf_archive_trees(void **state)
{
	static const char *const trees[] = {"home2/.debug", "root2", "root2/.debug",
					    "root2/root/.debug"};
	char hex[41], tree[256], root[256], want[512];
	uint8_t id[20];

	(void)state;
	build_id_of("lib.so", id, hex);
	setenv("HOME", file("home2"), 1);
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		snprintf(tree, sizeof(tree), "%s/%s", dir, trees[i]);
		assert_int_equal(build("mkdir -p %s/opt/gone/lib.so/%s %s/.build-id/%.2s && "
				       "cp %s/lib.so %s/opt/gone/lib.so/%s/elf && "
				       "ln -s ../../opt/gone/lib.so/%s %s/.build-id/%.2s/%s",
				       tree, hex, tree, hex, dir, tree, hex, hex, tree, hex,
				       hex + 2),
				 0);
		snprintf(want, sizeof(want), "%s/.build-id/%.2s/%s/elf", trees[i], hex, hex + 2);
		snprintf(root, sizeof(root), "%s/root2", dir);
		expect_found(new_set(i ? root : NULL), "/opt/gone/lib.so", id, want);
		/* without the link by the name */
		assert_int_equal(build("rm -r %s/.build-id", tree), 0);
		snprintf(want, sizeof(want), "%s/opt/gone/lib.so/%s/elf", trees[i], hex);
		expect_found(new_set(i ? root : NULL), "/opt/gone/lib.so", id, want);
		/* another file under this build-id: never used */
		assert_int_equal(build("cp %s/other.so %s/opt/gone/lib.so/%s/elf", dir, tree, hex),
				 0);
		if (i == 0) {
			struct auxtap_image_set *set = new_set(NULL);

			map(set, 0, 0x10000, "/opt/gone/lib.so", id, 20);
			assert_int_equal(state_of(set, 0), AUXTAP_IMAGE_DIFFERENT);
			auxtap_image_set_free(set);
		}
		assert_int_equal(build("rm -r %s", tree), 0);
	}
}

/* perf saves the vdso as [vdso]/ID/vdso. */
static void saved_vdso(void **state)
{
	uint8_t id[20];
	char hex[41];

	(void)state;
	build_id_of("lib.so", id, hex);
	setenv("HOME", file("home3"), 1);
	assert_int_equal(build("mkdir -p '%s/home3/.debug/[vdso]/%s' && "
			       "cp %s/lib.so '%s/home3/.debug/[vdso]/%s/vdso'",
			       dir, hex, dir, dir, hex),
			 0);
	expect_found(new_set(NULL), "[vdso]", id, "/vdso");
}

/* The recording contains its vdso; its table of build-ids may name it, or another one. */
static void vdso_in_the_trace(void **state)
{
	struct auxtap_image_set *set;
	struct auxtap_image_info info = {.size = sizeof(info)};
	static uint8_t bytes[1 << 20];
	uint8_t id[20];
	char hex[41];
	size_t size;
	FILE *f;

	(void)state;
	build_id_of("lib.so", id, hex);
	setenv("HOME", file("nowhere"), 1);
	f = fopen(file("lib.so"), "rb");
	assert_non_null(f);
	size = fread(bytes, 1, sizeof(bytes), f);
	assert_int_equal(fclose(f), 0);
	for (int same = 1; same >= 0; same--) {
		set = new_set(NULL);
		id[3] ^= !same;
		assert_int_equal(image_set_add_embedded(set, "[vdso]", bytes, size), 0);
		assert_int_equal(image_set_add_build_id(set, "[vdso]", id, 20), 0);
		map(set, 0, 0x10000, "[vdso]", NULL, 0);
		assert_int_equal(auxtap_image_set_count(set), same ? 1 : 2);
		assert_int_equal(auxtap_image_set_info(set, same ? 0 : 1, &info), 0);
		assert_int_equal(info.state, same ? AUXTAP_IMAGE_FOUND : AUXTAP_IMAGE_MISSING);
		assert_int_equal(info.build_id_size, 20);
		auxtap_image_set_free(set);
	}
}

/* All files in one directory, without their tree. */
static void flat_sysroot(void **state)
{
	struct auxtap_image_set *set;
	uint8_t id[20], wrong[20] = {9};
	char hex[41], root[256];

	(void)state;
	build_id_of("lib.so", id, hex);
	snprintf(root, sizeof(root), "%s/flat", dir);
	assert_int_equal(build("mkdir %s && cp %s/lib.so %s/gone.so", root, dir, root), 0);
	expect_found(new_set(root), "/far/away/gone.so", id, "/flat/gone.so");
	set = new_set(root);
	map(set, 0, 0x10000, "/far/away/gone.so", wrong, 20);
	assert_int_equal(state_of(set, 0), AUXTAP_IMAGE_DIFFERENT);
	auxtap_image_set_free(set);
}

/* If several files match by name only, the first one is named, with its own build-id. */
static void the_first_other_file_is_named(void **state)
{
	uint8_t lib[20], other[20], ran[20] = {7, 7, 7};
	struct auxtap_image_set *set;
	struct auxtap_image_info info = {.size = sizeof(info)};
	char hex[41], root[256], want[1024];

	(void)state;
	build_id_of("lib.so", lib, hex);
	build_id_of("other.so", other, hex);
	assert_memory_not_equal(lib, other, 20);
	snprintf(root, sizeof(root), "%s/root4", dir);
	assert_int_equal(build("mkdir -p %s%s && cp %s/other.so %s%s/lib.so", root, dir, dir, root,
			       dir),
			 0);
	set = new_set(root);
	map(set, 0, 0x10000, file("lib.so"), ran, 20);
	auxtap_image_set_info(set, 0, &info);
	assert_int_equal(info.state, AUXTAP_IMAGE_DIFFERENT);
	snprintf(want, sizeof(want), "%s%s", root, file("lib.so"));
	assert_string_equal(info.path, want);
	assert_memory_equal(info.found_build_id, other, 20);
	auxtap_image_set_free(set);
}

/* A stripped file's lines and local names come from the file that .gnu_debuglink names. */
static void debuglink(void **state)
{
	static const char *const places[] = {"strip", "strip/.debug",
					     "root5/usr/lib/debug/%s/strip"};
	struct auxtap_location loc = {.size = sizeof(loc)};
	char debug_dir[512], root[256], text[256];

	(void)state;
	snprintf(root, sizeof(root), "%s/root5", dir);
	assert_int_equal(
		build("cd %s && mkdir strip && "
		      "objcopy --only-keep-debug lib.so whole.debug && "
		      "strip --remove-section=.note.gnu.build-id -o strip/lib.so lib.so && "
		      "cp whole.debug lib.debug && "
		      "objcopy --add-gnu-debuglink=lib.debug strip/lib.so",
		      dir),
		0);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct auxtap_image_set *set = new_set(NULL), *with;
		uint64_t off, size;

		map(set, 0, 0x10000, file("lib.so"), NULL, 0);
		off = address_of(set->images[0], "outer", &size);
		auxtap_image_set_free(set);
		snprintf(text, sizeof(text), places[i], dir);
		snprintf(debug_dir, sizeof(debug_dir), "%s/%s", dir, text);
		assert_int_equal(build("mkdir -p '%s' && cp %s/lib.debug '%s/'", debug_dir, dir,
				       debug_dir),
				 0);
		if (i == 2)
			assert_int_equal(
				build("mkdir -p %s%s/strip && cp %s/strip/lib.so %s%s/strip/", root,
				      dir, dir, root, dir),
				0);
		with = new_set(i == 2 ? root : NULL);
		map(with, 0, 0x10000, file("strip/lib.so"), NULL, 0);
		assert_int_equal(auxtap_image_set_resolve(with, PID, NOW, 0x10000 + off, &loc), 0);
		assert_string_equal(loc.frames[loc.nr_frames - 1].symbol, "outer");
		if (!loc.frames[0].file)
			fail_msg("no line with the debug file in %s", debug_dir);
		auxtap_image_set_free(with);
		assert_int_equal(build("rm '%s/lib.debug'", debug_dir), 0);
	}
}

/* A file given for an address is used, whatever this machine has under the recorded name. */
static void given_by_hand_holds(void **state)
{
	struct auxtap_image_set *set = new_set(NULL);
	uint8_t buf[8];
	FILE *f = fopen(file("bytes"), "wb");

	(void)state;
	assert_non_null(f);
	fputs("ABCDEFGH", f);
	fclose(f);
	map(set, 0, 0x10000, file("lib.so"), NULL, 0);
	assert_int_equal(auxtap_image_set_add_file(set, file("bytes"), 2, 4, 0x10010, NULL), 0);
	assert_int_equal(auxtap_image_set_read(set, PID, NOW, 0x1000e, buf, 8), 8);
	assert_memory_equal(buf + 2, "CDEF", 4);
	assert_memory_not_equal(buf, "AB", 2);
	/* of two, the later one */
	assert_int_equal(auxtap_image_set_add_file(set, file("bytes"), 0, 2, 0x10011, NULL), 0);
	assert_int_equal(auxtap_image_set_read(set, PID, NOW, 0x10010, buf, 4), 4);
	assert_memory_equal(buf, "CABF", 4);
	auxtap_image_set_free(set);
}

/*
 * A whole ELF file: the page of its first segment at the address, or that segment itself; 0: its
 * link address.
 */
static void whole_files_by_hand(void **state)
{
	static const struct {
		const char *flags;
		uint64_t given, text;
	} cases[] = {
		{"-no-pie -static -Wl,-N,-Ttext=0x401230", 0, 0x401230},
		{"-no-pie -static -Wl,-N,-Ttext=0x401230", 0x401000, 0x401230},
		{"-no-pie -static -Wl,-N,-Ttext=0x401230", 0x401230, 0x401230},
		{"-no-pie -static -Wl,-N,-Ttext=0x401230", 0x701000, 0x701230},
		{"-no-pie -static -Wl,-N,-Ttext=0x401230", 0x701230, 0x701230},
		{"-shared -Wl,-z,separate-code,-Ttext=0x5000", 0x7f0000000000, 0x7f0000005000},
		{"-shared -Wl,-z,separate-code,-Ttext=0x5000", 0, 0x5000},
		{"-m32 -no-pie -static -Wl,-N,-Ttext=0x8049000", 0x8049000, 0x8049000},
		{"-m32 -no-pie -static -Wl,-N,-Ttext=0x8049000", 0, 0x8049000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct auxtap_image_set *set = new_set(NULL);
		uint8_t code[4];

		assert_int_equal(
			build("cd %s && printf '.globl _start\n_start: nop\nnop\nret\n"
			      "int3\n' >raw.s && cc -nostdlib -Wl,--build-id=none %s -o raw "
			      "raw.s",
			      dir, cases[i].flags),
			0);
		assert_int_equal(auxtap_image_set_add_file(set, file("raw"), 0, 0, cases[i].given,
							   NULL),
				 0);
		if (auxtap_image_set_read(set, PID, NOW, cases[i].text, code, 4) != 4 ||
		    memcmp(code, "\x90\x90\xc3\xcc", 4) != 0)
			fail_msg("%s at %llx", cases[i].flags, (unsigned long long)cases[i].given);
		auxtap_image_set_free(set);
	}
}

static const char *image_at(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr)
{
	static struct auxtap_location loc = {.size = sizeof(loc)};

	auxtap_image_set_symbol(set, pid, time, addr, &loc);
	return loc.image ? strrchr(loc.image, '/') + 1 : "none";
}

static void maps_over_time(void **state)
{
	struct auxtap_image_set *set = new_set(NULL);

	(void)state;
	map(set, 0, 0x10000, "/x/a", NULL, 0);
	/* b hides the middle of a from 100 on */
	auxtap_image_set_add_mapping(set, PID, 100, 0x20000, 0x1000, 0, "/x/b", NULL, 0);
	assert_string_equal(image_at(set, PID, 50, 0x20000), "a");
	assert_string_equal(image_at(set, PID, 100, 0x20000), "b");
	assert_string_equal(image_at(set, PID, 100, 0x1ffff), "a");
	assert_string_equal(image_at(set, PID, 100, 0x21000), "a");
	/* a child inherits its parent's mappings; its exec removes only its own */
	auxtap_image_set_fork(set, PID, 43, 150);
	auxtap_image_set_exec(set, 43, 200);
	auxtap_image_set_add_mapping(set, 43, 201, 0x70000, 0x1000, 0, "/x/c", NULL, 0);
	assert_string_equal(image_at(set, 43, 150, 0x20000), "b");
	assert_string_equal(image_at(set, 43, 250, 0x20000), "none");
	assert_string_equal(image_at(set, 43, 250, 0x70000), "c");
	assert_string_equal(image_at(set, PID, 250, 0x20000), "b");
	assert_string_equal(image_at(set, 99, 250, 0x20000), "none");
	auxtap_image_set_free(set);
}

/* Lookups after every change, or only after all of them, find the same mappings. */
static void many_maps_at_once(void **state)
{
	enum { NR = 300, PLACES = 512 };
	struct auxtap_image_set *step = new_set(NULL), *once = new_set(NULL);
	uint32_t seed = 5;

	(void)state;
	for (uint64_t i = 1; i <= NR; i++) {
		uint64_t addr, len, pgoff;
		char name[16];

		seed = seed * 1664525u + 1013904223u;
		addr = (seed >> 16) % PLACES * 0x1000;
		len = (1 + (seed >> 8) % (i % 7 ? 16 : 200)) * 0x1000;
		pgoff = i << 24;
		snprintf(name, sizeof(name), "/x/%u", (seed >> 4) % 5);
		if (i == NR / 3) {
			auxtap_image_set_exec(step, PID, i);
			auxtap_image_set_exec(once, PID, i);
		}
		auxtap_image_set_add_mapping(step, PID, i, addr, len, pgoff, name, NULL, 0);
		auxtap_image_set_add_mapping(once, PID, i, addr, len, pgoff, name, NULL, 0);
		for (uint64_t at = i == 99 || i == NR ? 0 : PLACES; at < PLACES + 200; at++) {
			struct auxtap_location a = {.size = sizeof(a)}, b = {.size = sizeof(b)};
			int ret = auxtap_image_set_resolve(step, PID, i, at * 0x1000 + 8, &a);

			if (i == 99 || i == NR) {
				assert_int_equal(auxtap_image_set_resolve(once, PID, i,
									  at * 0x1000 + 8, &b),
						 ret);
				assert_string_equal(a.image ? a.image : "", b.image ? b.image : "");
				assert_int_equal(a.image_off, b.image_off);
			}
		}
	}
	auxtap_image_set_free(step);
	auxtap_image_set_free(once);
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

/* vmlinux is linked for one address and was booted at another: the recorded _text gives the offset.
 */
static void moves_the_kernel(void **state)
{
	static const uint64_t linked = 0xffffffff81000000, booted = 0xffffffffa1200000;
	struct auxtap_image_set_opts opts = {.size = sizeof(opts)};
	struct auxtap_location loc = {.size = sizeof(loc)};
	struct auxtap_image_set *set;
	uint8_t code[2];
	char path[256];

	(void)state;
	assert_int_equal(build("cd %s && printf '.globl _text\\n_text: nop\\nret\\n"
			       ".globl inside\\n.type inside,@function\\ninside: nop\\nret\\n"
			       ".size inside,2\\n' >kernel.s && cc -nostdlib -static -no-pie "
			       "-Wl,--build-id=none,-e,_text,-N,-Ttext=0x%llx -o vmlinux kernel.s",
			       dir, (unsigned long long)linked),
			 0);
	snprintf(path, sizeof(path), "%s/vmlinux", dir);
	opts.vmlinux = path;
	assert_int_equal(auxtap_image_set_new(&set, &opts, NULL), 0);
	assert_int_equal(image_set_add_kernel_map(set, 0, booted, 0x1000000, booted,
						  "[kernel.kallsyms]_text", NULL, 0),
			 0);
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
		cmocka_unit_test(missing_is_reported),
		cmocka_unit_test(sysroot_first),
		cmocka_unit_test(perf_cache_by_build_id),
		cmocka_unit_test(perf_archive_trees),
		cmocka_unit_test(saved_vdso),
		cmocka_unit_test(vdso_in_the_trace),
		cmocka_unit_test(flat_sysroot),
		cmocka_unit_test(the_first_other_file_is_named),
		cmocka_unit_test(debuglink),
		cmocka_unit_test(given_by_hand_holds),
		cmocka_unit_test(whole_files_by_hand),
		cmocka_unit_test(maps_over_time),
		cmocka_unit_test(many_maps_at_once),
		cmocka_unit_test(demangles),
		cmocka_unit_test(disassembles),
		cmocka_unit_test(moves_the_kernel),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
