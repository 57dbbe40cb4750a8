// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two snapshots of one ring: the newer one may begin with bytes of the older one. How many they are
 * can only be found by comparing bytes: the offsets of some versions of perf do not show it.
 */
#include "trace_queue.h"

#include <stdlib.h>
#include <string.h>

#define KEY_SIZE     64 /* number of the older one's last bytes that are searched */
#define MAX_COMPARED (64u << 20)
#define MAX_TRIES    64

/*
 * Whether the newer one's bytes before 'at' are the older one's last bytes, as far as it reaches.
 */
static bool same_past(const uint8_t *old, size_t old_size, const uint8_t *new, size_t at)
{
	size_t size = at < old_size ? at : old_size;

	return !memcmp(new + at - size, old + old_size - size, size);
}

/*
 * Searches for the older one's last bytes. In a loop they occur more than once, so all bytes before
 * them must match, too. Of several such positions the last one is used: it repeats no trace.
 */
static void search_overlap(struct trace_overlap *found, const uint8_t *old, size_t old_size,
			   const uint8_t *new, size_t size)
{
	size_t key_size = old_size < KEY_SIZE ? old_size : KEY_SIZE;
	const uint8_t *from = new, *at;
	unsigned int tries = 0;

	while ((at = memmem(from, size - (size_t)(from - new), old + old_size - key_size,
			    key_size))) {
		size_t end = (size_t)(at - new) + key_size;

		found->unique = !tries;
		if (same_past(old, old_size, new, end)) {
			found->sure = found->seen < 0;
			found->seen = (int64_t)end;
		}
		if (++tries == MAX_TRIES) {
			found->sure = false;
			break;
		}
		from = at + 1;
	}
}

static unsigned int count_padding(const uint8_t *old, size_t old_size)
{
	unsigned int pad = 0;

	while (pad < TRACE_ALIGN - 1 && pad + 1 < old_size && !old[old_size - 1 - pad])
		pad++;
	return pad;
}

struct trace_overlap trace_overlap_find(const struct trace_queue_opts *opts,
					const struct trace_extent *old, uint64_t new_off,
					uint64_t file_off, uint64_t new_size, uint64_t by_off_min,
					bool padded)
{
	size_t size = new_size < MAX_COMPARED ? (size_t)new_size : MAX_COMPARED;
	size_t old_size = old->size < size ? (size_t)old->size : size;
	uint64_t by_off = old->off + old->size - new_off;
	struct trace_overlap found = {.seen = -1, .sure = true, .unique = true};
	uint8_t *buf, *end;

	if (!old_size)
		return found;
	buf = malloc(size + old_size);
	if (!buf)
		return found;
	end = buf + size;
	if (opts->pread(opts->ctx, end, old_size, old->file_off + old->size - old_size) !=
		    (ssize_t)old_size ||
	    opts->pread(opts->ctx, buf, size, file_off) != (ssize_t)size)
		goto out;
	found.pad = padded ? count_padding(end, old_size) : 0;
	by_off -= found.pad;
	old_size -= found.pad;
	if (by_off_min > old_size)
		by_off_min = old_size;
	if (by_off >= by_off_min && by_off <= size && same_past(end, old_size, buf, (size_t)by_off))
		found.seen = (int64_t)by_off;
	else
		search_overlap(&found, end, old_size, buf, size);
out:
	free(buf);
	return found;
}
