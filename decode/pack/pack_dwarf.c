// SPDX-License-Identifier: BSD-2-Clause
/*
 * Keeps the debug information of code that was used: the units that cover it, with the units,
 * strings, line tables, ranges and locations that they refer to. Of all other units only the
 * headers are kept, so that offsets stay valid. Compressed sections are moved to the end of the
 * file, uncompressed.
 */
#include "pack_private.h"
#include "util/vector.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 256 /* of entries within entries */

enum section {
	INFO,
	ABBREV,
	LINE,
	STR,
	LINE_STR,
	RANGES,
	RNGLISTS,
	LOC,
	LOCLISTS,
	ADDR,
	STR_OFFSETS,
	FRAME,
	NR_SECTIONS
};

static const char *const section_names[NR_SECTIONS] = {
	".debug_info",	   ".debug_abbrev", ".debug_line",	  ".debug_str",
	".debug_line_str", ".debug_ranges", ".debug_rnglists",	  ".debug_loc",
	".debug_loclists", ".debug_addr",   ".debug_str_offsets", ".debug_frame",
};

struct debug_section {
	const uint8_t *data;
	uint64_t size;
	uint64_t off; /* in the sparse file */
};

struct unit {
	Dwarf_Off off, end, first; /* first: offset of the unit's own DIE */
	Dwarf_Off abbrevs;
	unsigned int version, address_size, offset_size;
	bool wanted, kept;
};

struct pack_dwarf {
	struct pack_elf *e;
	Dwarf *dw;
	struct debug_section sections[NR_SECTIONS];
	struct unit *units;
	size_t nr_units, max_units;
	const struct unit *unit; /* the unit being kept */
	bool again;		 /* another unit became wanted: repeat */
};

static void keep(struct pack_dwarf *p, enum section which, uint64_t off, uint64_t size)
{
	const struct debug_section *s = &p->sections[which];

	if (!s->data || off >= s->size)
		return;
	pack_sparse_keep(p->e->out, s->off + off, s->data + off,
			 size < s->size - off ? size : s->size - off);
}

static uint64_t read_number(const struct debug_section *s, uint64_t at, unsigned int nr)
{
	uint64_t value = 0;

	if (s->data && at <= s->size && nr <= s->size - at)
		memcpy(&value, s->data + at, nr);
	return value;
}

/* Keeps the table whose header begins 'before' bytes before 'at'; it begins with its length. */
static void keep_table(struct pack_dwarf *p, enum section which, uint64_t at, unsigned int before)
{
	const struct debug_section *s = &p->sections[which];
	uint64_t length;

	if (at < before)
		return;
	at -= before;
	length = read_number(s, at, 4);
	if (length == 0xffffffff)
		length = read_number(s, at + 4, 8) + 8;
	keep(p, which, at, length <= s->size ? length + 4 : s->size);
}

/* ---- lists of ranges and of locations, up to their end-of-list entry ---- */

static uint64_t read_leb128(const struct debug_section *s, uint64_t *at)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	while (*at < s->size) {
		uint8_t byte = s->data[(*at)++];

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

/* Before DWARF 5: pairs of addresses; in a location list an expression follows each pair. */
static void keep_list_dwarf4(struct pack_dwarf *p, enum section which, uint64_t off)
{
	const struct debug_section *s = &p->sections[which];
	unsigned int size = p->unit->address_size;
	uint64_t at = off, base = size == 4 ? UINT32_MAX : UINT64_MAX;

	while (s->data && at < s->size && s->size - at >= 2ull * size) {
		uint64_t low = read_number(s, at, size), high = read_number(s, at + size, size);

		at += 2ull * size;
		if (!low && !high)
			break;
		if (which == LOC && low != base)
			at += 2 + read_number(s, at, 2);
	}
	keep(p, which, off, at - off);
}

/* DWARF 5: an entry begins with its kind (DW_RLE_…, DW_LLE_…), which determines its operands. */
static void keep_list_dwarf5(struct pack_dwarf *p, enum section which, uint64_t off)
{
	/* operands: l LEB128, a address, e expression */
	static const char *const ranges[] = {"", "l", "ll", "ll", "ll", "a", "aa", "al"};
	static const char *const locations[] = {"",  "l", "lle", "lle", "lle",
						"e", "a", "aae", "ale", "ll"};
	const struct debug_section *s = &p->sections[which];
	size_t nr = which == RNGLISTS ? 8 : 10;
	uint64_t at = off;

	while (s->data && at < s->size) {
		uint8_t kind = s->data[at++];

		if (!kind || kind >= nr)
			break;
		for (const char *what = (which == RNGLISTS ? ranges : locations)[kind]; *what;
		     what++) {
			uint64_t length = *what == 'a' ? p->unit->address_size : 0;

			if (*what != 'a')
				length = read_leb128(s, &at);
			if (*what != 'l')
				at = length < s->size - at ? at + length : s->size;
		}
	}
	keep(p, which, off, at - off);
}

/* ---- attributes ---- */

static void keep_string(struct pack_dwarf *p, Dwarf_Attribute *attr)
{
	static const enum section with_strings[] = {STR, LINE_STR};
	const uint8_t *text = (const uint8_t *)dwarf_formstring(attr);

	for (size_t i = 0; text && i < 2; i++) {
		const struct debug_section *s = &p->sections[with_strings[i]];

		if (s->data && text >= s->data && text < s->data + s->size)
			keep(p, with_strings[i], (uint64_t)(text - s->data),
			     strlen((const char *)text) + 1);
	}
}

static struct unit *unit_at(struct pack_dwarf *p, Dwarf_Off off)
{
	size_t lo = 0, hi = p->nr_units;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->units[mid].end <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->nr_units && p->units[lo].off <= off ? &p->units[lo] : NULL;
}

static void want_reference(struct pack_dwarf *p, Dwarf_Attribute *attr)
{
	Dwarf_Die die;
	struct unit *unit;

	if (!dwarf_formref_die(attr, &die))
		return;
	unit = unit_at(p, dwarf_dieoffset(&die));
	if (unit && !unit->wanted) {
		unit->wanted = true;
		p->again = true;
	}
}

static void keep_offset(struct pack_dwarf *p, unsigned int name, Dwarf_Attribute *attr)
{
	bool is_5 = p->unit->version >= 5;
	Dwarf_Word value;

	if (dwarf_formudata(attr, &value))
		return;
	switch (name) {
	case DW_AT_stmt_list:
		keep_table(p, LINE, value, 0);
		break;
	case DW_AT_ranges:
		is_5 ? keep_list_dwarf5(p, RNGLISTS, value) : keep_list_dwarf4(p, RANGES, value);
		break;
	case DW_AT_str_offsets_base:
		keep_table(p, STR_OFFSETS, value, p->unit->offset_size == 8 ? 16 : 8);
		break;
	case DW_AT_addr_base:
		keep_table(p, ADDR, value, p->unit->offset_size == 8 ? 16 : 8);
		break;
	case DW_AT_rnglists_base:
		keep_table(p, RNGLISTS, value, p->unit->offset_size == 8 ? 20 : 12);
		break;
	case DW_AT_loclists_base:
		keep_table(p, LOCLISTS, value, p->unit->offset_size == 8 ? 20 : 12);
		break;
	case DW_AT_GNU_ranges_base:
	case DW_AT_GNU_addr_base:
	case DW_AT_GNU_locviews:
	case DW_AT_macros:
	case DW_AT_GNU_macros:
	case DW_AT_macro_info:
		break;
	default: /* DW_AT_location and others: a location list */
		is_5 ? keep_list_dwarf5(p, LOCLISTS, value) : keep_list_dwarf4(p, LOC, value);
		break;
	}
}

static int on_attribute(Dwarf_Attribute *attr, void *arg)
{
	struct pack_dwarf *p = arg;

	switch (dwarf_whatform(attr)) {
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		keep_string(p, attr);
		break;
	case DW_FORM_ref_addr:
		want_reference(p, attr);
		break;
	case DW_FORM_sec_offset:
		keep_offset(p, dwarf_whatattr(attr), attr);
		break;
	case DW_FORM_data4: /* before DWARF 4 there is no DW_FORM_sec_offset */
	case DW_FORM_data8:
		if (p->unit->version < 4 && (dwarf_whatattr(attr) == DW_AT_stmt_list ||
					     dwarf_whatattr(attr) == DW_AT_ranges ||
					     dwarf_whatattr(attr) == DW_AT_location ||
					     dwarf_whatattr(attr) == DW_AT_frame_base))
			keep_offset(p, dwarf_whatattr(attr), attr);
		break;
	default:
		break;
	}
	return DWARF_CB_OK;
}

static void keep_dies(struct pack_dwarf *p, Dwarf_Die *die, unsigned int depth)
{
	Dwarf_Die child;

	do {
		dwarf_getattrs(die, on_attribute, p, 0);
		if (depth < MAX_DEPTH && !dwarf_child(die, &child))
			keep_dies(p, &child, depth + 1);
	} while (depth && !dwarf_siblingof(die, die));
}

/* ---- units ---- */

static bool list_units(struct pack_dwarf *p)
{
	Dwarf_Off off = 0, next, abbrevs;
	uint8_t address_size, offset_size;
	Dwarf_Half version;
	size_t header;

	while (!dwarf_next_unit(p->dw, off, &next, &header, &version, &abbrevs, &address_size,
				&offset_size, NULL, NULL)) {
		if (vector_grow(p->units, p->nr_units, p->max_units))
			return false;
		p->units[p->nr_units++] = (struct unit){.off = off,
							.end = next,
							.first = off + header,
							.abbrevs = abbrevs,
							.version = version,
							.address_size = address_size,
							.offset_size = offset_size};
		off = next;
	}
	return true;
}

/* 1: code of the DIE was used; 0: none was; -1: the DIE has no addresses. */
static int is_used(const struct pack_dwarf *p, Dwarf_Die *die)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	int used = -1;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (image_use_has_name(p->e->image, low, high))
			return 1;
		used = 0;
	}
	return used;
}

/* For a unit without addresses: whether code of its functions was used. */
static bool has_used(const struct pack_dwarf *p, Dwarf_Die *parent, unsigned int depth)
{
	Dwarf_Die die;

	if (depth == MAX_DEPTH || dwarf_child(parent, &die))
		return false;
	do {
		if (is_used(p, &die) == 1 || has_used(p, &die, depth + 1))
			return true;
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

static void want_used(struct pack_dwarf *p)
{
	for (size_t i = 0; i < p->nr_units; i++) {
		Dwarf_Die die;
		int used;

		if (!dwarf_offdie(p->dw, p->units[i].first, &die))
			continue;
		used = is_used(p, &die);
		p->units[i].wanted = used == 1 || (used < 0 && has_used(p, &die, 0));
	}
}

/* Keeps a unit's abbreviations, which end where those of another unit begin. */
static void keep_abbreviations(struct pack_dwarf *p, Dwarf_Off abbrevs)
{
	uint64_t end = p->sections[ABBREV].size;

	for (size_t i = 0; i < p->nr_units; i++)
		if (p->units[i].abbrevs > abbrevs && p->units[i].abbrevs < end)
			end = p->units[i].abbrevs;
	keep(p, ABBREV, abbrevs, end - abbrevs);
}

static void keep_unit(struct pack_dwarf *p, struct unit *unit)
{
	Dwarf_Die die;

	unit->kept = true;
	p->unit = unit;
	keep(p, INFO, unit->off, unit->end - unit->off);
	keep_abbreviations(p, unit->abbrevs);
	if (dwarf_offdie(p->dw, unit->first, &die))
		keep_dies(p, &die, 0);
}

static void keep_units(struct pack_dwarf *p)
{
	want_used(p);
	do {
		p->again = false;
		for (size_t i = 0; i < p->nr_units; i++)
			if (p->units[i].wanted && !p->units[i].kept)
				keep_unit(p, &p->units[i]);
	} while (p->again);
	for (size_t i = 0; i < p->nr_units; i++)
		keep(p, INFO, p->units[i].off, p->units[i].first - p->units[i].off);
	keep(p, LINE_STR, 0, p->sections[LINE_STR].size);
	keep(p, FRAME, 0, p->sections[FRAME].size);
}

/* ---- sections ---- */

/* The section of this name; NR_SECTIONS: it is none that is kept. */
static enum section which_section(const char *name)
{
	enum section which = 0;

	while (which < NR_SECTIONS && strcmp(name, section_names[which]))
		which++;
	return which;
}

/* Sets s to the section's bytes, uncompressed by libdw, and its offset in the sparse file. */
static void place_section(struct pack_dwarf *p, Elf64_Shdr *section, size_t index,
			  struct debug_section *s)
{
	Elf_Scn *scn = elf_getscn(p->e->elf, index);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

	if (!data || !data->d_buf || !data->d_size)
		return;
	s->data = data->d_buf;
	s->size = data->d_size;
	s->off = section->sh_offset;
	if (!(section->sh_flags & SHF_COMPRESSED))
		return;
	s->off = pack_sparse_append(p->e->out, s->size);
	section->sh_offset = s->off;
	section->sh_size = s->size;
	section->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	section->sh_addralign = 1;
}

static bool is_debug(const char *name)
{
	return !strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8) ||
	       !strcmp(name, ".gdb_index") || !strcmp(name, ".gnu_debugaltlink");
}

/* Debug sections that are not kept become NOBITS: libdw and gdb then ignore them. */
static void place_sections(struct pack_dwarf *p)
{
	for (size_t i = 1; i < p->e->nr_sections; i++) {
		Elf64_Shdr *section = &p->e->sections[i];
		const char *name = pack_section_name(p->e, section);
		enum section which = which_section(name);

		if (which < NR_SECTIONS && section->sh_type == SHT_PROGBITS && p->dw)
			place_section(p, section, i, &p->sections[which]);
		else if (is_debug(name))
			section->sh_type = SHT_NOBITS;
	}
}

int pack_dwarf(struct pack_elf *e)
{
	struct pack_dwarf p = {.e = e};
	int ret = 0;

	if (!e->elf)
		return 0;
	p.dw = dwarf_begin_elf(e->elf, DWARF_C_READ, NULL);
	place_sections(&p);
	if (p.dw) {
		if (list_units(&p))
			keep_units(&p);
		else
			ret = -ENOMEM;
		dwarf_end(p.dw);
	}
	free(p.units);
	return ret;
}
