/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Arm SPE: the packets of one sample record, as hardware writes them (Arm ARM, "Statistical
 * Profiling Extension sample record", packet formats). Freestanding; shares no code with decode/,
 * which serves as its reference.
 */
#ifndef AUXTAP_SPE_ENCODER_H
#define AUXTAP_SPE_ENCODER_H

#include "hw_types.h"

#define SPE_RECORD_MAX 64

struct spe_record { /* a record that is being built */
	u8 bytes[SPE_RECORD_MAX];
	u32 nr;
};

enum spe_address { SPE_ADDRESS_PC, SPE_ADDRESS_TARGET, SPE_ADDRESS_VIRT, SPE_ADDRESS_PHYS };
enum spe_latency { SPE_LATENCY_TOTAL, SPE_LATENCY_ISSUE, SPE_LATENCY_XLAT };
enum spe_op_class { SPE_OP_OTHER, SPE_OP_LDST, SPE_OP_BRANCH };

/* The payload of the address packet for a code address: with its exception level, non-secure. */
u64 spe_code_address(u64 addr, u8 el);
void spe_put_address(struct spe_record *r, enum spe_address index, u64 payload);
/* saturates at 12 bits */
void spe_put_counter(struct spe_record *r, enum spe_latency index, u32 cycles);
void spe_put_context(struct spe_record *r, u8 el, u32 contextid);
void spe_put_operation(struct spe_record *r, enum spe_op_class cls, u8 subclass);
void spe_put_events(struct spe_record *r, u64 events); /* in as few bytes as possible */
void spe_put_source(struct spe_record *r, u16 source);
/* One of these ends the record. */
void spe_put_timestamp(struct spe_record *r, u64 ticks);
void spe_put_end(struct spe_record *r);

#endif
