// SPDX-License-Identifier: BSD-2-Clause
/* Lists CoreSight packets of snapshot directories and raw files: see dump_cs.h. */
#include "dump_cs.h"
#include "decode/coresight/cs_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK	    (64u << 10)
#define BYTES_WIDTH 37 /* width of the column with a packet's bytes */
#define MAX_BYTES   32 /* listed bytes of a packet; only unsynchronised bytes are more */

static uint64_t listed_offset(const struct dump_cs *dump, uint64_t off)
{
	return cs_bytes_offset(dump->format, off);
}

/* Writes two hexadecimal digits. */
static char *put_byte(char *at, unsigned int v)
{
	static const char digits[] = "0123456789abcdef";

	at[0] = digits[v >> 4 & 15];
	at[1] = digits[v & 15];
	return at + 2;
}

/* Without printf(), for speed: most lines of a listing are printed here. */
void dump_cs_packet(void *ctx, const struct cs_packet *pkt)
{
	struct dump_cs *dump = ctx;
	char line[32 + 3 * MAX_BYTES + 40], *at = line, *bytes;
	uint32_t nr = pkt->size < MAX_BYTES ? pkt->size : MAX_BYTES;
	uint64_t off = listed_offset(dump, pkt->off);

	for (int shift = off >> 32 ? 56 : 24; shift >= 0; shift -= 8)
		at = put_byte(at, (unsigned int)(off >> shift));
	while (at - line > 8 && *line == '0') /* at least eight digits */
		memmove(line, line + 1, (size_t)(--at - line));
	memset(at, ' ', 2);
	at = put_byte(at + 2, pkt->id);
	memset(at, ' ', 2 + BYTES_WIDTH);
	bytes = at += 2;
	for (uint32_t i = 0; i < nr; i++, at++) {
		at = put_byte(at, pkt->bytes[i]);
		*at = ' ';
	}
	if (at < bytes + BYTES_WIDTH)
		at = bytes + BYTES_WIDTH;
	if (nr < pkt->size)
		at += snprintf(at, 32, "and %u more ", pkt->size - nr);
	*at++ = ' ';
	fwrite(line, 1, (size_t)(at - line), dump->out);
	dump_text(dump->out, pkt->text, SIZE_MAX);
	fputc('\n', dump->out);
}

static void list_error(struct dump_cs *dump, uint64_t off, const char *why)
{
	dump->nr_errors++;
	fprintf(dump->out, "%08" PRIx64 "  error  %s\n", listed_offset(dump, off), why);
}

int dump_cs_bytes(struct dump_cs *dump, struct cs_tree *tree, struct cs_bytes *bytes,
		  struct cs_frames *frames, struct auxtap_error *err)
{
	char why[192] = "";
	uint64_t off = 0;
	ssize_t got;
	int ret = 0;

	while ((got = cs_bytes_next(bytes, &off)) > 0) {
		size_t done = 0, used;

		off += dump->begin;
		if (frames)
			cs_frames_add(frames, off, bytes->buf, (size_t)got);
		while (done < (size_t)got) {
			ret = cs_tree_feed(tree, off + done, bytes->buf + done, (size_t)got - done,
					   &used, why, sizeof(why));
			done += used;
			if (ret)
				list_error(dump, off + done, why);
			if (ret && ret != -EBADMSG)
				return auxtap_error_set(err, ret, "CoreSight", "%s", why);
			ret = dump_output_failed(dump->out);
			if (ret)
				return ret;
		}
	}
	if (got < 0)
		return auxtap_error_set_at(err, (int)got, "CoreSight", bytes->file_off + bytes->at,
					   "the trace at offset %" PRIu64 " cannot be read",
					   bytes->file_off + bytes->at);
	if (bytes->at < bytes->size) {
		snprintf(why, sizeof(why), "the last %" PRIu64 " bytes are an incomplete frame",
			 bytes->size - bytes->at);
		dump->nr_errors++;
		fprintf(dump->out, "%08" PRIx64 "  error  %s\n", dump->begin + bytes->at, why);
	}
	return 0;
}

void dump_cs_unknown_ids(struct dump_cs *dump, const struct cs_frames *frames,
			 const struct cs_unit *const *units, size_t nr)
{
	for (unsigned int id = 0; id < CS_NR_IDS; id++) {
		bool known = !cs_id_is_trace(id);

		for (size_t i = 0; i < nr; i++)
			known = known || units[i]->id == id;
		if (known || !frames->nr_bytes[id])
			continue;
		dump->nr_errors++;
		fprintf(dump->out,
			"%08" PRIx64
			"  error  trace ID 0x%02x belongs to no known trace unit: %" PRIu64
			" bytes of it are not listed\n",
			listed_offset(dump, frames->first[id]), id, frames->nr_bytes[id]);
	}
}

/* ---- snapshot directories ---- */

struct snapshot_dump {
	const struct cs_snapshot *ss;
	struct dump_cs dump;
	unsigned char *buf;
	int fd;
};

static ssize_t read_fd(void *ctx, void *buf, size_t size, uint64_t off)
{
	const struct snapshot_dump *sd = ctx;
	size_t got = 0;

	while (got < size) {
		ssize_t ret = pread(sd->fd, (char *)buf + got, size - got, (off_t)(off + got));

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret < 0)
			return -errno;
		if (!ret)
			break;
		got += (size_t)ret;
	}
	return (ssize_t)got;
}

static void put_unit(const struct cs_snapshot_unit *u, const struct cs_snapshot *ss, FILE *out)
{
	fputs("unit ", out);
	dump_text(out, u->name, SIZE_MAX);
	fprintf(out, ": %s", cs_protocol_name(u->unit.protocol));
	if (u->unit.id != CS_ID_NONE)
		fprintf(out, ", trace ID 0x%02x", u->unit.id);
	if (u->unit.cpu >= 0)
		fprintf(out, ", CPU %d", u->unit.cpu);
	if (u->buffer < ss->nr_buffers) {
		fputs(", in ", out);
		dump_text(out, ss->buffers[u->buffer].name, SIZE_MAX);
	} else {
		fputs(", in no buffer", out);
	}
	if (u->why[0])
		fprintf(out, ": %s", u->why);
	fputc('\n', out);
}

static int list_buffer(struct snapshot_dump *sd, size_t index, struct cs_tree *tree,
		       const struct cs_unit *const *units, size_t nr, uint64_t size,
		       struct auxtap_error *err)
{
	const struct cs_snapshot_buffer *buffer = &sd->ss->buffers[index];
	struct cs_bytes bytes = {.pread = read_fd,
				 .ctx = sd,
				 .format = buffer->format,
				 .size = size,
				 .chunk = CHUNK,
				 .buf = sd->buf};
	struct cs_frames *frames = NULL;
	char why[192];
	int ret;

	if (buffer->format != CS_FORMAT_SOURCE) {
		frames = malloc(sizeof(*frames));
		if (!frames)
			return auxtap_error_set(err, -ENOMEM, buffer->path, "out of memory");
		cs_frames_init(frames, buffer->format);
	}
	ret = dump_cs_bytes(&sd->dump, tree, &bytes, frames, err);
	if (!ret && cs_tree_end(tree, why, sizeof(why)))
		list_error(&sd->dump, bytes.at, why);
	if (!ret && frames)
		dump_cs_unknown_ids(&sd->dump, frames, units, nr);
	free(frames);
	return ret;
}

static int open_buffer(struct snapshot_dump *sd, size_t index, struct auxtap_error *err)
{
	const struct cs_snapshot_buffer *buffer = &sd->ss->buffers[index];
	struct cs_tree_opts opts = {.format = buffer->format,
				    .packet = dump_cs_packet,
				    .ctx = &sd->dump};
	const struct cs_unit *units[CS_NR_IDS];
	struct cs_tree *tree;
	struct stat st;
	size_t nr = 0;
	int ret;

	for (size_t i = 0; i < sd->ss->nr_units && nr < CS_NR_IDS; i++)
		if (sd->ss->units[i].buffer == index && !sd->ss->units[i].why[0] &&
		    (buffer->format != CS_FORMAT_SOURCE || !nr))
			units[nr++] = &sd->ss->units[i].unit;
	if (fstat(sd->fd, &st) || !S_ISREG(st.st_mode))
		return auxtap_error_set(err, -EBADMSG, buffer->path, "is not a regular file");
	fputs("\nbuffer ", sd->dump.out);
	dump_text(sd->dump.out, buffer->name, SIZE_MAX);
	fprintf(sd->dump.out, ": %" PRIu64 " bytes\n", (uint64_t)st.st_size);
	sd->dump.format = buffer->format;
	ret = cs_tree_new(&tree, &opts, units, nr, err);
	if (ret == -ENOTSUP && !nr) {
		fputs("         error  no unit of this buffer can be decoded\n", sd->dump.out);
		sd->dump.nr_errors++;
		return 0;
	}
	if (ret)
		return ret;
	ret = list_buffer(sd, index, tree, units, nr, (uint64_t)st.st_size, err);
	cs_tree_free(tree);
	return ret;
}

static int list_snapshot(struct cs_snapshot *ss, const char *name, const struct dump_opts *opts,
			 struct auxtap_error *err)
{
	struct snapshot_dump sd = {.ss = ss, .dump = {.out = opts->out}};
	int ret = 0;

	for (size_t i = 0; i < ss->nr_units; i++)
		put_unit(&ss->units[i], ss, opts->out);
	sd.buf = malloc(CHUNK);
	if (!sd.buf)
		ret = auxtap_error_set(err, -ENOMEM, name, "out of memory");
	for (size_t i = 0; !ret && opts->packets && i < ss->nr_buffers; i++) {
		sd.fd = open(ss->buffers[i].path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (sd.fd < 0)
			ret = auxtap_error_set(err, -errno, ss->buffers[i].path, "cannot open: %s",
					       strerror(errno));
		else
			ret = open_buffer(&sd, i, err);
		if (sd.fd >= 0)
			close(sd.fd);
	}
	if (!ret)
		ret = dump_output_failed(opts->out);
	if (!ret && sd.dump.nr_errors)
		ret = auxtap_error_set(err, 1, name,
				       "%" PRIu64 " stretches of the trace cannot be decoded",
				       sd.dump.nr_errors);
	free(sd.buf);
	cs_snapshot_free(ss);
	return ret;
}

int dump_cs_snapshot(const char *dir, const struct dump_opts *opts, struct auxtap_error *err)
{
	struct cs_snapshot ss;
	int ret = cs_snapshot_read(&ss, dir, err);

	if (ret)
		return ret;
	fprintf(opts->out, "%s: CoreSight snapshot, packets by OpenCSD %s\n", dir,
		cs_tree_version());
	return list_snapshot(&ss, dir, opts, err);
}

int dump_cs_raw(const char *path, const struct auxtap_raw_opts *raw, const struct dump_opts *opts,
		struct auxtap_error *err)
{
	struct cs_snapshot ss;
	int ret = cs_snapshot_from_raw(&ss, path, raw->etm_format, raw->etm_configs,
				       raw->nr_etm_configs, err);

	if (ret)
		return ret;
	fprintf(opts->out, "%s: CoreSight trace, packets by OpenCSD %s\n", path, cs_tree_version());
	return list_snapshot(&ss, path, opts, err);
}
