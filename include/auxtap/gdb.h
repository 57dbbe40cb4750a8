/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording as a target of gdb's remote protocol. docs/gdb.md says what it serves and why.
 *
 * Thread safety: a session belongs to one thread. What the client sends is untrusted: nothing is
 * written or executed for it, and of files it gets the images of the recording alone.
 */
#ifndef AUXTAP_GDB_H
#define AUXTAP_GDB_H

#include <auxtap/image.h>
#include <auxtap/perfdata.h>

#ifdef __cplusplus
extern "C" {
#endif

struct auxtap_gdb_opts {
	size_t size;
	int in, out; /* file descriptors of the client, which stay open */
	/* the process to show; 0: the one that died, else the one with the most instructions */
	int32_t pid;
	uint64_t memory; /* bytes for the decoded history, whose newest part is kept; 0: 1 GiB */
	/*
	 * NULL, or a core file of the death that was recorded, for registers and memory at that
	 * point. Of another process or moment it is refused (-EINVAL).
	 */
	const char *core;
	/*
	 * Not 0: that number of the newest blocks of instructions is served as branch trace, with
	 * which gdb then records: 'record function-call-history'. It shows no register but pc in
	 * the past then.
	 */
	uint64_t btrace;
};

/*
 * Serves pd until the client detaches or closes its end: 0. images must be of
 * auxtap_image_set_new(), without mappings yet; both belong to the caller. A client that closed its
 * end is noticed by EPIPE: SIGPIPE must be ignored.
 */
AUXTAP_API int auxtap_gdb_serve(struct auxtap_perfdata *pd, struct auxtap_image_set *images,
				const struct auxtap_gdb_opts *opts, struct auxtap_error *err);

#ifdef __cplusplus
}
#endif
#endif
