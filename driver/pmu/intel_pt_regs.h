/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Intel PT as a driver sees it: register numbers, their bits, the entries of a ToPA table (SDM vol.
 * 3 'Intel Processor Trace', vol. 4 'MSRs'). Deliberately separate from the hardware model's
 * definitions: the two test each other.
 */
#ifndef AUXTAP_PMU_INTEL_PT_REGS_H
#define AUXTAP_PMU_INTEL_PT_REGS_H

#include <linux/types.h>

enum {
	PT_MSR_OUTPUT_BASE = 0x560,
	PT_MSR_OUTPUT_MASK_PTRS = 0x561,
	PT_MSR_CTL = 0x570,
	PT_MSR_STATUS = 0x571,
	PT_MSR_ADDR0_A = 0x580, /* then ADDR0_B, ADDR1_A, … */
};

#define PT_CTL_TRACEEN	0x00000001ull
#define PT_CTL_CYCEN	0x00000002ull
#define PT_CTL_OS	0x00000004ull
#define PT_CTL_USR	0x00000008ull
#define PT_CTL_TOPA	0x00000100ull
#define PT_CTL_MTCEN	0x00000200ull
#define PT_CTL_TSCEN	0x00000400ull
#define PT_CTL_DISRETC	0x00000800ull
#define PT_CTL_BRANCHEN 0x00002000ull

/* ADDRn_CFG: the range ADDRn_A to ADDRn_B is traced, or stops the trace for good. */
#define PT_CTL_ADDR_CFG_SHIFT 32
#define PT_ADDR_CFG_BITS      4
#define PT_ADDR_CFG_FILTER    1ull
#define PT_ADDR_CFG_STOP      2ull

#define PT_STATUS_ERROR	  0x10ull
#define PT_STATUS_STOPPED 0x20ull

/* A ToPA entry: physical address from bit 12 up, log2 of the pages in bits 9:6, STOP, INT, END. */
#define PT_ENTRY_END	     0x01ull /* a link to another table */
#define PT_ENTRY_INT	     0x04ull
#define PT_ENTRY_STOP	     0x10ull
#define PT_ENTRY_ORDER_SHIFT 6
#define PT_ENTRY_ORDER_MAX   15

#endif
