// SPDX-License-Identifier: BSD-2-Clause
/* The standard output of commands that print names from files: see cli.h. */
#include "cli.h"

#include <auxtap/text.h>
#include <string.h>

#define CHUNK 4096

struct safe_output {
	char partial[4]; /* the start of a UTF-8 sequence that the last buffer ended in */
	size_t nr_partial;
};

/* How many bytes at the end of text are an incomplete UTF-8 sequence? */
static size_t incomplete_at_end(const char *text, size_t len)
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
			n -= incomplete_at_end(text, n);
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
	char sequence[8];
	size_t nr;

	/* complete a sequence that two buffers share: the first has at most 3 bytes of it */
	while (out->nr_partial && at < end) {
		memcpy(sequence, out->partial, out->nr_partial);
		sequence[out->nr_partial] = *at++;
		nr = out->nr_partial + 1;
		if (incomplete_at_end(sequence, nr) == nr) {
			out->partial[out->nr_partial++] = sequence[nr - 1];
			continue;
		}
		out->nr_partial = 0;
		if (!write_lines(sequence, nr))
			return 0;
	}
	nr = incomplete_at_end(at, (size_t)(end - at));
	if (!write_lines(at, (size_t)(end - at) - nr))
		return 0;
	if (nr) {
		memcpy(out->partial, end - nr, nr);
		out->nr_partial = nr;
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
