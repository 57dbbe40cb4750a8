/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Trace Buffer Extension as a driver sees it: register numbers (as MRS and MSR encode them) and
 * bits; Arm Architecture Reference Manual for A-profile, chapter on the trace buffer and the
 * registers' pages. Deliberately separate from the hardware model's definitions.
 */
#ifndef AUXTAP_PMU_TRBE_REGS_H
#define AUXTAP_PMU_TRBE_REGS_H

#include <linux/types.h>

enum {
	TRBE_LIMITR = 0xc4d8, /* S3_0_C9_C11_0 */
	TRBE_PTR = 0xc4d9,
	TRBE_BASER = 0xc4da,
	TRBE_SR = 0xc4db,
	TRBE_IDR = 0xc4df,
};

#define TRBE_LIMITR_E	      0x1ull /* fill mode is zero */
#define TRBE_LIMITR_LIMIT     (~0xfffull)
#define TRBE_LIMITR_TM_IGNORE (3ull << 3)

#define TRBE_SR_EC_SHIFT   26 /* six bits */
#define TRBE_SR_EC_MASK	   0x3full
#define TRBE_SR_EC_BUFFER  0x00ull
#define TRBE_SR_EC_STAGE1  0x24ull
#define TRBE_SR_EC_STAGE2  0x25ull
#define TRBE_SR_IRQ	   0x400000ull
#define TRBE_SR_TRG	   0x200000ull
#define TRBE_SR_WRAP	   0x100000ull
#define TRBE_SR_EA	   0x40000ull
#define TRBE_SR_S	   0x20000ull
#define TRBE_SR_BSC_MASK   0x3full
#define TRBE_SR_BSC_FILLED 0x1ull

#define TRBE_IDR_ALIGN_MASK 0xfull
#define TRBE_IDR_P	    0x10ull /* the buffer belongs to a higher exception level */

#endif
