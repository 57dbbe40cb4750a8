// SPDX-License-Identifier: BSD-2-Clause
/* See recording.h. */
#include "recording.h"

#include "gdb_core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/vector.h"

/* ---- the metadata trailer ---- */

static int add_note(void *ctx, uint32_t type, const void *data, size_t size)
{
	struct recording *rec = ctx;

	return report_facts_add(&rec->facts, type, data, size);
}

/* ---- the sideband: which program a process runs ---- */

static struct recording_program *program_of(struct recording *rec, int32_t pid, bool create)
{
	for (size_t i = 0; i < rec->nr_programs; i++)
		if (rec->programs[i].pid == pid)
			return &rec->programs[i];
	if (!create || vector_grow(rec->programs, rec->nr_programs, rec->max_programs))
		return NULL;
	rec->programs[rec->nr_programs] = (struct recording_program){.pid = pid, .expected = true};
	return &rec->programs[rec->nr_programs++];
}

static int note_exec(struct recording *rec, int32_t pid, uint64_t time)
{
	struct recording_program *program = program_of(rec, pid, true);

	if (!program || vector_grow(rec->execs, rec->nr_execs, rec->max_execs))
		return -ENOMEM;
	program->expected = true;
	rec->execs[rec->nr_execs++] = (struct recording_exec){.pid = pid, .time = time};
	return 0;
}

static int note_fork(struct recording *rec, int32_t pid, int32_t parent)
{
	const struct recording_program *from;
	struct recording_program *program;

	if (pid == parent || !program_of(rec, parent, false))
		return 0;
	program = program_of(rec, pid, true);
	if (!program)
		return -ENOMEM;
	from = program_of(rec, parent, false);
	if (!from->name)
		return 0;
	free(program->name);
	program->name = strdup(from->name);
	program->start = from->start;
	program->expected = from->expected;
	return program->name ? 0 : -ENOMEM;
}

/* body: pid, tid, addr, len, ...; name: after the fixed part */
static int note_map(struct recording *rec, const uint8_t *body, size_t size, size_t name_off)
{
	struct recording_program *program;
	int32_t pid;

	if (size <= name_off || !memchr(body + name_off, '\0', size - name_off))
		return 0;
	memcpy(&pid, body, sizeof(pid));
	program = program_of(rec, pid, true);
	if (!program)
		return -ENOMEM;
	if (!program->expected || body[name_off] != '/')
		return 0;
	program->expected = false;
	memcpy(&program->start, body + 8, sizeof(program->start));
	free(program->name);
	program->name = strdup((const char *)body + name_off);
	return program->name ? 0 : -ENOMEM;
}

static int note_record(struct recording *rec, const struct auxtap_record *record)
{
	const uint8_t *body = (const uint8_t *)(record->header + 1);
	size_t size = record->body_size;
	int32_t pid, other;

	if (size < 8)
		return 0;
	memcpy(&pid, body, sizeof(pid));
	memcpy(&other, body + 4, sizeof(other));
	switch (record->header->type) {
	case PERF_RECORD_COMM:
		if (!(record->header->misc & PERF_RECORD_MISC_COMM_EXEC))
			return 0;
		return note_exec(rec, pid, record->time);
	case PERF_RECORD_FORK:
		return note_fork(rec, pid, other);
	case PERF_RECORD_MMAP:
		if (record->header->misc & PERF_RECORD_MISC_MMAP_DATA)
			return 0;
		return note_map(rec, body, size, 32);
	case PERF_RECORD_MMAP2:
		if (record->header->misc & PERF_RECORD_MISC_MMAP_DATA)
			return 0;
		return note_map(rec, body, size, 64);
	default:
		return 0;
	}
}

static int read_sideband(struct recording *rec)
{
	struct auxtap_record record = {.size = sizeof(record)};
	int ret = 0;

	while (!ret && auxtap_perfdata_next_sorted(rec->pd, &record, NULL) == 1)
		ret = note_record(rec, &record);
	auxtap_perfdata_rewind_sorted(rec->pd);
	return ret;
}

/* ---- */

static enum auxtap_arch arch_of(const struct recording *rec)
{
	const uint64_t *priv;
	uint32_t type;
	size_t nr;

	if (rec->facts.nr_threads && rec->facts.threads[0].record.regs.arch)
		return (enum auxtap_arch)rec->facts.threads[0].record.regs.arch;
	if (auxtap_perfdata_auxtrace_info(rec->pd, &type, &priv, &nr))
		return AUXTAP_ARCH_NONE;
	return type == AUXTAP_AUXTRACE_INTEL_PT ? AUXTAP_ARCH_X86_64 :
	       type == AUXTAP_AUXTRACE_CS_ETM	? AUXTAP_ARCH_AARCH64 :
						  AUXTAP_ARCH_NONE;
}

int recording_read(struct recording *rec, struct auxtap_perfdata *pd,
		   struct auxtap_image_set *images, struct auxtap_error *err)
{
	int ret;

	memset(rec, 0, sizeof(*rec));
	rec->pd = pd;
	rec->images = images;
	rec->pid = -1;
	rec->time = UINT64_MAX;
	ret = auxtap_perfdata_metadata(pd, add_note, rec, err);
	if (!ret)
		ret = read_sideband(rec);
	if (ret == -ENOMEM)
		auxtap_error_set(err, ret, auxtap_perfdata_path(pd), "out of memory");
	if (ret)
		return ret;
	rec->arch = arch_of(rec);
	rec->has_crash = rec->facts.have_record;
	if (rec->has_crash) {
		rec->pid = rec->facts.crash.pid;
		if (rec->facts.crash.time)
			rec->time = rec->facts.crash.time;
	}
	return 0;
}

void recording_choose(struct recording *rec, int32_t pid)
{
	if (pid == rec->pid)
		return;
	rec->pid = pid;
	rec->has_crash = false;
	rec->time = UINT64_MAX;
	report_facts_free(&rec->facts);
}

static struct report_thread *thread_of(struct recording *rec, int32_t tid)
{
	struct report_facts *facts = &rec->facts;
	struct report_thread *thread;

	for (size_t i = 0; i < facts->nr_threads; i++)
		if (facts->threads[i].record.tid == tid)
			return &facts->threads[i];
	if (vector_grow(facts->threads, facts->nr_threads, facts->max_threads))
		return NULL;
	thread = &facts->threads[facts->nr_threads++];
	memset(thread, 0, sizeof(*thread));
	thread->record.pid = rec->pid;
	thread->record.tid = tid;
	return thread;
}

int recording_take_core(struct recording *rec, const struct core_dump *core)
{
	uint64_t pc;

	for (size_t i = 0; i < core->nr_threads; i++) {
		struct report_thread *thread = thread_of(rec, core->threads[i].tid);

		if (!thread)
			return -ENOMEM;
		if (!recording_pc(&thread->record.regs, &pc))
			thread->record.regs = core->threads[i].regs;
	}
	if (!rec->has_crash) {
		rec->facts.crash.pid = rec->pid;
		rec->facts.crash.tid = core->threads[0].tid;
		rec->facts.crash.signo = core->signo;
		rec->has_crash = true;
	}
	return 0;
}

void recording_free(struct recording *rec)
{
	report_facts_free(&rec->facts);
	for (size_t i = 0; i < rec->nr_programs; i++)
		free(rec->programs[i].name);
	free(rec->programs);
	free(rec->execs);
	memset(rec, 0, sizeof(*rec));
}

const struct auxtap_regs *recording_regs(const struct recording *rec, int32_t tid)
{
	for (size_t i = 0; i < rec->facts.nr_threads; i++)
		if (rec->facts.threads[i].record.tid == tid)
			return &rec->facts.threads[i].record.regs;
	return NULL;
}

bool recording_pc(const struct auxtap_regs *regs, uint64_t *pc)
{
	unsigned int index =
		regs && regs->arch == AUXTAP_ARCH_AARCH64 ? AUXTAP_A64_PC : AUXTAP_X86_IP;

	if (!regs || !(regs->valid & 1ull << index))
		return false;
	*pc = regs->reg[index];
	return true;
}

const struct recording_program *recording_program(const struct recording *rec)
{
	for (size_t i = 0; i < rec->nr_programs; i++)
		if (rec->programs[i].pid == rec->pid && rec->programs[i].name)
			return &rec->programs[i];
	return NULL;
}

size_t recording_memory(const struct recording *rec, uint64_t addr, void *buf, size_t size)
{
	size_t done = 0;
	bool more = true;

	while (more && done < size) {
		more = false;
		for (size_t i = 0; i < rec->facts.nr_memory && !more; i++) {
			const struct report_memory *m = &rec->facts.memory[i];
			uint64_t off = addr + done - m->addr;
			size_t nr = size - done;

			if (addr + done < m->addr || off >= m->nr_bytes)
				continue;
			if (nr > m->nr_bytes - off)
				nr = (size_t)(m->nr_bytes - off);
			memcpy((uint8_t *)buf + done, m->bytes + off, nr);
			done += nr;
			more = true;
		}
	}
	return done;
}

static bool may_write(const struct recording *rec, uint64_t addr)
{
	const struct report_map *map = report_facts_map(&rec->facts, addr);

	return map && map->perms[1] == 'w';
}

size_t recording_constant(const struct recording *rec, uint64_t addr, void *buf, size_t size)
{
	ssize_t nr;

	if (may_write(rec, addr))
		return 0;
	nr = auxtap_image_set_read_constant(rec->images, rec->pid, rec->time, addr, buf, size);
	return nr > 0 ? (size_t)nr : 0;
}
