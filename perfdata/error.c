// SPDX-License-Identifier: BSD-2-Clause
/* Functions that fill struct auxtap_error: see include/auxtap/error.h. */
#include <auxtap/error.h>

#include <stdarg.h>
#include <stdio.h>

static void fill(struct auxtap_error *err, int code, const char *what, uint64_t offset,
		 const char *why_fmt, va_list args)
{
	if (!err)
		return;
	err->code = code;
	err->cpu = -1;
	err->offset = offset;
	err->subject = AUXTAP_ERROR_OTHER;
	err->hint[0] = '\0';
	snprintf(err->what, sizeof(err->what), "%s", what);
	vsnprintf(err->why, sizeof(err->why), why_fmt, args);
}

int auxtap_error_set(struct auxtap_error *err, int code, const char *what, const char *why_fmt, ...)
{
	va_list args;

	va_start(args, why_fmt);
	fill(err, code, what, AUXTAP_OFFSET_NONE, why_fmt, args);
	va_end(args);
	return code;
}

int auxtap_error_set_at(struct auxtap_error *err, int code, const char *what, uint64_t offset,
			const char *why_fmt, ...)
{
	va_list args;

	va_start(args, why_fmt);
	fill(err, code, what, offset, why_fmt, args);
	va_end(args);
	return code;
}

void auxtap_error_hint(struct auxtap_error *err, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return;
	va_start(args, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, args);
	va_end(args);
}

void auxtap_error_set_subject(struct auxtap_error *err, enum auxtap_error_subject subject)
{
	if (err)
		err->subject = subject;
}
