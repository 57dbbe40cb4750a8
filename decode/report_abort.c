// SPDX-License-Identifier: BSD-2-Clause
/* Who called abort(), by the backtrace: the program, or a check of the C or C++ library. */
#include "report.h"

#include <string.h>

struct check {
	const char *name;    /* of a function that libraries call abort() in; a prefix with '*' */
	bool is_cxx;
	const char *meaning; /* what the function is for; NULL: nothing that its name proves */
};

static const struct check checks[] = {
	{"__stack_chk_fail", false, "stack smashing detected"},
	{"__chk_fail", false, "buffer overflow detected"},
	{"__assert_fail*", false, "an assertion failed"},
	{"__assert_perror_fail", false, "an assertion failed"},
	{"malloc_printerr", false, "malloc's check of the heap failed"},
	{"__malloc_assert", false, "malloc's check of the heap failed"},
	{"__cxa_pure_virtual", true, "a pure virtual function was called"},
	{"__cxa_deleted_virtual", true, "a deleted virtual function was called"},
	{"std::__glibcxx_assert_fail*", true, "an assertion of the C++ library failed"},
	{"std::terminate*", true, "std::terminate() was called"},
	{"__gnu_cxx::*", true, NULL},
	{"__cxxabiv1::*", true, NULL},
	{"__libc_message*", false, NULL},
	{"__fortify_fail*", false, NULL},
};

static const struct check *check_of(const char *symbol)
{
	for (size_t i = 0; symbol && i < sizeof(checks) / sizeof(checks[0]); i++) {
		size_t len = strlen(checks[i].name);

		if (checks[i].name[len - 1] == '*' ? !strncmp(symbol, checks[i].name, len - 1)
						   : !strcmp(symbol, checks[i].name))
			return &checks[i];
	}
	return NULL;
}

/* The function itself, not one that is inlined into it; "" where no symbol names it. */
static const char *function_at(const struct report_out *ro, uint64_t pc, const char **image)
{
	struct auxtap_location loc;

	*image = "";
	if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, pc, &loc) || !loc.image)
		return "";
	*image = loc.image;
	return loc.nr_frames && loc.frames[loc.nr_frames - 1].symbol
		       ? loc.frames[loc.nr_frames - 1].symbol
		       : "";
}

static int find_abort(const struct report_out *ro, const uint64_t *pcs, int nr)
{
	const char *image;

	for (int i = 0; i < nr; i++) {
		if (!strcmp(function_at(ro, pcs[i], &image), "abort"))
			return i;
	}
	return -1;
}

bool report_abort(const struct report_out *ro, const uint64_t *pcs, int nr, char *why, size_t size)
{
	int at = find_abort(ro, pcs, nr), i = at + 1;
	const char *meaning = NULL;
	char outermost[128] = "";
	bool is_cxx = false;

	if (at < 0)
		return false;
	for (; i < nr; i++) {
		const char *image, *symbol = function_at(ro, pcs[i], &image);
		const struct check *check = check_of(symbol);

		if (!check && !report_is_runtime(image))
			break;
		if (i == at + 1)
			is_cxx = (check && check->is_cxx) || strstr(image, "libstdc++");
		if (check && check->meaning)
			meaning = check->meaning;
		if (*symbol)
			snprintf(outermost, sizeof(outermost), "%s", symbol);
	}
	if (meaning && !strncmp(meaning, outermost, strlen(outermost)))
		meaning = NULL; /* the name alone says it */
	if (i == at + 1)
		snprintf(why, size, "%s", i < nr ? "the program called abort()" : "abort() was called");
	else
		snprintf(why, size, "the %s library called abort()%s%s%s%s", is_cxx ? "C++" : "C",
			 outermost[0] ? ", from " : "", outermost, meaning ? ": " : "",
			 meaning ? meaning : "");
	return true;
}
