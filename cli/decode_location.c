// SPDX-License-Identifier: BSD-2-Clause
/* Caches of names: see decode_location.h. */
#include "decode_location.h"

#include <auxtap/spe.h>

#include <string.h>

static inline bool holds(const struct place *place, int32_t pid, uint64_t time, uint64_t addr)
{
	const struct auxtap_range *r = &place->range;

	return addr - r->start < r->end - r->start && place->pid == pid && time >= r->time_begin &&
	       time <= r->time_last;
}

static void set_name(struct place *place)
{
	const char *image = place->range.image, *slash;

	place->name = NULL;
	place->name_len = place->image_len = 0;
	if (!image)
		return;
	place->image_len = strlen(image);
	slash = strrchr(image, '/');
	place->name = place->range.symbol ? place->range.symbol : slash ? slash + 1 : image;
	place->base = place->range.symbol ? place->range.symbol_base : place->range.image_base;
	place->name_len = strlen(place->name);
	if (place->name_len <= PLACE_TEXT)
		memcpy(place->name_text, place->name, place->name_len);
	if (place->image_len + 2 <= PLACE_TEXT) {
		place->image_text[0] = '(';
		memcpy(place->image_text + 1, image, place->image_len);
		place->image_text[1 + place->image_len] = ')';
	}
}

static const struct place *look_up(struct decode_places *places, struct auxtap_image_set *images,
				   int32_t pid, uint64_t time, uint64_t addr, struct place *slot)
{
	struct auxtap_range range;

	if (auxtap_image_set_range(images, pid, time, addr, &range))
		memset(&range, 0, sizeof(range));
	if (range.end - range.start > PLACE_IS_BIG) {
		slot = &places->big[places->next_big];
		places->next_big = (places->next_big + 1) % PLACE_BIG;
	}
	slot->range = range;
	slot->pid = pid;
	set_name(slot);
	return slot;
}

const struct place *place_find(struct decode_places *places, struct auxtap_image_set *images,
			       int32_t pid, uint64_t time, uint64_t addr)
{
	struct place *slot;

	if (!time)
		time = UINT64_MAX;
	for (unsigned int i = 0; i < PLACE_BIG; i++)
		if (holds(&places->big[i], pid, time, addr))
			return &places->big[i];
	slot = &places->slots[(addr >> 7 ^ addr >> 16) % PLACE_SLOTS];
	if (holds(slot, pid, time, addr))
		return slot;
	return look_up(places, images, pid, time, addr, slot);
}

const struct place *place_line(struct decode_places *places, struct auxtap_image_set *images,
			       int32_t pid, uint64_t time, uint64_t addr)
{
	struct place *place = &places->other;
	struct auxtap_location loc;
	const struct auxtap_frame *outer;

	memset(place, 0, sizeof(*place));
	if (auxtap_image_set_resolve(images, pid, time ? time : UINT64_MAX, addr, &loc) ||
	    !loc.image)
		return place;
	/* the outermost frame is the linker's symbol; the innermost frame has the source line */
	outer = loc.nr_frames ? &loc.frames[loc.nr_frames - 1] : NULL;
	place->range.image = loc.image;
	place->range.image_base = addr - loc.image_off;
	if (outer) {
		place->range.symbol = outer->symbol;
		place->range.symbol_base = addr - outer->symbol_off;
		place->file = loc.frames[0].file;
		place->line = loc.frames[0].line;
	}
	set_name(place);
	return place;
}

/* ---- text of SPE packets ---- */

/* The packet's text without its first 'skip' characters, from the cache if it is there. */
static const char *word_of(struct decode_places *places, const struct auxtap_spe_packet *pkt,
			   enum word_kind kind, uint64_t key, size_t skip, size_t *len)
{
	struct word *word = &places->words[(key ^ key >> 8 ^ key >> 16) % WORD_SLOTS];
	size_t n;

	if (word->key == key && word->kind == kind) {
		*len = word->len;
		return word->text;
	}
	n = auxtap_spe_packet_text(pkt, places->text, sizeof(places->text));
	n = n > skip ? n - skip : 0;
	places->text[skip + n] = '\0'; /* also if the text is shorter than skip */
	*len = n;
	if (n >= sizeof(word->text))
		return places->text + skip;
	memcpy(word->text, places->text + skip, n + 1);
	word->kind = (uint8_t)kind;
	word->key = key;
	word->len = (uint8_t)n;
	return word->text;
}

const char *place_op(struct decode_places *places, uint8_t op_class, uint8_t op, size_t *len)
{
	struct auxtap_spe_packet pkt = {.type = AUXTAP_SPE_OPERATION,
					.index = op_class,
					.payload = op};

	return word_of(places, &pkt, WORD_OP, (uint64_t)op_class << 8 | op, 0, len);
}

const char *place_events(struct decode_places *places, uint64_t events, size_t *len)
{
	struct auxtap_spe_packet pkt = {.type = AUXTAP_SPE_EVENTS, .payload = events};

	return word_of(places, &pkt, WORD_EVENTS, events, 3, len);
}
