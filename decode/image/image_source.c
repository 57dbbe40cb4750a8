// SPDX-License-Identifier: BSD-2-Clause
/*
 * Source lines that a packed recording contains, or that a report showed and that will be packed.
 */
#include "packed.h"
#include "util/vector.h"

#include <stdlib.h>
#include <string.h>

/* AUXTAP_METADATA_PACK_SOURCE is a zstd frame; for each line: this, the file's name, the text. */
struct packed_source {
	uint32_t line, newer, file_size, text_size;
};

static bool source_add(struct auxtap_image_set *set, const char *file, size_t file_size,
		       unsigned int line, const char *text, size_t text_size, bool newer)
{
	struct image_source source = {.line = line, .newer = newer};

	if (vector_grow(set->sources, set->nr_sources, set->max_sources))
		return false;
	source.file = strndup(file, file_size);
	source.text = strndup(text, text_size);
	if (!source.file || !source.text) {
		free(source.file);
		free(source.text);
		return false;
	}
	set->sources[set->nr_sources++] = source;
	return true;
}

const struct image_source *image_set_find_source(const struct auxtap_image_set *set,
						 const char *file, unsigned int line)
{
	for (size_t i = 0; file && i < set->nr_sources; i++)
		if (set->sources[i].line == line && !strcmp(set->sources[i].file, file))
			return &set->sources[i];
	return NULL;
}

void image_set_note_source(struct auxtap_image_set *set, const char *file, unsigned int line,
			   const char *text, size_t size, bool newer)
{
	if (set->tracks_use && !image_set_find_source(set, file, line) &&
	    !source_add(set, file, strlen(file), line, text, size, newer))
		set->no_memory = true;
}

uint8_t *image_source_pack(const struct auxtap_image_set *set, size_t *size)
{
	uint8_t *out, *at;

	*size = 0;
	for (size_t i = 0; i < set->nr_sources; i++)
		*size += sizeof(struct packed_source) + strlen(set->sources[i].file) +
			 strlen(set->sources[i].text);
	out = at = *size ? malloc(*size) : NULL;
	for (size_t i = 0; out && i < set->nr_sources; i++) {
		const struct image_source *source = &set->sources[i];
		const struct packed_source head = {source->line, source->newer,
						   (uint32_t)strlen(source->file),
						   (uint32_t)strlen(source->text)};

		memcpy(at, &head, sizeof(head));
		at += sizeof(head);
		memcpy(at, source->file, head.file_size);
		at += head.file_size;
		memcpy(at, source->text, head.text_size);
		at += head.text_size;
	}
	return out;
}

int image_source_add(struct auxtap_image_set *set, const void *data, size_t size)
{
	struct packed_source head;
	uint8_t *unpacked;
	size_t left, at = 0;
	int ret = packed_unpack(data, size, &unpacked, &left);

	while (!ret && left) {
		const char *file;

		if (left < sizeof(head)) {
			ret = -EBADMSG;
			break;
		}
		memcpy(&head, unpacked + at, sizeof(head));
		at += sizeof(head);
		left -= sizeof(head);
		if (head.file_size > left || head.text_size > left - head.file_size) {
			ret = -EBADMSG;
			break;
		}
		file = (const char *)unpacked + at;
		if (!source_add(set, file, head.file_size, head.line, file + head.file_size,
				head.text_size, head.newer))
			ret = -ENOMEM;
		at += head.file_size + head.text_size;
		left -= head.file_size + head.text_size;
	}
	free(unpacked);
	return ret;
}

void image_source_free(struct auxtap_image_set *set)
{
	for (size_t i = 0; i < set->nr_sources; i++) {
		free(set->sources[i].file);
		free(set->sources[i].text);
	}
	free(set->sources);
}
