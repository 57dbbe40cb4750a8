// SPDX-License-Identifier: BSD-2-Clause
/* Prints parts of the report: names of addresses, source lines. */
#include "decode/image/image_private.h"
#include "report_callers.h"
#include "report_out.h"

#include <auxtap/text.h>
#include <inttypes.h>
#include <string.h>

const struct report_style report_plain = {"", "", "", "", ""};
const struct report_style report_coloured = {"\033[1m", "\033[1;31m", "\033[2m", "\033[36m",
					     "\033[0m"};

bool report_is_linker(const char *image)
{
	return !strncmp(report_base_name(image), "ld-linux", 8);
}

bool report_is_runtime(const char *image)
{
	static const char *const runtime[] = {"libc.so",    "libc-",	  "libstdc++.", "libgcc_s.",
					      "ld-linux",   "libpthread", "libm.so",	"libc++.",
					      "libc++abi.", "libunwind."};
	const char *slash;

	if (!image)
		return false;
	slash = strrchr(image, '/');
	image = slash ? slash + 1 : image;
	for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++) {
		if (!strncmp(image, runtime[i], strlen(runtime[i])))
			return true;
	}
	return false;
}

const char *report_text(const struct report_out *ro, const char *text)
{
	char *out = ro->text_ring->text[ro->text_ring->next++ % REPORT_TEXT_RING];

	auxtap_text_escape(out, REPORT_TEXT_SIZE, text, strlen(text));
	return out;
}

const char *report_symbol(const struct report_out *ro, const char *symbol)
{
	char text[REPORT_NAME_MAX + 8]; /* and "@plt" */

	return report_text(ro, report_short_name(ro->names, symbol, text, sizeof(text)) ? text :
											  symbol);
}

struct report_out report_at(const struct report_out *ro, uint64_t time, uint64_t addr)
{
	struct report_out at = *ro;
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (time && !auxtap_image_set_symbol(ro->images, ro->pid, time, addr, &loc) && loc.image)
		at.time = time;
	return at;
}

const char *report_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void report_offset(const struct report_out *ro, const char *image, uint64_t off, char *name,
		   size_t name_size)
{
	/* generated code has no image to count the offset from */
	if (!strcmp(image, AUXTAP_GENERATED_CODE))
		snprintf(name, name_size, "0x%" PRIx64 " %s", off, image);
	else
		snprintf(name, name_size, "%s+0x%" PRIx64, report_text(ro, image), off);
}

/* The frame's function, and where in the source its instruction is. */
static void frame_name(const struct report_out *ro, const struct auxtap_location *loc,
		       const struct auxtap_frame *frame, char *name, size_t name_size,
		       char *location, size_t location_size)
{
	const char *inlined = frame && frame->inlined ? " (inlined)" : "";

	/* a truncated name would be taken for the whole name */
	if (frame && frame->symbol &&
	    strlen(report_symbol(ro, frame->symbol)) + strlen(inlined) >= name_size)
		snprintf(name, name_size, "%.*s...%s", (int)(name_size - strlen(inlined) - 4),
			 report_symbol(ro, frame->symbol), inlined);
	else if (frame && frame->symbol)
		snprintf(name, name_size, "%s%s", report_symbol(ro, frame->symbol), inlined);
	else
		report_offset(ro, report_base_name(loc->image), loc->image_off, name, name_size);
	if (!location)
		return;
	if (frame && frame->file)
		snprintf(location, location_size, "%s:%u",
			 report_text(ro, report_base_name(frame->file)), frame->line);
	else if (frame && frame->symbol)
		snprintf(location, location_size, "%s",
			 report_text(ro, report_base_name(loc->image)));
}

/*
 * The place at addr; its address is shown as addr + back. False: no image is known there; 'name' is
 * set to the address.
 */
static bool find_location(const struct report_out *ro, uint64_t addr, unsigned int back,
			  struct auxtap_location *loc, char *name, size_t name_size, char *location)
{
	if (location)
		location[0] = '\0';
	if (addr && auxtap_image_set_resolve(ro->images, ro->pid, ro->time, addr, loc) >= 0 &&
	    loc->image) {
		loc->image_off += back;
		return true;
	}
	if (addr)
		snprintf(name, name_size, "0x%" PRIx64, addr + back);
	else
		snprintf(name, name_size, "(unknown)");
	return false;
}

static void name_at(const struct report_out *ro, uint64_t addr, unsigned int back, char *name,
		    size_t name_size, char *location, size_t location_size)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (find_location(ro, addr, back, &loc, name, name_size, location))
		frame_name(ro, &loc, loc.nr_frames ? &loc.frames[0] : NULL, name, name_size,
			   location, location_size);
}

void report_name(const struct report_out *ro, uint64_t addr, char *name, size_t name_size,
		 char *location, size_t location_size)
{
	name_at(ro, addr, 0, name, name_size, location, location_size);
}

void report_caller_name(const struct report_out *ro, uint64_t return_addr, char *name,
			size_t name_size, char *location, size_t location_size)
{
	name_at(ro, return_addr - 1, 1, name, name_size, location, location_size);
}

uint64_t report_function_start(const struct report_out *ro, uint64_t addr)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (!addr || auxtap_image_set_symbol(ro->images, ro->pid, ro->time, addr, &loc) ||
	    !loc.image || !loc.nr_frames || !loc.frames[0].symbol)
		return 0;
	return addr - loc.frames[0].symbol_off;
}

void report_function_name(const struct report_out *ro, uint64_t addr, char *name, size_t name_size,
			  char *location, size_t location_size)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (!find_location(ro, addr, 0, &loc, name, name_size, location))
		return;
	image_set_entry_line(ro->images, ro->pid, ro->time, addr, &loc);
	frame_name(ro, &loc, loc.nr_frames ? &loc.frames[loc.nr_frames - 1] : NULL, name, name_size,
		   location, location_size);
}

void report_print_location(const struct report_out *ro, uint64_t addr)
{
	report_print_caller(ro, (struct report_caller){.pc = addr});
}

void report_print_caller(const struct report_out *ro, struct report_caller caller)
{
	const uint64_t addr = caller.pc;
	const int level = caller.level;
	struct auxtap_location loc = {.size = sizeof(loc)};
	const struct auxtap_frame *frame;
	char name[256], location[160] = "";
	const char *word = "in";

	if (level == REPORT_BY_JUMP) {
		report_print_outermost(ro, addr);
		fputs(" (tail call)", ro->out);
		return;
	}
	if (level == REPORT_BY_ANY_JUMP) {
		report_function_name(ro, addr, name, sizeof(name), location, sizeof(location));
		fprintf(ro->out, "%s%s%s (tail call)", ro->style->name, name, ro->style->off);
		return;
	}
	if (level == REPORT_REPLACED) {
		fprintf(ro->out, "0x%" PRIx64 ", where other code was mapped, too",
			addr + caller.returns);
		return;
	}
	if (find_location(ro, addr, caller.returns, &loc, name, sizeof(name), location)) {
		frame = (unsigned int)level < loc.nr_frames ? &loc.frames[level] : NULL;
		frame_name(ro, &loc, frame, name, sizeof(name), location, sizeof(location));
		if (frame && frame->file) {
			word = "at";
		} else if (frame && frame->near_file) {
			word = "near";
			snprintf(location, sizeof(location), "%s:%u",
				 report_text(ro, report_base_name(frame->near_file)),
				 frame->near_line);
		}
	}
	fprintf(ro->out, "%s%s%s", ro->style->name, name, ro->style->off);
	if (location[0])
		fprintf(ro->out, " %s %s", word, location);
}

void report_print_outermost(const struct report_out *ro, uint64_t addr)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	int level = 0;

	if (!auxtap_image_set_resolve(ro->images, ro->pid, ro->time, addr, &loc) && loc.nr_frames)
		level = (int)loc.nr_frames - 1;
	report_print_caller(ro, (struct report_caller){.pc = addr, .level = level});
}
