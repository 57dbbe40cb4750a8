/* SPDX-License-Identifier: BSD-2-Clause */
/* libipt as a flow decoder; this header has none of its types. */
#ifndef AUXTAP_PT_LIBIPT_H
#define AUXTAP_PT_LIBIPT_H

#include "decode/flow/flow_ops.h"

/* The CPU that wrote the trace; 0: not known. */
struct pt_source_cpu {
	unsigned int family, model, stepping; /* of an Intel CPU: for its errata */
	uint8_t mtc_freq, nom_freq;
	uint32_t cpuid_0x15_eax, cpuid_0x15_ebx;
};

/* The argument of flow_ops.open for any Intel PT flow decoder. */
struct pt_flow_config {
	struct auxtap_image_set *images;
	struct pt_source_cpu cpu;
	bool insns; /* each block is to be a single instruction, with its bytes */
};

extern const struct flow_ops pt_libipt;

#endif
