// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads line tables (DWARF 2 to 5, section 6.2) for addresses alone: only where sequences end, and
 * how many of their rows have that address.
 */
#include "dwarf_rows.h"
#include "util/vector.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BITS 64

/* An address at which a sequence ends that has rows with that address. */
struct end {
	Dwarf_Addr addr;
	size_t nr_rows;	   /* of all sequences, with that address */
	uint64_t is_empty; /* bit n: row n of these, in the order of the table, is such a row */
};

struct dwarf_rows {
	struct end *ends; /* by address */
	size_t nr, max;
};

/* What is left of the section; reading past the end gives 0 and sets 'past'. */
struct cursor {
	const uint8_t *at, *end;
	bool past, swapped;
};

static uint64_t fixed(struct cursor *c, unsigned int nr_bytes)
{
	uint64_t value = 0;

	if ((size_t)(c->end - c->at) < nr_bytes || nr_bytes > sizeof(value)) {
		c->past = true;
		c->at = c->end;
		return 0;
	}
	for (unsigned int i = 0; i < nr_bytes; i++)
		value |= (uint64_t)c->at[c->swapped ? nr_bytes - 1 - i : i] << 8 * i;
	c->at += nr_bytes;
	return value;
}

static uint64_t leb128(struct cursor *c)
{
	uint64_t value = 0, byte;
	unsigned int shift = 0;

	do {
		byte = fixed(c, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static void skip(struct cursor *c, uint64_t nr_bytes)
{
	if (nr_bytes > (uint64_t)(c->end - c->at)) {
		c->past = true;
		c->at = c->end;
	} else {
		c->at += nr_bytes;
	}
}

/* The header of a table, as far as addresses depend on it. */
struct table {
	struct cursor program;
	uint8_t min_insn, line_range, opcode_base;
	const uint8_t *nr_operands; /* of opcodes 1 to opcode_base - 1 */
};

static bool read_header(struct cursor section, struct table *table)
{
	unsigned int offset_size = 4;
	struct cursor c = section;
	uint64_t length = fixed(&c, 4), version, header;

	if (length == 0xffffffff) {
		offset_size = 8;
		length = fixed(&c, 8);
	}
	if (length > (uint64_t)(c.end - c.at))
		return false;
	c.end = c.at + length;
	version = fixed(&c, 2);
	if (version < 2 || version > 5)
		return false;
	if (version == 5)
		fixed(&c, 2); /* sizes of addresses and of segment selectors */
	header = fixed(&c, offset_size);
	table->program = c;
	skip(&table->program, header);
	table->min_insn = (uint8_t)fixed(&c, 1);
	if (version >= 4 && fixed(&c, 1) > 1)
		return false; /* several operations in an instruction: no such processor here */
	fixed(&c, 2);	      /* default_is_stmt, line_base */
	table->line_range = (uint8_t)fixed(&c, 1);
	table->opcode_base = (uint8_t)fixed(&c, 1);
	table->nr_operands = c.at;
	skip(&c, table->opcode_base ? table->opcode_base - 1 : 0);
	return !c.past && !table->program.past && table->line_range && table->opcode_base;
}

/* The machine that a table is a program of, and the newest rows that have one address. */
struct machine {
	Dwarf_Addr addr, run_addr;
	size_t nr_run;
};

enum { NOTHING, ROW, END }; /* what an opcode emits */

static int extended(struct cursor *c, struct machine *m)
{
	uint64_t length = leb128(c);
	struct cursor operand = *c;
	int opcode;

	skip(c, length);
	operand.end = c->at;
	opcode = length ? (int)fixed(&operand, 1) : 0;
	if (opcode == DW_LNE_set_address)
		m->addr = fixed(&operand, (unsigned int)(operand.end - operand.at));
	return opcode == DW_LNE_end_sequence ? END : NOTHING;
}

static int standard(const struct table *table, struct cursor *c, struct machine *m, unsigned int op)
{
	switch (op) {
	case DW_LNS_copy:
		return ROW;
	case DW_LNS_advance_pc:
		m->addr += leb128(c) * table->min_insn;
		break;
	case DW_LNS_const_add_pc:
		m->addr += (255u - table->opcode_base) / table->line_range * table->min_insn;
		break;
	case DW_LNS_fixed_advance_pc:
		m->addr += fixed(c, 2);
		break;
	default:
		for (unsigned int i = 0; i < table->nr_operands[op - 1]; i++)
			leb128(c);
	}
	return NOTHING;
}

/* Executes opcodes up to the next row or end of a sequence. */
static int next_row(const struct table *table, struct cursor *c, struct machine *m)
{
	while (c->at < c->end && !c->past) {
		unsigned int op = (unsigned int)fixed(c, 1);
		int emitted;

		if (op >= table->opcode_base) {
			m->addr += (op - table->opcode_base) / table->line_range * table->min_insn;
			emitted = ROW;
		} else if (op) {
			emitted = standard(table, c, m, op);
		} else {
			emitted = extended(c, m);
		}
		if (c->past)
			break;
		if (emitted == ROW) {
			m->nr_run = m->addr == m->run_addr ? m->nr_run + 1 : 1;
			m->run_addr = m->addr;
		}
		if (emitted)
			return emitted;
	}
	return NOTHING;
}

static bool ends_empty(const struct machine *m)
{
	return m->nr_run && m->run_addr == m->addr;
}

static int compare_ends(const void *a, const void *b)
{
	const Dwarf_Addr x = ((const struct end *)a)->addr, y = ((const struct end *)b)->addr;

	return (x > y) - (x < y);
}

static struct end *find_end(const struct dwarf_rows *rows, Dwarf_Addr addr)
{
	const struct end key = {.addr = addr};

	return rows && rows->nr ? bsearch(&key, rows->ends, rows->nr, sizeof(key), compare_ends) :
				  NULL;
}

/* Finds where sequences end that have rows with the address of the end. */
static int find_ends(const struct table *table, struct dwarf_rows *rows)
{
	struct cursor c = table->program;
	struct machine m = {0};
	size_t nr = 0;
	int what;

	while ((what = next_row(table, &c, &m))) {
		if (what != END)
			continue;
		if (ends_empty(&m)) {
			if (vector_grow(rows->ends, rows->nr, rows->max))
				return -ENOMEM;
			rows->ends[rows->nr++] = (struct end){.addr = m.addr};
		}
		m = (struct machine){0};
	}
	if (!rows->nr)
		return 0;
	qsort(rows->ends, rows->nr, sizeof(*rows->ends), compare_ends);
	for (size_t i = 0; i < rows->nr; i++)
		if (!nr || rows->ends[nr - 1].addr != rows->ends[i].addr)
			rows->ends[nr++] = rows->ends[i];
	rows->nr = nr;
	return 0;
}

/* Counts the rows of these addresses, and sets which of them are the last of a sequence. */
static void count_rows(const struct table *table, struct dwarf_rows *rows)
{
	struct cursor c = table->program;
	struct machine m = {0};
	struct end *end;
	int what;

	while ((what = next_row(table, &c, &m))) {
		end = find_end(rows, m.addr);
		if (what == ROW && end)
			end->nr_rows++;
		if (what == END && end && ends_empty(&m))
			for (size_t i = end->nr_rows - m.nr_run; i < end->nr_rows; i++)
				end->is_empty |= i < MAX_BITS ? 1ull << i : 0;
		if (what == END)
			m = (struct machine){0};
	}
}

/* The section .debug_line of the unit's file, from the unit's table on. */
static bool open_section(Dwarf_Die *unit, struct cursor *section)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(unit->cu);
	Elf *elf = dwarf ? dwarf_getelf(dwarf) : NULL;
	Elf_Scn *scn = NULL;
	Dwarf_Attribute attr;
	size_t names, nr_ident;
	Dwarf_Word offset;
	const char *ident;

	if (!elf || elf_getshdrstrndx(elf, &names) || !dwarf_attr(unit, DW_AT_stmt_list, &attr) ||
	    dwarf_formudata(&attr, &offset))
		return false;
	ident = elf_getident(elf, &nr_ident);
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		const char *name =
			gelf_getshdr(scn, &shdr) ? elf_strptr(elf, names, shdr.sh_name) : NULL;
		/* libdw has uncompressed it in place */
		Elf_Data *data =
			name && (!strcmp(name, ".debug_line") || !strcmp(name, ".zdebug_line")) ?
				elf_rawdata(scn, NULL) :
				NULL;

		if (!data || !data->d_buf || offset >= data->d_size)
			continue;
		*section = (struct cursor){
			.at = (const uint8_t *)data->d_buf + offset,
			.end = (const uint8_t *)data->d_buf + data->d_size,
			.swapped = ident && nr_ident > EI_DATA && ident[EI_DATA] == ELFDATA2MSB,
		};
		return true;
	}
	return false;
}

struct dwarf_rows *dwarf_rows_new(Dwarf_Die *unit)
{
	struct dwarf_rows *rows;
	struct cursor section;
	struct table table;

	if (!open_section(unit, &section) || !read_header(section, &table))
		return NULL;
	rows = calloc(1, sizeof(*rows));
	if (!rows || find_ends(&table, rows) || !rows->nr) {
		dwarf_rows_free(rows);
		return NULL;
	}
	count_rows(&table, rows);
	return rows;
}

void dwarf_rows_free(struct dwarf_rows *rows)
{
	if (rows)
		free(rows->ends);
	free(rows);
}

static bool is_end(Dwarf_Line *line)
{
	bool end = false;

	return dwarf_lineendsequence(line, &end) || end;
}

static bool has_addr(Dwarf_Lines *table, size_t nr_table, size_t at, Dwarf_Addr addr)
{
	Dwarf_Addr found;

	return at < nr_table && !dwarf_lineaddr(dwarf_onesrcline(table, at), &found) &&
	       found == addr;
}

size_t dwarf_rows_first(Dwarf_Lines *table, size_t nr_table, Dwarf_Addr addr)
{
	size_t low = 0, high = nr_table, middle;
	Dwarf_Addr found;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (dwarf_lineaddr(dwarf_onesrcline(table, middle), &found))
			return nr_table;
		if (found < addr)
			low = middle + 1;
		else
			high = middle;
	}
	/* ends of sequences come first */
	while (has_addr(table, nr_table, low, addr) && is_end(dwarf_onesrcline(table, low)))
		low++;
	return has_addr(table, nr_table, low, addr) ? low : nr_table;
}

bool dwarf_rows_cover(const struct dwarf_rows *rows, Dwarf_Addr addr, size_t nr)
{
	const struct end *end = find_end(rows, addr);

	return !end || nr >= MAX_BITS || !(end->is_empty >> nr & 1);
}

Dwarf_Line *dwarf_rows_check(const struct dwarf_rows *rows, Dwarf_Die *unit, Dwarf_Line *line)
{
	Dwarf_Line *found = NULL;
	const struct end *end;
	Dwarf_Lines *table;
	size_t nr, first;
	Dwarf_Addr addr;

	if (!rows || !line || dwarf_lineaddr(line, &addr))
		return line;
	end = find_end(rows, addr);
	if (!end || dwarf_getsrclines(unit, &table, &nr))
		return line;
	first = dwarf_rows_first(table, nr, addr);
	for (size_t i = 0; i < end->nr_rows; i++) {
		/* libdw has read other rows */
		if (!has_addr(table, nr, first + i, addr))
			return line;
		if (dwarf_rows_cover(rows, addr, i))
			found = dwarf_onesrcline(table, first + i);
	}
	return has_addr(table, nr, first + end->nr_rows, addr) ? line : found;
}
