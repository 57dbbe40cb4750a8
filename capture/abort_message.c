// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the C library printed before it called abort(): glibc keeps the message (of assert(), of its
 * checks of heap, stack and buffers) in memory for debuggers, where __abort_msg points. All that is
 * read is the program's own and untrusted.
 */
#include "dead_symbols.h"

#include <string.h>

#define SYMBOL	    "__abort_msg"
#define MAX_MESSAGE 4096u

static uint64_t find_symbol(const struct dead *d)
{
	const struct map_entry *image = dead_library(d, "libc.so.6");

	if (!image)
		image = dead_library(d, "libc-2.");
	if (image)
		return dead_dynamic_symbol(d, image, SYMBOL);
	image = dead_program(d);
	return image ? dead_file_symbol(image, SYMBOL) : 0;
}

void session_write_abort_message(struct auxtap_session *s, struct trace_file *file, pid_t pid,
				 const struct map_list *maps)
{
	struct dead d = {.s = s, .pid = pid, .maps = maps};
	uint64_t symbol = find_symbol(&d), message;
	uint32_t size; /* of the area; the text follows, which 0 ends */
	char text[MAX_MESSAGE];
	size_t max, len;

	if (!symbol || !dead_read(&d, symbol, &message, sizeof(message)) || !message ||
	    !dead_read(&d, message, &size, sizeof(size)) || size <= sizeof(size))
		return;
	max = size - sizeof(size) < sizeof(text) ? size - sizeof(size) : sizeof(text);
	if (!dead_read(&d, message + sizeof(size), text, max))
		return;
	len = strnlen(text, max);
	while (len && text[len - 1] == '\n')
		len--;
	if (len)
		auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_MESSAGE, text, len);
}
