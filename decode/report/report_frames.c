// SPDX-License-Identifier: BSD-2-Clause
/* The backtrace of the report: frames with the functions inlined into them, and where it ends. */
#include "report_facts.h"
#include "report_frames.h"
#include "report_jump.h"
#include "report_out.h"

#include <inttypes.h>
#include <string.h>

#define NR_LOCALS     3	 /* innermost functions of the program whose local variables are printed */
#define NR_ALL_FRAMES 20 /* if there are more, about NR_FRAMES of them are printed */
#define NR_FRAMES     16

static void print_offset(const struct report_out *ro, const char *image, uint64_t off)
{
	char name[4200];

	report_offset(ro, image, off, name, sizeof(name));
	fprintf(ro->out, "%s%s%s", ro->style->name, name, ro->style->off);
}

/* Prints the place in the source, or the file. */
static void print_place(const struct report_out *ro, const char *image,
			const struct auxtap_frame *f)
{
	if (f->file)
		fprintf(ro->out, " at %s:%u", report_text(ro, f->file), f->line);
	else if (f->near_file)
		fprintf(ro->out, " near %s:%u", report_text(ro, f->near_file), f->near_line);
	else
		fprintf(ro->out, " in %s", report_text(ro, image));
}

/* nr_locals: number of functions whose local variables have been printed. */
static void print_frame(const struct report_out *ro, const struct report_facts *facts, int nr,
			const struct unwind_frames *frames, unsigned int *nr_locals)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	uint64_t pc = frames->pcs[nr], back = frames->call_mask >> nr & 1;
	const bool entered_within = frames->within_mask >> nr & 1 && !frames->entered_within;
	bool locals;

	if (frames->signal_mask >> nr & 1) {
		fprintf(ro->out, "  #%-2d <signal handler called>\n", nr);
		return;
	}
	if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, pc, &loc) || !loc.image) {
		fprintf(ro->out, "  #%-2d 0x%" PRIx64 "\n", nr, pc + back);
		return;
	}
	for (unsigned int i = 0; i < loc.nr_frames; i++) {
		const struct auxtap_frame *f = &loc.frames[i];

		if (i == 0)
			fprintf(ro->out, "  #%-2d ", nr);
		else
			fputs("      ", ro->out);
		if (f->symbol)
			fprintf(ro->out, "%s%s%s%s", ro->style->name, report_symbol(ro, f->symbol),
				ro->style->off, f->inlined ? " (inlined)" : "");
		else
			print_offset(ro, loc.image, loc.image_off + back);
		if (f->file || f->symbol)
			print_place(ro, loc.image, f);
		if (report_was_unloaded(ro, facts, pc))
			fputs(" (unloaded)", ro->out);
		fputs(entered_within ? " (entered in its middle)\n" : "\n", ro->out);
		/* those of the C and C++ libraries rarely show a bug */
		if (report_is_runtime(loc.image))
			continue;
		locals = *nr_locals < NR_LOCALS && !report_is_library_function(&loc, i);
		*nr_locals += locals;
		report_vars_print(ro, facts, frames, nr, i, locals);
	}
}

/* Prints the functions that made a tail call to that of frame nr, or to one of these. */
static void print_tails(const struct report_out *ro, const struct unwind_frames *frames, int nr)
{
	for (int t = 0; t < frames->nr_tails; t++) {
		struct auxtap_location loc = {.size = sizeof(loc)};

		if (frames->tails[t].frame != nr ||
		    auxtap_image_set_resolve(ro->images, ro->pid, ro->time, frames->tails[t].site,
					     &loc) ||
		    !loc.image)
			continue;
		for (unsigned int i = 0; i < loc.nr_frames; i++) {
			const struct auxtap_frame *f = &loc.frames[i];

			fprintf(ro->out, "      %s%s%s%s", ro->style->name,
				f->symbol ? report_symbol(ro, f->symbol) : "?", ro->style->off,
				f->inlined ? " (inlined)" : " (tail call)");
			print_place(ro, loc.image, f);
			fputc('\n', ro->out);
		}
	}
}

/* Is it glibc's function at the start of a stack made by makecontext()? */
static bool is_context_start(const struct report_out *ro, uint64_t pc)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	return !auxtap_image_set_resolve(ro->images, ro->pid, ro->time, pc, &loc) && loc.image &&
	       loc.nr_frames && loc.frames[0].symbol &&
	       (!strcmp(loc.frames[0].symbol, "__start_context") ||
		!strcmp(loc.frames[0].symbol, "__startcontext"));
}

enum report_frames_end report_frames_end(const struct report_out *ro,
					 const struct report_facts *facts,
					 const struct unwind_frames *frames)
{
	const struct report_map *map = report_facts_map(facts, frames->unread_addr);

	if (frames->code_32bit)
		return REPORT_FRAMES_32BIT;
	if (frames->contradicted)
		return REPORT_FRAMES_CONTRADICTED;
	if (frames->entered_within)
		return REPORT_FRAMES_ENTERED_WITHIN;
	if (frames->nr == UNWIND_MAX_FRAMES)
		return REPORT_FRAMES_TOO_MANY;
	if (frames->not_called && is_context_start(ro, frames->pcs[frames->nr - 1]))
		return REPORT_FRAMES_OUTERMOST; /* the end of the stack */
	if (frames->not_called)
		return REPORT_FRAMES_NOT_CALLED;
	/* the address of the next frame was computed from registers that were overwritten */
	if (frames->overwritten && (frames->bad_return_addr || frames->unread_addr))
		return REPORT_FRAMES_OVERWRITTEN;
	if (frames->bad_return_addr)
		return REPORT_FRAMES_NO_CODE;
	if (frames->unread_addr && map && map->perms[0] == 'r')
		return REPORT_FRAMES_NOT_IN_SNAPSHOT;
	if (frames->no_file)
		return REPORT_FRAMES_NO_FILE;
	if (frames->no_info)
		return REPORT_FRAMES_NO_INFO;
	if (!frames->complete || frames->unread_addr)
		return REPORT_FRAMES_SENSELESS;
	return REPORT_FRAMES_OUTERMOST;
}

/* Prints why the backtrace ends, if not at the outermost frame. */
static void print_end(const struct report_out *ro, const struct report_facts *facts,
		      const struct unwind_frames *frames)
{
	switch (report_frames_end(ro, facts, frames)) {
	case REPORT_FRAMES_TOO_MANY:
		fputs("  ... and further frames\n", ro->out);
		break;
	case REPORT_FRAMES_NOT_CALLED:
		fputs("  No call returns to where this function begins: further frames are not known\n"
		      "  (a stack made by makecontext() begins so; else this is no return address).\n",
		      ro->out);
		break;
	case REPORT_FRAMES_NO_CODE:
		fprintf(ro->out,
			"  The next return address is 0x%" PRIx64
			", where no code is: further frames "
			"are not known.\n",
			frames->bad_return_addr);
		break;
	case REPORT_FRAMES_NOT_IN_SNAPSHOT:
		fprintf(ro->out,
			"  The snapshot does not contain the stack at 0x%" PRIx64
			": further frames are not known.\n",
			frames->unread_addr);
		break;
	case REPORT_FRAMES_NO_FILE:
		fputs("  No file with the unwind information of that code could be read: further frames "
		      "are not known.\n",
		      ro->out);
		break;
	case REPORT_FRAMES_NO_INFO:
		fputs("  No unwind information describes that code: further frames are not known.\n",
		      ro->out);
		break;
	case REPORT_FRAMES_OVERWRITTEN:
		fputs("  What says where the next frame is was overwritten, too: further frames are not known.\n",
		      ro->out);
		break;
	case REPORT_FRAMES_CONTRADICTED:
		fputs("  The return address of this call is not where it should be: a frame or stack pointer is wrong,\n"
		      "  or the unwind information, or it was overwritten. Variables and further frames are not known.\n",
		      ro->out);
		break;
	case REPORT_FRAMES_ENTERED_WITHIN:
		if (!report_function_start(ro, frames->pcs[frames->nr - 1]))
			fputs("  A wrong address had led into the middle of the function that went there:\n"
			      "  further frames are not known.\n",
			      ro->out);
		else
			fputs("  A wrong address led into the middle of this function, without the frame that its code expects.\n"
			      "  Variables and further frames are not known.\n",
			      ro->out);
		break;
	case REPORT_FRAMES_32BIT:
		fputs("  This is 32-bit code, of which the stack is not read. Variables and further frames are not known.\n",
		      ro->out);
		break;
	case REPORT_FRAMES_SENSELESS:
		fputs("  The stack makes no sense from here on; the calls below do not depend on "
		      "it.\n",
		      ro->out);
		break;
	case REPORT_FRAMES_OUTERMOST:
		break;
	}
}

/* Is it in a function of the program's own, or of a library that is not the system's? */
static bool is_own(const struct report_out *ro, const struct unwind_frames *frames, int nr)
{
	static const char *const system[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (frames->signal_mask >> nr & 1 ||
	    auxtap_image_set_resolve(ro->images, ro->pid, ro->time, frames->pcs[nr], &loc) ||
	    report_own_level(&loc) < 0)
		return false;
	for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
		if (!strncmp(loc.image, system[i], strlen(system[i])))
			return false;
	return true;
}

/*
 * Adds to *kept at most 'most' frames of the mask 'from', beginning at the outermost or innermost
 * one. Returns their number.
 */
static int keep_frames(int nr_frames, uint64_t from, bool outermost, int most, uint64_t *kept)
{
	int nr = 0;

	for (int i = 0; i < nr_frames && nr < most; i++) {
		uint64_t bit = 1ull << (outermost ? nr_frames - 1 - i : i);

		if (!(from & bit) || *kept & bit)
			continue;
		*kept |= bit;
		nr++;
	}
	return nr;
}

/*
 * Chooses about 16 of many frames: where the thread died, where it started, and between them rather
 * the program's own functions than those of libraries.
 */
static uint64_t choose_frames(const struct report_out *ro, const struct unwind_frames *frames)
{
	const int nr = frames->nr;
	uint64_t kept = 0, own = 0;
	int left = NR_FRAMES;

	_Static_assert(UNWIND_MAX_FRAMES <= 64, "a frame is a bit");
	if (nr <= NR_ALL_FRAMES)
		return ~0ull;
	for (int i = 0; i < nr; i++)
		own |= (uint64_t)is_own(ro, frames, i) << i;
	left -= keep_frames(nr, ~0ull, false, 4, &kept);
	left -= keep_frames(nr, ~0ull, true, 3, &kept);
	left -= keep_frames(nr, own, true, 3, &kept);
	left -= keep_frames(nr, own, false, left, &kept);
	left -= keep_frames(nr, ~0ull, false, left < 6 ? left : 6, &kept);
	keep_frames(nr, ~0ull, true, left, &kept);
	/* a line "1 more" is not shorter than the frame itself */
	for (int i = 1; i < nr - 1; i++)
		if (!(kept >> i & 1) && kept >> (i - 1) & 1 && kept >> (i + 1) & 1)
			kept |= 1ull << i;
	return kept;
}

void report_frames_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct unwind_frames *frames)
{
	const uint64_t kept = choose_frames(ro, frames);
	unsigned int nr_locals = 0;
	int hidden = 0;

	for (int i = 0; i < frames->nr; i++) {
		bool shown = kept >> i & 1;

		if (shown && hidden)
			fprintf(ro->out, "  ... %d more\n", hidden);
		hidden = shown ? 0 : hidden + 1;
		if (i && i == frames->by_pointers)
			fputs("  No unwind information describes that code; the next frames are "
			      "found by frame\n  pointers, calls may be missing before them.\n",
			      ro->out);
		if (i && i == frames->overwritten)
			fputs("  The stack protector says that the frame before was overwritten: "
			      "what it had saved\n  of its callers' registers is not used below.\n",
			      ro->out);
		if (shown) {
			print_frame(ro, facts, i, frames, &nr_locals);
			print_tails(ro, frames, i);
		}
	}
	print_end(ro, facts, frames);
	if (facts->redacted)
		fputs("  Arguments and local variables are left out: the recording is redacted.\n",
		      ro->out);
}
