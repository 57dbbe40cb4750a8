// SPDX-License-Identifier: BSD-2-Clause
/*
 * See core_check.h. A process may be dumped several times (gcore), its pid may be reused, and the
 * user names the core file: so all that both files contain is compared. The core file is refused at
 * the first difference.
 */
#include "core_check.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define NOTES_MAX 4096
#define CHUNK	  4096

struct check {
	const struct core_dump *core;
	const struct recording *rec;
	struct auxtap_error *err;
};

static int refuse(const struct check *c)
{
	auxtap_error_hint(c->err, "give the core file of the death that was recorded");
	return -EINVAL;
}

#define DIFFERENT(c, ...) \
	(auxtap_error_set((c)->err, -EINVAL, (c)->core->path, __VA_ARGS__), refuse(c))

static const char *arch_name(enum auxtap_arch arch)
{
	return arch == AUXTAP_ARCH_AARCH64 ? "AArch64" : "x86-64";
}

static int check_process(const struct check *c)
{
	if (c->core->arch != c->rec->arch)
		return DIFFERENT(c, "it is of an %s process, the recording of an %s process",
				 arch_name(c->core->arch), arch_name(c->rec->arch));
	if (c->core->pid != c->rec->pid)
		return DIFFERENT(c, "it is of process %d, the recording of process %d",
				 c->core->pid, c->rec->pid);
	return 0;
}

/* ---- the moment ---- */

/* The flags are not compared: an engine that single-steps the program sets the trap flag. */
static int check_regs(const struct check *c, const struct core_thread *t,
		      const struct auxtap_regs *regs)
{
	for (unsigned int i = 0; i < AUXTAP_NR_REGS; i++) {
		if (t->regs.arch == AUXTAP_ARCH_X86_64 && i >= AUXTAP_X86_FLAGS &&
		    i <= AUXTAP_X86_ES)
			continue;
		if (t->regs.arch == AUXTAP_ARCH_AARCH64 && i == AUXTAP_A64_PSTATE)
			continue;
		if (t->regs.valid & regs->valid & 1ull << i && t->regs.reg[i] != regs->reg[i])
			return DIFFERENT(c,
					 "thread %d has registers in it that differ from those at "
					 "the end of the recording",
					 t->tid);
	}
	return 0;
}

/* Is it a signal that dumps core? */
static bool is_deadly(int signo)
{
	static const int deadly[] = {SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
				     SIGFPE,  SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};

	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		if (deadly[i] == signo)
			return true;
	return false;
}

/* If the recording has no registers, the core must be of a death where the trace ends. */
static int check_end(const struct check *c, const struct core_thread *t, const uint64_t *end)
{
	uint64_t pc;

	if (!is_deadly(c->core->signo))
		return DIFFERENT(c, "it does not say that the process died");
	if (!end)
		return DIFFERENT(c, "where the trace of its thread %d ends is unknown", t->tid);
	if (!recording_pc(&t->regs, &pc) || pc != *end)
		return DIFFERENT(c,
				 "its thread %d is at 0x%" PRIx64 ", its trace ends at 0x%" PRIx64,
				 t->tid, pc, *end);
	return 0;
}

static int check_moment(const struct check *c, const uint64_t *end)
{
	const struct auxtap_crash *crash = &c->rec->facts.crash;
	const struct core_thread *t = &c->core->threads[0];
	bool known = false;
	int ret = 0;

	if (c->rec->has_crash && !c->rec->facts.have_crash)
		return DIFFERENT(c, "the recording does not end with a death");
	if (crash->flags & AUXTAP_CRASH_INTERRUPTED)
		return DIFFERENT(c, "the process went on after this recording was made");
	if (c->rec->has_crash && (t->tid != crash->tid || c->core->signo != crash->signo))
		return DIFFERENT(c,
				 "thread %d died in it by signal %d, in the recording thread %d by "
				 "signal %d",
				 t->tid, c->core->signo, crash->tid, crash->signo);
	for (size_t i = 0; i < c->core->nr_threads && !ret; i++) {
		const struct auxtap_regs *regs = recording_regs(c->rec, c->core->threads[i].tid);

		if (!recording_pc(regs, &(uint64_t){0}))
			continue;
		known = known || !i;
		ret = check_regs(c, &c->core->threads[i], regs);
	}
	return ret || known ? ret : check_end(c, t, end);
}

/* ---- memory ---- */

static bool is_shared(const struct recording *rec, uint64_t addr)
{
	const struct report_map *map = report_facts_map(&rec->facts, addr);

	return map &&
	       map->perms[3] == 's'; /* other processes may write there, even after the death */
}

static int check_memory(const struct check *c)
{
	uint8_t bytes[CHUNK];

	for (size_t i = 0; i < c->rec->facts.nr_memory; i++) {
		const struct report_memory *m = &c->rec->facts.memory[i];
		uint64_t at = 0;

		while (at < m->nr_bytes && !is_shared(c->rec, m->addr)) {
			size_t nr = m->nr_bytes - at < CHUNK ? (size_t)(m->nr_bytes - at) : CHUNK;

			nr = core_dump_memory(c->core, m->addr + at, bytes, nr);
			if (memcmp(bytes, m->bytes + at, nr) != 0)
				return DIFFERENT(c,
						 "its memory near 0x%" PRIx64
						 " is not that of the recording",
						 m->addr + at);
			at += nr ? nr : 1;
		}
	}
	return 0;
}

/* ---- mappings ---- */

/* Checks that the mappings of files at the death are the same in both. */
static int check_maps(const struct check *c)
{
	for (size_t i = 0; i < c->core->nr_maps; i++) {
		const struct core_map *map = &c->core->maps[i];
		const struct report_map *found = report_facts_map(&c->rec->facts, map->start);

		if (!found || found->start != map->start || found->end != map->end ||
		    found->pgoff != map->pgoff)
			return DIFFERENT(c, "0x%" PRIx64 " is mapped differently in the recording",
					 map->start);
	}
	return 0;
}

/* The mapping of the start of the file that is mapped at an address; NULL: not in the list. */
static const struct core_map *first_of_file(const struct core_dump *core, uint64_t addr)
{
	const struct core_map *of = core_dump_map(core, addr), *first = NULL;

	for (size_t i = 0; of && i < core->nr_maps && core->maps[i].start <= addr; i++)
		if (!core->maps[i].pgoff && !strcmp(core->maps[i].name, of->name))
			first = &core->maps[i];
	return first;
}

/* Finds the build-id in notes; NULL: none. */
static const uint8_t *build_id_in(const uint8_t *notes, size_t size, size_t *id_size)
{
	while (size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr head;
		uint64_t name, desc;

		memcpy(&head, notes, sizeof(head));
		name = sizeof(head) + (((uint64_t)head.n_namesz + 3) & ~3ull);
		desc = ((uint64_t)head.n_descsz + 3) & ~3ull;
		if (name > size || desc > size - name)
			return NULL;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes + sizeof(head), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU))) {
			*id_size = head.n_descsz;
			return notes + name;
		}
		notes += name + desc;
		size -= name + desc;
	}
	return NULL;
}

/* Compares that of the file whose start is mapped there; true if the core does not contain it. */
static bool same_build_id(const struct core_dump *core, uint64_t start,
			  const struct auxtap_image_info *info)
{
	uint8_t notes[NOTES_MAX];
	Elf64_Ehdr eh;

	if (core_dump_memory(core, start, &eh, sizeof(eh)) != sizeof(eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_phentsize != sizeof(Elf64_Phdr))
		return true;
	for (unsigned int i = 0; i < eh.e_phnum; i++) {
		size_t size, id_size;
		const uint8_t *id;
		Elf64_Phdr ph;

		if (core_dump_memory(core, start + eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph)) !=
		    sizeof(ph))
			return true;
		if (ph.p_type != PT_NOTE)
			continue;
		size = ph.p_filesz < NOTES_MAX ? (size_t)ph.p_filesz : NOTES_MAX;
		size = core_dump_memory(core, start + ph.p_offset, notes, size);
		id = build_id_in(notes, size, &id_size);
		if (id)
			return id_size == info->build_id_size &&
			       !memcmp(id, info->build_id, id_size);
	}
	return true;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Checks a mapping of code in the recording, whose image is known. */
static int check_image(void *ctx, const struct auxtap_mapping *mapping)
{
	struct auxtap_image_info info = {.size = sizeof(info)};
	const struct check *c = ctx;
	const struct core_map *map = core_dump_map(c->core, mapping->start), *first;

	if (!map || auxtap_image_set_info(c->rec->images, mapping->image, &info) ||
	    info.name[0] != '/')
		return 0;
	first = first_of_file(c->core, mapping->start);
	if (first && info.build_id_size && !same_build_id(c->core, first->start, &info))
		return DIFFERENT(c, "'%s' in it has another build-id than in the recording",
				 base_name(info.name));
	return 0;
}

/* Checks that the program is at the same address as in the recording. */
static int check_program(const struct check *c)
{
	const struct recording_program *program = recording_program(c->rec);
	const struct core_map *map;

	if (!program)
		return 0;
	map = core_dump_map(c->core, program->start);
	if (c->core->nr_maps && !map)
		return DIFFERENT(c, "'%s' is not mapped at 0x%" PRIx64 " in it, as it was recorded",
				 base_name(program->name), program->start);
	return 0;
}

int core_check(const struct core_dump *core, const struct recording *rec, const uint64_t *end,
	       struct auxtap_error *err)
{
	struct check c = {core, rec, err};
	int ret = check_process(&c);

	if (!ret)
		ret = check_program(&c);
	if (!ret)
		ret = auxtap_image_set_mappings(rec->images, rec->pid, rec->time, check_image, &c);
	if (!ret && rec->facts.nr_maps)
		ret = check_maps(&c);
	if (!ret)
		ret = check_moment(&c, end);
	return ret ? ret : check_memory(&c);
}
