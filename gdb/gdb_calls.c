// SPDX-License-Identifier: BSD-2-Clause
/*
 * Backtraces in the past, for "monitor calls" and for the unwinder that 'auxtap gdb' passes to gdb
 * (unwinder.py). An unwinder cannot send packets, but it can read memory: so the frames can be read
 * at addresses where no program has memory.
 */
#include "gdb_private.h"
#include "history_calls.h"

#include <inttypes.h>
#include <string.h>

#define MAX_FRAMES 128

static size_t frames_of(struct gdb_session *s, int32_t tid, struct history_frame *frames,
			size_t max)
{
	int thread = gdb_thread_index(s, tid);
	uint64_t pc;

	if (thread < 0 || !replay_pc(&s->replay, (uint32_t)thread, &pc))
		return 0;
	return history_calls(&s->history, (uint32_t)thread, s->replay.threads[thread].pos, pc,
			     frames, max);
}

size_t gdb_read_frames(struct gdb_session *s, uint64_t addr, void *buf, size_t size)
{
	struct history_frame frames[MAX_FRAMES];
	uint64_t words[2 + 3 * MAX_FRAMES] = {0};
	int32_t tid = (int32_t)((addr - GDB_FRAMES) / GDB_FRAMES_WINDOW);
	size_t nr = 0, bytes;

	if (!gdb_thread_exists(s, tid))
		return 0;
	/* at the end gdb's own unwinder has registers and memory */
	if (!gdb_thread_at_end(s, tid) || !recording_regs(&s->rec, tid))
		nr = frames_of(s, tid, frames, MAX_FRAMES);
	words[0] = s->nr_resumes;
	words[1] = nr;
	for (size_t i = 0; i < nr; i++) {
		words[2 + 3 * i] = frames[i].pc;
		words[3 + 3 * i] = frames[i].entry;
		words[4 + 3 * i] = (uint64_t)frames[i].depth;
	}
	bytes = (2 + 3 * nr) * sizeof(words[0]);
	addr = (addr - GDB_FRAMES) % GDB_FRAMES_WINDOW;
	if (addr >= bytes)
		return 0;
	if (size > bytes - addr)
		size = (size_t)(bytes - addr);
	memcpy(buf, (const uint8_t *)words + addr, size);
	return size;
}

static void print_frame(struct gdb_session *s, const struct history_frame *frame, size_t nr,
			FILE *out)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	/* the call is before its return address */
	uint64_t addr = frame->pc - (nr && !frame->interrupted);

	fprintf(out, "#%-3zu 0x%016" PRIx64, nr, frame->pc);
	if (!auxtap_image_set_resolve(s->rec.images, s->rec.pid, s->rec.time, addr, &loc) &&
	    loc.nr_frames) {
		const struct auxtap_frame *f = &loc.frames[0];

		fprintf(out, " in %s", f->symbol ? f->symbol : loc.image);
		if (f->file)
			fprintf(out, " at %s:%u", f->file, f->line);
	}
	fprintf(out, "%s\n", frame->interrupted ? " (interrupted by a signal)" : "");
}

void gdb_print_calls(struct gdb_session *s, FILE *out)
{
	struct history_frame frames[MAX_FRAMES];
	size_t nr = frames_of(s, gdb_current(s, s->general_tid), frames, MAX_FRAMES);

	for (size_t i = 0; i < nr; i++)
		print_frame(s, &frames[i], i, out);
	fputs(nr == MAX_FRAMES ? "Further frames are not listed.\n" :
				 "Further callers are not in this part of the trace.\n",
	      out);
}
