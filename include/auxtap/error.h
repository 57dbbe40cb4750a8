/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors. Every fallible function returns 0 (or a count) or a negative errno, never prints and
 * never exits. It reports where and why in a struct auxtap_error of the caller; NULL is always
 * allowed.
 */
#ifndef AUXTAP_ERROR_H
#define AUXTAP_ERROR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AUXTAP_OFFSET_NONE UINT64_MAX

#if defined(__GNUC__)
#define AUXTAP_API		 __attribute__((visibility("default")))
#define AUXTAP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define AUXTAP_API
#define AUXTAP_PRINTF(fmt, args)
#endif

/* What failed, as far as a program has to know: 'what' is a text for users. */
enum auxtap_error_subject {
	AUXTAP_ERROR_OTHER,
	/* The program to trace could not be executed; code: why, as of execve(). */
	AUXTAP_ERROR_PROGRAM,
};

/*
 * One failure. Each string is complete on its own and always terminated: 'what' is the object (a
 * file, a program, an option), 'why' is the problem, 'hint' what the user can do; it may be empty.
 * The command line prints "auxtap: what: why; hint". Thread safety: belongs to the caller.
 */
struct auxtap_error {
	int code;	 /* negative errno; 0: no error recorded */
	int cpu;	 /* CPU the failure is bound to; -1: none */
	uint64_t offset; /* bytes into the file or stream; AUXTAP_OFFSET_NONE: none */
	enum auxtap_error_subject subject;
	char what[256];
	char why[384];
	char hint[256];
};

/* Members in order, not by name: C++17, too. */
#define AUXTAP_ERROR_INIT                                                 \
	{                                                                 \
		0, -1, AUXTAP_OFFSET_NONE, AUXTAP_ERROR_OTHER, "", "", "" \
	}

/*
 * Fill *err (may be NULL), clear its offset, cpu, subject and hint; returns code, so that a caller
 * can return it.
 */
AUXTAP_API int auxtap_error_set(struct auxtap_error *err, int code, const char *what,
				const char *why_fmt, ...) AUXTAP_PRINTF(4, 5);
/* The same with a byte offset; why should contain the offset too, because only why is printed. */
AUXTAP_API int auxtap_error_set_at(struct auxtap_error *err, int code, const char *what,
				   uint64_t offset, const char *why_fmt, ...) AUXTAP_PRINTF(5, 6);
/* Add what the user can do. Call after auxtap_error_set(). */
AUXTAP_API void auxtap_error_hint(struct auxtap_error *err, const char *fmt, ...)
	AUXTAP_PRINTF(2, 3);
/* Add what failed. Call after auxtap_error_set(). */
AUXTAP_API void auxtap_error_set_subject(struct auxtap_error *err,
					 enum auxtap_error_subject subject);

#ifdef __cplusplus
}
#endif
#endif
