// SPDX-License-Identifier: BSD-2-Clause
/*
 * Formats values by their type, as gdb prints them: see dwarf_eval.h. Types are untrusted: they may
 * be infinite or refer to themselves. So depth, members, elements and characters are bounded; "..."
 * replaces the rest.
 */
#include "dwarf_eval.h"

#include <ctype.h>
#include <dwarf.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH      3    /* nested structures and arrays */
#define MAX_LEVELS     12   /* nested types of any kind */
#define MAX_MEMBERS    8    /* printed members of a structure */
#define MAX_ELEMENTS   8    /* printed elements of an array; a run of equal ones counts as one */
#define MAX_RUN	       4096 /* elements compared for a run */
#define MIN_REPEATS    10   /* equal elements printed as "<repeats N times>" */
#define MAX_CHARS      48   /* printed characters of a string */
#define MAX_ELEMENT    64   /* bytes; larger elements are not compared */
#define MAX_CHILDREN   512
#define MAX_TOKEN      48 /* characters of a number, or of a short name */
#define MAX_ALIASES    32 /* typedefs and qualifiers of one type */
#define MAX_DIMENSIONS 4

struct value_text {
	const struct dwarf_context *c;
	char *buf;
	size_t size, nr;
	bool full;
	unsigned int depth, levels;
};

/* An object: its location, or a part of it. */
struct object {
	const struct dwarf_location *location;
	uint64_t off;
	/* bit-field: its first bit, counted from off, and its size; nr_bits 0: not a bit-field */
	unsigned int bit, nr_bits;
};

const char *dwarf_status_text(enum dwarf_status status)
{
	static const char *const texts[] = {
		[DWARF_KNOWN] = "",
		[DWARF_OPTIMIZED_OUT] = "<optimized out>",
		[DWARF_NOT_SAVED] = "<not saved>",
		[DWARF_NOT_IN_SNAPSHOT] = "<not in the snapshot>",
		[DWARF_NOT_STORED] = "<maybe not stored yet>",
		[DWARF_LEFT] = "<its frame is gone>",
		[DWARF_SYNTHETIC] = "<synthetic pointer>",
		[DWARF_UNKNOWN] = "<not known>",
	};

	return texts[status];
}

static bool is_token(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '+';
}

/* Where to cut a text, at 'max' at most: not after a part of a number, which would look whole. */
static size_t cut_at(const char *text, size_t max)
{
	size_t at = max;

	while (at > 1 && max - at < MAX_TOKEN && is_token(text[at - 1]))
		at--;
	return is_token(text[at - 1]) ? max : at;
}

static void __attribute__((format(printf, 2, 3)))
value_printf(struct value_text *t, const char *fmt, ...)
{
	va_list ap;
	int nr;

	if (t->full)
		return;
	va_start(ap, fmt);
	nr = vsnprintf(t->buf + t->nr, t->size - t->nr, fmt, ap);
	va_end(ap);
	if (nr < 0 || (size_t)nr >= t->size - t->nr) {
		t->full = true;
		memcpy(t->buf + cut_at(t->buf, t->size - 4), "...", 4);
		t->nr = strlen(t->buf);
	} else {
		t->nr += (size_t)nr;
	}
}

static void put_status(struct value_text *t, enum dwarf_status status)
{
	value_printf(t, "%s", dwarf_status_text(status));
}

/* ---- types ---- */

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, type);
}

static bool is_alias(int tag)
{
	switch (tag) {
	case DW_TAG_typedef:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_packed_type:
	case DW_TAG_shared_type:
		return true;
	default:
		return false;
	}
}

/* Removes typedefs and qualifiers. Returns the type's tag; -1: void, or too many of them. */
static int strip_aliases(Dwarf_Die *type, Dwarf_Die *plain)
{
	Dwarf_Attribute attr;
	Dwarf_Die next;

	*plain = *type;
	for (int i = 0; i < MAX_ALIASES; i++) {
		if (!is_alias(dwarf_tag(plain))) {
			if (dwarf_attr(plain, DW_AT_signature, &attr) &&
			    dwarf_formref_die(&attr, &next))
				*plain = next;
			return dwarf_tag(plain);
		}
		if (!type_of(plain, &next))
			return -1;
		*plain = next;
	}
	return -1;
}

static bool attr_number(Dwarf_Die *die, unsigned int name, uint64_t *value)
{
	Dwarf_Attribute attr;
	Dwarf_Word word;

	if (!dwarf_attr_integrate(die, name, &attr) || dwarf_formudata(&attr, &word))
		return false;
	*value = word;
	return true;
}

/* Reads an array's dimensions, outermost first. Returns their number; 0: one of them is unknown. */
static unsigned int array_dimensions(const struct dwarf_context *c, Dwarf_Die *array,
				     uint64_t counts[MAX_DIMENSIONS])
{
	unsigned int nr = 0;
	Dwarf_Attribute attr;
	Dwarf_Die die;
	Dwarf_Op *ops;
	size_t nr_ops;

	if (dwarf_child(array, &die))
		return 0;
	do {
		uint64_t upper, lower = 0;

		if (dwarf_tag(&die) != DW_TAG_subrange_type)
			continue;
		if (nr == MAX_DIMENSIONS)
			return 0;
		attr_number(&die, DW_AT_lower_bound, &lower);
		if (attr_number(&die, DW_AT_count, &counts[nr])) {
			nr++;
			continue;
		}
		if (!attr_number(&die, DW_AT_upper_bound, &upper) &&
		    (!dwarf_attr(&die, DW_AT_upper_bound, &attr) ||
		     dwarf_whatform(&attr) != DW_FORM_exprloc ||
		     dwarf_getlocation(&attr, &ops, &nr_ops) ||
		     dwarf_compute(c, &attr, ops, nr_ops, &upper) != DWARF_KNOWN))
			return 0;
		counts[nr++] = upper - lower + 1;
	} while (!dwarf_siblingof(&die, &die));
	return nr;
}

/* Size in bytes of an object of the type; 0: unknown. */
static uint64_t size_of(const struct dwarf_context *c, Dwarf_Die *type)
{
	uint64_t counts[MAX_DIMENSIONS], size = 0, factor = 1;
	Dwarf_Die plain = *type, element;

	for (int i = 0; i < MAX_DEPTH; i++) {
		int tag = strip_aliases(&plain, &plain);
		unsigned int nr;

		if (attr_number(&plain, DW_AT_byte_size, &size))
			return size * factor;
		if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
		    tag == DW_TAG_rvalue_reference_type)
			return 8 * factor;
		if (tag != DW_TAG_array_type || !type_of(&plain, &element))
			return 0;
		nr = array_dimensions(c, &plain, counts);
		factor = nr ? factor : 0;
		for (unsigned int d = 0; d < nr; d++)
			if (__builtin_mul_overflow(factor, counts[d], &factor) || factor > 1u << 30)
				return 0;
		plain = element;
	}
	return 0;
}

/* ---- scalars ---- */

/* Reads an object of at most 8 bytes, or a bit-field, as an unsigned number. */
static enum dwarf_status read_number(const struct value_text *t, const struct object *o,
				     uint64_t size, uint64_t *value)
{
	enum dwarf_status status;
	uint8_t bytes[9] = {0};

	*value = 0;
	if (o->nr_bits)
		size = (o->bit + o->nr_bits + 7) / 8;
	if (!size || size > (o->nr_bits ? sizeof(bytes) : 8))
		return DWARF_UNKNOWN;
	status = dwarf_location_read(t->c, o->location, o->off, bytes, size);
	memcpy(value, bytes, 8);
	if (!o->nr_bits)
		return status;
	*value >>= o->bit;
	if (o->bit)
		*value |= (uint64_t)bytes[8] << (64 - o->bit);
	if (o->nr_bits < 64)
		*value &= (1ull << o->nr_bits) - 1;
	return status;
}

static int64_t sign_extend(uint64_t value, uint64_t nr_bits)
{
	unsigned int unused = nr_bits && nr_bits < 64 ? 64 - (unsigned int)nr_bits : 0;

	return (int64_t)(value << unused) >> unused;
}

static void put_char(struct value_text *t, unsigned char c, char quote)
{
	static const char letters[] = "abtnvfr"; /* from 7 on */

	if (c == (unsigned char)quote || c == '\\')
		value_printf(t, "\\%c", c);
	else if (c >= 7 && c <= 13)
		value_printf(t, "\\%c", letters[c - 7]);
	else if (c == 27)
		value_printf(t, "\\033");
	else if (c < 32 || c >= 127)
		value_printf(t, "\\%03o", c);
	else
		value_printf(t, "%c", c);
}

static void put_float(struct value_text *t, uint64_t bits, uint64_t size)
{
	double value;
	float half;

	if (size == 4) {
		uint32_t word = (uint32_t)bits;

		memcpy(&half, &word, sizeof(half));
		value = (double)half;
		bits = word & 0x7fffff;
	} else {
		memcpy(&value, &bits, sizeof(value));
		bits &= 0xfffffffffffffull;
	}
	if (isnan(value))
		value_printf(t, "%snan(0x%" PRIx64 ")", signbit(value) ? "-" : "", bits);
	else
		value_printf(t, size == 4 ? "%.9g" : "%.17g", value);
}

static void put_base(struct value_text *t, Dwarf_Die *type, const struct object *o)
{
	uint64_t size = 0, encoding = 0, value, nr_bits;
	enum dwarf_status status;

	attr_number(type, DW_AT_byte_size, &size);
	attr_number(type, DW_AT_encoding, &encoding);
	status = read_number(t, o, size, &value);
	nr_bits = o->nr_bits ? o->nr_bits : 8 * size;
	if (status != DWARF_KNOWN) {
		put_status(t, status);
		return;
	}
	switch (encoding) {
	case DW_ATE_boolean:
		if (value < 2)
			value_printf(t, "%s", value ? "true" : "false");
		else
			value_printf(t, "%" PRIu64, value);
		break;
	case DW_ATE_signed:
		value_printf(t, "%" PRId64, sign_extend(value, nr_bits));
		break;
	case DW_ATE_unsigned:
	case DW_ATE_address:
		value_printf(t, "%" PRIu64, value);
		break;
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
		if (encoding == DW_ATE_signed_char)
			value = (uint64_t)sign_extend(value, nr_bits);
		value_printf(t, "%" PRId64 " '", (int64_t)value);
		put_char(t, (unsigned char)value, '\'');
		value_printf(t, "'");
		break;
	case DW_ATE_float:
		if (size == 4 || size == 8)
			put_float(t, value, size);
		else
			put_status(t, DWARF_UNKNOWN);
		break;
	default:
		value_printf(t, "0x%" PRIx64, value);
		break;
	}
}

/* Are the values of the enumeration signed? Of some compilers only its type says so. */
static bool is_signed_enum(Dwarf_Die *type)
{
	uint64_t encoding = 0;
	Dwarf_Die plain;

	return attr_number(type, DW_AT_encoding, &encoding) ?
		       encoding == DW_ATE_signed :
		       type_of(type, &plain) && strip_aliases(&plain, &plain) &&
			       attr_number(&plain, DW_AT_encoding, &encoding) &&
			       (encoding == DW_ATE_signed || encoding == DW_ATE_signed_char);
}

/* Prints the enumerator of the value, or those of its bits. */
static void put_enum(struct value_text *t, Dwarf_Die *type, const struct object *o)
{
	uint64_t size = 0, value, mask, left, constant;
	bool flags = true, any = false, is_signed;
	enum dwarf_status status;
	unsigned int nr = 0;
	Dwarf_Die die;

	attr_number(type, DW_AT_byte_size, &size);
	status = read_number(t, o, size, &value);
	if (status != DWARF_KNOWN) {
		put_status(t, status);
		return;
	}
	mask = size < 8 ? (1ull << 8 * size) - 1 : UINT64_MAX;
	is_signed = is_signed_enum(type);
	if (o->nr_bits && is_signed)
		value = (uint64_t)sign_extend(value, o->nr_bits) & mask;
	if (!dwarf_child(type, &die)) {
		do {
			if (!attr_number(&die, DW_AT_const_value, &constant))
				continue;
			if ((constant & mask) == value) {
				if (dwarf_hasattr(type, DW_AT_enum_class) && dwarf_diename(type))
					value_printf(t, "%s::", dwarf_diename(type));
				value_printf(t, "%s",
					     dwarf_diename(&die) ? dwarf_diename(&die) : "?");
				return;
			}
			flags = flags && !((constant & mask) & ((constant & mask) - 1));
		} while (++nr < MAX_CHILDREN && !dwarf_siblingof(&die, &die));
	}
	if (!flags || !value || nr == MAX_CHILDREN || dwarf_child(type, &die)) {
		if (is_signed)
			value_printf(t, "%" PRId64, sign_extend(value, 8 * size));
		else
			value_printf(t, "%" PRIu64, value);
		return;
	}
	left = value;
	value_printf(t, "(");
	do {
		if (!attr_number(&die, DW_AT_const_value, &constant) || !(left & constant & mask))
			continue;
		value_printf(t, "%s%s", any ? " | " : "",
			     dwarf_diename(&die) ? dwarf_diename(&die) : "?");
		left &= ~constant;
		any = true;
	} while (!dwarf_siblingof(&die, &die));
	if (left)
		value_printf(t, "%sunknown: 0x%" PRIx64, any ? " | " : "", left);
	value_printf(t, ")");
}

/* ---- strings ---- */

static bool is_char(Dwarf_Die *type)
{
	uint64_t encoding = 0, size = 0;
	Dwarf_Die plain;

	return strip_aliases(type, &plain) == DW_TAG_base_type &&
	       attr_number(&plain, DW_AT_encoding, &encoding) &&
	       (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char) &&
	       attr_number(&plain, DW_AT_byte_size, &size) && size == 1;
}

/* Prints at most max characters, up to the first NUL. */
static void put_string(struct value_text *t, const struct dwarf_location *location, uint64_t off,
		       uint64_t max)
{
	bool ended = false;
	unsigned int nr = 0;
	unsigned char c;

	while (nr < max) {
		enum dwarf_status status = dwarf_location_read(t->c, location, off + nr, &c, 1);

		if (status != DWARF_KNOWN && !nr) {
			put_status(t, status);
			return;
		}
		ended = status == DWARF_KNOWN && !c;
		if (status != DWARF_KNOWN || ended || nr == MAX_CHARS)
			break;
		value_printf(t, "%s", nr++ ? "" : "\"");
		put_char(t, c, '"');
	}
	value_printf(t, nr ? "\"" : "\"\"");
	if (!ended && nr < max)
		value_printf(t, "...");
}

/* ---- pointers ---- */

static void put_object(struct value_text *t, Dwarf_Die *type, const struct object *o);

static void put_pointer(struct value_text *t, Dwarf_Die *type, const struct object *o, int tag)
{
	struct dwarf_location target_location;
	struct object object = {.location = &target_location};
	Dwarf_Die target, plain;
	enum dwarf_status status;
	const char *symbol = NULL;
	uint64_t addr;
	bool typed = type_of(type, &target);

	status = read_number(t, o, 8, &addr);
	if (status != DWARF_KNOWN) {
		put_status(t, status);
		return;
	}
	dwarf_location_memory(&target_location, addr);
	value_printf(t, "%s0x%" PRIx64, tag == DW_TAG_pointer_type ? "" : "@", addr);
	if (tag != DW_TAG_pointer_type) {
		if (!typed || t->depth)
			return; /* for a reference within a structure only the address, as gdb */
		value_printf(t, ": ");
		put_object(t, &target, &object);
	} else if (typed && addr && is_char(&target)) {
		value_printf(t, " ");
		put_string(t, &target_location, 0, UINT64_MAX);
	} else if (typed && strip_aliases(&target, &plain) == DW_TAG_subroutine_type) {
		symbol = t->c->memory->function ? t->c->memory->function(t->c->memory->ctx, addr) :
						  NULL;
		if (symbol)
			value_printf(t, " <%s>", symbol);
	}
}

/* ---- structures and arrays ---- */

/* Finds a member in the outer object. False: its location is an unsupported expression. */
static bool member_object(Dwarf_Die *member, const struct object *outer, struct object *o)
{
	uint64_t off = 0, bits, bit;
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t nr;

	*o = *outer;
	if (dwarf_attr(member, DW_AT_data_member_location, &attr) &&
	    !attr_number(member, DW_AT_data_member_location, &off)) {
		if (dwarf_getlocation(&attr, &ops, &nr) || nr != 1 ||
		    ops[0].atom != DW_OP_plus_uconst)
			return false;
		off = ops[0].number;
	}
	o->off += off;
	if (!attr_number(member, DW_AT_bit_size, &bits))
		return true;
	if (!bits || bits > 64)
		return false;
	o->nr_bits = (unsigned int)bits;
	if (attr_number(member, DW_AT_data_bit_offset, &bit)) {
		o->off += bit / 8;
		o->bit = bit % 8;
		return true;
	}
	/* before DWARF 4: counted from the most significant bit of a storage unit */
	if (!attr_number(member, DW_AT_bit_offset, &bit) ||
	    !attr_number(member, DW_AT_byte_size, &off) || off > 8 || bit + bits > 8 * off)
		return false;
	bit = 8 * off - bit - bits;
	o->off += bit / 8;
	o->bit = bit % 8;
	return true;
}

static bool is_static(Dwarf_Die *member)
{
	return dwarf_hasattr(member, DW_AT_external) || dwarf_hasattr(member, DW_AT_declaration);
}

/* Prints a base class without template arguments, which would fill the line. */
static void put_class(struct value_text *t, const char *name)
{
	const char *template = name ? strchr(name, '<') : NULL;

	if (template)
		value_printf(t, "<%.*s<...>> = ", (int)(template - name), name);
	else
		value_printf(t, "<%s> = ", name ? name : "?");
}

static void put_member(struct value_text *t, Dwarf_Die *member, const struct object *outer)
{
	bool base = dwarf_tag(member) == DW_TAG_inheritance;
	const char *name = dwarf_diename(member);
	struct object o;
	Dwarf_Die type;

	if (!type_of(member, &type)) {
		value_printf(t, "%s = ", name ? name : "?");
		put_status(t, DWARF_UNKNOWN);
		return;
	}
	if (base)
		put_class(t, dwarf_diename(&type));
	else if (name)
		value_printf(t, "%s = ", name);
	if (member_object(member, outer, &o))
		put_object(t, &type, &o);
	else
		put_status(t, DWARF_UNKNOWN);
}

static void put_struct(struct value_text *t, Dwarf_Die *type, const struct object *o)
{
	unsigned int nr = 0, nr_children = 0;
	Dwarf_Die die;

	if (dwarf_hasattr(type, DW_AT_declaration)) {
		value_printf(t, "<incomplete type>");
		return;
	}
	value_printf(t, "{");
	if (!dwarf_child(type, &die)) {
		do {
			int tag = dwarf_tag(&die);

			if (tag == DW_TAG_variant_part) {
				value_printf(t, "%s...", nr++ ? ", " : "");
				break;
			}
			if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
			    (tag == DW_TAG_member && is_static(&die)))
				continue;
			value_printf(t, "%s", nr ? ", " : "");
			if (nr++ == MAX_MEMBERS) {
				value_printf(t, "...");
				break;
			}
			put_member(t, &die, o);
		} while (!t->full && ++nr_children < MAX_CHILDREN && !dwarf_siblingof(&die, &die));
	}
	value_printf(t, nr ? "}" : "<No data fields>}");
}

/* How many elements are compared for a run. */
static uint64_t max_run(const struct value_text *t)
{
	return t->depth > 1 ? MAX_RUN / 64 : MAX_RUN;
}

/* The number of elements, including the first one, that are equal to the first one. */
static uint64_t nr_equal(const struct value_text *t, const struct object *o, uint64_t size,
			 uint64_t max)
{
	uint8_t first[MAX_ELEMENT], next[MAX_ELEMENT];
	uint64_t nr = 1;

	if (!size || size > sizeof(first) ||
	    dwarf_location_read(t->c, o->location, o->off, first, size) != DWARF_KNOWN)
		return 1;
	while (nr < max && nr < max_run(t) &&
	       dwarf_location_read(t->c, o->location, o->off + nr * size, next, size) ==
		       DWARF_KNOWN &&
	       !memcmp(first, next, size))
		nr++;
	return nr;
}

static void put_elements(struct value_text *t, Dwarf_Die *type, const struct object *o,
			 const uint64_t *counts, unsigned int nr_counts)
{
	uint64_t size = size_of(t->c, type), i = 0;
	unsigned int shown = 0;

	if (nr_counts == 1 && is_char(type)) {
		put_string(t, o->location, o->off, counts[0]);
		return;
	}
	for (unsigned int d = 1; d < nr_counts; d++)
		if (__builtin_mul_overflow(size, counts[d], &size))
			size = 0;
	if (!size) {
		put_status(t, DWARF_UNKNOWN);
		return;
	}
	value_printf(t, "{");
	while (i < counts[0] && !t->full) {
		struct object element = {.location = o->location, .off = o->off + i * size};
		uint64_t equal;

		value_printf(t, "%s", i ? ", " : "");
		if (shown++ == MAX_ELEMENTS) {
			value_printf(t, "...");
			break;
		}
		equal = nr_equal(t, &element, size, counts[0] - i);
		if (nr_counts > 1)
			put_elements(t, type, &element, counts + 1, nr_counts - 1);
		else
			put_object(t, type, &element);
		if (equal == max_run(t) && i + equal < counts[0]) {
			value_printf(t, " <repeats at least %" PRIu64 " times>, ...", equal);
			break;
		}
		if (equal < MIN_REPEATS)
			equal = 1;
		else
			value_printf(t, " <repeats %" PRIu64 " times>", equal);
		i += equal;
	}
	value_printf(t, "}");
}

static void put_array(struct value_text *t, Dwarf_Die *type, const struct object *o)
{
	uint64_t counts[MAX_DIMENSIONS];
	unsigned int nr = array_dimensions(t->c, type, counts);
	Dwarf_Die element;

	if (!nr || !type_of(type, &element) || dwarf_hasattr(type, DW_AT_GNU_vector))
		put_status(t, DWARF_UNKNOWN);
	else
		put_elements(t, &element, o, counts, nr);
}

/* Whether the snapshot contains no part of an object in memory. */
static bool is_missing(const struct value_text *t, Dwarf_Die *type, const struct object *o)
{
	uint64_t addr, size, word;

	if (!dwarf_location_address(o->location, &addr))
		return false;
	size = size_of(t->c, type);
	for (uint64_t at = 0; at < size; at += sizeof(word)) {
		uint64_t part = size - at < sizeof(word) ? size - at : sizeof(word);

		if (at > MAX_ELEMENTS * MAX_RUN ||
		    dwarf_location_read(t->c, o->location, o->off + at, &word, part) == DWARF_KNOWN)
			return false;
	}
	return size != 0;
}

static void put_object(struct value_text *t, Dwarf_Die *type, const struct object *o)
{
	Dwarf_Die plain;
	int tag = strip_aliases(type, &plain);
	bool nested = tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
		      tag == DW_TAG_union_type || tag == DW_TAG_array_type;

	if (t->full)
		return;
	if (t->levels == MAX_LEVELS || (nested && t->depth == MAX_DEPTH)) {
		value_printf(t, "{...}");
		return;
	}
	if (nested && is_missing(t, &plain, o)) {
		put_status(t, DWARF_NOT_IN_SNAPSHOT);
		return;
	}
	t->levels++;
	t->depth += nested;
	switch (tag) {
	case DW_TAG_base_type:
		put_base(t, &plain, o);
		break;
	case DW_TAG_enumeration_type:
		put_enum(t, &plain, o);
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		put_pointer(t, &plain, o, tag);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		put_struct(t, &plain, o);
		break;
	case DW_TAG_array_type:
		put_array(t, &plain, o);
		break;
	default:
		put_status(t, DWARF_UNKNOWN);
		break;
	}
	t->depth -= nested;
	t->levels--;
}

enum dwarf_status dwarf_value_text(const struct dwarf_context *c, Dwarf_Die *variable,
				   const struct dwarf_location *location, char *text, size_t size)
{
	struct value_text t = {.c = c, .buf = text, .size = size};
	struct object o = {.location = location};
	enum dwarf_status status = DWARF_KNOWN;
	uint8_t byte;
	Dwarf_Die type;

	text[0] = '\0';
	if (location->nr == 1 && (location->pieces[0].where == DWARF_NOWHERE ||
				  location->pieces[0].where == DWARF_IN_REGISTER))
		status = dwarf_location_read(c, location, 0, &byte, 1);
	if (status != DWARF_KNOWN) {
		put_status(&t, status);
		return status;
	}
	if (!type_of(variable, &type)) {
		put_status(&t, DWARF_UNKNOWN);
		return DWARF_UNKNOWN;
	}
	put_object(&t, &type, &o);
	return DWARF_KNOWN;
}
