// SPDX-License-Identifier: BSD-2-Clause
/*
 * Demangles C++ and Rust names. Symbols are untrusted: one may expand without limit. Of libiberty
 * only the functions with a callback are used: the others end the process when out of memory.
 */
#include "image_private.h"
#include "util/vector.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* without DMGL_NO_RECURSE_LIMIT the recursion is bounded */
#define OPTIONS	      (DMGL_PARAMS | DMGL_ANSI)
#define MANGLED_MAX   (64u << 10)
#define DEMANGLED_MAX (256u << 10)

struct output {
	char *text;
	size_t len, space;
	jmp_buf enough;
};

static void append(const char *part, size_t len, void *opaque)
{
	struct output *out = opaque;

	/*
	 * longjmp() is the only way to stop the demangler. It holds no memory here, except for a
	 * Rust identifier in punycode, whose few bytes then leak.
	 */
	if (len > DEMANGLED_MAX - out->len)
		longjmp(out->enough, 1);
	if (vector_grow_by(out->text, out->len, len + 1, out->space))
		longjmp(out->enough, 1);
	memcpy(out->text + out->len, part, len);
	out->len += len;
	out->text[out->len] = '\0';
}

static bool demangle(struct output *out, const char *name)
{
	if (setjmp(out->enough))
		return false;
	/* Rust first: its legacy mangling looks like C++ with a hash at the end. */
	if (rust_demangle_callback(name, OPTIONS, append, out) && out->len)
		return true;
	out->len = 0;
	return cplus_demangle_v3_callback(name, OPTIONS, append, out) && out->len;
}

/* Is it a constructor or destructor of a lambda ("UlvE_D1Ev") or unnamed class ("Ut_D1Ev")? */
static bool is_of_unnamed_class(const char *mangled)
{
	for (const char *at = strchr(mangled, '_'); at; at = strchr(at + 1, '_')) {
		const char *before = at;

		if ((at[1] != 'C' && at[1] != 'D') || at[2] < '0' || at[2] > '5')
			continue;
		while (before > mangled && before[-1] >= '0' && before[-1] <= '9')
			before--;
		if (before - mangled >= 2 &&
		    (before[-1] == 'E' || (before[-2] == 'U' && before[-1] == 't')))
			return true;
	}
	return false;
}

/*
 * libiberty gives such a constructor or destructor another class's name: here it becomes
 * "f()::{lambda()#1}::~{lambda()#1}()". False: no memory.
 */
static bool name_unnamed_class(struct output *out)
{
	char *end = out->text, *at, *open, *from, *to;
	size_t nr_class, nr_rest, depth = 0;

	for (at = strstr(end, "}::"); at; at = strstr(at + 1, "}::"))
		end = at;
	if (end == out->text)
		return true;
	for (open = end; open > out->text && (*open != '{' || depth); open--)
		depth += open < end && *open == '}' ? 1 : open < end && *open == '{' ? -1 : 0;
	from = end + 3;
	from += *from == '~';
	to = from + strcspn(from, "(<");
	if (*open != '{' || !*to || to == from || (size_t)(to - from) != strcspn(from, " :(<"))
		return true;
	nr_class = (size_t)(end + 1 - open);
	nr_rest = strlen(to) + 1;
	if (nr_class > (size_t)(to - from)) {
		const size_t open_at = (size_t)(open - out->text);
		const size_t from_at = (size_t)(from - out->text), to_at = (size_t)(to - out->text);

		if (vector_grow_by(out->text, out->len, nr_class + 1, out->space))
			return false;
		open = out->text + open_at;
		from = out->text + from_at;
		to = out->text + to_at;
	}
	out->len += nr_class - (size_t)(to - from);
	memmove(from + nr_class, to, nr_rest);
	memcpy(from, open, nr_class);
	return true;
}

char *image_demangle(const char *name)
{
	const char *suffix = strchr(name, '@');
	struct output out = {0};
	char *plain = NULL;
	bool done;

	if (name[0] != '_' || strlen(name) > MANGLED_MAX)
		return NULL;
	/* foo@plt: symbols.c or the linker added the suffix */
	if (suffix) {
		plain = strndup(name, (size_t)(suffix - name));
		if (!plain)
			return NULL;
	}
	done = demangle(&out, plain ? plain : name);
	if (done && is_of_unnamed_class(name))
		done = name_unnamed_class(&out);
	free(plain);
	if (done && suffix) {
		size_t len = strlen(suffix) + 1;

		done = !vector_grow_by(out.text, out.len, len, out.space);
		if (done)
			memcpy(out.text + out.len, suffix, len);
	}
	if (done)
		return out.text;
	free(out.text);
	return NULL;
}
