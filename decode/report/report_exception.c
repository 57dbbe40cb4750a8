// SPDX-License-Identifier: BSD-2-Clause
/* The C++ exception that the dying thread handled (see capture/exception.c). */
#include "decode/image/image_private.h"
#include "util/json_out.h"
#include "report_abort.h"
#include "report_json.h"

#include <stdlib.h>
#include <string.h>

struct exception {
	char *type;	  /* demangled, the caller frees it; NULL: unknown */
	const char *what; /* NULL: unknown */
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

/* Finds who threw it; nr is 0 if that is unknown. */
static void find_thrown(const struct report_out *ro, const struct report_facts *facts,
			uint32_t arch, struct report_callers *callers)
{
	callers->nr = 0;
	for (size_t i = 0; i < facts->nr_block_calls; i++) {
		const struct auxtap_block_call *call = &facts->block_calls[i];
		const struct auxtap_crash_block object = {.addr = call->addr};

		if (call->action == AUXTAP_BLOCK_IS_THROWN)
			report_block_callers(ro, facts, arch, &object, AUXTAP_BLOCK_IS_THROWN,
					     call->return_addr, callers);
	}
}

static void print_thrown(const struct report_out *ro, const struct report_callers *callers)
{
	for (int i = 0; i < callers->nr; i++) {
		fputs(i ? ", from " : "  It was thrown by ", ro->out);
		report_print_caller(ro, callers->at[i]);
	}
	if (callers->nr)
		fputc('\n', ro->out);
}

void report_exception_print(const struct report_out *ro, const struct report_facts *facts,
			    const struct auxtap_regs *regs, bool uncaught)
{
	struct exception e = exception_of(facts);
	struct report_callers callers;

	if (e.type) {
		fprintf(ro->out, "  %s: %s",
			uncaught ? "Its exception" : "The exception being handled",
			report_text(ro, e.type));
		if (e.what)
			fprintf(ro->out, "; what(): %s", report_text(ro, e.what));
		fputc('\n', ro->out);
		find_thrown(ro, facts, regs ? regs->arch : 0, &callers);
		print_thrown(ro, &callers);
	}
	free(e.type);
}

void report_exception_json(struct report_json *json, const struct auxtap_regs *regs, bool uncaught)
{
	const struct report_facts *facts = &json->r->facts;
	struct exception e = exception_of(facts);
	struct json_out *j = &json->j;
	struct report_callers callers;

	if (e.type) {
		json_out_open(j, "exception", '{');
		json_out_text(j, "type", e.type);
		json_out_text(j, "what", e.what);
		json_out_bool(j, "uncaught", uncaught);
		find_thrown(&json->r->ro, facts, regs ? regs->arch : 0, &callers);
		json_out_open(j, "thrown_by", '[');
		for (int i = 0; i < callers.nr; i++)
			report_json_caller(json, NULL, callers.at[i]);
		json_out_close(j, ']');
		json_out_close(j, '}');
	} else {
		json_out_null(j, "exception");
	}
	free(e.type);
}
