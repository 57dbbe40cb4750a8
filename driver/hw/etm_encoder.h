/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The packets of an ETMv4 or ETE instruction trace (Arm IHI 0064, "Instruction trace packets"; Arm
 * ARM, D5 for ETE), and the encoder's state: address history, context, timestamp, pending atoms.
 * etm_unit.c decides when a packet is due; etm_encoder.c knows its layout.
 */
#ifndef AUXTAP_ETM_ENCODER_H
#define AUXTAP_ETM_ENCODER_H

#include "hw_types.h"

#define ETM_NR_HISTORY 3
#define ETM_MAX_ATOMS  24 /* in one packet */

/*
 * One call of the unit produces one burst, which is sent as a whole. The longest: atoms and their
 * commit (4), Overflow (2), A-Sync (12), Trace Info (6), Trace On, an address with context (18),
 * timestamp with marker and cycle count (14), a cycle count (8), an exception (12).
 */
#define ETM_BURST_SIZE 160

struct etm_burst {
	u8 *at;
	u8 bytes[ETM_BURST_SIZE];
};

static inline void etm_burst_begin(struct etm_burst *burst)
{
	burst->at = burst->bytes;
}

static inline size_t etm_burst_nr_bytes(const struct etm_burst *burst)
{
	return burst->at - burst->bytes;
}

/* The contents of a Context element. */
struct etm_context {
	u8 el;
	bool sf; /* AArch64 */
	bool ns;
	bool nse; /* ETE with FEAT_RME */
	u32 contextid, vmid;
};

/* From the unit's registers; constant while the unit is enabled. */
struct etm_format {
	bool ete;
	bool contextid, vmid; /* TRCCONFIGR.CID, VMID */
	u8 vmid_bytes;	      /* TRCIDR2.VMIDSIZE */
	bool cycles;	      /* TRCCONFIGR.CCI */
	u8 cycle_bits;	      /* TRCIDR2.CCSIZE */
	u16 threshold;	      /* TRCCCCTLR */
	bool commit_mode_1;   /* TRCIDR0.COMMOPT */
	u8 max_spec;	      /* TRCIDR8 */
};

/* A state machine packs atoms into packets: its state is the sequence of pending atoms. */
#define ETM_NR_STATES 40

struct etm_atom_step {
	u8 out;	 /* packet to send: complete with this atom, or without space for it; 0: none */
	u8 next; /* next state; 0: no atom is pending */
};

struct etm_encoder {
	struct etm_format format;
	struct etm_atom_step steps[ETM_NR_STATES][2]; /* by the next atom: N, E */
	u8 packets[ETM_NR_STATES];		      /* the packet for the pending atoms */
	u8 nr_atoms[ETM_NR_STATES];
	u8 state;
	bool history_valid; /* an address was sent since the last Trace Info */
	u64 history[ETM_NR_HISTORY];
	u8 history_is[ETM_NR_HISTORY];
	bool context_valid;
	struct etm_context context;
	u64 timestamp;
	u8 nr_uncommitted; /* P0 elements that no packet has committed */
};

/* Types of exceptions (table "Exception types", AArch64). */
enum etm_exception {
	ETM_PE_RESET = 0x00,
	ETM_DEBUG_HALT = 0x01,
	ETM_CALL = 0x02, /* svc, hvc, smc */
	ETM_TRAP = 0x03,
	ETM_SYSTEM_ERROR = 0x04,
	ETM_INST_DEBUG = 0x06,
	ETM_DATA_DEBUG = 0x07,
	ETM_ALIGNMENT = 0x0a,
	ETM_INST_FAULT = 0x0b,
	ETM_DATA_FAULT = 0x0c,
	ETM_IRQ = 0x0e,
	ETM_FIQ = 0x0f,
};

#define ETM_IS0 0 /* A64 and A32 */
#define ETM_IS1 1 /* T32 */

void etm_encoder_init(struct etm_encoder *enc, const struct etm_format *format);

static inline unsigned int etm_nr_pending(const struct etm_encoder *enc)
{
	return enc->nr_atoms[enc->state];
}

/*
 * Adds an atom; appends a packet if the atom completes one. Every function below that does not add
 * an atom or a cycle count of an atom first sends the pending atoms.
 */
void etm_put_atom(struct etm_encoder *enc, struct etm_burst *burst, bool taken);
/* The same in two parts, for the fast path: call etm_put_step() if step.out is not 0. */
static inline struct etm_atom_step etm_add_atom(struct etm_encoder *enc, bool taken)
{
	struct etm_atom_step step = enc->steps[enc->state][taken];

	enc->state = step.next;
	return step;
}
void etm_put_step(struct etm_encoder *enc, struct etm_burst *burst, struct etm_atom_step step);
void etm_put_atoms(struct etm_encoder *enc, struct etm_burst *burst);

void etm_put_async(struct etm_encoder *enc, struct etm_burst *burst);
/* Resets the state that a decoder resets here: address history, context, timestamp. */
void etm_put_trace_info(struct etm_encoder *enc, struct etm_burst *burst);
void etm_put_trace_on(struct etm_encoder *enc, struct etm_burst *burst);
void etm_put_address(struct etm_encoder *enc, struct etm_burst *burst, u64 addr, u8 is);
/* ETE: the address of the P0 instruction that the next atom belongs to. */
void etm_put_source_address(struct etm_encoder *enc, struct etm_burst *burst, u64 addr, u8 is);
void etm_put_context(struct etm_encoder *enc, struct etm_burst *burst,
		     const struct etm_context *context);
void etm_put_address_context(struct etm_encoder *enc, struct etm_burst *burst, u64 addr, u8 is,
			     const struct etm_context *context);
/* is_target: the previous branch went to this address, which has not been sent. */
void etm_put_exception(struct etm_encoder *enc, struct etm_burst *burst, unsigned int type,
		       u64 preferred_return, u8 is, bool is_target);
void etm_put_pe_reset(struct etm_encoder *enc, struct etm_burst *burst); /* ETE: no address */
void etm_put_exception_return(struct etm_encoder *enc, struct etm_burst *burst); /* ETMv4 */

#define ETM_CYCLES_UNKNOWN (~0ull)
/*
 * cycles: since the last cycle count, at least the threshold, or ETM_CYCLES_UNKNOWN. Commit mode 0:
 * the packet commits all uncommitted elements, pending atoms included; there must be at least one.
 * Mode 1: the packet precedes the atom up to which it counts.
 */
void etm_put_cycles(struct etm_encoder *enc, struct etm_burst *burst, u64 cycles);
/* Adds an atom and puts the cycles up to it, in the order of the commit mode. */
void etm_put_atom_cycles(struct etm_encoder *enc, struct etm_burst *burst, bool taken, u64 cycles);
/* cycles: since the last cycle count; sent only if TRCCONFIGR.CCI is set. */
void etm_put_timestamp(struct etm_encoder *enc, struct etm_burst *burst, u64 timestamp, u64 cycles);
void etm_put_timestamp_marker(struct etm_encoder *enc, struct etm_burst *burst); /* ETEv1.1 */
void etm_put_event(struct etm_encoder *enc, struct etm_burst *burst, u8 events);
void etm_put_ignore(struct etm_burst *burst); /* ETMv4.3, ETE */
/* Overflow, Discard: pending atoms and uncommitted elements are lost. */
void etm_put_overflow(struct etm_encoder *enc, struct etm_burst *burst);
void etm_put_discard(struct etm_encoder *enc, struct etm_burst *burst);

#endif
