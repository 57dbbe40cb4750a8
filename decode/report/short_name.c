// SPDX-License-Identifier: BSD-2-Clause
/*
 * Shortens long names of C++ and Rust: the innermost brackets are abbreviated first. Two functions
 * of one report never have the same short name.
 */
#include "report_out.h"
#include "util/hash_map.h"
#include "util/vector.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 4096 /* names that are remembered; few reports have more long ones */
#define MAX_DEPTH 64

struct short_name {
	char *full, *text;
};

struct report_names {
	struct short_name *names;
	size_t nr, max;
	struct hash_map by_full, by_text;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The length of "operator<<" and the like at s, whose "<" is not a bracket; 0: it is not there. */
static size_t operator_length(const char *name, const char *s)
{
	static const char *const signs[] = {"<=>", "<<=", ">>=", "->*", "()", "<<",
					    ">>",  "<=",  ">=",	 "->",	"<",  ">"};

	if ((s > name && is_word(s[-1])) || strncmp(s, "operator", 8) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (!strncmp(s + 8, signs[i], strlen(signs[i])))
			return 8 + strlen(signs[i]);
	return 0;
}

/* The length of "(anonymous namespace)", or of an operator, at s: its brackets are not a list. */
static size_t part_length(const char *name, const char *s)
{
	static const char anonymous[] = "(anonymous namespace)";

	if (!strncmp(s, anonymous, sizeof(anonymous) - 1))
		return sizeof(anonymous) - 1;
	return operator_length(name, s);
}

/* The position after the bracket that closes the one at s; NULL: none does. */
static const char *after_list(const char *name, const char *s)
{
	char open[MAX_DEPTH];
	size_t depth = 0;

	for (size_t part; *s; s += part) {
		part = part_length(name, s);
		if (part)
			continue;
		part = 1;
		if (*s == '<' || *s == '(' || *s == '{' || *s == '[') {
			if (depth == MAX_DEPTH)
				return NULL;
			open[depth++] = *s;
		} else if (*s == '>' && s > name && s[-1] == '-') {
			continue; /* the ">" of an arrow "->" */
		} else if (*s == '>' || *s == ')' || *s == '}' || *s == ']') {
			if (!depth || open[--depth] != (*s == '>' ? '<' :
							*s == ')' ? '(' :
							*s == '}' ? '{' :
								    '['))
				return NULL;
			if (!depth)
				return s + 1;
		}
	}
	return NULL;
}

/*
 * Writes the name with "..." for all lists of template arguments that are nested deeper than
 * 'templates' brackets, and for all lists of parameters deeper than 'parameters'. False: its
 * brackets are not balanced, or it does not fit.
 */
static bool abbreviate(const char *name, unsigned int templates, unsigned int parameters, char *out,
		       size_t size)
{
	unsigned int depth = 0;
	size_t len = 0, part;

	for (const char *s = name; *s; s += part) {
		const char *end = NULL;

		part = part_length(name, s);
		if (!part &&
		    ((*s == '<' && depth >= templates) || (*s == '(' && depth >= parameters))) {
			end = after_list(name, s);
			if (!end)
				return false;
		}
		if (end && end - s > 5) {
			part = (size_t)(end - s);
			if (len + 5 >= size)
				return false;
			memcpy(out + len, *s == '<' ? "<...>" : "(...)", 5);
			len += 5;
			continue;
		}
		if (!part) {
			part = 1;
			depth += *s == '<' || *s == '(';
			depth -= depth && ((*s == '>' && (s == name || s[-1] != '-')) || *s == ')');
		}
		if (len + part >= size)
			return false;
		memcpy(out + len, s, part);
		len += part;
	}
	out[len] = '\0';
	return true;
}

/* Does another function have that short name? */
static bool is_taken(const struct report_names *names, const char *text)
{
	uint64_t hash = hash_text(text);
	size_t step = 0, i;

	while (names->names && (i = hash_map_next(&names->by_text, hash, &step)) != HASH_MAP_NONE)
		if (!strcmp(names->names[i].text, text))
			return true;
	return false;
}

static const char *known(const struct report_names *names, const char *full)
{
	uint64_t hash = hash_text(full);
	size_t step = 0, i;

	while (names->names && (i = hash_map_next(&names->by_full, hash, &step)) != HASH_MAP_NONE)
		if (!strcmp(names->names[i].full, full))
			return names->names[i].text;
	return NULL;
}

static bool keep(struct report_names *names, const char *full, const char *text)
{
	struct short_name name = {strdup(full), strdup(text)};

	if (name.full && name.text && names->nr < MAX_NAMES &&
	    !vector_grow(names->names, names->nr, names->max) &&
	    !hash_map_add(&names->by_full, hash_text(full), names->nr)) {
		/* if it cannot be remembered, it might be used twice: do not use it */
		if (!hash_map_add(&names->by_text, hash_text(text), names->nr)) {
			names->names[names->nr++] = name;
			return true;
		}
		names->names[names->nr++] = name;
		return false;
	}
	free(name.full);
	free(name.text);
	return false;
}

/* Finds the least abbreviated form that fits and that no other function has. */
static bool find_form(const struct report_names *names, const char *full, char *out, size_t size)
{
	/* template arguments and parameters nested deeper than this are abbreviated */
	static const unsigned char forms[][2] = {{2, 2}, {1, 2}, {1, 1}, {0, 1}, {1, 0}, {0, 0}};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (abbreviate(full, forms[i][0], forms[i][1], out, size) && !is_taken(names, out))
			return true;
	return false;
}

/* Moves 'at' so that it does not split a UTF-8 character. */
static size_t between_characters(const char *text, size_t at)
{
	while (at && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

/* Keeps start and end of the name; with a number, if another function has the result. */
static void cut(const struct report_names *names, const char *full, char *out, size_t size)
{
	const size_t len = strlen(full), tail = size / 3;
	char text[2 * REPORT_NAME_WIDTH];
	unsigned int number = 1;

	if (!abbreviate(full, 0, 0, text, sizeof(text)) || strlen(text) >= size) {
		if (len < size)
			snprintf(text, sizeof(text), "%s", full);
		else
			snprintf(text, sizeof(text), "%.*s...%s",
				 (int)between_characters(full, size - tail - 16), full,
				 full + between_characters(full, len - tail));
	}
	memcpy(out, text, strlen(text) + 1); /* each of the three is shorter than size */
	while (is_taken(names, out))
		snprintf(out, size, "%.*s [%u]", (int)between_characters(text, size - 14), text,
			 ++number);
}

struct report_names *report_names_new(void)
{
	return calloc(1, sizeof(struct report_names));
}

void report_names_free(struct report_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->nr; i++) {
		free(names->names[i].full);
		free(names->names[i].text);
	}
	hash_map_free(&names->by_full);
	hash_map_free(&names->by_text);
	free(names->names);
	free(names);
}

static bool shorten(struct report_names *names, const char *full, char *out, size_t size)
{
	const char *before = known(names, full);
	char text[REPORT_NAME_MAX + 1];

	if (before) {
		snprintf(out, size, "%s", before);
		return true;
	}
	/* a name that already is short stays, if no other function has it */
	if (strlen(full) <= REPORT_NAME_WIDTH && !is_taken(names, full))
		snprintf(text, sizeof(text), "%s", full);
	else if (!find_form(names, full, text, REPORT_NAME_WIDTH + 1) &&
		 (!abbreviate(full, 0, 0, text, sizeof(text)) || is_taken(names, text)))
		cut(names, full, text, REPORT_NAME_WIDTH + 1);
	if (!keep(names, full, text))
		return false;
	snprintf(out, size, "%s", text);
	return true;
}

bool report_short_name(struct report_names *names, const char *full, char *out, size_t size)
{
	static const char stub[] = "@plt";
	const size_t len = strlen(full), suffix = sizeof(stub) - 1;
	char *plain;
	bool done;

	if (!names || (len <= REPORT_NAME_WIDTH && !strstr(full, "...") && !strchr(full, '[')))
		return false;
	/* a PLT stub has the name of its function */
	if (len <= suffix || strcmp(full + len - suffix, stub) != 0)
		return shorten(names, full, out, size);
	plain = strndup(full, len - suffix);
	done = plain && report_short_name(names, plain, out, size - suffix);
	free(plain);
	if (done)
		memcpy(out + strlen(out), stub, sizeof(stub));
	return done;
}
