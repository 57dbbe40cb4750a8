// SPDX-License-Identifier: BSD-2-Clause
/* See crash_guard.h. libauxtap installs no signal handlers. */
#include "crash_guard.h"

#include <auxtap/decode.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const char *trace_path = "the trace";

/* Async-signal-safe, because the heap may be damaged. */
static void write_text(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static void write_number(uint64_t number)
{
	char digits[24];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	write_text(digits + at);
}

static void on_signal(int sig)
{
	uint64_t off;
	bool inside = auxtap_decoder_in_library(&off);

	/* a bad access costs one stream; after an abort the heap may be corrupted */
	if (inside && sig != SIGABRT)
		auxtap_decoder_leave_library();
	signal(sig, SIG_DFL);
	if (inside) {
		write_text("auxtap: ");
		write_text(trace_path);
		write_text(": the decoder library (OpenCSD) crashed near offset ");
		write_number(off);
		write_text(" of the trace; a newer libopencsd may read it\n");
	}
	raise(sig);
}

void crash_guard_install(const char *path)
{
	static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

	trace_path = path;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction act, old;

		/* a sanitizer has its own handler and a better report */
		if (sigaction(signals[i], NULL, &old) || old.sa_handler != SIG_DFL)
			continue;
		memset(&act, 0, sizeof(act));
		act.sa_handler = on_signal;
		act.sa_flags = SA_NODEFER;
		sigaction(signals[i], &act, NULL);
	}
}
