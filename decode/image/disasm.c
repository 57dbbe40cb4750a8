// SPDX-License-Identifier: BSD-2-Clause
/*
 * Disassembly by capstone, for x86 in AT&T syntax. The library is loaded when the first instruction
 * is disassembled: it would increase the relocations at the start of auxtap from 14,000 to 91,000.
 */
#include "image_private.h"

#include <capstone/capstone.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#define TEXT_OF(macro)	 TEXT_OF_(macro)
#define TEXT_OF_(macro)	 #macro
#define CAPSTONE_LIBRARY "libcapstone.so." TEXT_OF(CS_API_MAJOR)

static struct {
	__typeof__(cs_open) *open;
	__typeof__(cs_close) *close;
	__typeof__(cs_option) *option;
	__typeof__(cs_disasm) *disasm;
	__typeof__(cs_free) *free;
} capstone;
static bool capstone_is_loaded;

static void load_capstone(void)
{
	void *library = dlopen(CAPSTONE_LIBRARY, RTLD_NOW);

	if (!library)
		return;
	*(void **)&capstone.open = dlsym(library, "cs_open");
	*(void **)&capstone.close = dlsym(library, "cs_close");
	*(void **)&capstone.option = dlsym(library, "cs_option");
	*(void **)&capstone.disasm = dlsym(library, "cs_disasm");
	*(void **)&capstone.free = dlsym(library, "cs_free");
	capstone_is_loaded = capstone.open && capstone.close && capstone.option &&
			     capstone.disasm && capstone.free;
}

static int open_capstone(struct auxtap_image_set *set, enum auxtap_isa isa)
{
	static const struct {
		cs_arch arch;
		cs_mode mode;
	} modes[] = {
		[AUXTAP_ISA_X86] = {CS_ARCH_X86, CS_MODE_64},
		[AUXTAP_ISA_A64] = {CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN},
		[AUXTAP_ISA_A32] = {CS_ARCH_ARM, CS_MODE_ARM},
		[AUXTAP_ISA_T32] = {CS_ARCH_ARM, CS_MODE_THUMB},
		[AUXTAP_ISA_X86_32] = {CS_ARCH_X86, CS_MODE_32},
	};
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	csh handle;

	if ((unsigned int)isa >= sizeof(modes) / sizeof(modes[0]))
		return -EINVAL;
	if (set->capstone[isa])
		return 0;
	pthread_once(&once, load_capstone);
	if (!capstone_is_loaded)
		return -ENOSYS;
	if (capstone.open(modes[isa].arch, modes[isa].mode, &handle) != CS_ERR_OK)
		return -ENOMEM;
	if (modes[isa].arch == CS_ARCH_X86)
		capstone.option(handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	set->capstone[isa] = handle;
	return 0;
}

void image_disassembler_free(struct auxtap_image_set *set)
{
	for (size_t isa = 0; isa < sizeof(set->capstone) / sizeof(set->capstone[0]); isa++)
		if (set->capstone[isa])
			capstone.close(&set->capstone[isa]);
}

/* An A64 instruction that capstone does not know: prints the word, as objdump does. */
static int unknown_a64(const uint8_t *code, size_t code_size, char *buf, size_t size)
{
	if (code_size < 4)
		return -EINVAL;
	snprintf(buf, size, ".inst 0x%02x%02x%02x%02x", code[3], code[2], code[1], code[0]);
	return 4;
}

int auxtap_disassemble_as(struct auxtap_image_set *set, enum auxtap_isa isa, uint64_t addr,
			  const void *code, size_t code_size, char *buf, size_t size)
{
	cs_insn *insn;
	int ret;

	pthread_mutex_lock(&set->lock);
	ret = open_capstone(set, isa);
	if (!ret && capstone.disasm(set->capstone[isa], code, code_size, addr, 1, &insn) == 1) {
		snprintf(buf, size, "%s%s%s", insn->mnemonic, insn->op_str[0] ? " " : "",
			 insn->op_str);
		ret = insn->size;
		capstone.free(insn, 1);
	} else if (ret == -ENOSYS) {
		snprintf(buf, size, "(%s cannot be loaded)", CAPSTONE_LIBRARY);
	} else if (!ret) {
		ret = isa == AUXTAP_ISA_A64 ? unknown_a64(code, code_size, buf, size) : -EINVAL;
	}
	pthread_mutex_unlock(&set->lock);
	return ret;
}

int auxtap_disassemble(struct auxtap_image_set *set, uint64_t addr, const void *code,
		       size_t code_size, char *buf, size_t size)
{
	return auxtap_disassemble_as(set, AUXTAP_ISA_X86, addr, code, code_size, buf, size);
}

int auxtap_image_set_disassemble(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				 uint64_t addr, char *buf, size_t size)
{
	uint8_t code[16];
	ssize_t nr = auxtap_image_set_read(set, pid, time, addr, code, sizeof(code));

	if (nr < 0)
		return (int)nr;
	if (!nr)
		return -ENOENT;
	return auxtap_disassemble(set, addr, code, (size_t)nr, buf, size);
}
