/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers that gdb is shown: their description, and their values if they are known. */
#ifndef GDB_REGS_H
#define GDB_REGS_H

#include "gdb_packet.h"

#include "gdb_core.h"

/* The target description, constant XML. NULL: the architecture is unsupported. */
const char *gdb_regs_description(enum auxtap_arch arch);

/* The known registers of a thread. regs NULL: only the program counter is known, if has_pc. */
struct gdb_reg_values {
	enum auxtap_arch arch;
	const struct auxtap_regs *regs;
	bool has_pc;
	uint64_t pc;
	const struct core_thread *core; /* the registers that 'regs' lacks; NULL: unknown */
};
/* Writes all registers in their order; 'x' for each unknown digit. */
void gdb_regs_put_all(struct gdb_reply *reply, const struct gdb_reg_values *values);
/* Writes one of them; false: there is no such register. */
bool gdb_regs_put_one(struct gdb_reply *reply, const struct gdb_reg_values *values,
		      uint64_t number);
/* Writes the program counter for a stop reply, "10:8877665544332211;"; nothing if it is unknown. */
void gdb_regs_put_pc(struct gdb_reply *reply, const struct gdb_reg_values *values);

#endif
