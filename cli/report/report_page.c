// SPDX-License-Identifier: BSD-2-Clause
/* Writes a report as an HTML page: see report_page.h. */
#include "cli/report/report_page.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* The page before and after its JSON; the build generates them from report_page.html. */
extern const char report_page_head[], report_page_tail[];

struct report_page {
	FILE *out;
	bool begun;
};

/*
 * Escapes '<', because the JSON is in a script element: no text may look like the end of the
 * element or like a comment. In JSON '<' occurs only in strings.
 */
static ssize_t page_write(void *cookie, const char *text, size_t size)
{
	struct report_page *page = cookie;

	if (!page->begun)
		fputs(report_page_head, page->out);
	page->begun = true;
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '<')
			fputs("\\u003c", page->out);
		else
			fputc(text[i], page->out);
	}
	return ferror(page->out) ? 0 : (ssize_t)size;
}

static int page_close(void *cookie)
{
	struct report_page *page = cookie;
	int ret = 0;

	if (page->begun)
		fputs(report_page_tail, page->out);
	if (ferror(page->out)) {
		errno = EIO;
		ret = -1;
	}
	free(page);
	return ret;
}

FILE *report_page_open(FILE *out)
{
	static const cookie_io_functions_t functions = {.write = page_write, .close = page_close};
	struct report_page *page = malloc(sizeof(*page));
	FILE *json;

	if (!page)
		return NULL;
	*page = (struct report_page){.out = out};
	json = fopencookie(page, "w", functions);
	if (!json)
		free(page);
	return json;
}
