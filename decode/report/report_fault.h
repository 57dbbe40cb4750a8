/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why the thread died: the signal, explained by the instruction, the registers and the maps
 * (fault.c).
 */
#ifndef AUXTAP_REPORT_FAULT_H
#define AUXTAP_REPORT_FAULT_H

#include "report_facts.h"

struct fault_access {
	bool known;
	bool write;
	uint64_t addr;
	uint64_t failed; /* address of the first byte that cannot be accessed */
	unsigned int nr_bytes;
	bool or_more;	  /* nr_bytes is a minimum: the instruction alone does not say how many */
	bool masked;	  /* a mask selects which of the bytes are accessed */
	char base_reg[8]; /* the register that addr is computed from; "": none, or several */
	uint64_t base;
	bool constant;	    /* addr is in the instruction; no register is used */
	char both_regs[64]; /* base and index with their values, if both are in use */
	/* the register that may contain bytes of a text instead of a pointer; "": none */
	char text_reg[8];
	uint64_t text_value;
	bool stack_segment; /* x86: by rsp or rbp */
};

struct fault {
	char why[1024];		/* one sentence */
	bool bad_ip;		/* ip itself cannot be executed */
	bool has_insn;		/* the instruction at insn_ip caused the signal */
	uint64_t insn_ip;	/* the ip, or the address of the instruction before it */
	unsigned int insn_size; /* of the instruction, if it is the one before the ip */
	char where[192];	/* bad_ip: what is known of the memory there */
	bool bad_return;	/* the return at ip goes to a non-canonical address */
	/* where the return address is that was overwritten, if that is proved; 0: not proved */
	uint64_t overwritten_return;
	bool no_frame;	  /* no fault: the kernel could not write a signal handler's frame */
	bool uncaught;	  /* abort() because an exception had no handler, or could not leave */
	bool may_succeed; /* a division that need not fault with these registers */
	struct fault_access access;
};

/* Explains the death from the signal, registers, the instruction's bytes and the maps. */
void fault_explain(const struct report_facts *facts, const struct auxtap_regs *regs,
		   const uint8_t *insn, size_t insn_size, struct fault *fault);
/* "SIGSEGV"; NULL: the signal has no name. */
const char *fault_signal_name(int signo);
const char *fault_signal_text(int signo); /* "segmentation fault" */
/* The same of the signal of the death; "the emulator itself crashed", if the program did not. */
const char *fault_death_text(const struct auxtap_crash *crash);

#endif
