// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The layout of packets: Arm IHI 0064 (ETMv4), chapter "Descriptions of instruction trace packets";
 * ETE in the Arm ARM. If several encodings are allowed, the encoder chooses the one that Arm's own
 * units use in real traces. Neighbour: etm_unit.c decides when a packet is due.
 */
#include "etm_encoder.h"

#define HDR_EXT		  0x00
#define EXT_DISCARD	  0x03
#define EXT_OVERFLOW	  0x05
#define HDR_TRACE_INFO	  0x01
#define HDR_TIMESTAMP	  0x02 /* | 1: with cycle count */
#define HDR_TRACE_ON	  0x04
#define HDR_EXCEPTION	  0x06
#define HDR_EXCEPTION_RET 0x07
#define HDR_CYCLES_F2	  0x0c /* | F */
#define HDR_CYCLES_F1	  0x0e /* | U: unknown */
#define HDR_CYCLES_F3	  0x10
#define HDR_COMMIT	  0x2d
#define HDR_IGNORE	  0x70 /* | events: an Event packet */
#define HDR_CONTEXT	  0x80 /* | 1: the context changed */
#define HDR_TS_MARKER	  0x88
#define HDR_ADDR_MATCH	  0x90 /* | entry */
#define HDR_SRC_MATCH	  0xb0

#define INFO_HAS_INFO 0x01
#define INFO_HAS_CYCT 0x08
#define INFO_CC	      0x01

#define CONTEXT_NSE 0x08
#define CONTEXT_SF  0x10
#define CONTEXT_NS  0x20
#define CONTEXT_V   0x40
#define CONTEXT_C   0x80

#define EXC_E0	       0x01 /* a preferred return address follows */
#define EXC_E1	       0x40 /* it is also the target of the previous branch */
#define EXC_C	       0x80 /* one more byte of type */
#define EXC_NO_ADDRESS 0x70 /* ETE: replaces the address, as for a failed transaction */

/* Headers of address packets: exact match, short, 32-bit, 64-bit; + IS for the last three. */
struct addr_headers {
	u8 match, s, l32, l64;
};

static const struct addr_headers target_headers = {HDR_ADDR_MATCH, 0x95, 0x9a, 0x9d};
static const struct addr_headers source_headers = {HDR_SRC_MATCH, 0xb4, 0xb6, 0xb8};

static void put_byte(struct etm_burst *burst, u32 byte)
{
	*burst->at++ = (u8)byte;
}

static void put_le(struct etm_burst *burst, u64 value, unsigned int nr_bytes)
{
	for (; nr_bytes--; value >>= 8)
		put_byte(burst, (u32)value);
}

/* Seven bits per byte, low bits first; bit 7: more bytes follow. */
static void put_field(struct etm_burst *burst, u64 value)
{
	for (; value >> 7; value >>= 7)
		put_byte(burst, 0x80 | (value & 0x7f));
	put_byte(burst, (u32)value);
}

/* ---- commit ---- */

static bool mode_0(const struct etm_encoder *enc)
{
	return !enc->format.commit_mode_1;
}

static void put_commit(struct etm_encoder *enc, struct etm_burst *burst)
{
	if (!enc->nr_uncommitted)
		return;
	put_byte(burst, HDR_COMMIT);
	put_field(burst, enc->nr_uncommitted);
	enc->nr_uncommitted = 0;
}

/*
 * nr P0 elements were sent. With a speculation depth of 0, sending commits them; else another
 * packet must: this model does not speculate, so it commits them with the first packet that can.
 */
static void sent_p0(struct etm_encoder *enc, unsigned int nr)
{
	if (enc->format.max_spec)
		enc->nr_uncommitted += nr;
}

/* ---- atoms ---- */

/* Atom patterns with the oldest atom in the lowest bit. */
#define F4_NEEE	 0xe
#define F4_NNNN	 0x0
#define F4_NENE	 0xa
#define F4_ENEN	 0x5
#define F5_NEEEE 0x1e
#define F5_NNNNN 0x00
#define F5_NENEN 0x0a
#define F5_ENENE 0x15

static bool all_taken(u32 atoms, unsigned int nr)
{
	return atoms == (1u << nr) - 1;
}

/* The packet for these atoms: its byte, or -1 if no format can represent them. */
static int atom_packet(u32 atoms, unsigned int nr)
{
	switch (nr) {
	case 1:
		return 0xf6 | atoms;
	case 2:
		return 0xd8 | atoms;
	case 3:
		return 0xf8 | atoms;
	case 4:
		if (atoms == F4_NEEE)
			return 0xdc;
		if (atoms == F4_NNNN)
			return 0xdd;
		if (atoms == F4_NENE)
			return 0xde;
		if (atoms == F4_ENEN)
			return 0xdf;
		break;
	case 5:
		if (atoms == F5_NEEEE)
			return 0xf5;
		if (atoms == F5_NNNNN)
			return 0xd5;
		if (atoms == F5_NENEN)
			return 0xd6;
		if (atoms == F5_ENENE)
			return 0xd7;
		break;
	default:
		break;
	}
	/* format 6: E atoms, then one atom of either kind */
	if (nr > ETM_MAX_ATOMS || !all_taken(atoms & ~(1u << (nr - 1)), nr - 1))
		return -1;
	return (atoms >> (nr - 1) ? 0xc0 : 0xe0) | (nr - 4);
}

/* Whether the packet could take one more atom: every prefix of a pattern is a packet, too. */
static bool may_grow(u32 atoms, unsigned int nr)
{
	return nr < ETM_MAX_ATOMS &&
	       (atom_packet(atoms, nr + 1) >= 0 || atom_packet(atoms | 1u << nr, nr + 1) >= 0);
}

static unsigned int atom_limit(const struct etm_encoder *enc)
{
	unsigned int max_spec = enc->format.max_spec;

	return max_spec && max_spec < ETM_MAX_ATOMS ? max_spec : ETM_MAX_ATOMS;
}

/* The state for these atoms; adds it if it is new. */
static u8 find_state(struct etm_encoder *enc, u32 *atoms, unsigned int *nr_states, u32 wanted,
		     unsigned int nr)
{
	unsigned int i = 0;

	while (i < *nr_states && (atoms[i] != wanted || enc->nr_atoms[i] != nr))
		i++;
	if (i == *nr_states) {
		++*nr_states;
		atoms[i] = wanted;
		enc->nr_atoms[i] = (u8)nr;
		enc->packets[i] = (u8)atom_packet(wanted, nr);
	}
	return (u8)i;
}

/*
 * Builds the state machine, with as many atoms per packet as possible: a packet is sent when no
 * atom can be added to it, or when it has no space for the next atom.
 */
static void make_steps(struct etm_encoder *enc)
{
	u32 atoms[ETM_NR_STATES] = {0};
	unsigned int nr_states = 1;

	for (unsigned int i = 0; i < nr_states; i++) {
		for (u32 taken = 0; taken < 2; taken++) {
			struct etm_atom_step *step = &enc->steps[i][taken];
			u32 more = atoms[i] | taken << enc->nr_atoms[i];
			unsigned int nr = enc->nr_atoms[i] + 1u;

			if (atom_packet(more, nr) < 0) {
				step->out = enc->packets[i];
				more = taken;
				nr = 1;
			} else if (nr >= atom_limit(enc) || !may_grow(more, nr)) {
				step->out = (u8)atom_packet(more, nr);
				continue;
			}
			step->next = find_state(enc, atoms, &nr_states, more, nr);
		}
	}
}

void etm_encoder_init(struct etm_encoder *enc, const struct etm_format *format)
{
	__builtin_memset(enc, 0, sizeof(*enc));
	enc->format = *format;
	if (!enc->format.max_spec) /* no speculation: the commit fields would be meaningless */
		enc->format.commit_mode_1 = true;
	make_steps(enc);
}

static void put_pending_atoms(struct etm_encoder *enc, struct etm_burst *burst)
{
	if (!enc->state)
		return;
	put_byte(burst, enc->packets[enc->state]);
	sent_p0(enc, enc->nr_atoms[enc->state]);
	enc->state = 0;
}

void etm_put_atoms(struct etm_encoder *enc, struct etm_burst *burst)
{
	put_pending_atoms(enc, burst);
	put_commit(enc, burst);
}

/* Number of atoms in a packet, from its header. */
static unsigned int atoms_in(u8 packet)
{
	if (packet >= 0xf8)
		return 3;
	if (packet >= 0xf6)
		return 1;
	if (packet == 0xf5 || (packet >= 0xd5 && packet <= 0xd7))
		return 5;
	if (packet >= 0xdc && packet <= 0xdf)
		return 4;
	if (packet >= 0xd8 && packet <= 0xdb)
		return 2;
	return (packet & 0x1f) + 4;
}

static void put_step(struct etm_encoder *enc, struct etm_burst *burst, struct etm_atom_step step)
{
	if (!step.out)
		return;
	put_byte(burst, step.out);
	sent_p0(enc, atoms_in(step.out));
}

void etm_put_step(struct etm_encoder *enc, struct etm_burst *burst, struct etm_atom_step step)
{
	put_step(enc, burst, step);
	put_commit(enc, burst);
}

void etm_put_atom(struct etm_encoder *enc, struct etm_burst *burst, bool taken)
{
	etm_put_step(enc, burst, etm_add_atom(enc, taken));
}

/* ---- synchronisation ---- */

void etm_put_async(struct etm_encoder *enc, struct etm_burst *burst)
{
	etm_put_atoms(enc, burst);
	for (int i = 0; i < 11; i++)
		put_byte(burst, 0x00);
	put_byte(burst, 0x80);
}

/* Without cycle counts INFO is 0: ETE units omit it, ETMv4 units send it. */
void etm_put_trace_info(struct etm_encoder *enc, struct etm_burst *burst)
{
	etm_put_atoms(enc, burst);
	put_byte(burst, HDR_TRACE_INFO);
	if (enc->format.cycles) {
		put_byte(burst, INFO_HAS_INFO | INFO_HAS_CYCT);
		put_byte(burst, INFO_CC);
		put_field(burst, enc->format.threshold);
	} else if (enc->format.ete) {
		put_byte(burst, 0);
	} else {
		put_byte(burst, INFO_HAS_INFO);
		put_byte(burst, 0);
	}
	__builtin_memset(enc->history, 0, sizeof(enc->history));
	__builtin_memset(enc->history_is, 0, sizeof(enc->history_is));
	enc->history_valid = false;
	enc->context_valid = false;
	enc->timestamp = 0;
}

void etm_put_trace_on(struct etm_encoder *enc, struct etm_burst *burst)
{
	etm_put_atoms(enc, burst);
	put_byte(burst, HDR_TRACE_ON);
}

/* ---- addresses and context ---- */

static void push_history(struct etm_encoder *enc, u64 addr, u8 is)
{
	for (int i = ETM_NR_HISTORY - 1; i > 0; i--) {
		enc->history[i] = enc->history[i - 1];
		enc->history_is[i] = enc->history_is[i - 1];
	}
	enc->history[0] = addr;
	enc->history_is[0] = is;
	enc->history_valid = true;
}

/* Two bytes with seven bits each (IS1: the second has eight), then full bytes. */
static void put_long(struct etm_burst *burst, u64 addr, u8 is, unsigned int nr_bytes)
{
	if (is == ETM_IS1) {
		put_byte(burst, addr >> 1 & 0x7f);
		put_byte(burst, addr >> 8 & 0xff);
	} else {
		put_byte(burst, addr >> 2 & 0x7f);
		put_byte(burst, addr >> 9 & 0x7f);
	}
	put_le(burst, addr >> 16, nr_bytes - 2);
}

/*
 * Puts the shortest form of an address: a match with a history entry, else the low bits that differ
 * from the newest entry.
 */
static void put_addr(struct etm_encoder *enc, struct etm_burst *burst,
		     const struct addr_headers *headers, u64 addr, u8 is)
{
	u64 diff = addr ^ enc->history[0];
	unsigned int shift = is == ETM_IS1 ? 1 : 2;

	for (unsigned int i = 0; i < ETM_NR_HISTORY && enc->history_valid; i++) {
		if (enc->history[i] != addr || enc->history_is[i] != is)
			continue;
		put_byte(burst, headers->match | i);
		push_history(enc, addr, is);
		return;
	}
	if (enc->history_valid && !(diff >> (7 + shift))) {
		put_byte(burst, headers->s + is);
		put_byte(burst, addr >> shift & 0x7f);
	} else if (enc->history_valid && !(diff >> (15 + shift))) {
		put_byte(burst, headers->s + is);
		put_byte(burst, 0x80 | (addr >> shift & 0x7f));
		put_byte(burst, addr >> (7 + shift) & 0xff);
	} else if (!(diff >> 32)) {
		put_byte(burst, headers->l32 + is);
		put_long(burst, addr, is, 4);
	} else {
		put_byte(burst, headers->l64 + is);
		put_long(burst, addr, is, 8);
	}
	push_history(enc, addr, is);
}

void etm_put_address(struct etm_encoder *enc, struct etm_burst *burst, u64 addr, u8 is)
{
	etm_put_atoms(enc, burst);
	put_addr(enc, burst, &target_headers, addr, is);
}

void etm_put_source_address(struct etm_encoder *enc, struct etm_burst *burst, u64 addr, u8 is)
{
	etm_put_atoms(enc, burst);
	put_addr(enc, burst, &source_headers, addr, is);
}

static void put_context_payload(struct etm_encoder *enc, struct etm_burst *burst,
				const struct etm_context *context)
{
	const struct etm_format *f = &enc->format;
	bool vmid = f->vmid && (!enc->context_valid || context->vmid != enc->context.vmid);
	bool cid = f->contextid &&
		   (!enc->context_valid || context->contextid != enc->context.contextid);

	put_byte(burst, (context->el & 3) | (f->ete && context->nse ? CONTEXT_NSE : 0) |
				(context->sf ? CONTEXT_SF : 0) | (context->ns ? CONTEXT_NS : 0) |
				(vmid ? CONTEXT_V : 0) | (cid ? CONTEXT_C : 0));
	if (vmid)
		put_le(burst, context->vmid, f->vmid_bytes);
	if (cid)
		put_le(burst, context->contextid, 4);
	enc->context = *context;
	enc->context_valid = true;
}

static bool same_context(const struct etm_encoder *enc, const struct etm_context *context)
{
	const struct etm_context *last = &enc->context;

	return enc->context_valid && last->el == context->el && last->sf == context->sf &&
	       last->ns == context->ns && (!enc->format.ete || last->nse == context->nse) &&
	       (!enc->format.vmid || last->vmid == context->vmid) &&
	       (!enc->format.contextid || last->contextid == context->contextid);
}

void etm_put_context(struct etm_encoder *enc, struct etm_burst *burst,
		     const struct etm_context *context)
{
	etm_put_atoms(enc, burst);
	if (same_context(enc, context)) {
		put_byte(burst, HDR_CONTEXT);
		return;
	}
	put_byte(burst, HDR_CONTEXT | 1);
	put_context_payload(enc, burst, context);
}

void etm_put_address_context(struct etm_encoder *enc, struct etm_burst *burst, u64 addr, u8 is,
			     const struct etm_context *context)
{
	bool is_32 = !((addr ^ enc->history[0]) >> 32);

	etm_put_atoms(enc, burst);
	put_byte(burst, (is_32 ? 0x82 : 0x85) + is);
	put_long(burst, addr, is, is_32 ? 4 : 8);
	push_history(enc, addr, is);
	put_context_payload(enc, burst, context);
}

/* ---- exceptions ---- */

static void put_exception_header(struct etm_burst *burst, unsigned int type, u8 address)
{
	put_byte(burst, HDR_EXCEPTION);
	put_byte(burst, (type & 0x1f) << 1 | address | (type >> 5 ? EXC_C : 0));
	if (type >> 5)
		put_byte(burst, type >> 5 & 0x1f);
}

void etm_put_exception(struct etm_encoder *enc, struct etm_burst *burst, unsigned int type,
		       u64 preferred_return, u8 is, bool is_target)
{
	etm_put_atoms(enc, burst);
	put_exception_header(burst, type, is_target ? EXC_E1 : EXC_E0);
	put_addr(enc, burst, &target_headers, preferred_return, is);
	sent_p0(enc, 1);
	put_commit(enc, burst);
}

void etm_put_pe_reset(struct etm_encoder *enc, struct etm_burst *burst)
{
	etm_put_atoms(enc, burst);
	put_exception_header(burst, ETM_PE_RESET, EXC_E0);
	put_byte(burst, EXC_NO_ADDRESS);
	sent_p0(enc, 1);
	put_commit(enc, burst);
}

void etm_put_exception_return(struct etm_encoder *enc, struct etm_burst *burst)
{
	etm_put_atoms(enc, burst);
	put_byte(burst, HDR_EXCEPTION_RET);
}

/* ---- time ---- */

void etm_put_cycles(struct etm_encoder *enc, struct etm_burst *burst, u64 cycles)
{
	const struct etm_format *f = &enc->format;
	u64 count = cycles - f->threshold;
	u32 commit;

	if (mode_0(enc))
		put_pending_atoms(enc, burst);
	else
		etm_put_atoms(enc, burst);
	commit = enc->nr_uncommitted;
	enc->nr_uncommitted = 0;
	/* the counter has saturated: its value has no meaning */
	if (cycles == ETM_CYCLES_UNKNOWN || cycles >> f->cycle_bits) {
		put_byte(burst, HDR_CYCLES_F1 | 1);
		if (mode_0(enc))
			put_field(burst, commit);
	} else if (count < 4 && (!mode_0(enc) || (commit && commit <= 4))) {
		put_byte(burst, HDR_CYCLES_F3 | (mode_0(enc) ? (commit - 1) << 2 : 0) | count);
	} else if (count < 16 && mode_0(enc) && commit && commit <= 16) {
		put_byte(burst, HDR_CYCLES_F2);
		put_byte(burst, (commit - 1) << 4 | count);
	} else if (count < 16 && !f->max_spec) {
		/* F set: the packet commits as many as the speculation depth, which is 0 */
		put_byte(burst, HDR_CYCLES_F2 | 1);
		put_byte(burst, 0xf0 | count);
	} else {
		put_byte(burst, HDR_CYCLES_F1);
		if (mode_0(enc))
			put_field(burst, commit);
		put_field(burst, count);
	}
}

void etm_put_atom_cycles(struct etm_encoder *enc, struct etm_burst *burst, bool taken, u64 cycles)
{
	if (!mode_0(enc)) {
		etm_put_cycles(enc, burst, cycles);
		etm_put_atom(enc, burst, taken);
		return;
	}
	put_step(enc, burst, etm_add_atom(enc, taken));
	etm_put_cycles(enc, burst, cycles);
}

/*
 * Puts the low bits that changed, seven per byte. If seven bytes or more are needed, all nine are
 * sent, because a widely used decoder reads the missing ones as zeros.
 */
void etm_put_timestamp(struct etm_encoder *enc, struct etm_burst *burst, u64 timestamp, u64 cycles)
{
	u64 diff = timestamp ^ enc->timestamp, value = timestamp;
	bool count = enc->format.cycles && !(cycles >> enc->format.cycle_bits);

	etm_put_atoms(enc, burst);
	put_byte(burst, HDR_TIMESTAMP | count);
	if (diff >> 42) {
		for (int i = 0; i < 8; i++, value >>= 7)
			put_byte(burst, 0x80 | (value & 0x7f));
		put_byte(burst, (u32)value);
	} else {
		for (; diff >> 7; diff >>= 7, value >>= 7)
			put_byte(burst, 0x80 | (value & 0x7f));
		put_byte(burst, value & 0x7f);
	}
	if (count)
		put_field(burst, cycles);
	enc->timestamp = timestamp;
}

void etm_put_timestamp_marker(struct etm_encoder *enc, struct etm_burst *burst)
{
	etm_put_atoms(enc, burst);
	put_byte(burst, HDR_TS_MARKER);
}

/* ---- other packets ---- */

void etm_put_event(struct etm_encoder *enc, struct etm_burst *burst, u8 events)
{
	if (!(events & 0xf))
		return;
	etm_put_atoms(enc, burst);
	put_byte(burst, HDR_IGNORE | (events & 0xf));
}

void etm_put_ignore(struct etm_burst *burst)
{
	put_byte(burst, HDR_IGNORE);
}

static void put_loss(struct etm_encoder *enc, struct etm_burst *burst, u8 what)
{
	enc->state = 0;
	enc->nr_uncommitted = 0;
	put_byte(burst, HDR_EXT);
	put_byte(burst, what);
}

void etm_put_overflow(struct etm_encoder *enc, struct etm_burst *burst)
{
	put_loss(enc, burst, EXT_OVERFLOW);
}

void etm_put_discard(struct etm_encoder *enc, struct etm_burst *burst)
{
	put_loss(enc, burst, EXT_DISCARD);
}
