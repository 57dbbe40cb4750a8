// SPDX-License-Identifier: BSD-2-Clause
/* See jitdump.h. */
#include "jitdump.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MAGIC	   0x4a695444u /* "JiTD" */
#define VERSION	   1
#define FILE_BYTES (1ull << 28) /* at most this many bytes of a file are read */

struct file_head {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};

struct record_head {
	uint32_t id, size; /* of the whole record */
	uint64_t time;
};

struct load {
	uint32_t pid, tid;
	uint64_t vma, addr, size, number; /* then the name and, in a file, the code */
};

struct move {
	uint32_t pid, tid;
	uint64_t vma, from, to, size, number;
};

struct debug {
	uint64_t addr, nr; /* then the entries */
};

struct debug_entry {
	uint64_t addr;
	uint32_t line, discriminator; /* then the file name */
};

_Static_assert(sizeof(struct file_head) == 40 && sizeof(struct record_head) == 16 &&
		       sizeof(struct load) == 40 && sizeof(struct move) == 48 &&
		       sizeof(struct debug) == 16 && sizeof(struct debug_entry) == 16,
	       "jitdump");

/* ---- records in memory ---- */

static bool parse_load(const uint8_t *body, size_t size, struct jitdump_record *record)
{
	struct load load;

	if (size <= sizeof(load) || !memchr(body + sizeof(load), 0, size - sizeof(load)))
		return false;
	memcpy(&load, body, sizeof(load));
	record->addr = load.addr;
	record->size = load.size;
	record->number = load.number;
	record->name = (const char *)body + sizeof(load);
	return true;
}

static bool parse_move(const uint8_t *body, size_t size, struct jitdump_record *record)
{
	struct move move;

	if (size < sizeof(move))
		return false;
	memcpy(&move, body, sizeof(move));
	record->addr = move.to;
	record->size = move.size;
	record->number = move.number;
	return true;
}

static bool parse_debug(const uint8_t *body, size_t size, struct jitdump_record *record)
{
	struct debug debug;

	if (size < sizeof(debug))
		return false;
	memcpy(&debug, body, sizeof(debug));
	record->addr = debug.addr;
	record->nr_lines = debug.nr;
	record->lines = body + sizeof(debug);
	record->lines_size = size - sizeof(debug);
	return true;
}

bool jitdump_next(const uint8_t *bytes, size_t size, size_t *at, struct jitdump_record *record)
{
	struct record_head head;

	while (size - *at >= sizeof(head)) {
		const uint8_t *body = bytes + *at + sizeof(head);
		bool found = false;

		memcpy(&head, bytes + *at, sizeof(head));
		if (head.size < sizeof(head) || head.size > size - *at || head.id == JITDUMP_CLOSE)
			break;
		*at += head.size;
		*record = (struct jitdump_record){.id = head.id};
		head.size -= (uint32_t)sizeof(head);
		if (head.id == JITDUMP_LOAD)
			found = parse_load(body, head.size, record);
		else if (head.id == JITDUMP_MOVE)
			found = parse_move(body, head.size, record);
		else if (head.id == JITDUMP_DEBUG)
			found = parse_debug(body, head.size, record);
		if (found)
			return true;
	}
	*at = size;
	return false;
}

bool jitdump_line(struct jitdump_record *record, struct jitdump_line *line)
{
	const char *name = (const char *)record->lines + sizeof(struct debug_entry);
	struct debug_entry entry;
	const char *end;

	if (!record->nr_lines || record->lines_size <= sizeof(entry))
		return false;
	end = memchr(name, 0, record->lines_size - sizeof(entry));
	if (!end)
		return false;
	memcpy(&entry, record->lines, sizeof(entry));
	line->addr = entry.addr;
	line->line = entry.line;
	if (strcmp(name, "\xff") != 0) /* this name means: the same file as the previous line */
		line->file = name;
	record->nr_lines--;
	record->lines_size -= (size_t)(end + 1 - (const char *)record->lines);
	record->lines = (const uint8_t *)end + 1;
	return true;
}

/* ---- a file ---- */

struct input {
	int fd, error;
	size_t at, nr; /* position in buf; bytes in buf */
	uint64_t left; /* bytes that may still be read */
	uint8_t buf[65536];
};

/* Reads size bytes into 'to', or skips them if that is NULL. False: the file ends before. */
static bool read_bytes(struct input *input, void *to, uint64_t size)
{
	while (size) {
		size_t n = input->nr - input->at;

		if (!n) {
			size_t max = input->left < sizeof(input->buf) ? (size_t)input->left :
									sizeof(input->buf);
			ssize_t got = read(input->fd, input->buf, max);

			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0) {
				input->error = got ? errno : 0;
				return false;
			}
			input->left -= (uint64_t)got;
			input->at = 0;
			input->nr = (size_t)got;
			continue;
		}
		n = size < n ? (size_t)size : n;
		if (to) {
			memcpy(to, input->buf + input->at, n);
			to = (uint8_t *)to + n;
		}
		input->at += n;
		size -= n;
	}
	return true;
}

static void put(uint8_t **out, const void *bytes, size_t size)
{
	memcpy(*out, bytes, size);
	*out += size;
}

enum outcome {
	DONE,
	INCOMPLETE, /* the file ends in this record */
	FULL,
};

/* Copies a record unchanged. */
static enum outcome copy_unchanged(struct input *input, struct record_head head, uint8_t **out,
				   size_t max)
{
	uint32_t size = head.size - (uint32_t)sizeof(head);

	if (!*out || head.size > max)
		return FULL;
	if (!read_bytes(input, *out + sizeof(head), size))
		return INCOMPLETE;
	memcpy(*out, &head, sizeof(head));
	*out += head.size;
	return DONE;
}

/* Copies a LOAD record without its code. */
static enum outcome copy_load(struct input *input, struct record_head head, uint8_t **out,
			      size_t max)
{
	uint64_t size = head.size - sizeof(head), n;
	char name[JITDUMP_NAME_MAX];
	struct load load;

	if (size <= sizeof(load))
		return read_bytes(input, NULL, size) ? DONE : INCOMPLETE;
	if (!read_bytes(input, &load, sizeof(load)))
		return INCOMPLETE;
	size -= sizeof(load);
	n = size < sizeof(name) ? size : sizeof(name);
	if (!read_bytes(input, name, n) || !read_bytes(input, NULL, size - n))
		return INCOMPLETE;
	name[n - 1] = 0;
	n = strlen(name) + 1;
	head.size = (uint32_t)(sizeof(head) + sizeof(load) + n);
	if (head.size > max)
		return FULL;
	put(out, &head, sizeof(head));
	put(out, &load, sizeof(load));
	put(out, name, n);
	return DONE;
}

static enum outcome copy_record(struct input *input, struct record_head head, uint8_t **out,
				size_t max)
{
	switch (head.id) {
	case JITDUMP_LOAD:
		return copy_load(input, head, out, max);
	case JITDUMP_MOVE:
	case JITDUMP_DEBUG:
		return copy_unchanged(input, head, out, max);
	default:
		return read_bytes(input, NULL, head.size - sizeof(head)) ? DONE : INCOMPLETE;
	}
}

int64_t jitdump_condense(int fd, uint8_t *out, size_t max, bool *cut)
{
	struct input input = {.fd = fd, .left = FILE_BYTES};
	struct file_head file;
	struct record_head head;
	uint8_t *at = out;

	*cut = false;
	if (!read_bytes(&input, &file, sizeof(file)))
		return input.error ? -input.error : -EBADMSG;
	if (file.magic != MAGIC || file.version != VERSION || file.size < sizeof(file))
		return -EBADMSG;
	if (!read_bytes(&input, NULL, file.size - sizeof(file)))
		return input.error ? -input.error : 0;
	while (read_bytes(&input, &head, sizeof(head)) && head.id != JITDUMP_CLOSE) {
		enum outcome outcome = FULL;

		if (head.size >= sizeof(head))
			outcome = copy_record(&input, head, &at, max - (size_t)(at - out));
		if (outcome == FULL)
			*cut = true;
		if (outcome != DONE)
			break;
	}
	*cut |= input.error || !input.left;
	return at - out;
}
