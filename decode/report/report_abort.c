// SPDX-License-Identifier: BSD-2-Clause
/* Finds in the backtrace who called abort(): the program, or a check of one of its libraries. */
#include "decode/image/image_private.h"
#include "report_abort.h"
#include "report_branches.h"
#include "report_facts.h"
#include "report_fault.h"
#include "report_frames.h"
#include "report_out.h"

#include <string.h>

#define NO_EXIT \
	"an exception could not leave a function that is noexcept, or a destructor while the stack was unwound"
/* clang adds it to the program; it makes the exception current and calls std::terminate() */
#define HELPER	 "__clang_call_terminate"
#define OVERFLOW "a signed integer overflowed"

enum library {
	LIB_C,
	LIB_CXX,
	LIB_COMPILER, /* libgcc, or that of another compiler */
};

static const char *const library_names[] = {
	[LIB_C] = "the C library",
	[LIB_CXX] = "the C++ library",
	[LIB_COMPILER] = "the compiler's runtime library",
};

struct check {
	const char *name; /* of a function that libraries call abort() in; a prefix with '*' */
	enum library library;
	const char *meaning; /* what a call of the function proves; NULL: nothing */
};

static const struct check checks[] = {
	{"__stack_chk_fail", LIB_C, "stack smashing detected"},
	{"__chk_fail", LIB_C, "buffer overflow detected"},
	{"__assert_fail*", LIB_C, "an assertion failed"},
	{"__assert_perror_fail", LIB_C, "an assertion failed"},
	{"malloc_printerr", LIB_C, "malloc's check of the heap failed"},
	{"__malloc_assert", LIB_C, "malloc's check of the heap failed"},
	{HELPER, LIB_CXX, NO_EXIT},
	{"__cxa_pure_virtual", LIB_CXX, "a pure virtual function was called"},
	{"__cxa_deleted_virtual", LIB_CXX, "a deleted virtual function was called"},
	{"std::__glibcxx_assert_fail*", LIB_CXX, "an assertion of the C++ library failed"},
	{"std::terminate*", LIB_CXX, "std::terminate() was called"},
	{"__gnu_cxx::*", LIB_CXX, NULL},
	{"__cxxabiv1::*", LIB_CXX, NULL},
	{"__libc_message*", LIB_C, NULL},
	{"__fortify_fail*", LIB_C, NULL},
	{"__absv*", LIB_COMPILER, OVERFLOW},
	{"__addv*", LIB_COMPILER, OVERFLOW},
	{"__mulv*", LIB_COMPILER, OVERFLOW},
	{"__negv*", LIB_COMPILER, OVERFLOW},
	{"__subv*", LIB_COMPILER, OVERFLOW},
};

static const struct check *check_of(const char *symbol)
{
	for (size_t i = 0; symbol && i < sizeof(checks) / sizeof(checks[0]); i++) {
		size_t len = strlen(checks[i].name);

		if (checks[i].name[len - 1] == '*' ? !strncmp(symbol, checks[i].name, len - 1) :
						     !strcmp(symbol, checks[i].name))
			return &checks[i];
	}
	return NULL;
}

bool report_is_helper(const struct auxtap_location *loc)
{
	const char *symbol = loc->nr_frames ? loc->frames[loc->nr_frames - 1].symbol : NULL;

	return symbol && !strcmp(symbol, HELPER);
}

struct function {
	const char *symbol; /* "": it has no symbol */
	const char *image;
	bool is_library;
};

/* The function at pc, not one that is inlined into it. */
static struct function function_at(const struct report_out *ro, uint64_t pc)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	struct function found = {"", "", false};
	const struct auxtap_frame *frame;

	if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, pc, &loc) || !loc.image)
		return found;
	frame = loc.nr_frames ? &loc.frames[loc.nr_frames - 1] : NULL;
	found.image = loc.image;
	found.is_library = report_is_library(loc.image, frame);
	if (frame && frame->symbol)
		found.symbol = frame->symbol;
	return found;
}

static int find_abort(const struct report_out *ro, const uint64_t *pcs, int nr)
{
	for (int i = 0; i < nr; i++) {
		if (!strcmp(function_at(ro, pcs[i]).symbol, "abort"))
			return i;
	}
	return -1;
}

/* The library of a function by its image, or by its name if the program contains the library. */
static enum library library_of(const struct check *check, const struct function *fn)
{
	if (check)
		return check->library;
	if (strstr(fn->image, "libgcc_s") || !strncmp(fn->symbol, "_Unwind_", 8))
		return LIB_COMPILER;
	if (strstr(fn->image, "libstdc++") || strstr(fn->image, "libc++"))
		return LIB_CXX;
	if (!strncmp(fn->symbol, "std::", 5) || !strncmp(fn->symbol, "__cxa_", 6) ||
	    !strncmp(fn->symbol, "__gxx_", 6))
		return LIB_CXX;
	return LIB_C;
}

/* True if fn is outside of the library whose check failed: it only called into that. */
static bool is_outside_library(const struct function *fn, enum library library)
{
	enum library own = library_of(NULL, fn);
	bool cxx = own == LIB_COMPILER || own == LIB_CXX;
	bool same = library == LIB_COMPILER ? own == LIB_COMPILER : (library == LIB_CXX) == cxx;

	return !same || !strcmp(fn->symbol, "start_thread") ||
	       !strcmp(fn->symbol, "__libc_start_call_main");
}

/* Functions of the C++ runtime that are among the frames from abort() to the program. */
struct thrown {
	bool by_throw, unwinding, personality;
	bool again; /* by __cxa_rethrow(), which 'throw;' without an exception also calls */
};

static void note_thrown(struct thrown *t, const char *symbol)
{
	if (!strcmp(symbol, "__gxx_personality_v0"))
		t->personality = true;
	if (!strncmp(symbol, "_Unwind_RaiseException", 22) ||
	    !strncmp(symbol, "_Unwind_Resume", 14))
		t->unwinding = true;
	if (!strcmp(symbol, "__cxa_rethrow"))
		t->again = true;
	if (!strcmp(symbol, "__cxa_throw") || !strcmp(symbol, "__cxa_rethrow") ||
	    !strncmp(symbol, "std::rethrow_exception", 22))
		t->by_throw = true;
}

/*
 * Explains why std::terminate() was called. The personality routine calls it for a call site that
 * is not in its function's table; __cxa_throw() calls it if the unwinder found no handler.
 */
static const char *meaning_of(const struct thrown *t, const struct report_facts *facts)
{
	if (t->personality && t->unwinding)
		return "std::terminate() was called: " NO_EXIT;
	if (t->by_throw && !t->unwinding)
		/* if it finds no handler, __cxa_rethrow() makes the exception current again */
		return t->again && !facts->exception ?
			       "std::terminate() was called: no handler was found for an exception, or there "
			       "was none to throw again" :
			       "std::terminate() was called: no handler was found for an exception";
	return NULL;
}

/* Whether a function of the program left its frame by a tail call to that of the frame. */
static bool is_program_tail(const struct report_out *ro, const struct unwind_frames *frames,
			    int frame)
{
	for (int i = 0; i < frames->nr_tails; i++)
		if (frames->tails[i].frame == frame &&
		    !function_at(ro, frames->tails[i].site).is_library)
			return true;
	return false;
}

bool report_abort(const struct report_out *ro, const struct report_facts *facts,
		  const struct unwind_frames *frames, struct fault *fault)
{
	const uint64_t *pcs = frames->pcs;
	const int nr = frames->nr;
	int at = find_abort(ro, pcs, nr), i = at + 1;
	struct thrown thrown = {.by_throw = false};
	const char *meaning = NULL;
	char outermost[128] = "";
	enum library library = LIB_C;

	if (at < 0)
		return false;
	for (; i < nr && !is_program_tail(ro, frames, i - 1); i++) {
		struct function fn = function_at(ro, pcs[i]);
		const struct check *check = check_of(fn.symbol);

		if (!check && !fn.is_library)
			break;
		if (i == at + 1)
			library = library_of(check, &fn);
		else if (!check && is_outside_library(&fn, library))
			break;
		if (check && check->meaning)
			meaning = check->meaning;
		fault->uncaught = fault->uncaught || (check && !strcmp(check->name, HELPER));
		note_thrown(&thrown, fn.symbol);
		if (*fn.symbol)
			snprintf(outermost, sizeof(outermost),
				 strlen(fn.symbol) < sizeof(outermost) ? "%s" : "%.124s...",
				 fn.symbol);
	}
	if (meaning_of(&thrown, facts)) {
		meaning = meaning_of(&thrown, facts);
		fault->uncaught = true;
	}
	if (meaning && !strncmp(meaning, outermost, strlen(outermost)))
		meaning = NULL; /* the function's name says the same */
	if (i == at + 1)
		snprintf(fault->why, sizeof(fault->why), "%s",
			 i < nr ? "the program called abort()" : "abort() was called");
	else
		snprintf(fault->why, sizeof(fault->why), "%s called abort()%s%s%s%s",
			 library_names[library], outermost[0] ? ", from " : "", outermost,
			 meaning ? ": " : "", meaning ? meaning : "");
	return true;
}

static bool is_own_map(const struct report_map *map)
{
	return map && map->name[0] == '/' && !report_is_runtime(map->name);
}

void report_abort_calls(const struct report_facts *facts, const struct auxtap_regs *regs,
			const struct auxtap_image_set_opts *opts, struct auxtap_perfdata *pd,
			struct report_branches_at_calls *at_calls)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images;
	struct unwind_frames frames;
	int ret = 0;

	at_calls->nr = 0;
	if (auxtap_image_set_new(&images, opts, &err))
		return;
	image_set_set_recording(images, pd);
	for (size_t i = 0; i < facts->nr_maps && !ret; i++) {
		const struct report_map *map = &facts->maps[i];

		if (map->name[0] == '/')
			ret = auxtap_image_set_add_mapping(images, facts->crash.pid, 0, map->start,
							   map->end - map->start, map->pgoff,
							   map->name, NULL, 0);
	}
	unwind_backtrace(facts, images, regs, NULL, &frames);
	for (int i = 1; i < frames.nr && at_calls->nr < REPORT_MAX_AT_CALLS; i++)
		if (frames.call_mask >> i & 1 && is_own_map(report_facts_map(facts, frames.pcs[i])))
			at_calls->at[at_calls->nr++].return_addr = frames.pcs[i] + 1;
	auxtap_image_set_free(images);
}
