// SPDX-License-Identifier: BSD-2-Clause
/* See crash_guard.h. The library itself installs no signal handler. */
#include "crash_guard.h"

#include <auxtap/decode.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const char *watched = "the trace";

/* Nothing but what a signal handler may: the heap may be damaged. */
static void put(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static void put_number(uint64_t number)
{
	char digits[24];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	put(digits + at);
}

static void on_signal(int sig)
{
	uint64_t off;
	bool inside = auxtap_decoder_in_library(&off);

	/* a bad access costs one stream; after an abort the heap is not to be trusted */
	if (inside && sig != SIGABRT)
		auxtap_decoder_leave_library();
	signal(sig, SIG_DFL);
	if (inside) {
		put("auxtap: ");
		put(watched);
		put(": the decoder library (OpenCSD) gave up at about offset ");
		put_number(off);
		put(" of the trace; a newer libopencsd may read it\n");
	}
	raise(sig);
}

void crash_guard_install(const char *path)
{
	static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

	watched = path;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction act, old;

		/* the sanitizers' own report is better */
		if (sigaction(signals[i], NULL, &old) || old.sa_handler != SIG_DFL)
			continue;
		memset(&act, 0, sizeof(act));
		act.sa_handler = on_signal;
		act.sa_flags = SA_NODEFER;
		sigaction(signals[i], &act, NULL);
	}
}
