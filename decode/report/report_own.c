// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tells the program's own functions from those of libraries: by the image, by the source file
 * (templates and inlined functions of a library's headers), and if there is none by the name (a
 * statically linked library).
 */
#include "report_out.h"

#include <string.h>

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Is it a source file of a library: a system header, or Rust's standard library? */
static bool is_library_source(const char *file)
{
	return begins(file, "/usr/include/") || strstr(file, "/include/c++/") ||
	       strstr(file, "/lib/gcc/") || (begins(file, "/rustc/") && strstr(file, "/library/"));
}

/* Names that the languages reserve for the implementation, and namespaces of the C++ library. */
static bool is_reserved(const char *symbol)
{
	return begins(symbol, "__") || (symbol[0] == '_' && symbol[1] >= 'A' && symbol[1] <= 'Z') ||
	       begins(symbol, "std::") || begins(symbol, "operator new") ||
	       begins(symbol, "operator delete");
}

/* Functions of the C library that lead to abort(), in a program that contains the library. */
static bool is_static_library(const char *symbol)
{
	static const char *const names[] = {
		"abort",  "raise",   "gsignal",		"pthread_kill",	      "free",	   "malloc",
		"calloc", "realloc", "malloc_printerr", "malloc_consolidate", "sysmalloc",
	};
	static const char *const prefixes[] = {"_int_", "_dl_", "unlink_chunk", "munmap_chunk",
					       "tcache_"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(symbol, names[i]))
			return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (begins(symbol, prefixes[i]))
			return true;
	return false;
}

bool report_is_library(const char *image, const struct auxtap_frame *frame)
{
	if (report_is_runtime(image))
		return true;
	if (!frame || !frame->symbol || frame->file)
		return false;
	return is_reserved(frame->symbol) || is_static_library(frame->symbol);
}

/* Is it where a thread starts, which is not a function of the program's source? */
static bool is_start(const char *symbol)
{
	static const char *const names[] =
		{"_start", "_init",  "_fini",	    "start_thread",	  "thread_start",
		 "clone",  "clone3", "frame_dummy", "register_tm_clones", "deregister_tm_clones"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(symbol, names[i]))
			return true;
	return false;
}

bool report_is_library_function(const struct auxtap_location *loc, unsigned int level)
{
	const struct auxtap_frame *f = &loc->frames[level];

	if (f->file && is_library_source(f->file))
		return true;
	return f->symbol && (is_start(f->symbol) || report_is_library(loc->image, f));
}

int report_own_level(const struct auxtap_location *loc)
{
	if (!loc->image || report_is_runtime(loc->image))
		return -1;
	for (unsigned int i = 0; i < loc->nr_frames; i++)
		if (!report_is_library_function(loc, i))
			return (int)i;
	return -1;
}
