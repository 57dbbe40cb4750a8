// SPDX-License-Identifier: BSD-2-Clause
/*
 * Class and target of A64 instructions: a table by hand, then objdump as the reference over real
 * libraries and over random words of the encodings that contain branches.
 */
#include "hw/a64_insn.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define OBJDUMP "aarch64-linux-gnu-objdump"

struct sample {
	u32 code;
	int cls;
	s32 disp;
};

/* clang-format off */
static const struct sample samples[] = {
	{ 0xd503201f, A64_PLAIN, 0 },	   /* nop */
	{ 0xd503245f, A64_PLAIN, 0 },	   /* bti c */
	{ 0xd503233f, A64_PLAIN, 0 },	   /* paciasp */
	{ 0xd5033fbf, A64_PLAIN, 0 },	   /* dmb sy */
	{ 0xd5033f9f, A64_PLAIN, 0 },	   /* dsb sy */
	{ 0xd50330ff, A64_PLAIN, 0 },	   /* sb */
	{ 0x17ffffff, A64_B, -4 },
	{ 0x14000000, A64_B, 0 },
	{ 0x15ffffff, A64_B, 0x7fffffc },
	{ 0x16000000, A64_B, -0x8000000 },
	{ 0x94000001, A64_BL, 4 },
	{ 0x97fffffe, A64_BL, -8 },
	{ 0x54000040, A64_COND, 8 },	   /* b.eq */
	{ 0x5400004e, A64_COND, 8 },	   /* b.al */
	{ 0x54800001, A64_COND, -0x100000 },
	{ 0x54000050, A64_COND, 8 },	   /* bc.eq */
	{ 0x3400001f, A64_COND, 0 },	   /* cbz wzr */
	{ 0xb57fffe0, A64_COND, 0xffffc }, /* cbnz x0 */
	{ 0x3607ffe3, A64_COND, -4 },	   /* tbz w3, #0 */
	{ 0xb7fbffe3, A64_COND, 0x7ffc },  /* tbnz x3, #63 */
	{ 0xd61f0000, A64_BR, 0 },
	{ 0xd61f0bff, A64_BR, 0 },	   /* braaz xzr */
	{ 0xd61f0c1f, A64_BR, 0 },	   /* brabz x0 */
	{ 0xd71f0801, A64_BR, 0 },	   /* braa x0, x1 */
	{ 0xd71f0c1f, A64_BR, 0 },	   /* brab x0, sp */
	{ 0xd63f03c0, A64_BLR, 0 },
	{ 0xd63f081f, A64_BLR, 0 },	   /* blraaz x0 */
	{ 0xd73f0fff, A64_BLR, 0 },	   /* blrab xzr, sp */
	{ 0xd65f03c0, A64_RET, 0 },
	{ 0xd65f0000, A64_RET, 0 },	   /* ret x0 */
	{ 0xd65f0bff, A64_RET, 0 },	   /* retaa */
	{ 0xd65f0fff, A64_RET, 0 },	   /* retab */
	{ 0xd69f03e0, A64_ERET, 0 },
	{ 0xd69f0bff, A64_ERET, 0 },	   /* eretaa */
	{ 0xd69f0fff, A64_ERET, 0 },	   /* eretab */
	{ 0xd6bf03e0, A64_TRAP, 0 },	   /* drps */
	{ 0xd61f0001, A64_PLAIN, 0 },	   /* not allocated */
	{ 0xd65f0bdf, A64_PLAIN, 0 },
	{ 0xd60f0000, A64_PLAIN, 0 },
	{ 0xd4000001, A64_SVC, 0 },
	{ 0xd41fffe1, A64_SVC, 0 },
	{ 0xd4000002, A64_HVC, 0 },
	{ 0xd4000003, A64_HVC, 0 },	   /* smc */
	{ 0xd4200000, A64_TRAP, 0 },	   /* brk */
	{ 0xd4400000, A64_TRAP, 0 },	   /* hlt */
	{ 0xd4a00001, A64_TRAP, 0 },	   /* dcps1 */
	{ 0xd4200004, A64_PLAIN, 0 },
	{ 0xd4600000, A64_PLAIN, 0 },	   /* tcancel: faults back to tstart, or does nothing */
	{ 0x00000000, A64_TRAP, 0 },	   /* udf */
	{ 0x0000ffff, A64_TRAP, 0 },
	{ 0x00010000, A64_PLAIN, 0 },
	{ 0xd5033fdf, A64_ISB, 0 },
	{ 0xd50330df, A64_ISB, 0 },	   /* isb #0 */
	{ 0xd503205f, A64_WFX, 0 },	   /* wfe */
	{ 0xd503207f, A64_WFX, 0 },	   /* wfi */
	{ 0xd503209f, A64_PLAIN, 0 },	   /* sev */
	{ 0xd5031000, A64_WFX, 0 },	   /* wfet x0 */
	{ 0xd503103e, A64_WFX, 0 },	   /* wfit x30 */
	{ 0xd5031040, A64_PLAIN, 0 },
	{ 0xd5233060, A64_TSTART, 0 },
	{ 0x8b000000, A64_PLAIN, 0 },
	{ 0x74000000, A64_PLAIN, 0 },
};
/* clang-format on */

static void test_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];
		struct a64_insn insn = a64_insn_decode(s->code);

		if (insn.cls != s->cls || insn.disp != s->disp)
			fail_msg("%08x: class %d displacement %d", s->code, insn.cls, insn.disp);
	}
}

/* ---- objdump as the reference ---- */

struct verdict {
	unsigned long nr_insns, nr_branches, nr_wrong;
};

static bool is_one_of(const char *word, const char *list)
{
	size_t len = strlen(word);

	for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return false;
}

static int class_of_text(const char *word)
{
	/* clang-format off */
	static const struct {
		const char *words;
		int cls;
	} table[] = {
		{ "cbz cbnz tbz tbnz", A64_COND },
		{ "b", A64_B },
		{ "bl", A64_BL },
		{ "br braa brab braaz brabz", A64_BR },
		{ "blr blraa blrab blraaz blrabz", A64_BLR },
		{ "ret retaa retab", A64_RET },
		{ "eret eretaa eretab", A64_ERET },
		{ "svc", A64_SVC },
		{ "hvc smc", A64_HVC },
		{ "brk hlt dcps1 dcps2 dcps3 drps udf", A64_TRAP },
		{ "isb", A64_ISB },
		{ "wfi wfe wfit wfet", A64_WFX },
		{ "tstart", A64_TSTART },
	};
	/* clang-format on */

	if (!strncmp(word, "b.", 2) || !strncmp(word, "bc.", 3))
		return A64_COND;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (is_one_of(word, table[i].words))
			return table[i].cls;
	return A64_PLAIN;
}

/* "  ADDRESS:\tCODE \tWORD\tOPERANDS": a direct branch's last operand is its target. */
static void reference_line(const char *line, struct verdict *verdict)
{
	unsigned long long addr, target = 0;
	char word[32], operands[200] = "", *last;
	struct a64_insn insn;
	u32 code;
	int cls;

	if (sscanf(line, " %llx:\t%x \t%31s %199[^\n]", &addr, &code, word, operands) < 3)
		return;
	if (word[0] == '.') /* objdump knows no such instruction */
		return;
	insn = a64_insn_decode(code);
	cls = class_of_text(word);
	verdict->nr_insns++;
	verdict->nr_branches += cls != A64_PLAIN;
	operands[strcspn(operands, "</")] = '\0';
	last = strrchr(operands, ',');
	if (a64_is_direct(cls))
		target = strtoull(last ? last + 1 : operands, NULL, 16);
	if (insn.cls == cls && (!a64_is_direct(cls) || addr + insn.disp == target))
		return;
	if (verdict->nr_wrong++ < 10)
		print_error("%s: class %d displacement %d\n", line, insn.cls, insn.disp);
}

static struct verdict compare(const char *options, const char *file)
{
	struct verdict verdict = {0};
	char command[512], line[1024];
	FILE *pipe;

	snprintf(command, sizeof(command), OBJDUMP " %s -z -w %s", options, file);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe))
		reference_line(line, &verdict);
	assert_int_equal(pclose(pipe), 0);
	print_message("%s: %lu instructions, %lu of the flow, %lu wrong\n", file, verdict.nr_insns,
		      verdict.nr_branches, verdict.nr_wrong);
	return verdict;
}

static void need_objdump(void)
{
	if (system(OBJDUMP " --version >/dev/null 2>&1")) {
		print_message("skipped: no " OBJDUMP "\n");
		skip();
	}
}

static void test_programs(void **state)
{
	static const char *const files[] = {"/usr/aarch64-linux-gnu/lib/libc.so.6",
					    "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1",
					    "/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
					    "/usr/aarch64-linux-gnu/lib/libgomp.so.1"};
	size_t nr = 0;

	(void)state;
	need_objdump();
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct verdict verdict;

		if (access(files[i], R_OK))
			continue;
		verdict = compare("-d", files[i]);
		assert_true(verdict.nr_insns > 10000);
		assert_true(verdict.nr_branches > verdict.nr_insns / 20);
		assert_int_equal(verdict.nr_wrong, 0);
		nr++;
	}
	if (!nr) {
		print_message("skipped: no arm64 libraries\n");
		skip();
	}
}

/* Random words; three of four have the leading bits of a branch instruction. */
static u32 random_word(u64 *seed)
{
	/* clang-format off */
	static const u32 heads[][2] = { /* value, bits that are random */
		{ 0x14000000, 0x83ffffff }, { 0x34000000, 0x83ffffff }, { 0x54000000, 0x01ffffff },
		{ 0xd4000000, 0x01ffffff }, { 0xd4000000, 0x00e0001f }, { 0xd6000000, 0x01ffffff },
		{ 0xd61f0000, 0x01e0ffff }, { 0xd61f03c0, 0x01e03c3f }, { 0xd61f03e0, 0x01e0fc1f },
		{ 0xd5000000, 0x00ffffff }, { 0xd5030000, 0x0000ffff }, { 0xd50320df, 0x00003fe0 },
		{ 0xd503101f, 0x000000ff }, { 0x00000000, 0x0001ffff }, { 0xd5233060, 0x0000007f },
	};
	/* clang-format on */
	u32 word;

	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	word = *seed >> 16;
	if (*seed >> 60 & 3) {
		size_t i = (*seed >> 48 & 0xfff) % (sizeof(heads) / sizeof(heads[0]));

		word = heads[i][0] ^ (word & heads[i][1]);
	}
	return word;
}

static void test_random(void **state)
{
	unsigned int nr = getenv("AUXTAP_LONG") && *getenv("AUXTAP_LONG") ? 4000000 : 400000;
	char name[] = "/tmp/auxtap_random_XXXXXX";
	u64 seed = 88172645463325252ull;
	struct verdict verdict;
	FILE *file;
	int fd;

	(void)state;
	need_objdump();
	fd = mkstemp(name);
	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	assert_non_null(file);
	while (nr--) {
		u32 word = random_word(&seed);

		for (int i = 0; i < 4; i++)
			fputc((int)(word >> (8 * i)) & 0xff, file);
	}
	fclose(file);
	verdict = compare("-D -b binary -m aarch64 -EL", name);
	unlink(name);
	assert_true(verdict.nr_insns > 100000);
	assert_true(verdict.nr_branches > 50000);
	assert_int_equal(verdict.nr_wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
