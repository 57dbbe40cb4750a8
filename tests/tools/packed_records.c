// SPDX-License-Identifier: BSD-2-Clause
/*
 * packed_records FILE DIR: a packed file's metadata as files DIR/1, DIR/2 …, uncompressed, and
 * DIR/0: what comes before it. Reads the trailer itself.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static void put(const char *dir, unsigned int nr, const void *data, size_t size)
{
	char name[4096];
	FILE *out;

	snprintf(name, sizeof(name), "%s/%u", dir, nr);
	out = fopen(name, "w");
	if (!out || fwrite(data, 1, size, out) != size || fclose(out)) {
		perror(name);
		exit(1);
	}
}

static void put_record(const char *dir, unsigned int nr, const char *data, size_t size)
{
	unsigned long long full = ZSTD_getFrameContentSize(data, size);
	char *plain;

	if (full == ZSTD_CONTENTSIZE_ERROR || full == ZSTD_CONTENTSIZE_UNKNOWN) {
		put(dir, nr, data, size);
		return;
	}
	plain = malloc(full + 1);
	if (!plain || ZSTD_decompress(plain, full, data, size) != full) {
		fprintf(stderr, "record %u is damaged\n", nr);
		exit(1);
	}
	put(dir, nr, plain, full);
	free(plain);
}

int main(int argc, char **argv)
{
	FILE *in = argc == 3 ? fopen(argv[1], "r") : NULL;
	uint64_t trailer[4], head[2]; /* offset, size, nr, magic; type, size */
	unsigned int nr = 0;
	char *data;
	long size;

	if (!in || fseek(in, 0, SEEK_END) || (size = ftell(in)) < (long)sizeof(trailer))
		return 2;
	rewind(in);
	data = malloc((size_t)size);
	if (!data || fread(data, 1, (size_t)size, in) != (size_t)size)
		return 2;
	fclose(in);
	memcpy(trailer, data + size - sizeof(trailer), sizeof(trailer));
	if (memcmp(&trailer[3], "AUXTAPN1", 8) || trailer[0] > (uint64_t)size)
		return 1;
	put(argv[2], nr++, data, trailer[0]);
	for (uint64_t at = trailer[0]; at < (uint64_t)size - sizeof(trailer);) {
		memcpy(head, data + at, sizeof(head));
		at += sizeof(head);
		put_record(argv[2], nr++, data + at, head[1]);
		at += (head[1] + 7) & ~7ull;
	}
	free(data);
	return nr == trailer[2] + 1 ? 0 : 1;
}
