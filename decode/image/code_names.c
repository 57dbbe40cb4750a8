// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names and source lines of generated code, from the text of a /tmp/perf-PID.map (lines of start,
 * size, both hexadecimal, and name) and from the records of a jitdump. JIT compilers reuse memory:
 * a later entry replaces those that it overlaps. The jitdump is read last, since it has source
 * lines.
 */
#include "image_private.h"
#include "perfdata/jitdump.h"
#include "util/utf8.h"
#include "util/vector.h"

#include <stdlib.h>
#include <string.h>

/* A jitdump has fewer lines, but each JIT_CODE_MOVE repeats those of the moved code. */
#define LINES_MAX (1u << 23)

struct name_line {
	uint64_t start, end;
	size_t nr; /* a later one is newer */
	const char *name;
	size_t length;
	struct jitdump_record debug; /* nr_lines 0: no source lines */
	uint64_t moved;		     /* distance from the addresses in 'debug' */
};

struct name_list {
	struct name_line *at;
	size_t nr, max;
};

struct code_line {
	uint64_t start, end;
	const char *file;
	unsigned int line;
	uint32_t nr; /* of several at one address the last one is valid */
};

/* Parses a hexadecimal number and the blank after it. False: there is something else at *at. */
static bool parse_hex(const char **at, uint64_t *number)
{
	char *end;

	if (**at == ' ' || **at == '\t' || **at == '-' || **at == '+')
		return false;
	*number = strtoull(*at, &end, 16);
	if (end == *at || *end != ' ')
		return false;
	*at = end + 1;
	return true;
}

static bool parse_line(const char *at, const char *end, struct name_line *line)
{
	uint64_t size;

	if (!parse_hex(&at, &line->start) || at >= end || !parse_hex(&at, &size) || at >= end)
		return false;
	line->end = line->start + size;
	line->name = at;
	line->length = (size_t)(end - at);
	return size && line->end > line->start && line->length < 4096;
}

static int by_start(const void *a, const void *b)
{
	const struct name_line *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

/* Of overlapping entries the newest one is kept. */
static void keep_newest(struct name_list *list)
{
	size_t nr = 0;

	if (list->nr)
		qsort(list->at, list->nr, sizeof(*list->at), by_start);
	for (size_t i = 0; i < list->nr; i++) {
		const struct name_line line = list->at[i];

		while (nr && list->at[nr - 1].end > line.start && list->at[nr - 1].nr < line.nr)
			nr--;
		if (!nr || list->at[nr - 1].end <= line.start)
			list->at[nr++] = line;
	}
	list->nr = nr;
}

static int add_name(struct name_list *list, const struct name_line *line)
{
	if (vector_grow(list->at, list->nr, list->max))
		return -1;
	list->at[list->nr] = *line;
	list->at[list->nr].nr = list->nr;
	list->nr++;
	return 0;
}

static int read_lines(struct name_list *list, const char *text)
{
	const char *end;

	for (; (end = strchr(text, '\n')); text = end + 1) {
		struct name_line line = {0};

		if (parse_line(text, end, &line) && add_name(list, &line))
			return -1;
	}
	return 0;
}

/* ---- jitdump ---- */

/* Index in the list of the newest entry of each code of a jitdump, by its code_index there. */
struct code_map {
	struct hash_map map;
	size_t *at;
	size_t nr, max;
};

static size_t *find_code(struct code_map *codes, uint64_t code_index)
{
	size_t slot = hash_map_find(&codes->map, hash_number(code_index));

	return slot == HASH_MAP_NONE ? NULL : &codes->at[slot];
}

static int add_code(struct name_list *list, struct code_map *codes, uint64_t code_index,
		    const struct name_line *line)
{
	size_t *at = find_code(codes, code_index);

	if (!at) {
		if (vector_grow(codes->at, codes->nr, codes->max) ||
		    hash_map_add(&codes->map, hash_number(code_index), codes->nr))
			return -1;
		at = &codes->at[codes->nr++];
	}
	*at = list->nr;
	return add_name(list, line);
}

/*
 * V8 (node) writes line addresses that are 64 bytes too high, to match a bug in old versions of
 * perf, and some of its versions write file names that they have freed: its lines are not used.
 */
static bool is_v8_code(const struct name_line *name)
{
	static const char *const tags[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};

	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (!strncmp(name->name, tags[i], strlen(tags[i])))
			return true;
	return false;
}

static bool is_text(const char *text)
{
	for (unsigned int n; *text; text += n) {
		n = utf8_printable(text, strnlen(text, 4));
		if (!n)
			return false;
	}
	return true;
}

/* Whether all lines have a valid file name and an address in the code; else none is used. */
static bool has_valid_lines(const struct name_line *name)
{
	struct jitdump_record debug = name->debug;
	struct jitdump_line line = {0};
	const char *checked_file = NULL;

	while (debug.nr_lines && jitdump_line(&debug, &line)) {
		if (line.addr < name->start || line.addr > name->end || !line.file ||
		    (line.file != checked_file && !is_text(line.file)))
			return false;
		checked_file = line.file;
	}
	return !debug.nr_lines && !is_v8_code(name);
}

/* debug: the record before; its lines belong to this code if it has the same address. */
static int add_load(struct name_list *list, struct code_map *codes,
		    const struct jitdump_record *load, const struct jitdump_record *debug)
{
	struct name_line line = {
		.start = load->addr,
		.end = load->addr + load->size,
		.name = load->name,
		.length = strlen(load->name),
	};

	if (line.end <= line.start)
		return 0;
	if (debug->nr_lines && debug->addr == load->addr)
		line.debug = *debug;
	if (!has_valid_lines(&line))
		line.debug.nr_lines = 0;
	return add_code(list, codes, load->number, &line);
}

static int add_move(struct name_list *list, struct code_map *codes,
		    const struct jitdump_record *move)
{
	const size_t *at = find_code(codes, move->number);
	struct name_line line;

	if (!at || move->addr + move->size <= move->addr)
		return 0;
	line = list->at[*at];
	line.moved += move->addr - line.start;
	line.start = move->addr;
	line.end = move->addr + move->size;
	return add_code(list, codes, move->number, &line);
}

static int read_dump(struct name_list *list, const uint8_t *dump, size_t size)
{
	struct jitdump_record record, debug = {0};
	struct code_map codes = {0};
	size_t at = 0;
	int ret = 0;

	while (!ret && jitdump_next(dump, size, &at, &record)) {
		if (record.id == JITDUMP_DEBUG) {
			debug = record;
			continue;
		}
		if (record.id == JITDUMP_LOAD) {
			ret = add_load(list, &codes, &record, &debug);
			debug.nr_lines = 0;
		} else {
			ret = add_move(list, &codes, &record);
		}
	}
	hash_map_free(&codes.map);
	free(codes.at);
	return ret;
}

static int by_address(const void *a, const void *b)
{
	const struct code_line *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

/*
 * Adds the lines of one function. Each one covers the addresses up to the next line, the last one
 * up to the function's end. *left: how many more lines may be read.
 */
static int add_lines(struct auxtap_image *image, const struct name_line *name, uint32_t *left)
{
	struct jitdump_record debug = name->debug;
	struct jitdump_line line = {0};
	size_t first = image->nr_code_lines, nr = first;
	struct code_line *at;

	for (uint32_t i = 0; *left && jitdump_line(&debug, &line); i++, --*left) {
		uint64_t addr = line.addr + name->moved;

		if (addr < name->start || addr >= name->end)
			continue;
		if (vector_grow(image->code_lines, image->nr_code_lines, image->max_code_lines))
			return -1;
		image->code_lines[image->nr_code_lines++] =
			(struct code_line){addr, name->end, line.file, line.line, i};
	}
	if (first == image->nr_code_lines)
		return 0;
	at = image->code_lines;
	qsort(at + first, image->nr_code_lines - first, sizeof(*at), by_address);
	for (size_t i = first; i < image->nr_code_lines; i++) {
		if (i + 1 < image->nr_code_lines)
			at[i].end = at[i + 1].start;
		if (at[i].end > at[i].start) /* else the next line has the same address */
			at[nr++] = at[i];
	}
	image->nr_code_lines = nr;
	return 0;
}

bool code_names_line(const struct auxtap_image *image, uint64_t addr, struct auxtap_frame *frame)
{
	size_t lo = 0, hi = image->nr_code_lines;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (image->code_lines[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo == image->nr_code_lines || image->code_lines[lo].start > addr ||
	    !image->code_lines[lo].line || !image->code_lines[lo].file)
		return false;
	memset(frame, 0, sizeof(*frame));
	frame->file = image->code_lines[lo].file;
	frame->line = image->code_lines[lo].line;
	return true;
}

/* ---- both ---- */

/* Makes the image the owner of the text. */
static int image_own_text(struct auxtap_image *image, char *text)
{
	if (!text || vector_grow(image->owned_names, image->nr_owned_names, image->max_owned_names))
		return -1;
	image->owned_names[image->nr_owned_names++] = text;
	return 0;
}

static int add_symbols(struct auxtap_image *image, const struct name_list *list)
{
	uint32_t left = LINES_MAX;

	/* these symbols have run-time addresses: see is_generated_code */
	image->symbols = list->nr ? calloc(list->nr, sizeof(*image->symbols)) : NULL;
	if (list->nr && !image->symbols)
		return -1;
	for (size_t i = 0; i < list->nr; i++) {
		const struct name_line *line = &list->at[i];
		char *name;

		if (line->debug.nr_lines && add_lines(image, line, &left))
			return -1;
		if (!line->length)
			continue;
		name = strndup(line->name, line->length);
		if (image_own_text(image, name)) {
			free(name);
			return -1;
		}
		image->symbols[image->nr_symbols++] = (struct image_symbol){.start = line->start,
									    .end = line->end,
									    .name = name,
									    .demangled = name};
	}
	return 0;
}

int code_names_read(struct auxtap_image *image, const char *text, uint8_t *dump, size_t dump_size)
{
	struct name_list list = {0};
	int ret = 0;

	if (dump && image_own_text(image, (char *)dump)) { /* file names point into it */
		free(dump);
		return -1;
	}
	if (text)
		ret = read_lines(&list, text);
	if (!ret && dump)
		ret = read_dump(&list, dump, dump_size);
	if (!ret) {
		keep_newest(&list);
		ret = add_symbols(image, &list);
	}
	free(list.at);
	return ret;
}
