// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads memory: what the program cannot have changed, and what 'crash --values' recorded; if all
 * threads are at their end, also what the recording or a core file contains. The rest is unknown.
 */
#include "gdb_private.h"

size_t gdb_read_memory(struct gdb_session *s, uint64_t addr, void *buf, size_t size)
{
	bool at_end = gdb_at_end(s);
	const struct values *v = at_end ? NULL : gdb_values_memory(s);
	uint64_t at = v ? replay_icount(&s->replay, v->thread) : 0;
	size_t done = 0, nr;

	if (addr >= GDB_FRAMES && addr - GDB_FRAMES < GDB_FRAMES_END)
		return gdb_read_frames(s, addr, buf, size);
	if (size > UINT64_MAX - addr)
		size = (size_t)(UINT64_MAX - addr);
	do {
		uint8_t *to = (uint8_t *)buf + done;

		nr = 0;
		if (at_end)
			nr = recording_memory(&s->rec, addr + done, to, size - done);
		else if (v)
			nr = values_memory(v, &s->rec, at, addr + done, to, size - done);
		if (!nr && at_end && s->has_core)
			nr = core_dump_memory(&s->core, addr + done, to, size - done);
		if (!nr)
			nr = recording_constant(&s->rec, addr + done, to, size - done);
		done += nr;
	} while (nr && done < size);
	return done;
}
