// SPDX-License-Identifier: BSD-2-Clause
/*
 * Mutations that know the layout of a perf.data file: records, their fields, trace bytes, feature
 * sections, metadata. Blind ones (mutate.c) rarely get past the first length. The layout is
 * written anew here, from perf's format, so that the reader is not its own reference.
 */
#include "mutate.h"

#include <stdbool.h>
#include <string.h>

#define MAX_ITEMS 4096

struct item {
	size_t at, size; /* of the record without trace bytes; of an entry with its header */
	size_t payload;	 /* bytes after an AUXTRACE record */
};

static struct item items[MAX_ITEMS];

static uint64_t get(const unsigned char *data, size_t at, size_t width)
{
	uint64_t value = 0;

	memcpy(&value, data + at, width);
	return value;
}

/* Offset and size of the section that the header names at byte 'field'. */
static bool section(const unsigned char *data, size_t size, size_t field, size_t *at, size_t *len)
{
	uint64_t offset = get(data, field, 8), nr_bytes = get(data, field + 8, 8);

	if (offset > size || nr_bytes > size - offset)
		return false;
	*at = (size_t)offset;
	*len = (size_t)nr_bytes;
	return true;
}

static size_t find_records(const unsigned char *data, size_t size)
{
	size_t at, len, end, nr = 0;

	if (size < 104 || !section(data, size, 40, &at, &len))
		return 0;
	for (end = at + len; nr < MAX_ITEMS && end - at >= 8;) {
		struct item *p = &items[nr];
		uint64_t payload = 0;

		p->at = at;
		p->size = (size_t)get(data, at + 6, 2);
		if (p->size < 8 || p->size > end - at)
			break;
		if (get(data, at, 4) == 71 && p->size >= 48)
			payload = get(data, at + 8, 8);
		if (payload > end - at - p->size)
			break;
		p->payload = (size_t)payload;
		at += p->size + p->payload;
		nr++;
	}
	return nr;
}

static size_t find_metadata(const unsigned char *data, size_t size)
{
	uint64_t at, end;
	size_t nr = 0;

	if (size < 32 || get(data, size - 8, 8) != 0x314e504154585541ULL)
		return 0;
	end = size - 32;
	for (at = get(data, size - 32, 8); nr < MAX_ITEMS && at < end && end - at >= 16; nr++) {
		uint64_t len = get(data, (size_t)at + 8, 8);

		if (len > end - at - 16)
			break;
		items[nr] = (struct item){(size_t)at, (size_t)len + 16, 0};
		at += 16 + ((len + 7) & ~7ULL);
	}
	return nr;
}

/* A field becomes an extreme, its neighbour's value, or a little more or less than it was. */
static void change_field(unsigned char *data, size_t size, size_t at, size_t len)
{
	size_t width = (size_t)1 << mutate_rnd(4), field;
	uint64_t value;

	if (len < width)
		return;
	field = at + (mutate_rnd(len - width + 1) & ~(width - 1));
	switch (mutate_rnd(4)) {
	case 0:
		value = get(data, field, width) + mutate_rnd(33) - 16;
		break;
	case 1:
		value = get(data, at + (mutate_rnd(len - width + 1) & ~(width - 1)), width);
		break;
	case 2:
		value = get(data, field, width) ^ 1ULL << mutate_rnd(width * 8);
		break;
	default:
		value = mutate_number(size);
		break;
	}
	memcpy(data + field, &value, width);
}

static size_t cut(unsigned char *data, size_t size, size_t at, size_t len)
{
	memmove(data + at, data + at + len, size - at - len);
	return size - len;
}

/* Another copy of [from, from + len) at 'to'. */
static size_t insert(unsigned char *data, size_t size, size_t max, size_t to, size_t from,
		     size_t len)
{
	unsigned char copy[4096];

	if (len > sizeof(copy) || len > max - size)
		return size;
	memcpy(copy, data + from, len);
	memmove(data + to + len, data + to, size - to);
	memcpy(data + to, copy, len);
	return size + len;
}

static void change_trace(unsigned char *data, size_t at, size_t len)
{
	size_t from = mutate_rnd(len), to = mutate_rnd(len), nr = 1 + mutate_rnd(64);

	if (nr > len - (from > to ? from : to))
		nr = len - (from > to ? from : to);
	switch (mutate_rnd(4)) {
	case 0: /* splice: packets from another location */
		memmove(data + at + to, data + at + from, nr);
		break;
	case 1:
		memset(data + at + to, 0, nr);
		break;
	case 2:
		for (size_t i = 0; i < nr; i++)
			data[at + to + i] = (unsigned char)mutate_rnd(256);
		break;
	default:
		data[at + to] ^= (unsigned char)(1 << mutate_rnd(8));
		break;
	}
}

/* The data section's size in the header follows, so that the sections after it are still found. */
static void resize_data(unsigned char *data, int64_t by)
{
	uint64_t len = get(data, 48, 8) + (uint64_t)by;

	memcpy(data + 48, &len, 8);
}

static size_t change_records(unsigned char *data, size_t size, size_t max)
{
	size_t nr = find_records(data, size), grown;
	const struct item *p, *q;

	if (!nr)
		return size;
	p = &items[mutate_rnd(nr)];
	q = &items[mutate_rnd(nr)];
	switch (mutate_rnd(8)) {
	case 0: /* type, misc, size */
		change_field(data, size, p->at, 8);
		return size;
	case 1: /* the type alone: the body of one read as another */
		data[p->at] = (unsigned char)mutate_rnd(90);
		return size;
	case 2:
		grown = cut(data, size, p->at, p->size + p->payload);
		resize_data(data, (int64_t)grown - (int64_t)size);
		return grown;
	case 3: /* a copy at another location */
		grown = insert(data, size, max, q->at, p->at, p->size + p->payload);
		resize_data(data, (int64_t)grown - (int64_t)size);
		return grown;
	case 4:
		while (!p->payload && p < items + nr - 1)
			p++;
		if (p->payload) {
			change_trace(data, p->at + p->size, p->payload);
			return size;
		}
		/* fall through */
	default:
		change_field(data, size, p->at + 8, p->size - 8);
		return size;
	}
}

static size_t change_metadata(unsigned char *data, size_t size)
{
	size_t nr = find_metadata(data, size);
	const struct item *p;

	if (!nr)
		return size;
	p = &items[mutate_rnd(nr)];
	switch (mutate_rnd(4)) {
	case 0: /* the trailer */
		change_field(data, size, size - 32, 24);
		break;
	case 1: /* type and size of a metadata entry */
		change_field(data, size, p->at, 16);
		break;
	default: /* mostly the structs, seldom the memory after them */
		change_field(data, size, p->at + 16,
			     mutate_rnd(4) && p->size > 16 + 512 ? 512 : p->size - 16);
		break;
	}
	return size;
}

static void change_features(unsigned char *data, size_t size)
{
	size_t at, len, table;

	if (size < 104 || !section(data, size, 40, &at, &len))
		return;
	table = at + len;
	if (size - table < 16)
		return;
	if (mutate_rnd(3)) {
		size_t entry = table +
			       mutate_rnd((size - table) / 16 < 24 ? (size - table) / 16 : 24) * 16;

		if (mutate_rnd(2) || !section(data, size, entry, &at, &len) || !len)
			change_field(data, size, entry, 16);
		else
			change_field(data, size, at, len < 256 ? len : 256);
	} else {
		change_field(data, size, 72, 8); /* the bitmap of features */
	}
}

size_t mutate_structure(unsigned char *data, size_t size, size_t max)
{
	size_t at, len;

	switch (mutate_rnd(8)) {
	case 0:
		change_features(data, size);
		return size;
	case 1:
		return change_metadata(data, size);
	case 2: /* attributes and their ids */
		if (size >= 104 && section(data, size, 24, &at, &len))
			change_field(data, size, at, len);
		return size;
	default:
		return change_records(data, size, max);
	}
}
