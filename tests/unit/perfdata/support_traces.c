// SPDX-License-Identifier: BSD-2-Clause
/* See support_traces.h. */
#include "support_traces.h"
#include "support_ptfile.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

const char *traces_root(void)
{
	const char *root = getenv("AUXTAP_TRACES");
	char path[512];

	if (!root || !*root)
		root = AUXTAP_TRACES_DEFAULT;
	snprintf(path, sizeof(path), "%s/perfdata", root);
	if (!access(path, R_OK))
		return root;
	printf("skipped: no real traces in %s (set AUXTAP_TRACES)\n", root);
	return NULL;
}

size_t traces_cases(const char *root, struct trace_case **cases)
{
	static const char *const sets[] = {"perfdata", "intel-pt-perfdata", "coresight-perfdata"};
	char pattern[512];
	size_t nr = 0;
	glob_t found;

	*cases = NULL;
	for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) {
		snprintf(pattern, sizeof(pattern), "%s/%s/*/perf.data", root, sets[s]);
		if (glob(pattern, 0, NULL, &found))
			continue;
		*cases = realloc(*cases, (nr + found.gl_pathc) * sizeof(**cases));
		assert_non_null(*cases);
		for (size_t i = 0; i < found.gl_pathc; i++) {
			struct trace_case *c = *cases + nr++;
			char dir[512];

			snprintf(c->data, sizeof(c->data), "%s", found.gl_pathv[i]);
			snprintf(dir, sizeof(dir), "%s", c->data);
			*strrchr(dir, '/') = '\0';
			snprintf(c->name, sizeof(c->name), "%s", dir + strlen(root) + 1);
			snprintf(c->expected, sizeof(c->expected), "%s%s", dir,
				 s ? "/expected" : "");
		}
		globfree(&found);
	}
	return nr;
}

char *traces_text(const char *dir, const char *name)
{
	char path[1024], *text;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!access(path, R_OK)) {
		assert_int_equal(run_command(&text, "cat %s", path), 0);
		return text;
	}
	strcat(path, ".xz");
	if (access(path, R_OK))
		return NULL;
	assert_int_equal(run_command(&text, "xz -dc %s", path), 0);
	return text;
}

static void who(struct listed *l)
{
	static const char *const forms[] = {
		"PERF_RECORD_SAMPLE(IP, 0x%*x): %u/%u: ",
		"PERF_RECORD_MMAP %d/%u: ",
		"PERF_RECORD_MMAP2 %d/%u: ",
		"PERF_RECORD_FORK(%u:%u)",
		"PERF_RECORD_EXIT(%u:%u)",
		"PERF_RECORD_ITRACE_START pid: %u tid: %u",
	};
	const char *p;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]) && !l->has_who; i++)
		l->has_who = sscanf(l->text, forms[i], &l->pid, &l->tid) == 2;
	if (l->has_who || strcmp(l->name, "COMM"))
		return;
	p = strrchr(l->text, ':'); /* the name may contain colons, too */
	l->has_who = p && sscanf(p, ":%u/%u", &l->pid, &l->tid) == 2;
}

static int by_offset(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	if (strcmp(x->name, y->name))
		return strcmp(x->name, y->name);
	return x->time < y->time ? -1 : x->time > y->time;
}

/* "[cpu] time offset [size]: PERF_RECORD_NAME…" */
static bool parse(const char *line, struct listed *l)
{
	const char *bracket = strstr(line, " [0x"), *name = strstr(line, "]: PERF_RECORD_");
	char numbers[3][32];
	int nr;

	memset(l, 0, sizeof(*l));
	if (!bracket || !name || strspn(line, "-0123456789abcdefx ") < (size_t)(bracket - line))
		return false;
	nr = sscanf(line, "%31s %31s %31s", numbers[0], numbers[1], numbers[2]);
	if (nr == 3 && numbers[2][0] == '[')
		nr = 2;
	if (nr < 2)
		return false;
	l->offset = strtoull(numbers[nr - 1], NULL, 0);
	l->time = strtoull(numbers[nr - 2], NULL, 10);
	if (nr == 3) {
		l->has_cpu = true;
		l->cpu = strtoll(numbers[0], NULL, 10);
	}
	l->size = strtoull(bracket + 2, NULL, 16);
	snprintf(l->text, sizeof(l->text), "%s", name + 3);
	sscanf(name + 3 + strlen("PERF_RECORD_"), "%31[A-Z0-9_]", l->name);
	who(l);
	return true;
}

size_t traces_listing(char *text, struct listed **out)
{
	size_t nr = 0, capacity = 1024;
	char *line, *save = NULL;

	*out = malloc(capacity * sizeof(**out));
	assert_non_null(*out);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (nr == capacity) {
			capacity *= 2;
			*out = realloc(*out, capacity * sizeof(**out));
			assert_non_null(*out);
		}
		nr += parse(line, *out + nr);
	}
	qsort(*out, nr, sizeof(**out), by_offset);
	return nr;
}
