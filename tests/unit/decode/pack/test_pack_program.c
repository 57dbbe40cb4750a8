// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packs a recording of this program and removes the program: what the trace touched is read as
 * from the program, symbols and lines of it are the same; the rest is not in the file.
 */
#include "decode/image/packed.h"
#include "support_pt.h"

#include <auxtap/decode.h>
#include <auxtap/pack.h>
#include <dirent.h>
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <cmocka.h>

#define PT_TYPE 9
#define PID	100

static char dir[] = "/tmp/auxtap-pack-XXXXXX";
static char data[64], packed[64], program[64];
static uint8_t *original;
static uint64_t original_size;
static uint64_t packed_size; /* of the image in the packed file */
static struct {
	uint64_t start, end, off;
	char perms[5];
} maps[16];
static unsigned int nr_maps;
static uint64_t trace_size;

#define PADDED(name, nr)                                                                      \
	static __attribute__((noinline, noclone, used)) unsigned int name(unsigned int value) \
	{                                                                                     \
		__asm__ volatile("jmp 1f\n\t.fill " #nr ", 1, 0x90\n1:" : "+r"(value));       \
		return value + __LINE__;                                                      \
	}
PADDED(traced, 2000)
PADDED(far_a, 8192)
PADDED(far_b, 8192)
PADDED(far_c, 8192)
PADDED(far_d, 8192)
PADDED(far_e, 8192)

struct far {
	const char *name;
	uint64_t addr;
};

static int by_addr(const void *a, const void *b)
{
	const struct far *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Of functions that lie side by side: this one's neighbours were not used either. */
static const struct far *middle(void)
{
	static struct far fars[5];

	fars[0] = (struct far){"far_a", (uintptr_t)far_a};
	fars[1] = (struct far){"far_b", (uintptr_t)far_b};
	fars[2] = (struct far){"far_c", (uintptr_t)far_c};
	fars[3] = (struct far){"far_d", (uintptr_t)far_d};
	fars[4] = (struct far){"far_e", (uintptr_t)far_e};
	qsort(fars, 5, sizeof(fars[0]), by_addr);
	return &fars[2];
}

int main(void);
/* dwarf_before_5.c */
unsigned int traced_3(unsigned int value);
unsigned int traced_4(unsigned int value);

/* ---- the recording ---- */

static void map(struct auxtap_perfdata_writer *w, uint64_t start, uint64_t size, uint64_t off,
		const char *name, const struct stat *st)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, size, off;
		uint32_t maj, min;
		uint64_t ino, generation;
		uint32_t prot, flags;
		char name[64];
	} rec = {.header = {PERF_RECORD_MMAP2, 2, sizeof(rec)},
		 .pid = PID,
		 .tid = PID,
		 .start = start,
		 .size = size,
		 .off = off,
		 .prot = 5,
		 .flags = 2};

	if (st) {
		rec.maj = (uint32_t)(st->st_dev >> 8 & 0xfff);
		rec.min = (uint32_t)(st->st_dev & 0xff) | (uint32_t)(st->st_dev >> 12 & 0xfff00);
		rec.ino = st->st_ino;
	}
	snprintf(rec.name, sizeof(rec.name), "%s", name);
	assert_int_equal(auxtap_perfdata_writer_record(w, &rec, sizeof(rec), NULL, 0, NULL), 0);
}

static void write_recording(void)
{
	const struct perf_event_attr attr = {.size = sizeof(attr), .type = PT_TYPE};
	const uint64_t info[AUXTAP_PT_INFO_NR] = {PT_TYPE};
	struct pt_bytes pt = {.nr = 0};
	char pgd[32];
	const struct auxtap_auxtrace head = {.tid = PID, .cpu = UINT32_MAX, .reference = 1};
	char *const argv[] = {"auxtap", "secret"};
	struct auxtap_perfdata_writer *w;
	struct stat st;

	/*
	 * It runs, and returns to main(), which is not traced: more often than a report lists
	 * branches, elsewhere from then on; at last to where nothing is known.
	 */
	pt_psb(&pt, 0);
	snprintf(pgd, sizeof(pgd), "61%012" PRIx64, __builtin_bswap64((uintptr_t)main) >> 16);
	pt_pge(&pt, (uintptr_t)traced_3);
	pt_raw(&pt, pgd);
	pt_pge(&pt, (uintptr_t)traced_4);
	pt_raw(&pt, pgd);
	pt_pge(&pt, (uintptr_t)traced);
	pt_raw(&pt, pgd);
	snprintf(pgd, sizeof(pgd), "61%012" PRIx64, __builtin_bswap64((uintptr_t)traced) >> 16);
	for (int i = 0; i < 100; i++) {
		pt_pge(&pt, (uintptr_t)traced);
		pt_raw(&pt, pgd);
	}
	pt_pge(&pt, (uintptr_t)traced);
	pt_tip(&pt, 0x1000);
	pt_pgd(&pt);
	trace_size = pt.nr + (8 - pt.nr % 8) % 8;
	assert_int_equal(stat(program, &st), 0);
	assert_int_equal(auxtap_perfdata_writer_create(&w, data, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(w, &attr, "intel_pt//u"), 0);
	assert_int_equal(auxtap_perfdata_writer_begin(w, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_auxtrace_info(w, AUXTAP_AUXTRACE_INTEL_PT, info,
							      AUXTAP_PT_INFO_NR, NULL),
			 0);
	map(w, 0x1000, 0x1000, 0, "/nonexistent/library.so", NULL);
	for (unsigned int i = 0; i < nr_maps; i++)
		map(w, maps[i].start, maps[i].end - maps[i].start, maps[i].off, program, &st);
	assert_int_equal(auxtap_perfdata_writer_auxtrace(w, &head, pt.at, pt.nr, NULL, 0, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_cmdline(w, 2, argv), 0);
	assert_int_equal(auxtap_perfdata_writer_metadata(w, AUXTAP_METADATA_MESSAGE, "words", 5),
			 0);
	assert_int_equal(auxtap_perfdata_writer_metadata(w, AUXTAP_METADATA_CAPTURE, "a=b\n", 4),
			 0);
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
}

static void copy_program(void)
{
	FILE *in = fopen("/proc/self/exe", "r"), *f = fopen(program, "w");
	struct stat st;

	assert_non_null(in);
	assert_non_null(f);
	assert_int_equal(fstat(fileno(in), &st), 0);
	original_size = (uint64_t)st.st_size;
	free(original);
	original = malloc(original_size);
	assert_non_null(original);
	assert_int_equal(fread(original, 1, original_size, in), original_size);
	assert_int_equal(fwrite(original, 1, original_size, f), original_size);
	fclose(in);
	assert_int_equal(fclose(f), 0);
}

/* Of this program, as the kernel would record it. */
static void read_maps(void)
{
	char line[512], self[256] = "", name[256];
	FILE *f = fopen("/proc/self/maps", "r");

	assert_non_null(f);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	nr_maps = 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %255s",
			   &maps[nr_maps].start, &maps[nr_maps].end, maps[nr_maps].perms,
			   &maps[nr_maps].off, name) == 5 &&
		    !strcmp(name, self) && nr_maps < 15)
			nr_maps++;
	fclose(f);
	assert_true(nr_maps > 1);
}

/* ---- reading ---- */

static struct auxtap_perfdata *open_data(const char *path)
{
	struct auxtap_perfdata *pd;

	assert_int_equal(auxtap_perfdata_open(&pd, path, NULL), 0);
	return pd;
}

static unsigned int nr_open(void)
{
	DIR *list = opendir("/proc/self/fd");
	unsigned int nr = 0;

	assert_non_null(list);
	while (readdir(list))
		nr++;
	closedir(list);
	return nr;
}

static void pack(const char *from, bool redact, struct auxtap_pack_result *result)
{
	const struct auxtap_pack_opts opts = {.size = sizeof(opts), .redact = redact};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd = open_data(from);
	unsigned int nr = nr_open();

	memset(result, 0xff, sizeof(*result));
	result->size = sizeof(*result);
	assert_int_equal(auxtap_pack(pd, packed, &opts, result, &err), 0);
	assert_int_equal(nr_open(), nr);
	auxtap_perfdata_close(pd);
}

/* A set that has read the recording. */
static struct auxtap_image_set *images_of(struct auxtap_perfdata *pd)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_event ev = {.size = sizeof(ev)};
	struct auxtap_image_set *images;
	struct auxtap_decoder *dec;
	int ret;

	assert_int_equal(auxtap_image_set_new(&images, &image_opts, NULL), 0);
	assert_int_equal(auxtap_decoder_open(&dec, pd, images, NULL, NULL), 0);
	while ((ret = auxtap_decoder_next(dec, &ev, NULL)) == 1)
		;
	assert_int_equal(ret, 0);
	auxtap_decoder_close(dec);
	return images;
}

/* Symbol, file and line of an address. */
static void place(struct auxtap_image_set *images, uint64_t addr, char *text, size_t size)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	assert_int_equal(auxtap_image_set_resolve(images, PID, UINT64_MAX, addr, &loc), 0);
	text[0] = '\0';
	if (loc.image && loc.nr_frames)
		snprintf(text, size, "%s+%" PRIx64 " %s:%u",
			 loc.frames[0].symbol ? loc.frames[0].symbol : "?",
			 loc.frames[0].symbol_off, loc.frames[0].file ? loc.frames[0].file : "?",
			 loc.frames[0].line);
}

static void program_read(void **state)
{
	const uint64_t at = (uintptr_t)traced;
	char before[3][512], after[512];
	const uint64_t addr[3] = {at, at + 1, at + 2005};
	struct auxtap_pack_result result;
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	uint8_t bytes[32];
	struct stat st;

	(void)state;
	copy_program();
	write_recording();
	pd = open_data(data);
	images = images_of(pd);
	for (int i = 0; i < 3; i++) {
		place(images, addr[i], before[i], sizeof(before[i]));
		assert_int_equal(strncmp(before[i], "traced+", 7), 0);
		assert_non_null(strstr(before[i], "test_pack_program.c:"));
	}
	assert_int_equal(auxtap_image_set_read(images, PID, UINT64_MAX, middle()->addr, bytes, 32),
			 32);
	auxtap_image_set_free(images);
	auxtap_perfdata_close(pd);

	pack(data, false, &result);
	assert_int_equal(stat(packed, &st), 0);
	assert_int_equal(result.file_size, st.st_size);
	assert_true(result.file_size < original_size / 2);
	assert_int_equal(result.trace_size, trace_size);
	assert_int_equal(result.nr_images, 1);
	assert_int_equal(result.nr_missing, 1);
	assert_string_equal(result.missing, "/nonexistent/library.so");
	assert_false(result.redacted);
	assert_int_equal(unlink(program), 0);

	pd = open_data(packed);
	images = images_of(pd);
	for (int i = 0; i < 3; i++) {
		place(images, addr[i], after, sizeof(after));
		assert_string_equal(after, before[i]);
	}
	assert_int_equal(auxtap_image_set_read(images, PID, UINT64_MAX, at, bytes, 32), 32);
	assert_memory_equal(bytes, (const uint8_t *)(uintptr_t)traced, 32);
	assert_int_equal(auxtap_image_set_read(images, PID, UINT64_MAX, middle()->addr + 5000,
					       bytes, 32),
			 -ENOENT);
	auxtap_image_set_free(images);
	auxtap_perfdata_close(pd);
}

/* ---- the ELF file in it ---- */

static int unpack_image(void *ctx, uint32_t type, const void *frame, size_t size)
{
	struct packed_header head;
	struct packed_file_header file;
	size_t max = 64 << 20, nr, at;
	uint8_t **out = ctx, *raw, *bytes;

	if (type != AUXTAP_METADATA_PACK_IMAGE)
		return 0;
	assert_null(*out);
	raw = malloc(max);
	assert_non_null(raw);
	nr = ZSTD_decompress(raw, max, frame, size);
	assert_false(ZSTD_isError(nr));
	memcpy(&head, raw, sizeof(head));
	assert_int_equal(head.nr_files, 1);
	assert_string_equal(raw + sizeof(head), program);
	at = (sizeof(head) + head.name_size + head.path_size + 7) & ~(size_t)7;
	memcpy(&file, raw + at, sizeof(file));
	at += sizeof(file);
	bytes = raw + at + file.nr_extents * sizeof(struct packed_extent);
	packed_size = file.size;
	*out = calloc(1, file.size);
	assert_non_null(*out);
	for (uint64_t i = 0; i < file.nr_extents; i++) {
		struct packed_extent e;

		memcpy(&e, raw + at + i * sizeof(e), sizeof(e));
		assert_true(e.off + e.size <= file.size);
		memcpy(*out + e.off, bytes, e.size);
		bytes += e.size;
	}
	assert_int_equal(bytes - raw, nr);
	free(raw);
	return 0;
}

static uint8_t *packed_image(void)
{
	struct auxtap_perfdata *pd = open_data(packed);
	uint8_t *elf = NULL;

	assert_int_equal(auxtap_perfdata_metadata(pd, unpack_image, &elf, NULL), 0);
	auxtap_perfdata_close(pd);
	assert_non_null(elf);
	return elf;
}

static const Elf64_Shdr *section(const uint8_t *elf, const char *name)
{
	const Elf64_Ehdr *eh = (const void *)elf;
	const Elf64_Shdr *list = (const void *)(elf + eh->e_shoff);
	const char *names = (const char *)elf + list[eh->e_shstrndx].sh_offset;

	for (unsigned int i = 1; i < eh->e_shnum; i++)
		if (!strcmp(names + list[i].sh_name, name))
			return &list[i];
	fail_msg("no section %s", name);
	return NULL;
}

static bool has_symbol(const uint8_t *elf, const char *name)
{
	const Elf64_Shdr *table = section(elf, ".symtab");
	const Elf64_Sym *syms = (const void *)(elf + table->sh_offset);
	const char *names = (const char *)elf + section(elf, ".strtab")->sh_offset;

	for (size_t i = 1; i < table->sh_size / sizeof(*syms); i++)
		if (!strcmp(names + syms[i].st_name, name) && syms[i].st_value)
			return true;
	return false;
}

/* The entry of the search table for that function: its offset in .eh_frame; 0: none. */
static uint64_t frame_entry(const uint8_t *elf, uint64_t vaddr, uint32_t *nr)
{
	const Elf64_Shdr *table = section(elf, ".eh_frame_hdr");
	const uint8_t *at = elf + table->sh_offset;
	int32_t pair[2], last = INT32_MIN;
	uint64_t found = 0;

	memcpy(nr, at + 8, 4);
	for (uint32_t i = 0; i < *nr; i++) {
		memcpy(pair, at + 12 + (size_t)i * 8, 8);
		assert_true(pair[0] > last);
		last = pair[0];
		if (table->sh_addr + (uint64_t)(int64_t)pair[0] == vaddr)
			found = table->sh_addr + (uint64_t)(int64_t)pair[1] -
				section(elf, ".eh_frame")->sh_addr;
	}
	return found;
}

/* What the slots of the PLT are filled with, by name. */
static void same_slots(const uint8_t *elf)
{
	const Elf64_Shdr *slots = section(original, ".rela.plt");
	const Elf64_Sym *syms = (const void *)(elf + section(original, ".dynsym")->sh_offset);
	const Elf64_Sym *want = (const void *)(original + section(original, ".dynsym")->sh_offset);
	const uint64_t names = section(original, ".dynstr")->sh_offset;

	assert_memory_equal(elf + slots->sh_offset, original + slots->sh_offset, slots->sh_size);
	for (uint64_t i = 0; i < slots->sh_size / sizeof(Elf64_Rela); i++) {
		Elf64_Rela rela;
		uint64_t nr;

		memcpy(&rela, original + slots->sh_offset + i * sizeof(rela), sizeof(rela));
		nr = ELF64_R_SYM(rela.r_info);
		assert_memory_equal(&syms[nr], &want[nr], sizeof(want[nr]));
		assert_string_equal(elf + names + want[nr].st_name,
				    original + names + want[nr].st_name);
	}
}

static void elf_kept(void **state)
{
	const uint64_t base = maps[0].start;
	const uint64_t at = (uintptr_t)traced - base, unused = middle()->addr - base;
	uint64_t entry, eh_frame;
	uint32_t nr, nr_all, length, cie;
	struct auxtap_pack_result result;
	uint8_t *elf;

	(void)state;
	copy_program();
	write_recording();
	pack(data, false, &result);
	elf = packed_image();
	assert_memory_equal(elf, original, sizeof(Elf64_Ehdr));
	assert_memory_equal(elf + section(original, ".note.gnu.build-id")->sh_offset,
			    original + section(original, ".note.gnu.build-id")->sh_offset,
			    section(original, ".note.gnu.build-id")->sh_size);
	assert_int_equal(section(elf, ".text")->sh_addr, section(original, ".text")->sh_addr);
	assert_true(has_symbol(original, middle()->name));
	assert_true(has_symbol(elf, "traced") && has_symbol(elf, "main"));
	assert_false(has_symbol(elf, middle()->name));
	assert_false(has_symbol(elf, "auxtap_perfdata_open"));
	assert_int_equal(section(elf, ".gnu.version")->sh_type, SHT_NOBITS);
	same_slots(elf);
	/* a function's unwind information, and the common part that it refers to */
	eh_frame = section(original, ".eh_frame")->sh_offset;
	assert_true(frame_entry(original, unused, &nr_all) != 0);
	assert_int_equal(frame_entry(elf, unused, &nr), 0);
	assert_true(nr >= 1 && nr < nr_all / 2);
	entry = frame_entry(elf, at, &nr);
	assert_int_equal(entry, frame_entry(original, at, &nr_all));
	memcpy(&length, original + eh_frame + entry, 4);
	memcpy(&cie, original + eh_frame + entry + 4, 4);
	assert_memory_equal(elf + eh_frame + entry, original + eh_frame + entry, length + 4);
	entry = entry + 4 - cie;
	memcpy(&length, original + eh_frame + entry, 4);
	assert_true(length > 8);
	assert_memory_equal(elf + eh_frame + entry, original + eh_frame + entry, length + 4);
	free(elf);
}

/* ---- its debug information ---- */

static void list_entry(FILE *f, Dwarf_Die *die, unsigned int depth)
{
	Dwarf_Addr base, low, high;
	Dwarf_Attribute attr;
	const char *name;
	Dwarf_Die child, type;
	Dwarf_Op *ops;
	ptrdiff_t at = 0;
	size_t nr;
	int line = 0;

	do {
		dwarf_decl_line(die, &line);
		name = dwarf_diename(die);
		fprintf(f, "%*s%x %s %d", depth, "", dwarf_tag(die), name ? name : "-", line);
		for (at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;)
			fprintf(f, " %" PRIx64 "-%" PRIx64, low, high);
		if (dwarf_attr(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, &type))
			fprintf(f, " type %x", dwarf_tag(&type));
		if (dwarf_attr(die, DW_AT_location, &attr))
			for (at = 0; (at = dwarf_getlocations(&attr, at, &base, &low, &high, &ops,
							      &nr)) > 0;)
				fprintf(f, " at %" PRIx64 "-%" PRIx64 ":%zu %x", low, high, nr,
					nr ? ops[0].atom : 0);
		fputc('\n', f);
		if (!dwarf_child(die, &child))
			list_entry(f, &child, depth + 1);
	} while (depth && !dwarf_siblingof(die, die));
}

/* All that libdw knows of the unit of that source file, as text; NULL: there is no such unit. */
static char *list_unit(uint8_t *elf, uint64_t elf_size, const char *source)
{
	Elf *file = elf_memory((char *)elf, elf_size);
	Dwarf *dw = file ? dwarf_begin_elf(file, DWARF_C_READ, NULL) : NULL;
	Dwarf_Off off = 0, next;
	char *text = NULL;
	size_t header, size;
	Dwarf_Die die;

	assert_non_null(dw);
	for (; !text && !dwarf_nextcu(dw, off, &next, &header, NULL, NULL, NULL); off = next) {
		Dwarf_Lines *lines;
		FILE *f;

		if (!dwarf_offdie(dw, off + header, &die) || !dwarf_diename(&die) ||
		    !strstr(dwarf_diename(&die), source))
			continue;
		f = open_memstream(&text, &size);
		assert_non_null(f);
		assert_int_equal(dwarf_getsrclines(&die, &lines, &size), 0);
		for (size_t i = 0, nr = size; i < nr; i++) {
			Dwarf_Line *line = dwarf_onesrcline(lines, i);
			Dwarf_Addr addr;
			int number;

			assert_int_equal(dwarf_lineaddr(line, &addr) | dwarf_lineno(line, &number),
					 0);
			fprintf(f, "%" PRIx64 " %d %s\n", addr, number,
				dwarf_linesrc(line, NULL, NULL));
		}
		list_entry(f, &die, 0);
		fclose(f);
	}
	dwarf_end(dw);
	elf_end(file);
	return text;
}

/* The unit of what ran is whole, another is not there; the same of compressed sections. */
static void units_kept(void **state)
{
	struct auxtap_pack_result result;
	char command[200], *want, *got;
	uint8_t *elf;

	(void)state;
	copy_program();
	elf_version(EV_CURRENT);
	want = list_unit(original, original_size, "test_pack_program.c");
	assert_non_null(want);
	assert_non_null(strstr(want, " traced "));
	got = list_unit(original, original_size, "perfdata/reader.c");
	assert_non_null(got);
	free(got);
	for (int compressed = 0; compressed < 2; compressed++) {
		snprintf(command, sizeof(command), "objcopy --compress-debug-sections=zlib %s",
			 program);
		if (compressed)
			assert_int_equal(system(command), 0);
		write_recording();
		pack(data, false, &result);
		elf = packed_image();
		got = list_unit(elf, packed_size, "test_pack_program.c");
		assert_non_null(got);
		assert_string_equal(got, want);
		assert_null(list_unit(elf, packed_size, "perfdata/reader.c"));
		free(got);
		free(elf);
	}
	free(want);
}

/* DWARF before version 5, and a type that another unit has. */
static void older_units_kept(void **state)
{
	static const char *const names[] = {"traced_3", "traced_4"};
	struct auxtap_pack_result result;
	uint8_t *elf;

	(void)state;
	copy_program();
	elf_version(EV_CURRENT);
	write_recording();
	pack(data, false, &result);
	elf = packed_image();
	for (unsigned int i = 0; i < 2; i++) {
		char unit[20], *want, *got;

		snprintf(unit, sizeof(unit), "%s_unit.c", names[i]);
		want = list_unit(original, original_size, unit);
		assert_non_null(want);
		/* lines, ranges, the type's tag, locations */
		assert_non_null(strstr(want, " 41 "));
		assert_non_null(strstr(want, " 43 "));
		assert_non_null(strstr(want, names[i]));
		assert_non_null(strstr(want, " type 24\n"));
		assert_non_null(strstr(want, ":2 3"));
		assert_non_null(strstr(want, ":1 9e"));
		assert_non_null(strstr(want, ":1 91"));
		got = list_unit(elf, packed_size, unit);
		assert_non_null(got);
		assert_string_equal(got, want);
		free(want);
		free(got);
	}
	free(elf);
}

/* Debug information in a file of its own is packed, too. */
static void debug_file(void **state)
{
	char before[512], after[512], command[400];
	struct auxtap_pack_result result;
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;

	(void)state;
	copy_program();
	snprintf(
		command, sizeof(command),
		"cd %s && objcopy --only-keep-debug program program.debug && objcopy --strip-debug "
		"--add-gnu-debuglink=program.debug program",
		dir);
	assert_int_equal(system(command), 0);
	write_recording();
	pd = open_data(data);
	images = images_of(pd);
	place(images, (uintptr_t)traced, before, sizeof(before));
	auxtap_image_set_free(images);
	auxtap_perfdata_close(pd);
	assert_non_null(strstr(before, "test_pack_program.c:"));
	pack(data, false, &result);
	assert_int_equal(unlink(program), 0);
	snprintf(command, sizeof(command), "rm %s/program.debug", dir);
	assert_int_equal(system(command), 0);
	pd = open_data(packed);
	images = images_of(pd);
	place(images, (uintptr_t)traced, after, sizeof(after));
	assert_string_equal(after, before);
	auxtap_image_set_free(images);
	auxtap_perfdata_close(pd);
}

/* ---- what is left out ---- */

struct seen {
	uint32_t flags;
	unsigned int nr_images, nr_messages, nr_captures, nr_sources, nr_heads;
};

static int see(void *ctx, uint32_t type, const void *note, size_t size)
{
	const struct auxtap_pack_header *head = note;
	struct seen *seen = ctx;

	(void)size;
	seen->nr_heads += type == AUXTAP_METADATA_PACK;
	seen->nr_images += type == AUXTAP_METADATA_PACK_IMAGE;
	seen->nr_sources += type == AUXTAP_METADATA_PACK_SOURCE;
	seen->nr_messages += type == AUXTAP_METADATA_MESSAGE;
	seen->nr_captures += type == AUXTAP_METADATA_CAPTURE;
	if (type == AUXTAP_METADATA_PACK)
		seen->flags = head->flags;
	return 0;
}

static struct seen look(const char *path)
{
	struct auxtap_perfdata *pd = open_data(path);
	struct seen seen = {0};

	assert_int_equal(auxtap_perfdata_metadata(pd, see, &seen, NULL), 0);
	auxtap_perfdata_close(pd);
	return seen;
}

static bool mentions(const char *path, const char *word)
{
	FILE *f = fopen(path, "r");
	static char text[1 << 22];
	size_t size;

	assert_non_null(f);
	size = fread(text, 1, sizeof(text), f);
	fclose(f);
	return memmem(text, size, word, strlen(word)) != NULL;
}

static void redacted(void **state)
{
	char again[80];
	struct auxtap_pack_result result;
	uint64_t page = 0;
	struct seen seen;
	uint8_t *elf;

	(void)state;
	copy_program();
	write_recording();
	pack(data, false, &result);
	seen = look(packed);
	assert_int_equal(seen.flags, 0);
	assert_int_equal(seen.nr_heads, 1);
	assert_int_equal(seen.nr_images, 1);
	assert_int_equal(seen.nr_messages, 1);
	assert_int_equal(seen.nr_captures, 1);
	assert_true(mentions(packed, "secret"));

	pack(data, true, &result);
	assert_true(result.redacted);
	seen = look(packed);
	assert_int_equal(seen.flags, AUXTAP_PACK_REDACTED);
	assert_int_equal(seen.nr_images, 1);
	assert_int_equal(seen.nr_messages, 0);
	assert_int_equal(seen.nr_captures, 1);
	assert_int_equal(seen.nr_sources, 0);
	assert_false(mentions(packed, "secret"));
	/* the code is there */
	elf = packed_image();
	for (unsigned int i = 0; i < nr_maps; i++)
		if ((uintptr_t)traced >= maps[i].start && (uintptr_t)traced < maps[i].end)
			page = (uintptr_t)traced - maps[i].start + maps[i].off;
	assert_memory_equal(elf + page, original + page, 64);
	free(elf);

	/* packed once more, without the program: it stays so, and nothing is lost or doubled */
	assert_int_equal(unlink(program), 0);
	snprintf(again, sizeof(again), "%s/again", dir);
	assert_int_equal(rename(packed, again), 0);
	pack(again, false, &result);
	assert_true(result.redacted);
	seen = look(packed);
	assert_int_equal(seen.flags, AUXTAP_PACK_REDACTED);
	assert_int_equal(seen.nr_heads, 1);
	assert_int_equal(seen.nr_images, 1);
	assert_int_equal(seen.nr_captures, 1);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(data, sizeof(data), "%s/data", dir);
	snprintf(packed, sizeof(packed), "%s/packed", dir);
	snprintf(program, sizeof(program), "%s/program", dir);
	read_maps();
	return 0;
}

static int tear_down(void **state)
{
	char command[80];

	(void)state;
	free(original);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(program_read), cmocka_unit_test(elf_kept),
		cmocka_unit_test(units_kept),	cmocka_unit_test(older_units_kept),
		cmocka_unit_test(debug_file),	cmocka_unit_test(redacted),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
