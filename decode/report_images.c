// SPDX-License-Identifier: BSD-2-Clause
/* Which images the report found, and which it lacks. */
#include "report.h"

#include <inttypes.h>
#include <string.h>

/* [vsyscall], //anon, shared memory: not what somebody could look for in a folder. */
static bool is_file(const char *name)
{
	return name[0] != '[' && strncmp(name, "//", 2) && strncmp(name, "/memfd:", 7) &&
	       strncmp(name, "/SYSV", 5);
}

void report_images_print(const struct report_out *ro)
{
	struct auxtap_image_info info;
	size_t nr = auxtap_image_set_count(ro->images), nr_found = 0, nr_bad = 0;

	for (size_t i = 0; i < nr; i++) {
		if (auxtap_image_set_info(ro->images, i, &info))
			continue;
		if (info.state == AUXTAP_IMAGE_FOUND)
			nr_found++;
		else if (is_file(info.name) || info.nr_gaps)
			nr_bad++;
	}
	fprintf(ro->out, "\n%sImages%s\n", ro->style->title, ro->style->off);
	fprintf(ro->out, "  %zu found%s\n", nr_found, nr_bad ? "" : ", none missing");
	for (size_t i = 0; i < nr; i++) {
		char id[64] = "build-id unknown";

		if (auxtap_image_set_info(ro->images, i, &info) ||
		    info.state == AUXTAP_IMAGE_FOUND || (!is_file(info.name) && !info.nr_gaps))
			continue;
		if (info.build_id_size)
			strcpy(id, "build-id ");
		for (unsigned int b = 0; b < info.build_id_size; b++)
			snprintf(id + 9 + 2 * b, 3, "%02x", info.build_id[b]);
		fprintf(ro->out, "  %s%s%s %s (%s)", ro->style->bad,
			info.denied				  ? "denied:"
			: info.state == AUXTAP_IMAGE_MISSING ? "missing:"
							     : "different:",
			ro->style->off, report_text(ro, info.name), id);
		if (info.changed) {
			fputs(", the file there is another one or was written after the recording",
			      ro->out);
		} else if (info.state == AUXTAP_IMAGE_DIFFERENT && info.path) {
			fprintf(ro->out, ", %s has ",
				strcmp(info.path, info.name) ? report_text(ro, info.path)
							    : "the file there");
			for (unsigned int b = 0; b < info.found_build_id_size; b++)
				fprintf(ro->out, "%02x", info.found_build_id[b]);
			if (!info.found_build_id_size)
				fputs("none", ro->out);
		}
		if (info.denied)
			fputs(", the recording's owner may not read it", ro->out);
		if (info.nr_gaps)
			fprintf(ro->out, ", %" PRIu64 " gap%s without it", info.nr_gaps,
				info.nr_gaps == 1 ? "" : "s");
		fputc('\n', ro->out);
	}
	if (nr_bad)
		fputs("  Give a folder with them: --sysroot DIR\n", ro->out);
}
