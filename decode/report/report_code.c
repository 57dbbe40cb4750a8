// SPDX-License-Identifier: BSD-2-Clause
/*
 * Answers the questions of the tree of calls about code: functions, PLTs, exceptions, stack
 * switches.
 */
#include "decode/image/image_private.h"
#include "call_tree.h"
#include "report_out.h"

#include <string.h>

#define MAX_SWITCH 512	 /* bytes of code before a jump that are searched for a stack switch */
#define MAX_RUN	   65536 /* bytes of code without a branch whose instructions are counted */

static size_t read_code(const struct report_code *at, uint64_t addr, uint8_t *code, size_t size)
{
	ssize_t n = auxtap_image_set_read(at->images, at->pid, at->time, addr, code, size);

	return n > 0 ? (size_t)n : 0;
}

/* Is the code a jump as at the end of a PLT entry? */
static bool is_plt_jump(const uint8_t *code, size_t size)
{
	static const uint8_t x86[3] = {0xf2, 0xff, 0x25};	/* bnd jmp *x(%rip) */
	static const uint8_t a64[4] = {0x20, 0x02, 0x1f, 0xd6}; /* br x17 */

	return size >= 4 &&
	       (!memcmp(code, x86, 3) || !memcmp(code, x86 + 1, 2) || !memcmp(code, a64, 4));
}

/*
 * The size of the code if it is that of a PLT entry: nothing but that jump, after what marks a
 * target of jumps and what loads its register; else 0.
 */
static size_t plt_entry_size(const uint8_t *code, size_t size)
{
	static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t bti_c[4] = {0x5f, 0x24, 0x03, 0xd5};
	static const uint8_t autia1716[4] = {0x9f, 0x21, 0x03, 0xd5};
	size_t at = size >= 4 && (!memcmp(code, endbr64, 4) || !memcmp(code, bti_c, 4)) ? 4 : 0;

	if (at + 6 <= size && code[at] == 0x41 && code[at + 1] == 0xbb) /* mov $x, %r11d */
		at += 6;
	else if (at + 4 <= size && (code[at] & 0x1f) == 0x10 && (code[at + 3] & 0x9f) == 0x90)
		at += 12; /* adrp x16, x; ldr x17, [x16, x]; add x16, x16, x */
	if (at + 4 <= size && !memcmp(code + at, autia1716, 4))
		at += 4;
	if (at >= size || !is_plt_jump(code + at, size - at))
		return 0;
	return at + (code[at] == 0x20 ? 4 : code[at] == 0xf2 ? 7 : 6);
}

static void look_up(void *ctx, uint64_t addr, struct call_code *code)
{
	const struct report_code *at = ctx;
	struct auxtap_location loc = {.size = sizeof(loc)};
	struct image_range range = {0};
	const char *name;
	uint8_t bytes[24];
	size_t len;

	if (image_set_find_range(at->images, at->pid, at->time, addr, &range)) {
		code->fde_start = range.start;
		code->cold_part = range.is_part;
	}
	if (auxtap_image_set_symbol(at->images, at->pid, at->time, addr, &loc) || !loc.image)
		return;
	code->in_linker = report_is_linker(loc.image);
	if (!loc.nr_frames || !loc.frames[0].symbol) {
		len = read_code(at, addr, bytes, sizeof(bytes));
		code->plt_jump = is_plt_jump(bytes, len);
		len = plt_entry_size(bytes, len);
		/* where a function ends with the jump, it is that function's only instruction */
		code->plt_entry = len && (range.start != addr || range.end != addr + len);
		return;
	}
	name = loc.frames[0].symbol;
	len = strlen(name);
	code->start = addr - loc.frames[0].symbol_off;
	code->plt_stub = (len > 4 && !strcmp(name + len - 4, "@plt")) ||
			 !strncmp(name, "_dl_runtime_resolve", 19);
	/* the compiler's names for a cold part: "f.cold", "f() [clone .cold]" */
	code->cold_part = strstr(name, ".cold");
}

/* Length of a symbol's name without what compilers append for a cold part: ".cold", ".cold.1". */
static size_t name_length(const char *name)
{
	const char *end = strstr(name, " [clone .cold");

	if (!end)
		end = strstr(name, ".cold");
	return end ? (size_t)(end - name) : strlen(name);
}

/* Are the two in different source files? Then a name that they share is of two functions. */
static bool in_other_files(const struct report_code *at, uint64_t from, uint64_t to)
{
	struct auxtap_location a = {.size = sizeof(a)}, b = {.size = sizeof(b)};
	const char *one, *other;

	if (auxtap_image_set_resolve(at->images, at->pid, at->time, from, &a) || !a.nr_frames)
		return false;
	one = a.frames[a.nr_frames - 1].file;
	if (auxtap_image_set_resolve(at->images, at->pid, at->time, to, &b) || !b.nr_frames)
		return false;
	other = b.frames[b.nr_frames - 1].file;
	return one && other && strcmp(one, other) != 0;
}

static bool is_same_function(void *ctx, uint64_t from, uint64_t to)
{
	const struct report_code *at = ctx;
	struct auxtap_location a = {.size = sizeof(a)}, b = {.size = sizeof(b)};
	const char *name;
	size_t len;

	if (auxtap_image_set_symbol(at->images, at->pid, at->time, from, &a) || !a.image ||
	    !a.nr_frames || !a.frames[0].symbol)
		return false;
	name = a.frames[0].symbol;
	len = name_length(name);
	return !auxtap_image_set_symbol(at->images, at->pid, at->time, to, &b) && b.image &&
	       !strcmp(a.image, b.image) && b.nr_frames && b.frames[0].symbol &&
	       name_length(b.frames[0].symbol) == len && !strncmp(name, b.frames[0].symbol, len) &&
	       !in_other_files(at, from, to);
}

static uint64_t landing_pad(void *ctx, uint64_t call)
{
	const struct report_code *at = ctx;

	return image_set_landing_pad(at->images, at->pid, at->time, call);
}

/* May these bytes be, or contain, an x86 instruction that replaces rsp? A false yes is harmless. */
static bool sets_rsp(const uint8_t *code)
{
	bool wide = (code[0] & 0xf8) == 0x48;

	return code[0] == 0x5c /* pop */ || code[0] == 0xc9 /* leave */ ||
	       (wide && code[1] == 0x89 && (code[2] & 0xc7) == 0xc4) /* mov to rsp */ ||
	       (wide && (code[1] == 0x8b || code[1] == 0x8d || code[1] == 0x87) &&
		((code[2] & 0x38) == 0x20 || (code[2] & 0xc7) == 0xc4)); /* mov, lea, xchg */
}

/* mov to sp, and add and sub from another register than sp; loads cannot have sp as target. */
static bool sets_sp(const uint8_t *code)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	return (word & 0xbf80001f) == 0x9100001f && (word >> 5 & 31) != 31;
}

static bool keeps_stack(void *ctx, uint64_t begin, uint64_t end)
{
	const struct report_code *at = ctx;
	uint8_t code[MAX_SWITCH + 4] = {0};
	size_t size = end - begin;

	if (begin > end || size > MAX_SWITCH ||
	    auxtap_image_set_read(at->images, at->pid, at->time, begin, code, size) !=
		    (ssize_t)size)
		return false;
	for (size_t i = 0; i < size; i++)
		if (sets_rsp(code + i) || (i % 4 == 0 && sets_sp(code + i)))
			return false;
	return true;
}

static uint32_t nr_insns(void *ctx, enum auxtap_isa isa, uint64_t begin, uint64_t end)
{
	const struct report_code *at = ctx;
	uint8_t code[16];
	uint32_t nr = 0;
	char text[160];

	if (end - begin > MAX_RUN)
		return 0;
	for (; begin < end; nr++) {
		ssize_t n = auxtap_image_set_read(at->images, at->pid, at->time, begin, code,
						  sizeof(code));
		int size = n > 0 ? auxtap_disassemble_as(at->images, isa, begin, code, (size_t)n,
							 text, sizeof(text)) :
				   0;

		if (size <= 0)
			return 0;
		begin += (uint64_t)size;
	}
	return nr;
}

static bool same_code(void *ctx, uint64_t addr, uint64_t time)
{
	const struct report_code *at = ctx;
	struct auxtap_location then = {.size = sizeof(then)}, now = {.size = sizeof(now)};

	return !auxtap_image_set_symbol(at->images, at->pid, time, addr, &then) &&
	       !auxtap_image_set_symbol(at->images, at->pid, at->time, addr, &now) && then.image &&
	       now.image && then.image_off == now.image_off && !strcmp(then.image, now.image);
}

const struct call_code_ops report_code_ops = {
	.look_up = look_up,
	.is_same_function = is_same_function,
	.landing_pad = landing_pad,
	.keeps_stack = keeps_stack,
	.nr_insns = nr_insns,
	.same_code = same_code,
};
