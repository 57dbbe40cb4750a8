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
