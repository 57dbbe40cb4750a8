// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzz target: any bytes as the jitdump of a program that died: as a file, which the recorder
 * condenses, and as what a snapshot has of it, through the names and lines of generated code. For
 * libFuzzer, and called by mutate.c.
 */
#include "decode/image/image_private.h"
#include "fuzz.h"
#include "perfdata/jitdump.h"

#include <auxtap/crash.h>
#include <auxtap/perfdata.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CONDENSED_MAX (1u << 16)
#define CODE	      0x10000000u
#define CODE_SIZE     1024u

/* Names may be anything but must be strings that live; addresses of lines are those of names. */
static size_t look_up(struct auxtap_image_set *set)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	size_t sum = 0;

	for (uint64_t addr = CODE; addr < CODE + CODE_SIZE; addr++) {
		if (auxtap_image_set_resolve(set, 1, 1, addr, &loc) || loc.nr_frames != 1)
			abort();
		if (loc.frames[0].symbol)
			sum += strlen(loc.frames[0].symbol);
		if (loc.frames[0].file)
			sum += strlen(loc.frames[0].file) + loc.frames[0].line;
	}
	return sum;
}

static void names(const uint8_t *dump, size_t size)
{
	struct {
		struct auxtap_crash_code head;
		uint8_t bytes[CODE_SIZE];
	} code = {{sizeof(code.head), 1, CODE, 0, CODE_SIZE}, {0}};
	struct auxtap_crash_code_names head = {.size = sizeof(head), .pid = 1, .nr_bytes = size};
	struct auxtap_image_set_opts opts = {.size = sizeof(opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *set;
	uint8_t *note = malloc(sizeof(head) + size);

	if (!note || auxtap_image_set_new(&set, &opts, &err))
		abort();
	memcpy(note, &head, sizeof(head));
	if (size)
		memcpy(note + sizeof(head), dump, size);
	if (auxtap_image_set_add_mapping(set, 1, 0, CODE, 4096, 0, "//anon", NULL, 0) ||
	    image_set_add_code(set, &code, sizeof(code)) ||
	    image_set_add_code_names(set, AUXTAP_METADATA_CODE_DUMP, note, sizeof(head) + size))
		abort();
	free(note);
	look_up(set);
	auxtap_image_set_free(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	size_t max = size % 7 ? CONDENSED_MAX : 100;
	uint8_t *out = malloc(max);
	int64_t condensed;
	bool cut;

	if (fd < 0 || !out || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	condensed = jitdump_condense(fd, out, max, &cut);
	if (condensed > (int64_t)max)
		abort();
	if (condensed >= 0)
		names(out, (size_t)condensed);
	names(data, size);
	close(fd);
	free(out);
	return 0;
}
