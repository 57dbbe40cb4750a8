// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads lines of a source file that debug information names. The name is untrusted: it may be that
 * of a device, of a FIFO, of /etc/shadow. So only regular files are read, without blocking, up to a
 * limit, and only if those who could choose the name may read them, too.
 */
#include "decode/image/packed.h"
#include "decode/image/open_for_users.h"
#include "report_out.h"
#include "report_source.h"

#include <auxtap/text.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES (64u << 20) /* of a file that are searched for a line */
#define MAX_LINE  120	      /* characters of it that are shown */
#define NR_OWNERS 2	      /* of the recording, of the image */

static int open_source(const char *file, const uid_t *uids, size_t nr_uids)
{
	struct stat st;
	int fd;

	errno = 0;
	if (file[0] != '/')
		return -1;
	fd = open_for_users(file, uids, nr_uids);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * Reads lines first to first + nr - 1, without newlines, into source. Returns how many of them the
 * file contains.
 */
static unsigned int read_lines(int fd, unsigned int first, unsigned int nr,
			       struct report_source *source)
{
	unsigned int at = 1, found = 0;
	char buf[16384];

	for (size_t done = 0; done < MAX_BYTES && at < first + nr;) {
		ssize_t got = read(fd, buf, sizeof(buf));

		if (got <= 0)
			break;
		done += (size_t)got;
		for (ssize_t i = 0; i < got && at < first + nr; i++) {
			struct report_source_line *line =
				at >= first ? &source->lines[at - first] : NULL;

			if (line && found <= at - first)
				found = at - first + 1; /* the line has started */
			if (buf[i] == '\n')
				at++;
			else if (line && line->len < sizeof(line->text))
				line->text[line->len++] = buf[i];
		}
	}
	return found;
}

/* False if the image's file is not found again. */
static bool stat_image(const struct report_out *ro, const char *name, struct stat *st)
{
	struct auxtap_image_info info = {.size = sizeof(info)};

	for (size_t i = 0; i < auxtap_image_set_count(ro->images); i++)
		if (!auxtap_image_set_info(ro->images, i, &info) && !strcmp(info.name, name) &&
		    info.state == AUXTAP_IMAGE_FOUND && info.path && !stat(info.path, st))
			return true;
	return false;
}

/* Was the source written after the image? Then its lines may differ from those compiled. */
static bool is_newer(int fd, const struct stat *image)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	return st.st_mtim.tv_sec != image->st_mtim.tv_sec ?
		       st.st_mtim.tv_sec > image->st_mtim.tv_sec :
		       st.st_mtim.tv_nsec > image->st_mtim.tv_nsec;
}

static void print_line(const struct report_out *ro, unsigned int line, const char *text, size_t len,
		       bool newer)
{
	char safe[4 * MAX_LINE + 1];

	auxtap_text_escape(safe, sizeof(safe), text, len);
	fprintf(ro->out, "      %s%u%s | %s\n", ro->style->dim, line, ro->style->off, safe);
	if (newer)
		fprintf(ro->out,
			"      %sthe source file is newer than the program: this line may be another one%s\n",
			ro->style->bad, ro->style->off);
}

/* Prints a line from a packed file, which contains those that were shown when it was packed. */
static bool print_packed(const struct report_out *ro, const struct auxtap_frame *frame)
{
	const struct image_source *source =
		image_set_find_source(ro->images, frame->file, frame->line);
	size_t len = source ? strlen(source->text) : 0;

	if (!source)
		return false;
	print_line(ro, frame->line, source->text, len < MAX_LINE ? len : MAX_LINE, source->newer);
	return true;
}

bool report_source_packed(const struct report_out *ro, const struct auxtap_frame *frame,
			  struct report_source *source)
{
	const struct image_source *packed =
		frame->file ? image_set_find_source(ro->images, frame->file, frame->line) : NULL;
	struct report_source_line *line = &source->lines[0];

	if (!packed)
		return false;
	memset(source, 0, sizeof(*source));
	source->first = frame->line;
	source->nr = 1;
	source->newer = packed->newer;
	line->len = strlen(packed->text);
	if (line->len > sizeof(line->text))
		line->len = sizeof(line->text);
	memcpy(line->text, packed->text, line->len);
	return true;
}

bool report_source_read(const struct report_out *ro, const char *image_name,
			const struct auxtap_frame *frame, unsigned int around,
			struct report_source *source)
{
	struct stat image;
	bool have_image = stat_image(ro, image_name, &image);
	const uid_t owners[NR_OWNERS] = {ro->owner, have_image ? image.st_uid : (uid_t)-1};
	unsigned int before;
	int fd;

	memset(source, 0, sizeof(*source));
	fd = frame->line ? open_source(frame->file, owners, NR_OWNERS) : -1;
	if (frame->line && fd < 0 && (errno == EMFILE || errno == ENFILE))
		image_set_note_oom(ro->images);
	if (fd < 0)
		return false;
	source->newer = have_image && is_newer(fd, &image);
	before = frame->line <= around ? frame->line - 1 : around;
	source->first = frame->line - before;
	source->nr = read_lines(fd, source->first, before + 1 + around, source);
	close(fd);
	return source->nr > before; /* the line itself was read */
}

void report_source_line(const struct report_out *ro, const struct auxtap_location *loc)
{
	const struct auxtap_frame *frame = &loc->frames[0];
	struct report_source source;
	size_t len, at = 0;
	char *text;

	if (print_packed(ro, frame) || ro->images->nr_packed ||
	    !report_source_read(ro, loc->image, frame, 0, &source))
		return;
	text = source.lines[0].text;
	len = source.lines[0].len;
	while (at < len && (text[at] == ' ' || text[at] == '\t'))
		at++;
	while (len > at && text[len - 1] == '\r')
		len--;
	if (len - at > MAX_LINE)
		len = at + MAX_LINE;
	for (size_t i = at; i < len; i++)
		if (text[i] == '\t')
			text[i] = ' ';
	image_set_note_source(ro->images, frame->file, frame->line, text + at, len - at,
			      source.newer);
	print_line(ro, frame->line, text + at, len - at, source.newer);
}
