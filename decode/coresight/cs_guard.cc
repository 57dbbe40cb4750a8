// SPDX-License-Identifier: BSD-2-Clause
// See cs_guard.h. This is the only C++ file of the library.
#include "cs_guard.h"

#include <auxtap/decode.h>
#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

static thread_local bool inside;
static thread_local sigjmp_buf *way_out;
static thread_local uint64_t at_off;

int cs_guard(void (*fn)(void *arg), void *arg, char *why, size_t size)
{
	sigjmp_buf here, *before_out = way_out;
	const bool before = inside;
	volatile int ret = 0;

	// auxtap_decoder_leave_library() jumps here after a crash in fn; fn's objects are leaked
	if (sigsetjmp(here, 0)) {
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

void cs_guard_set_offset(uint64_t off)
{
	at_off = off;
}

bool auxtap_decoder_in_library(uint64_t *offset)
{
	*offset = at_off;
	return inside;
}

void auxtap_decoder_leave_library(void)
{
	if (inside && way_out)
		siglongjmp(*way_out, 1);
}

#if defined(__SANITIZE_ADDRESS__)
// OpenCSD 1.3's C interface never frees the callback object of a decode tree: 32 bytes for each.
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
