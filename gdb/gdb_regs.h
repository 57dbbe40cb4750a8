/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers that gdb is shown: their description, and their values where they are known. */
#ifndef GDB_REGS_H
#define GDB_REGS_H

#include "gdb_packet.h"

#include "gdb_core.h"

/* NULL: gdb cannot be shown such a process. The XML is constant. */
const char *gdb_regs_description(enum auxtap_arch arch);

/* What is known of a thread. regs NULL: the program counter alone, if has_pc. */
struct gdb_reg_values {
	enum auxtap_arch arch;
	const struct auxtap_regs *regs;
	bool has_pc;
	uint64_t pc;
	const struct core_thread *core; /* the registers that 'regs' lacks; NULL: unknown */
};
/* All registers in their order; 'x' for each digit that is unknown. */
void gdb_regs_put_all(struct gdb_reply *reply, const struct gdb_reg_values *values);
/* One of them; false: it has no such number. */
bool gdb_regs_put_one(struct gdb_reply *reply, const struct gdb_reg_values *values,
		      uint64_t number);
/* "10:8877665544332211;": the program counter for a stop reply; nothing if it is unknown. */
void gdb_regs_put_pc(struct gdb_reply *reply, const struct gdb_reg_values *values);

#endif
