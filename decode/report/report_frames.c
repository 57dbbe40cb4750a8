// SPDX-License-Identifier: BSD-2-Clause
/* The backtrace of the report: frames with the functions inlined into them, and where it ends. */
#include "report.h"

#include <inttypes.h>

static void print_frame(const struct report_out *ro, const struct report_facts *facts, int nr,
			const struct unwind_frames *frames)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	uint64_t pc = frames->pcs[nr], back = frames->calls >> nr & 1;

	if (frames->signals >> nr & 1) {
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
			fprintf(ro->out, "%s%s%s%s", ro->style->name, report_text(ro, f->symbol),
				ro->style->off, f->inlined ? " (inlined)" : "");
		else
			fprintf(ro->out, "%s%s+0x%" PRIx64 "%s", ro->style->name,
				report_text(ro, loc.image), loc.image_off + back, ro->style->off);
		if (f->file)
			fprintf(ro->out, " at %s:%u", report_text(ro, f->file), f->line);
		else if (f->symbol)
			fprintf(ro->out, " in %s", report_text(ro, loc.image));
		if (report_was_unloaded(ro, facts, pc))
			fputs(" (unloaded)", ro->out);
		fputc('\n', ro->out);
	}
}

/* Where the backtrace ends, if not at the outermost frame. */
static void print_end(const struct report_out *ro, const struct report_facts *facts,
		      const struct unwind_frames *frames)
{
	const struct report_map *map = report_facts_map(facts, frames->unread);

	if (frames->nr == UNWIND_MAX_FRAMES)
		fputs("  ... and further frames\n", ro->out);
	else if (frames->not_called)
		fputs("  No call returns to where this function begins: further frames are not known\n"
		      "  (a stack made by makecontext() begins so; else this is no return address).\n",
		      ro->out);
	else if (frames->no_code)
		fprintf(ro->out,
			"  The next return address is 0x%" PRIx64
			", where no code is: further frames "
			"are not known.\n",
			frames->no_code);
	else if (frames->unread && map && map->perms[0] == 'r')
		fprintf(ro->out,
			"  The snapshot does not contain the stack at 0x%" PRIx64
			": further frames are not known.\n",
			frames->unread);
	else if (frames->no_file)
		fputs("  No file with the unwind information of that code could be read: further frames "
		      "are not known.\n",
		      ro->out);
	else if (frames->no_info)
		fputs("  No unwind information describes that code: further frames are not known.\n",
		      ro->out);
	else if (!frames->complete || frames->unread)
		fputs("  The stack makes no sense from here on; the calls below do not depend on "
		      "it.\n",
		      ro->out);
}

void report_frames_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct unwind_frames *frames)
{
	int head = frames->nr > 20 ? 10 : frames->nr;

	for (int i = 0; i < head; i++)
		print_frame(ro, facts, i, frames);
	if (head < frames->nr) {
		fprintf(ro->out, "  ... %d more\n", frames->nr - head - 6);
		for (int i = frames->nr - 6; i < frames->nr; i++)
			print_frame(ro, facts, i, frames);
	}
	print_end(ro, facts, frames);
}
