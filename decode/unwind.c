// SPDX-License-Identifier: BSD-2-Clause
/*
 * Backtrace of a dead thread: elfutils' unwinder on the registers and the stack that the
 * snapshot kept, with the unwind information of the images that were found.
 */
#include "report.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <string.h>

struct unwind {
	const struct report_facts *facts;
	struct auxtap_image_set *images;
	const struct auxtap_regs *regs;
	uint64_t ip, sp;
	uint64_t *pcs;
	int nr, max;
	bool started;
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	struct unwind *u = arg;

	(void)dwfl;
	if (u->started)
		return 0;
	u->started = true;
	*thread_arg = u;
	return 1;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	struct unwind *u = arg;
	uint64_t word;

	(void)dwfl;
	if (!report_facts_memory(u->facts, addr, &word, sizeof(word)) &&
	    auxtap_image_set_read(u->images, u->facts->crash.pid, u->facts->crash.time, addr,
				  &word, sizeof(word)) != sizeof(word))
		return false;
	*result = word;
	return true;
}

static bool initial_registers(Dwfl_Thread *thread, void *arg)
{
	static const int dwarf_order[16] = {
		AUXTAP_X86_AX,	AUXTAP_X86_DX,	AUXTAP_X86_CX,	AUXTAP_X86_BX,
		AUXTAP_X86_SI,	AUXTAP_X86_DI,	AUXTAP_X86_BP,	AUXTAP_X86_SP,
		AUXTAP_X86_R8,	AUXTAP_X86_R9,	AUXTAP_X86_R10, AUXTAP_X86_R11,
		AUXTAP_X86_R12, AUXTAP_X86_R13, AUXTAP_X86_R14, AUXTAP_X86_R15,
	};
	struct unwind *u = arg;
	Dwarf_Word words[17];

	for (int i = 0; i < 16; i++)
		words[i] = u->regs->reg[dwarf_order[i]];
	words[7] = u->sp;
	words[16] = u->ip;
	if (!dwfl_thread_state_registers(thread, 0, 17, words))
		return false;
	dwfl_thread_state_register_pc(thread, u->ip);
	return true;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = memory_read,
	.set_initial_registers = initial_registers,
};

static const Dwfl_Callbacks dwfl_callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static const char *path_of(struct auxtap_image_set *images, const char *name)
{
	struct auxtap_image_info info;

	for (size_t i = 0; i < auxtap_image_set_count(images); i++) {
		if (!auxtap_image_set_info(images, i, &info) && !strcmp(info.name, name) &&
		    info.state == AUXTAP_IMAGE_FOUND)
			return info.path;
	}
	return NULL;
}

static void report_modules(struct unwind *u, Dwfl *dwfl)
{
	const struct report_facts *f = u->facts;

	dwfl_report_begin(dwfl);
	for (size_t i = 0; i < f->nr_maps; i++) {
		const struct report_map *m = &f->maps[i];
		const char *path;

		if (m->pgoff != 0 || m->name[0] != '/')
			continue;
		if (i && !strcmp(f->maps[i - 1].name, m->name))
			continue; /* a second view of the same beginning */
		path = path_of(u->images, m->name);
		if (path)
			dwfl_report_elf(dwfl, m->name, path, -1, m->start, false);
	}
	dwfl_report_end(dwfl, NULL, NULL);
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct unwind *u = arg;
	Dwarf_Addr pc;
	bool activation;

	if (u->nr == u->max)
		return DWARF_CB_ABORT;
	if (!dwfl_frame_pc(frame, &pc, &activation))
		return DWARF_CB_ABORT;
	if (pc == 0)
		return DWARF_CB_ABORT;
	/* a return address lies behind its call: look up the call */
	u->pcs[u->nr++] = activation || pc == 0 ? pc : pc - 1;
	return DWARF_CB_OK;
}

static int on_thread(Dwfl_Thread *thread, void *arg)
{
	/* 0 when the outermost frame was reached */
	return dwfl_thread_getframes(thread, on_frame, arg) == 0 ? DWARF_CB_OK : DWARF_CB_ABORT;
}

int unwind_backtrace(const struct report_facts *facts, struct auxtap_image_set *images,
		     const struct auxtap_regs *regs, uint64_t *pcs, int max, bool *complete)
{
	struct unwind u = {.facts = facts, .images = images, .regs = regs, .pcs = pcs, .max = max};
	const struct report_map *map;
	Dwfl *dwfl;

	*complete = false;
	if (max < 2 || !(regs->valid & (1ull << AUXTAP_X86_IP)))
		return 0;
	u.ip = regs->reg[AUXTAP_X86_IP];
	u.sp = regs->reg[AUXTAP_X86_SP];
	map = report_facts_map(facts, u.ip);
	if (!map || map->perms[2] != 'x') {
		/* a call went astray: what it pushed tells where from */
		uint64_t back;

		pcs[u.nr++] = u.ip;
		if (!report_facts_memory(facts, u.sp, &back, sizeof(back)))
			return u.nr;
		map = report_facts_map(facts, back);
		if (!map || map->perms[2] != 'x')
			return u.nr;
		u.ip = back;
		u.sp += 8;
	}
	dwfl = dwfl_begin(&dwfl_callbacks);
	if (!dwfl)
		return u.nr;
	report_modules(&u, dwfl);
	if (dwfl_attach_state(dwfl, NULL, facts->crash.pid, &thread_callbacks, &u))
		*complete = dwfl_getthreads(dwfl, on_thread, &u) == 0;
	if (u.nr == 0)
		pcs[u.nr++] = u.ip;
	/* entered by a stray call: ip itself is a return address */
	else if (u.nr > 1 && pcs[0] == regs->reg[AUXTAP_X86_IP] && pcs[1] == u.ip)
		pcs[1]--;
	dwfl_end(dwfl);
	return u.nr;
}
