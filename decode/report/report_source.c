// SPDX-License-Identifier: BSD-2-Clause
/*
 * A line of a source file that debug information names. The name is input: it may be that of a
 * device, of a FIFO, of /etc/shadow. So: regular files alone, without waiting, a bounded part of
 * them, and only what those who could choose the name may read, too.
 */
#include "decode/image/image_private.h"
#include "decode/image/open_for_users.h"
#include "report.h"

#include <auxtap/text.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES (64u << 20) /* how far a line is looked for */
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

/* The first 'size' bytes of the line, without what ends it; -1 if the file has no such line. */
static ssize_t read_line(int fd, unsigned int line, char *text, size_t size)
{
	unsigned int at = 1;
	char buf[16384];
	size_t have = 0;

	for (size_t done = 0; done < MAX_BYTES;) {
		ssize_t got = read(fd, buf, sizeof(buf));

		if (got <= 0)
			break;
		done += (size_t)got;
		for (ssize_t i = 0; i < got; i++) {
			if (buf[i] == '\n' && at++ == line)
				return (ssize_t)have;
			if (at == line && buf[i] != '\n' && have < size)
				text[have++] = buf[i];
		}
		if (have == size)
			return (ssize_t)have;
	}
	return have ? (ssize_t)have : -1;
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

/*
 * Was the source written after the image? Then its lines may be others than those that were
 * compiled.
 */
static bool is_newer(int fd, const struct stat *image)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	return st.st_mtim.tv_sec != image->st_mtim.tv_sec ?
		       st.st_mtim.tv_sec > image->st_mtim.tv_sec :
		       st.st_mtim.tv_nsec > image->st_mtim.tv_nsec;
}

void report_source_line(const struct report_out *ro, const struct auxtap_location *loc)
{
	struct stat image;
	bool have_image = stat_image(ro, loc->image, &image), newer;
	const uid_t owners[NR_OWNERS] = {ro->owner, have_image ? image.st_uid : (uid_t)-1};
	char text[4096], safe[4 * MAX_LINE + 1];
	const struct auxtap_frame *frame = &loc->frames[0];
	int fd = frame->line ? open_source(frame->file, owners, NR_OWNERS) : -1;
	ssize_t len, at = 0;

	if (frame->line && fd < 0 && (errno == EMFILE || errno == ENFILE))
		auxtap_image_set_short(ro->images);
	if (fd < 0)
		return;
	newer = have_image && is_newer(fd, &image);
	len = read_line(fd, frame->line, text, sizeof(text));
	close(fd);
	if (len < 0)
		return;
	while (at < len && (text[at] == ' ' || text[at] == '\t'))
		at++;
	while (len > at && text[len - 1] == '\r')
		len--;
	if (len - at > MAX_LINE)
		len = at + MAX_LINE;
	for (ssize_t i = at; i < len; i++)
		if (text[i] == '\t')
			text[i] = ' ';
	auxtap_text_escape(safe, sizeof(safe), text + at, (size_t)(len - at));
	fprintf(ro->out, "      %s%u%s | %s\n", ro->style->dim, frame->line, ro->style->off, safe);
	if (newer)
		fprintf(ro->out,
			"      %sthe source file is newer than the program: this line may be another one%s\n",
			ro->style->bad, ro->style->off);
}
