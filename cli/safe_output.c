// SPDX-License-Identifier: BSD-2-Clause
/* A standard output for commands that print names from files: see cli.h. */
#include "cli.h"

#include <auxtap/text.h>
#include <string.h>

#define CHUNK 4096

struct safe_output {
	char cut[4]; /* start of a UTF-8 sequence that the end of the last buffer cut */
	size_t nr_cut;
};

/* The number of bytes at the end of text that are an incomplete UTF-8 sequence. */
static size_t cut_at_end(const char *text, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = (unsigned char)text[len - back];

		if ((c & 0xc0) == 0x80)
			continue;
		return c >= 0xc2 && c < 0xf5 &&
				       back < (c < 0xe0 ? 2u :
					       c < 0xf0 ? 3u :
							  4u) ?
			       back :
			       0;
	}
	return 0;
}

static bool write_chunk(const char *text, size_t len)
{
	char safe[4 * CHUNK + 1];

	if (!auxtap_text_is_safe(text, len)) {
		len = auxtap_text_escape(safe, sizeof(safe), text, len);
		text = safe;
	}
	return fwrite(text, 1, len, stdout) == len;
}

/* Newlines and tabs come from the command and are not escaped. */
static bool write_lines(const char *text, size_t len)
{
	while (len) {
		size_t n = 0;

		while (n < len && n < CHUNK && text[n] != '\n' && text[n] != '\t')
			n++;
		if (n == CHUNK)
			n -= cut_at_end(text, n);
		if (n && !write_chunk(text, n))
			return false;
		if (n < len && (text[n] == '\n' || text[n] == '\t') &&
		    fputc(text[n++], stdout) == EOF)
			return false;
		text += n;
		len -= n;
	}
	return true;
}

static ssize_t write_safe(void *cookie, const char *text, size_t size)
{
	struct safe_output *out = cookie;
	const char *at = text, *end = text + size;
	char first[8];
	size_t nr;

	/* complete a sequence that two buffers share; the first had at most 3 bytes of it */
	while (out->nr_cut && at < end) {
		memcpy(first, out->cut, out->nr_cut);
		first[out->nr_cut] = *at++;
		nr = out->nr_cut + 1;
		if (cut_at_end(first, nr) == nr) {
			out->cut[out->nr_cut++] = first[nr - 1];
			continue;
		}
		out->nr_cut = 0;
		if (!write_lines(first, nr))
			return 0;
	}
	nr = cut_at_end(at, (size_t)(end - at));
	if (!write_lines(at, (size_t)(end - at) - nr))
		return 0;
	if (nr) {
		memcpy(out->cut, end - nr, nr);
		out->nr_cut = nr;
	}
	return fflush(stdout) ? 0 : (ssize_t)size;
}

FILE *cli_safe_output(void)
{
	static struct safe_output state;
	static FILE *out;
	cookie_io_functions_t io = {.write = write_safe};

	if (out)
		return out;
	out = fopencookie(&state, "w", io);
	if (!out)
		return stdout;
	setvbuf(out, NULL, _IOFBF, 1 << 16);
	return out;
}
