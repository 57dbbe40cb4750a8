// SPDX-License-Identifier: BSD-2-Clause
/*
 * print_frames FILE: functions and lines at the ELF addresses (hexadecimal) that standard input
 * lists, in the form of 'addr2line -a -f -i': the address, then of each frame, the innermost first,
 * the function and FILE:LINE; "??" and "??:0" where nothing is known.
 */
#include <auxtap/image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct auxtap_image_set_opts opts = {.size = sizeof(opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images;
	unsigned long long addr;

	if (argc != 2 || auxtap_image_set_new(&images, &opts, &err) ||
	    auxtap_image_set_add_file(images, argv[1], 0, 0, 0, &err)) {
		fprintf(stderr, "print_frames: %s\n", argc == 2 ? err.why : "give one ELF file");
		return 1;
	}
	while (scanf("%llx", &addr) == 1) {
		struct auxtap_location loc = {.size = sizeof(loc)};

		printf("0x%016llx\n", addr);
		auxtap_image_set_resolve(images, 1, 0, addr, &loc);
		for (unsigned int i = 0; i < loc.nr_frames; i++) {
			const struct auxtap_frame *f = &loc.frames[i];

			printf("%s\n%s:%u\n", f->symbol ? f->symbol : "??",
			       f->file ? f->file : "??", f->line);
		}
		if (!loc.nr_frames)
			puts("??\n??:0");
	}
	auxtap_image_set_free(images);
	return 0;
}
