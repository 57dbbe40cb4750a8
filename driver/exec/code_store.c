// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See code_store.h. */
#include "code_store.h"
#include "util/vector.h"

#include <auxtap/crash.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GRANULES (CODE_STORE_PAGE / CODE_STORE_GRANULE)

static bool is_valid(const struct code_store_page *page, u32 at)
{
	return page->valid[at / 8] & 1u << (at % 8);
}

void code_store_clear(struct code_store *s, u64 birth)
{
	for (size_t i = 0; i < s->nr; i++)
		free(s->pages[i]);
	free(s->pages);
	hash_map_free(&s->known);
	*s = (struct code_store){.birth = birth};
}

static struct code_store_page *find_page(const struct code_store *s, u64 addr)
{
	size_t at = hash_map_find(&s->known, hash_number(addr));

	return at == HASH_MAP_NONE ? NULL : s->pages[at];
}

static struct code_store_page *get_page(struct code_store *s, u64 addr)
{
	struct code_store_page *page = find_page(s, addr);

	if (page || s->nr >= CODE_STORE_MAX)
		return page;
	page = calloc(1, sizeof(*page));
	if (!page || vector_grow(s->pages, s->nr, s->max) ||
	    hash_map_add(&s->known, hash_number(addr), s->nr)) {
		free(page);
		return NULL;
	}
	page->addr = addr;
	for (u32 i = 0; i < GRANULES; i++)
		page->since[i] = s->birth;
	s->pages[s->nr++] = page;
	return page;
}

bool code_store_differs(const struct code_store *s, u64 addr, const u8 *bytes, u32 size)
{
	const struct code_store_page *page = NULL;

	for (u32 i = 0; i < size; i++) {
		u32 at = (u32)((addr + i) % CODE_STORE_PAGE);

		if (!i || !at)
			page = find_page(s, addr + i - at);
		if (!page && s->birth == CODE_STORE_UNKNOWN)
			return true;
		if (!page)
			continue;
		if (page->since[at / CODE_STORE_GRANULE] == CODE_STORE_UNKNOWN ||
		    (is_valid(page, at) && page->bytes[at] != bytes[i]))
			return true;
	}
	return false;
}

int code_store_put(struct code_store *s, u64 addr, const u8 *bytes, u32 size, u64 now)
{
	struct code_store_page *page = NULL;

	for (u32 i = 0; i < size; i++) {
		u32 at = (u32)((addr + i) % CODE_STORE_PAGE);
		u64 *since;

		if (!page || !at)
			page = get_page(s, addr + i - at);
		if (!page)
			return -ENOMEM;
		since = &page->since[at / CODE_STORE_GRANULE];
		if (*since == CODE_STORE_UNKNOWN ||
		    (is_valid(page, at) && page->bytes[at] != bytes[i]))
			*since = now;
		page->valid[at / 8] |= (u8)(1u << (at % 8));
		page->bytes[at] = bytes[i];
	}
	return 0;
}

int code_store_forget(struct code_store *s, u64 addr, u32 size)
{
	for (u32 i = 0; i < size; i++) {
		u32 at = (u32)((addr + i) % CODE_STORE_PAGE);
		struct code_store_page *page = get_page(s, addr + i - at);

		if (!page)
			return -ENOMEM;
		page->since[at / CODE_STORE_GRANULE] = CODE_STORE_UNKNOWN;
	}
	return 0;
}

int code_store_copy(struct code_store *to, const struct code_store *from)
{
	*to = (struct code_store){.birth = from->birth};
	for (size_t i = 0; i < from->nr; i++) {
		struct code_store_page *page = get_page(to, from->pages[i]->addr);

		if (!page)
			return -ENOMEM;
		*page = *from->pages[i];
	}
	return 0;
}

/* The number of bytes from 'at' on that are known and have the same time. */
static u32 run_length(const struct code_store_page *page, u32 at)
{
	u64 since = page->since[at / CODE_STORE_GRANULE];
	u32 end = at;

	while (end < CODE_STORE_PAGE && is_valid(page, end) &&
	       page->since[end / CODE_STORE_GRANULE] == since && since != CODE_STORE_UNKNOWN)
		end++;
	return end - at;
}

ssize_t code_store_records(const struct code_store *s, pid_t pid, char **notes)
{
	size_t nr = 0, max = 0;

	*notes = NULL;
	for (size_t i = 0; i < s->nr; i++) {
		const struct code_store_page *page = s->pages[i];
		u32 length;

		for (u32 at = 0; at < CODE_STORE_PAGE; at += length ? length : 1) {
			struct auxtap_crash_code head = {.size = sizeof(head), .pid = pid};
			size_t padded;

			length = run_length(page, at);
			if (!length)
				continue;
			padded = sizeof(head) + ((length + 7u) & ~7u);
			if (vector_grow_by(*notes, nr, padded, max)) {
				free(*notes);
				return -ENOMEM;
			}
			head.addr = page->addr + at;
			head.time = page->since[at / CODE_STORE_GRANULE];
			head.nr_bytes = length;
			memset(*notes + nr, 0, padded);
			memcpy(*notes + nr, &head, sizeof(head));
			memcpy(*notes + nr + sizeof(head), page->bytes + at, length);
			nr += padded;
		}
	}
	return (ssize_t)nr;
}
