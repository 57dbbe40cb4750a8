// SPDX-License-Identifier: BSD-2-Clause
/*
 * Length and class of instructions: a table by hand, then objdump as the reference over real
 * programs and over random bytes.
 */
#include "hw/x86_insn.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

struct sample {
	const char *hex;
	int bits;
	int len; /* -1: not an instruction */
	int cls;
	int flags;
	s32 disp;
};

/* clang-format off */
static const struct sample samples[] = {
	{ "90", 64, 1, X86_PLAIN, 0, 0 },
	{ "740a", 64, 2, X86_JCC, 0, 10 },
	{ "0f85fcffffff", 64, 6, X86_JCC, 0, -4 },
	{ "e2fe", 64, 2, X86_JCC, 0, -2 },
	{ "e305", 64, 2, X86_JCC, 0, 5 },
	{ "eb80", 64, 2, X86_JMP, 0, -128 },
	{ "e978563412", 64, 5, X86_JMP, 0, 0x12345678 },
	{ "e800000000", 64, 5, X86_CALL, 0, 0 },
	{ "66e800000000", 64, 6, X86_CALL, 0, 0 },
	{ "66e80010", 32, 4, X86_CALL, 0, 0x1000 },
	{ "ffe0", 64, 2, X86_JMP_INDIRECT, 0, 0 },
	{ "3effe0", 64, 3, X86_JMP_INDIRECT, 0, 0 },
	{ "ff2578563412", 64, 6, X86_JMP_INDIRECT, 0, 0 },
	{ "41ff55d0", 64, 4, X86_CALL_INDIRECT, 0, 0 },
	{ "ff18", 64, 2, X86_FAR, 0, 0 },
	{ "ff28", 64, 2, X86_FAR, 0, 0 },
	{ "ff30", 64, 2, X86_PLAIN, 0, 0 },
	{ "ff38", 64, -1, 0, 0, 0 },
	{ "c3", 64, 1, X86_RET, 0, 0 },
	{ "f3c3", 64, 2, X86_RET, 0, 0 },
	{ "f2c3", 64, 2, X86_RET, 0, 0 },
	{ "c20800", 64, 3, X86_RET, 0, 0 },
	{ "cb", 64, 1, X86_FAR, 0, 0 },
	{ "ca0400", 64, 3, X86_FAR, 0, 0 },
	{ "48cf", 64, 2, X86_FAR, X86_INSN_POPF, 0 },
	{ "480f07", 64, 3, X86_FAR, 0, 0 },
	{ "0f35", 64, 2, X86_FAR, 0, 0 },
	{ "0faa", 64, 2, X86_FAR, 0, 0 },
	{ "0f01c1", 64, 3, X86_FAR, 0, 0 },
	{ "0f01f9", 64, 3, X86_PLAIN, 0, 0 }, /* rdtscp */
	{ "ea000000000800", 32, 7, X86_FAR, 0, 0 },
	{ "66ea00000800", 32, 6, X86_FAR, 0, 0 },
	{ "9a000000000800", 32, 7, X86_FAR, 0, 0 },
	{ "ea00000000080000", 64, -1, 0, 0, 0 },
	{ "0f05", 64, 2, X86_SYSCALL, 0, 0 },
	{ "0f34", 64, 2, X86_SYSCALL, 0, 0 },
	{ "cd80", 32, 2, X86_SYSCALL, 0, 0 },
	{ "cc", 64, 1, X86_SYSCALL, 0, 0 },
	{ "f1", 64, 1, X86_SYSCALL, 0, 0 },
	{ "ce", 32, 1, X86_SYSCALL, 0, 0 },
	{ "ce", 64, -1, 0, 0, 0 },
	{ "0f0b", 64, 2, X86_PLAIN, 0, 0 },
	{ "f30f1efa", 64, 4, X86_PLAIN, 0, 0 },
	{ "f3a4", 64, 2, X86_PLAIN, X86_INSN_REP, 0 },
	{ "f348ab", 64, 3, X86_PLAIN, X86_INSN_REP, 0 },
	{ "f2ae", 64, 2, X86_PLAIN, X86_INSN_REP, 0 },
	{ "a4", 64, 1, X86_PLAIN, 0, 0 },
	{ "f390", 64, 2, X86_PLAIN, 0, 0 },
	{ "9c", 64, 1, X86_PLAIN, X86_INSN_PUSHF, 0 },
	{ "9d", 64, 1, X86_PLAIN, X86_INSN_POPF, 0 },
	{ "48b88877665544332211", 64, 10, X86_PLAIN, 0, 0 },
	{ "66b81122", 64, 4, X86_PLAIN, 0, 0 },
	{ "a18877665544332211", 64, 9, X86_PLAIN, 0, 0 },
	{ "67a144332211", 64, 6, X86_PLAIN, 0, 0 },
	{ "a144332211", 32, 5, X86_PLAIN, 0, 0 },
	{ "67a12211", 32, 4, X86_PLAIN, 0, 0 },
	{ "c8100001", 64, 4, X86_PLAIN, 0, 0 },
	{ "66c7041cbeef", 64, 6, X86_PLAIN, 0, 0 },
	{ "48c7042501000000efbeadde", 64, 12, X86_PLAIN, 0, 0 },
	{ "f6c101", 64, 3, X86_PLAIN, 0, 0 },
	{ "f6d1", 64, 2, X86_PLAIN, 0, 0 },
	{ "f7c101000000", 64, 6, X86_PLAIN, 0, 0 },
	{ "66f7c10100", 64, 5, X86_PLAIN, 0, 0 },
	{ "678b4601", 32, 4, X86_PLAIN, 0, 0 },
	{ "678b062211", 32, 5, X86_PLAIN, 0, 0 },
	{ "8b0544332211", 32, 6, X86_PLAIN, 0, 0 },
	{ "0f20c0", 64, 3, X86_PLAIN, 0, 0 },
	{ "0f2004", 64, 3, X86_PLAIN, 0, 0 },
	{ "0f0fc1b4", 64, 4, X86_PLAIN, 0, 0 },
	{ "660f3800c1", 64, 5, X86_PLAIN, 0, 0 },
	{ "660f3a0fc108", 64, 6, X86_PLAIN, 0, 0 },
	{ "c5f877", 64, 3, X86_PLAIN, 0, 0 },
	{ "c5f970c11b", 64, 5, X86_PLAIN, 0, 0 },
	{ "c5f858c1", 32, 4, X86_PLAIN, 0, 0 },
	{ "c502", 32, 2, X86_PLAIN, 0, 0 }, /* lds */
	{ "c402", 64, -1, 0, 0, 0 },
	{ "c4e37918c101", 64, 6, X86_PLAIN, 0, 0 },
	{ "c4e27918c1", 64, 5, X86_PLAIN, 0, 0 },
	{ "66c5f858c1", 64, -1, 0, 0, 0 },
	{ "62f17c4858c1", 64, 6, X86_PLAIN, 0, 0 },
	{ "62f17c48584140", 64, 7, X86_PLAIN, 0, 0 },
	{ "62f37d4825c1ff", 64, 7, X86_PLAIN, 0, 0 },
	{ "6202", 32, 2, X86_PLAIN, 0, 0 }, /* bound */
	{ "8fe878c0c101", 64, 6, X86_PLAIN, 0, 0 },
	{ "8fea7810c144332211", 64, 9, X86_PLAIN, 0, 0 },
	{ "8f00", 64, 2, X86_PLAIN, 0, 0 },
	{ "c7f800000000", 64, 6, X86_PLAIN, 0, 0 }, /* xbegin: plain for now */
	{ "c6f801", 64, 3, X86_PLAIN, 0, 0 },
	{ "4866e800000000", 64, 7, X86_CALL, 0, 0 }, /* a REX before a prefix does not count */
	{ "4866b81122", 64, 5, X86_PLAIN, 0, 0 },
	{ "06", 64, -1, 0, 0, 0 },
	{ "06", 32, 1, X86_PLAIN, 0, 0 },
	{ "40", 32, 1, X86_PLAIN, 0, 0 },
	{ "82c101", 32, 3, X86_PLAIN, 0, 0 },
	{ "82c101", 64, -1, 0, 0, 0 },
	{ "0f04", 64, -1, 0, 0, 0 },
	/* 15 bytes are the limit */
	{ "6666666666666666666666666666" "90", 64, 15, X86_PLAIN, 0, 0 },
	{ "666666666666666666666666666666" "90", 64, -1, 0, 0, 0 },
};
/* clang-format on */

static unsigned int from_hex(const char *hex, u8 *bytes)
{
	unsigned int nr = 0, value;

	for (; sscanf(hex, "%2x", &value) == 1; hex += 2)
		bytes[nr++] = (u8)value;
	return nr;
}

static void test_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];
		u8 code[32];
		unsigned int nr = from_hex(s->hex, code);
		struct x86_insn insn;
		int ret = x86_insn_decode(code, nr, s->bits, &insn);

		if (ret != (s->len < 0 ? -1 : 0))
			fail_msg("%s (%d bits): result %d", s->hex, s->bits, ret);
		if (ret)
			continue;
		if (insn.len != s->len || insn.cls != s->cls || insn.flags != s->flags ||
		    insn.disp != s->disp)
			fail_msg("%s (%d bits): len %d cls %d flags %d disp %d", s->hex, s->bits,
				 insn.len, insn.cls, insn.flags, insn.disp);
	}
}

/*
 * Every prefix of an instruction is 'cut off', and nothing beyond 'avail' is read (valgrind, asan).
 */
static void test_cut_off(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];
		u8 code[32];
		struct x86_insn insn;

		from_hex(s->hex, code);
		for (int avail = 0; avail < s->len; avail++) {
			u8 *exact = malloc(avail + 1);

			assert_non_null(exact);
			memcpy(exact + 1, code, avail);
			assert_int_equal(x86_insn_decode(exact + 1, avail, s->bits, &insn), -1);
			free(exact);
		}
	}
}

/* ---- objdump as the reference ---- */

struct verdict {
	unsigned long nr_insns, nr_wrong;
};

static bool is_prefix_word(const char *word)
{
	static const char *const words[] = {"bnd",	"rep",	   "repz",   "repnz",  "lock",
					    "notrack",	"data16",  "addr32", "addr16", "cs",
					    "ds",	"es",	   "fs",     "gs",     "ss",
					    "xacquire", "xrelease"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(word, words[i]))
			return true;
	return !strncmp(word, "rex", 3) || !strncmp(word, "cs,", 3) || !strncmp(word, "ds,", 3);
}

static bool is_one_of(const char *word, const char *list)
{
	size_t len = strlen(word);

	for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return false;
}

static int class_of_text(const char *word, bool star)
{
	if (is_one_of(word, "jmp jmpw"))
		return star ? X86_JMP_INDIRECT : X86_JMP;
	if (is_one_of(word, "call callw"))
		return star ? X86_CALL_INDIRECT : X86_CALL;
	if (is_one_of(word, "ret retw"))
		return X86_RET;
	if (is_one_of(word, "syscall sysenter int int3 int1 into"))
		return X86_SYSCALL;
	if (is_one_of(word,
		      "lret lretw lretl lretq ljmp ljmpw ljmpl lcall lcallw lcalll iret iretw "
		      "iretl iretq sysret sysretl sysretq sysexit sysexitl sysexitq rsm vmcall "
		      "vmlaunch vmresume vmrun vmmcall uiret tdcall seamret seamcall"))
		return X86_FAR;
	return word[0] == 'j' || !strncmp(word, "loop", 4) ? X86_JCC : X86_PLAIN;
}

/*
 * Where objdump 2.40 is not the reference: (bad), .byte; a REX or another prefix printed as a
 * line of its own where the processor continues with the next instruction; fwait glued to
 * an x87 instruction; 66 on near branches of 64-bit mode, where it follows AMD; the 80486's
 * test registers; jmpe of Itanium; REX, 66, f0, f2 or f3 before VEX, EVEX or XOP (#UD).
 */
static bool is_objdump_matter(const char *word, const u8 *code, unsigned int nr, int bits)
{
	unsigned int at = 0;
	bool opsize = false, before_vex = false;

	if (!word[0] || is_prefix_word(word) || !strcmp(word, "jmpe") || !strcmp(word, ".byte"))
		return true;
	for (; at < nr && (strchr("\x66\x67\x26\x2e\x36\x3e\x64\x65\xf0\xf2\xf3", code[at]) ||
			   (bits == 64 && (code[at] & 0xf0) == 0x40));
	     at++) {
		opsize |= code[at] == 0x66;
		before_vex |= strchr("\x66\xf0\xf2\xf3", code[at]) || (code[at] & 0xf0) == 0x40;
	}
	if (at >= nr)
		return true;
	if (before_vex && (code[at] == 0xc4 || code[at] == 0xc5 || code[at] == 0x62 ||
			   (code[at] == 0x8f && at + 1 < nr && (code[at + 1] & 0x1f) >= 8)))
		return true;
	if (code[at] == 0x9b && nr > at + 1)
		return true;
	if (code[at] == 0x0f && at + 1 < nr && (code[at + 1] == 0x24 || code[at + 1] == 0x26))
		return true;
	return opsize && bits == 64 &&
	       (code[at] == 0xe8 || code[at] == 0xe9 ||
		(code[at] == 0x0f && at + 1 < nr && (code[at + 1] & 0xf0) == 0x80));
}

static void reference_line(char *line, int bits, struct verdict *verdict)
{
	char *bytes = strchr(line, '\t'), *text, *word, *save = NULL;
	struct x86_insn insn;
	u8 code[32];
	unsigned int nr = 0, value;
	int used, ret, cls;
	bool star;

	text = bytes ? strchr(bytes + 1, '\t') : NULL;
	if (!text || strstr(text, "(bad)"))
		return;
	*text++ = '\0';
	for (; nr < 16 && sscanf(bytes, " %2x%n", &value, &used) == 1; bytes += used)
		code[nr++] = (u8)value;
	memset(code + nr, 0x90, sizeof(code) - nr);
	text[strcspn(text, "<#\n")] = '\0';
	star = strchr(text, '*');
	for (word = strtok_r(text, " ", &save); word && is_prefix_word(word);)
		word = strtok_r(NULL, " ", &save);
	if (!word)
		word = text + strlen(text);
	if (strchr(word, ','))
		*strchr(word, ',') = '\0'; /* jne,pt */
	if (is_objdump_matter(word, code, nr, bits))
		return;
	verdict->nr_insns++;
	ret = x86_insn_decode(code, 15, bits, &insn);
	cls = class_of_text(word, star);
	if (!ret && insn.len == nr && insn.cls == cls)
		return;
	if (verdict->nr_wrong++ < 10)
		print_error("%s %s: len %d cls %d, objdump %u %d\n", line, word,
			    ret ? -1 : insn.len, insn.cls, nr, cls);
}

static struct verdict compare(const char *options, const char *file, int bits)
{
	struct verdict verdict = {0, 0};
	char command[512], line[1024];
	FILE *pipe;

	snprintf(command, sizeof(command), "objdump %s -w --insn-width=16 %s", options, file);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe))
		reference_line(line, bits, &verdict);
	assert_int_equal(pclose(pipe), 0);
	print_message("%s, %d bits: %lu instructions, %lu wrong\n", file, bits, verdict.nr_insns,
		      verdict.nr_wrong);
	return verdict;
}

static void need_objdump(void)
{
	if (system("objdump --version >/dev/null 2>&1")) {
		print_message("skipped: no objdump\n");
		skip();
	}
}

static void test_programs(void **state)
{
	static const char *const files[] = {"/lib/x86_64-linux-gnu/libc.so.6",
					    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
					    "/usr/bin/python3",
					    "/usr/lib/gcc/x86_64-linux-gnu/12/cc1"};
	size_t nr_files = getenv("AUXTAP_LONG") && *getenv("AUXTAP_LONG") ? 4 : 3;

	(void)state;
	need_objdump();
	for (size_t i = 0; i < nr_files; i++) {
		struct verdict verdict;

		if (access(files[i], R_OK))
			continue;
		verdict = compare("-d", files[i], 64);
		assert_true(verdict.nr_insns > 1000);
		assert_int_equal(verdict.nr_wrong, 0);
	}
}

static void reference_random(const char *machine, int bits, unsigned int nr_bytes)
{
	char name[] = "/tmp/auxtap_random_XXXXXX", options[64];
	int fd = mkstemp(name);
	struct verdict verdict;
	u64 seed = 88172645463325252ull;
	FILE *file;

	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	assert_non_null(file);
	while (nr_bytes--) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		fputc((int)(seed >> 32) & 0xff, file);
	}
	fclose(file);
	snprintf(options, sizeof(options), "-D -b binary -m %s", machine);
	verdict = compare(options, name, bits);
	unlink(name);
	assert_true(verdict.nr_insns > 100000);
	assert_int_equal(verdict.nr_wrong, 0);
}

static void test_random(void **state)
{
	unsigned int nr_bytes = getenv("AUXTAP_LONG") && *getenv("AUXTAP_LONG") ? 4000000 : 600000;

	(void)state;
	need_objdump();
	reference_random("i386:x86-64", 64, nr_bytes);
	reference_random("i386", 32, nr_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
