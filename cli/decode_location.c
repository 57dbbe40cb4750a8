// SPDX-License-Identifier: BSD-2-Clause
/* Caches of names: see decode_location.h. */
#include "decode_location.h"

#include <auxtap/spe.h>

#include <string.h>

static inline bool location_covers(const struct location *location, int32_t pid, uint64_t time,
				   uint64_t addr)
{
	const struct auxtap_range *r = &location->range;

	return addr - r->start < r->end - r->start && location->pid == pid &&
	       time >= r->time_begin && time <= r->time_last;
}

static void set_name(struct location *location)
{
	const char *image = location->range.image, *slash;

	location->name = NULL;
	location->name_len = location->image_len = 0;
	if (!image)
		return;
	location->image_len = strlen(image);
	slash = strrchr(image, '/');
	location->name = location->range.symbol ? location->range.symbol :
			 slash			? slash + 1 :
						  image;
	location->base =
		location->range.symbol ? location->range.symbol_base : location->range.image_base;
	location->name_len = strlen(location->name);
	if (location->name_len <= LOCATION_TEXT)
		memcpy(location->name_text, location->name, location->name_len);
	if (location->image_len + 2 <= LOCATION_TEXT) {
		location->image_text[0] = '(';
		memcpy(location->image_text + 1, image, location->image_len);
		location->image_text[1 + location->image_len] = ')';
	}
}

static const struct location *look_up_range(struct decode_locations *locations,
					    struct auxtap_image_set *images, int32_t pid,
					    uint64_t time, uint64_t addr, struct location *slot)
{
	struct auxtap_range range = {.size = sizeof(range)};

	if (auxtap_image_set_range(images, pid, time, addr, &range))
		memset(&range, 0, sizeof(range));
	if (range.end - range.start > LOCATION_BIG_SIZE) {
		slot = &locations->big[locations->next_big];
		locations->next_big = (locations->next_big + 1) % LOCATION_NR_BIG;
	}
	slot->range = range;
	slot->pid = pid;
	set_name(slot);
	return slot;
}

const struct location *location_find(struct decode_locations *locations,
				     struct auxtap_image_set *images, int32_t pid, uint64_t time,
				     uint64_t addr)
{
	struct location *slot;

	if (!time)
		time = UINT64_MAX;
	for (unsigned int i = 0; i < LOCATION_NR_BIG; i++)
		if (location_covers(&locations->big[i], pid, time, addr))
			return &locations->big[i];
	slot = &locations->slots[(addr >> 7 ^ addr >> 16) % LOCATION_SLOTS];
	if (location_covers(slot, pid, time, addr))
		return slot;
	return look_up_range(locations, images, pid, time, addr, slot);
}

const struct location *location_line(struct decode_locations *locations,
				     struct auxtap_image_set *images, int32_t pid, uint64_t time,
				     uint64_t addr)
{
	struct location *location = &locations->other;
	struct auxtap_location loc = {.size = sizeof(loc)};
	const struct auxtap_frame *outer;

	memset(location, 0, sizeof(*location));
	if (auxtap_image_set_resolve(images, pid, time ? time : UINT64_MAX, addr, &loc) ||
	    !loc.image)
		return location;
	/* the outermost frame is the linker's symbol; the innermost frame has the source line */
	outer = loc.nr_frames ? &loc.frames[loc.nr_frames - 1] : NULL;
	location->range.image = loc.image;
	location->range.image_base = addr - loc.image_off;
	if (outer) {
		location->range.symbol = outer->symbol;
		location->range.symbol_base = addr - outer->symbol_off;
		location->file = loc.frames[0].file;
		location->line = loc.frames[0].line;
	}
	set_name(location);
	return location;
}

/* ---- text of SPE packets ---- */

/* The packet's text without its first 'skip' characters, from the cache if it is there. */
static const char *cached_word(struct decode_locations *locations,
			       const struct auxtap_spe_packet *pkt, enum word_kind kind,
			       uint64_t key, size_t skip, size_t *len)
{
	struct word *word = &locations->words[(key ^ key >> 8 ^ key >> 16) % WORD_SLOTS];
	size_t n;

	if (word->key == key && word->kind == kind) {
		*len = word->len;
		return word->text;
	}
	n = auxtap_spe_packet_text(pkt, locations->text, sizeof(locations->text));
	n = n > skip ? n - skip : 0;
	locations->text[skip + n] = '\0'; /* also if the text is shorter than skip */
	*len = n;
	if (n >= sizeof(word->text))
		return locations->text + skip;
	memcpy(word->text, locations->text + skip, n + 1);
	word->kind = (uint8_t)kind;
	word->key = key;
	word->len = (uint8_t)n;
	return word->text;
}

const char *location_op(struct decode_locations *locations, uint8_t op_class, uint8_t op,
			size_t *len)
{
	struct auxtap_spe_packet pkt = {.size = sizeof(pkt),
					.type = AUXTAP_SPE_OPERATION,
					.index = op_class,
					.payload = op};

	return cached_word(locations, &pkt, WORD_OP, (uint64_t)op_class << 8 | op, 0, len);
}

const char *location_events(struct decode_locations *locations, uint64_t events, size_t *len)
{
	struct auxtap_spe_packet pkt = {.size = sizeof(pkt),
					.type = AUXTAP_SPE_EVENTS,
					.payload = events};

	return cached_word(locations, &pkt, WORD_EVENTS, events, 3, len);
}
