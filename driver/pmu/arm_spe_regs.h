/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Statistical Profiling Extension as a driver sees it: register numbers (the op0, op1, CRn,
 * CRm, op2 of MRS and MSR, as in the encoding of these instructions) and their bits; Arm
 * Architecture Reference Manual for A-profile, chapter D17 and the registers' pages. Deliberately
 * separate from the hardware model's definitions: the two test each other.
 */
#ifndef AUXTAP_PMU_ARM_SPE_REGS_H
#define AUXTAP_PMU_ARM_SPE_REGS_H

#include <linux/types.h>

enum {
	SPE_PMSCR = 0xc4c8, /* S3_0_C9_C9_0 */
	SPE_PMSNEVFR = 0xc4c9,
	SPE_PMSICR = 0xc4ca,
	SPE_PMSIRR = 0xc4cb,
	SPE_PMSFCR = 0xc4cc,
	SPE_PMSEVFR = 0xc4cd,
	SPE_PMSLATFR = 0xc4ce,
	SPE_PMSIDR = 0xc4cf,
	SPE_PMBLIMITR = 0xc4d0, /* S3_0_C9_C10_0 */
	SPE_PMBPTR = 0xc4d1,
	SPE_PMBSR = 0xc4d3,
	SPE_PMBIDR = 0xc4d7,
};

#define SPE_PMSCR_E0SPE 0x01ull /* user code is sampled */
#define SPE_PMSCR_E1SPE 0x02ull /* kernel code is sampled */
#define SPE_PMSCR_CX	0x08ull
#define SPE_PMSCR_PA	0x10ull
#define SPE_PMSCR_TS	0x20ull
#define SPE_PMSCR_PCT	0x40ull /* physical counter as the timestamp */

#define SPE_PMSIRR_RND		 0x1ull
#define SPE_PMSIRR_INTERVAL_MASK 0xffffff00ull

#define SPE_PMSFCR_FE  0x1ull /* filters: events, types, latency, inverted events */
#define SPE_PMSFCR_FT  0x2ull
#define SPE_PMSFCR_FL  0x4ull
#define SPE_PMSFCR_FNE 0x8ull
#define SPE_PMSFCR_B   0x10000ull
#define SPE_PMSFCR_LD  0x20000ull
#define SPE_PMSFCR_ST  0x40000ull

#define SPE_PMSIDR_FE		   0x01ull
#define SPE_PMSIDR_FT		   0x02ull
#define SPE_PMSIDR_FL		   0x04ull
#define SPE_PMSIDR_ARCHINST	   0x08ull
#define SPE_PMSIDR_ERND		   0x20ull
#define SPE_PMSIDR_FNE		   0x40ull
#define SPE_PMSIDR_INTERVAL_SHIFT  8 /* four bits each */
#define SPE_PMSIDR_MAXSIZE_SHIFT   12
#define SPE_PMSIDR_COUNTSIZE_SHIFT 16

#define SPE_PMBIDR_ALIGN_MASK 0xfull
#define SPE_PMBIDR_P	      0x10ull /* the buffer belongs to a higher exception level */

#define SPE_PMBLIMITR_E 0x1ull

#define SPE_PMBSR_EC_SHIFT 26 /* six bits */
#define SPE_PMBSR_EC_MASK  0x3full
#define SPE_PMBSR_EC_BUF   0x00ull
#define SPE_PMBSR_EC_S1	   0x24ull
#define SPE_PMBSR_EC_S2	   0x25ull
#define SPE_PMBSR_DL	   0x80000ull
#define SPE_PMBSR_S	   0x20000ull
#define SPE_PMBSR_COLL	   0x10000ull
#define SPE_PMBSR_BSC_MASK 0x3full
#define SPE_PMBSR_BSC_FULL 0x01ull

#endif
