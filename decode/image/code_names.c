// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names of generated code, from the text of a /tmp/perf-PID.map: lines of start, size (both
 * hexadecimal) and name. A compiler uses memory again: a later line takes the place of those that
 * it overlaps.
 */
#include "image_private.h"
#include "util/vector.h"

#include <stdlib.h>
#include <string.h>

struct name_line {
	uint64_t start, end;
	size_t nr; /* of the line: a later one is newer */
	const char *name;
	size_t length;
};

struct name_list {
	struct name_line *at;
	size_t nr, max;
};

/* A number and the blank after it; false: *at is something else. */
static bool take_number(const char **at, uint64_t *number)
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

	if (!take_number(&at, &line->start) || at >= end || !take_number(&at, &size) || at >= end)
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

/* Of lines that overlap the newest stays. */
static void only_newest(struct name_list *list)
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

static int read_lines(struct name_list *list, const char *text)
{
	const char *end;

	for (size_t nr = 0; (end = strchr(text, '\n')); text = end + 1, nr++) {
		struct name_line line = {.nr = nr};

		if (!parse_line(text, end, &line))
			continue;
		if (vector_grow(list->at, list->nr, list->max))
			return -1;
		list->at[list->nr++] = line;
	}
	only_newest(list);
	return 0;
}

int code_names_read(struct auxtap_image *image, const char *text)
{
	struct name_list list = {0};
	int ret = read_lines(&list, text);

	/* they are addresses, as those of the image's code */
	image->symbols = !ret && list.nr ? calloc(list.nr, sizeof(*image->symbols)) : NULL;
	for (size_t i = 0; image->symbols && i < list.nr; i++) {
		const struct name_line *line = &list.at[i];
		char *name = strndup(line->name, line->length);

		if (!name || vector_grow(image->owned_names, image->nr_owned_names,
					 image->max_owned_names)) {
			free(name);
			ret = -1;
			break;
		}
		image->owned_names[image->nr_owned_names++] = name;
		image->symbols[image->nr_symbols++] =
			(struct image_symbol){line->start, line->end, name, name, 0};
	}
	if (list.nr && !image->symbols)
		ret = -1;
	free(list.at);
	return ret;
}
