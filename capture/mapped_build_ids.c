// SPDX-License-Identifier: BSD-2-Clause
/*
 * Build-ids of the mapped files, read when a session first sees the mapping: later the name may
 * belong to another file.
 */
#include "mapped_build_ids.h"
#include "build_id.h"
#include "util/vector.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAX 16384u

static bool same_file(const struct mapped_id *id, const struct mmap2_body *map)
{
	return id->file.ino == map->ino && id->file.maj == map->maj && id->file.min == map->min &&
	       !strcmp(id->name, map->filename);
}

static void read_id(struct mapped_id *id)
{
	struct stat st = {0};

	id->size = (uint8_t)build_id_read(id->name, &id->file, id->id);
	if (stat(id->name, &st))
		memset(&st, 0, sizeof(st));
	id->changed = st.st_ctim;
}

/* An inode number may be reused at once, e.g. if a linker replaces the file: reads it again. */
static void reread_id(struct mapped_id *id)
{
	struct mapped_id before = *id;

	read_id(id);
	if (before.size != id->size || memcmp(before.id, id->id, id->size))
		id->several = true;
}

static bool inode_changed(const struct mapped_id *id)
{
	struct stat st;

	return !stat(id->name, &st) && (st.st_ctim.tv_sec != id->changed.tv_sec ||
					st.st_ctim.tv_nsec != id->changed.tv_nsec);
}

const struct mapped_id *mapped_build_ids_get(struct mapped_build_ids *ids,
					     const struct mmap2_body *map, bool mapped_now)
{
	struct mapped_id *id;
	bool several = false;

	for (size_t i = 0; i < ids->nr; i++) {
		id = &ids->files[i];
		if (same_file(id, map)) {
			if (mapped_now && inode_changed(id))
				reread_id(id);
			return id;
		}
		if (!strcmp(id->name, map->filename))
			several = id->several = true;
	}
	if (ids->nr == FILES_MAX || vector_grow(ids->files, ids->nr, ids->max))
		return NULL;
	id = &ids->files[ids->nr];
	*id = (struct mapped_id){.file = {map->maj, map->min, map->ino}, .several = several};
	id->name = strdup(map->filename);
	if (!id->name)
		return NULL;
	read_id(id);
	ids->nr++;
	return id;
}

void mapped_build_ids_free(struct mapped_build_ids *ids)
{
	for (size_t i = 0; i < ids->nr; i++)
		free(ids->files[i].name);
	free(ids->files);
	memset(ids, 0, sizeof(*ids));
}
