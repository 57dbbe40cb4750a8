// SPDX-License-Identifier: BSD-2-Clause
/*
 * Saves the message that glibc printed before it called abort(): for debuggers, glibc keeps the
 * message of assert() and of its checks of heap, stack and buffers where __abort_msg points. All
 * data is the program's and untrusted.
 */
#include "dead_symbols.h"

#include <string.h>

#define SYMBOL	    "__abort_msg"
#define MAX_MESSAGE 4096u

static uint64_t find_symbol(const struct dead_process *d)
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
	struct dead_process d = {.s = s, .pid = pid, .maps = maps};
	uint64_t symbol = find_symbol(&d), message;
	uint32_t size; /* of struct abort_msg_s; the NUL-terminated text follows */
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
