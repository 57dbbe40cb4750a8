// SPDX-License-Identifier: BSD-2-Clause
/* Prints which images the report found, and which are missing. */
#include "report.h"
#include "report_facts.h"
#include "report_out.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Not [vsyscall], //anon or shared memory: --sysroot cannot help to find those. */
static bool is_file(const char *name)
{
	return name[0] != '[' && strncmp(name, "//", 2) && strncmp(name, "/memfd:", 7) &&
	       strncmp(name, "/SYSV", 5);
}

static bool is_anonymous(const char *name)
{
	return !strcmp(name, "//anon");
}

/* Is it a file that was not found, or another image whose missing code caused gaps? */
static bool is_missing(const struct auxtap_image_info *info)
{
	return info->state != AUXTAP_IMAGE_FOUND && !is_anonymous(info->name) &&
	       (is_file(info->name) || info->nr_gaps);
}

uint64_t report_generated_bytes(const struct report_facts *facts)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < facts->nr_memory; i++) {
		const struct report_memory *mem = &facts->memory[i];
		const struct report_map *map = report_facts_map(facts, mem->addr);

		if (map && !map->name[0] && map->perms[2] == 'x')
			nr += mem->nr_bytes < map->end - mem->addr ? mem->nr_bytes :
								     map->end - mem->addr;
	}
	return nr;
}

/* Code in anonymous memory was written by the program itself: there is no file of it. */
static void print_anonymous(const struct report_out *ro, const struct report_facts *facts)
{
	struct auxtap_image_info info = {.size = sizeof(info)};
	size_t nr = auxtap_image_set_count(ro->images);
	uint64_t nr_gaps = 0, nr_bytes = report_generated_bytes(facts);

	for (size_t i = 0; i < nr; i++) {
		if (!auxtap_image_set_info(ro->images, i, &info) && is_anonymous(info.name))
			nr_gaps += info.nr_gaps;
	}
	if (!nr_gaps)
		return;
	fprintf(ro->out,
		"  anonymous memory: code written at run time, %" PRIu64 " gap%s without it",
		nr_gaps, nr_gaps == 1 ? "" : "s");
	if (nr_bytes)
		fprintf(ro->out, "; the snapshot holds %" PRIu64 " bytes of it", nr_bytes);
	fputc('\n', ro->out);
}

/* Says that a file with names of generated code was not read completely. */
static void print_code_names(const struct report_out *ro, const char *path, const char *suffix,
			     const struct auxtap_crash_code_names *names)
{
	const char *why = names->error == EPERM	  ? "it is no file of the process's user" :
			  names->error == ELOOP	  ? "it is a link, or has several names" :
			  names->error == EBADMSG ? "it is no jitdump of this byte order" :
						    strerror(names->error);

	if (names->error)
		fprintf(ro->out, "  names of generated code: %s%d%s not read: %s\n", path,
			names->file_pid, suffix, why);
	else if (names->cut)
		fprintf(ro->out,
			"  names of generated code: only the first %" PRIu64 " KiB of %s%d%s\n",
			names->nr_bytes >> 10, path, names->file_pid, suffix);
}

void report_images_print(const struct report_out *ro, const struct report_facts *facts)
{
	struct auxtap_image_info info = {.size = sizeof(info)};
	size_t nr = auxtap_image_set_count(ro->images), nr_found = 0, nr_bad = 0;

	for (size_t i = 0; i < nr; i++) {
		if (auxtap_image_set_info(ro->images, i, &info))
			continue;
		if (info.state == AUXTAP_IMAGE_FOUND)
			nr_found++;
		else if (is_missing(&info))
			nr_bad++;
	}
	fprintf(ro->out, "\n%sImages%s\n", ro->style->title, ro->style->off);
	fprintf(ro->out, "  %zu found%s\n", nr_found, nr_bad ? "" : ", none missing");
	for (size_t i = 0; i < nr; i++) {
		char id[64] = "build-id unknown";

		if (auxtap_image_set_info(ro->images, i, &info) || !is_missing(&info))
			continue;
		if (info.build_id_size)
			strcpy(id, "build-id ");
		for (unsigned int b = 0; b < info.build_id_size; b++)
			snprintf(id + 9 + 2 * b, 3, "%02x", info.build_id[b]);
		fprintf(ro->out, "  %s%s%s %s (%s)", ro->style->bad,
			info.denied			   ? "denied:" :
			info.state == AUXTAP_IMAGE_MISSING ? "missing:" :
							     "different:",
			ro->style->off, report_text(ro, info.name), id);
		if (info.changed) {
			fputs(", the file there is another one or was written after the recording",
			      ro->out);
		} else if (info.state == AUXTAP_IMAGE_DIFFERENT && info.path) {
			fprintf(ro->out, ", %s has ",
				strcmp(info.path, info.name) ? report_text(ro, info.path) :
							       "the file there");
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
	print_anonymous(ro, facts);
	print_code_names(ro, "/tmp/perf-", ".map", &facts->code_names);
	print_code_names(ro, "jit-", ".dump", &facts->code_dump);
	if (nr_bad)
		fputs("  Give a directory with them: --sysroot DIR\n", ro->out);
}
