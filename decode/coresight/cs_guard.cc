// SPDX-License-Identifier: BSD-2-Clause
// See cs_guard.h. The only C++ of the library.
#include "cs_guard.h"

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <unistd.h>

static thread_local bool inside;
static thread_local sigjmp_buf *way_out;
static thread_local uint64_t at_off;
static const char *watched = "the trace";

int cs_guard(void (*fn)(void *arg), void *arg, char *why, size_t size)
{
	sigjmp_buf here, *before_out = way_out;
	const bool before = inside;
	volatile int ret = 0;

	if (sigsetjmp(here,
		      0)) { // a crash in fn, see on_signal(): what it had is never touched again
		way_out = before_out;
		inside = before;
		snprintf(why, size, "OpenCSD crashed");
		return -EFAULT;
	}
	way_out = &here;
	inside = true;
	try {
		fn(arg);
	} catch (const std::bad_alloc &) {
		snprintf(why, size, "OpenCSD: out of memory");
		ret = -ENOMEM;
	} catch (const std::exception &e) {
		snprintf(why, size, "OpenCSD: %s", e.what());
		ret = -EIO;
	} catch (...) {
		snprintf(why, size, "OpenCSD threw an exception without a name");
		ret = -EIO;
	}
	way_out = before_out;
	inside = before;
	return ret;
}

void cs_guard_at(uint64_t off)
{
	at_off = off;
}

// Nothing but what a signal handler may: the heap is perhaps broken.
static void put(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static void on_signal(int sig)
{
	char digits[24];
	size_t at = sizeof(digits) - 1;
	uint64_t off = at_off;

	// A bad access of the library's costs one stream; after an abort the heap is not to be
	// trusted.
	if (inside && way_out && sig != SIGABRT)
		siglongjmp(*way_out, 1);
	signal(sig, SIG_DFL);
	if (inside) {
		digits[at] = '\0';
		do {
			digits[--at] = static_cast<char>('0' + off % 10);
			off /= 10;
		} while (off);
		put("auxtap: ");
		put(watched);
		put(": the decoder library (OpenCSD) ");
		put("gave up");
		put(" at about offset ");
		put(digits + at);
		put(" of the trace; a newer libopencsd may read it\n");
	}
	raise(sig);
}

void cs_guard_install(const char *path)
{
	static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

	watched = path;
	for (int sig : signals) {
		struct sigaction act, old;

		// the sanitizers' own report is better
		if (sigaction(sig, nullptr, &old) || old.sa_handler != SIG_DFL)
			continue;
		memset(&act, 0, sizeof(act));
		act.sa_handler = on_signal;
		act.sa_flags = SA_NODEFER;
		sigaction(sig, &act, nullptr);
	}
}

#if defined(__SANITIZE_ADDRESS__)
// OpenCSD 1.3's C interface never frees what it makes here: 32 bytes a decode tree.
extern "C" __attribute__((visibility("default"), weak)) const char *__lsan_default_suppressions();
const char *__lsan_default_suppressions()
{
	return "leak:ocsd_dt_set_gen_elem_outfn\n";
}

extern "C" __attribute__((visibility("default"), weak)) const char *__lsan_default_options();
const char *__lsan_default_options()
{
	return "print_suppressions=0";
}
#endif
