// SPDX-License-Identifier: BSD-2-Clause
/* See pt_blocks.h. */
#include "pt_blocks.h"
#include "pt_limits.h"

#include <string.h>

void pt_blocks_init(struct pt_blocks *blocks, struct pt_memory *mem, unsigned int version)
{
	memset(blocks, 0, sizeof(*blocks));
	blocks->mem = mem;
	blocks->version = version;
	blocks->needs_check = version < PT_VERSION(2, 2);
	blocks->generation = 1;
}

void pt_blocks_code_changed(struct pt_blocks *blocks)
{
	blocks->generation++;
}

/* ---- branches ---- */

/* From the image files or the code generated at run time; image_code_read() has that alone. */
static ssize_t read_code(struct pt_blocks *blocks, uint64_t ip, void *buf, size_t size)
{
	const struct pt_memory *mem = blocks->mem;

	return auxtap_image_set_read(mem->set, mem->pid, mem->time, ip, buf, size);
}

const struct pt_branch *pt_blocks_branch(struct pt_blocks *blocks, const struct pt_run *run)
{
	uint64_t ip = run->end_ip;
	struct pt_branch *b = &blocks->branches[(ip ^ ip >> 10) % PT_BRANCHES];
	ssize_t got = run->size;

	if (!run->branches)
		return NULL;
	if (run->raw || b->ip != ip || b->generation != blocks->generation) {
		b->ip = ip;
		b->generation = run->raw ? 0 : blocks->generation;
		if (run->raw)
			memcpy(b->raw, run->raw, sizeof(b->raw));
		else
			got = read_code(blocks, ip, b->raw, sizeof(b->raw));
		b->valid =
			got > 0 && !branch_insn_decode(b->raw, (size_t)got, run->bits_32, &b->insn);
	}
	return b->valid ? b : NULL;
}

static enum auxtap_isa isa_of(const struct pt_run *run)
{
	return run->bits_32 ? AUXTAP_ISA_X86_32 : AUXTAP_ISA_X86;
}

/* ---- instructions that libipt misreads ---- */

static bool cut_block(struct pt_blocks *blocks, struct pt_run *run)
{
	uint64_t size = run->end_ip - run->ip + 15, at = 0;
	uint8_t code[4096];
	char text[64];
	ssize_t got;

	if (run->end_ip < run->ip || size > sizeof(code))
		size = sizeof(code);
	got = read_code(blocks, run->ip, code, size);
	if (got <= 0 || !pt_limits_may_misread(blocks->version, code, (size_t)got))
		return false;
	for (unsigned int nr = 1; nr <= run->nr_insns && at < (uint64_t)got; nr++) {
		int len;

		if (pt_limits_misreads_insn(blocks->version, run->bits_32, code + at,
					    (size_t)got - at)) {
			run->nr_insns = nr;
			run->end_ip = run->ip + at;
			run->branches = run->may_have_time = false;
			run->raw = NULL;
			return true;
		}
		len = auxtap_disassemble_as(blocks->mem->set, isa_of(run), run->ip + at, code + at,
					    (size_t)got - at, text, sizeof(text));
		if (len <= 0)
			return false;
		at += (uint64_t)len;
	}
	return false;
}

static void set_end(struct pt_run *run, unsigned int nr, uint64_t last_ip)
{
	run->nr_insns = nr;
	run->end_ip = last_ip;
	run->branches = run->may_have_time = false;
	run->raw = NULL;
}

/*
 * Of code generated at run time, the bytes executed last are known. Ends the run before its first
 * instruction whose bytes may have changed since the trace's time.
 */
static void cut_unknown(struct pt_blocks *blocks, struct pt_run *run, uint64_t *at)
{
	struct pt_memory *mem = blocks->mem;
	uint64_t ip = run->ip, last_ip = ip;
	unsigned int nr = 0;

	for (; nr < run->nr_insns; nr++) {
		uint8_t code[15];
		char text[64];
		size_t got = image_code_read(mem->code, ip, code, sizeof(code));
		int len = got ? auxtap_disassemble_as(mem->set, isa_of(run), ip, code, got, text,
						      sizeof(text)) :
				-1;

		if (len <= 0 ||
		    !pt_memory_is_valid_since(mem, pt_memory_code_since(mem, ip, (uint64_t)len)))
			break;
		last_ip = ip;
		ip += (uint64_t)len;
	}
	*at = ip;
	set_end(run, nr, last_ip);
}

/*
 * The time since which the known bytes of the run have not changed; 0: they are not known to have.
 * A last instruction of unknown size counts as 1 byte.
 */
static uint64_t valid_since_of(struct pt_blocks *blocks, const struct pt_run *run)
{
	uint64_t size = run->end_ip - run->ip + 1;
	struct pt_memory *mem = blocks->mem;
	uint8_t code[15];
	char text[64];
	size_t got;
	int len;

	if (!mem->code || run->end_ip < run->ip)
		return 0;
	got = image_code_read(mem->code, run->end_ip, code, sizeof(code));
	len = got ? auxtap_disassemble_as(mem->set, isa_of(run), run->end_ip, code, got, text,
					  sizeof(text)) :
		    0;
	return pt_memory_code_since(mem, run->ip, size - 1 + (len > 0 ? (uint64_t)len : 1));
}

enum pt_cut pt_blocks_cut(struct pt_blocks *blocks, struct pt_run *run, bool single, uint64_t *at)
{
	struct pt_memory *mem = blocks->mem;
	uint64_t since = 0;

	if (single) {
		if (mem->code &&
		    !pt_memory_is_valid_since(mem, pt_memory_code_since(mem, run->ip, run->size))) {
			*at = run->ip;
			set_end(run, 0, run->ip);
			return PT_CUT_UNKNOWN;
		}
		return blocks->needs_check && pt_limits_misreads_insn(blocks->version, run->bits_32,
								      run->raw, run->size) ?
			       PT_CUT_MISREAD :
			       PT_CUT_NOTHING;
	}
	if (pt_blocks_checked(blocks, run->ip, run->end_ip))
		return PT_CUT_NOTHING;
	since = valid_since_of(blocks, run);
	if (!pt_memory_is_valid_since(mem, since)) {
		cut_unknown(blocks, run, at);
		return PT_CUT_UNKNOWN;
	}
	if (blocks->needs_check && cut_block(blocks, run))
		return PT_CUT_MISREAD;
	blocks->checked[(run->ip ^ run->end_ip >> 4) % PT_CHECKED] =
		(struct pt_checked){run->ip, run->end_ip, blocks->generation, since};
	return PT_CUT_NOTHING;
}

/* ---- progress ---- */

/* Brent's cycle detection: saves an ip, and replaces it after 1, 2, 4, 8... further branches. */
bool pt_blocks_came_back(struct pt_blocks *blocks, uint64_t ip)
{
	if (blocks->spin_length && ip == blocks->spin_ip)
		return true;
	if (blocks->spin_length >= blocks->spin_power || !blocks->spin_length) {
		blocks->spin_ip = ip;
		blocks->spin_power = blocks->spin_length ? blocks->spin_power * 2 : 1;
		blocks->spin_length = 0;
	}
	blocks->spin_length++;
	return false;
}
