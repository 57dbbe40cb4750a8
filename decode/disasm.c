// SPDX-License-Identifier: BSD-2-Clause
/* Disassembly by capstone, AT&T syntax. */
#include "image_private.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <stdio.h>

int auxtap_disassemble(struct auxtap_image_set *set, uint64_t addr, const void *code,
		       size_t code_size, char *buf, size_t size)
{
	cs_insn *insn;
	int ret = -EINVAL;

	pthread_mutex_lock(&set->lock);
	if (!set->capstone_open) {
		csh handle;

		if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK) {
			ret = -ENOMEM;
			goto out;
		}
		cs_option(handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
		set->capstone = handle;
		set->capstone_open = true;
	}
	if (cs_disasm(set->capstone, code, code_size, addr, 1, &insn) == 1) {
		snprintf(buf, size, "%s%s%s", insn->mnemonic, insn->op_str[0] ? " " : "",
			 insn->op_str);
		ret = insn->size;
		cs_free(insn, 1);
	}
out:
	pthread_mutex_unlock(&set->lock);
	return ret;
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
