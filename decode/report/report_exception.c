// SPDX-License-Identifier: BSD-2-Clause
/* The C++ exception that the dying thread handled (see capture/exception.c). */
#include "decode/image/image_private.h"
#include "util/json_out.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

struct exception {
	char *type;	  /* demangled; NULL: none is known. The caller frees it */
	const char *what; /* NULL: not known */
};

#define PREFIX "typeinfo for "

static char *type_name(const char *mangled, size_t len)
{
	char *symbol = malloc(len + sizeof("_ZTI")), *name = NULL;

	if (symbol) {
		snprintf(symbol, len + sizeof("_ZTI"), "_ZTI%.*s", (int)len, mangled);
		name = image_demangle(symbol);
		free(symbol);
	}
	if (name && strncmp(name, PREFIX, strlen(PREFIX)) != 0) {
		free(name);
		return NULL;
	}
	if (name)
		memmove(name, name + strlen(PREFIX), strlen(name) - strlen(PREFIX) + 1);
	return name;
}

static struct exception exception_of(const struct report_facts *facts)
{
	struct exception e = {NULL, NULL};
	size_t len;

	if (!facts->exception)
		return e;
	len = strcspn(facts->exception, "\n");
	if (facts->exception[len])
		e.what = facts->exception + len + 1;
	e.type = type_name(facts->exception, len);
	return e;
}

void report_exception_print(const struct report_out *ro, const struct report_facts *facts,
			    bool uncaught)
{
	struct exception e = exception_of(facts);

	if (e.type) {
		fprintf(ro->out, "  %s: %s",
			uncaught ? "Its exception" : "The exception being handled",
			report_text(ro, e.type));
		if (e.what)
			fprintf(ro->out, "; what(): %s", report_text(ro, e.what));
		fputc('\n', ro->out);
	}
	free(e.type);
}

void report_exception_json(struct json_out *j, const struct report_facts *facts, bool uncaught)
{
	struct exception e = exception_of(facts);

	if (e.type) {
		json_out_open(j, "exception", '{');
		json_out_text(j, "type", e.type);
		json_out_text(j, "what", e.what);
		json_out_bool(j, "uncaught", uncaught);
		json_out_close(j, '}');
	} else {
		json_out_null(j, "exception");
	}
	free(e.type);
}
