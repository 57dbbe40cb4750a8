// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * See spe_unit.h. Instruction classes as in the "Loads and stores" tables of the A64 encoding
 * index; operation types as in the Arm ARM's "Operation Type packet".
 */
#include "spe_unit.h"
#include "a64_insn.h"

/* Operation packet, class load/store. */
#define LDST_STORE	0x01
#define LDST_EXTENDED	0x02
#define LDST_SIMD	0x04
#define LDST_ATOMIC	0x04 /* with EXTENDED */
#define LDST_EXCLUSIVE	0x08
#define LDST_ORDERED	0x10
#define LDST_UNKNOWN	0x10 /* without LDST_EXTENDED: access with unspecified registers */
#define LDST_SVE	0x28 /* effective vector length of 128 bits */
#define BRANCH_COND	0x01
#define BRANCH_INDIRECT 0x02
#define OTHER_COND	0x01

#define INTERVAL_CODE 0 /* PMSIDR.Interval: 256 at least is recommended */
#define COUNT_SIZE    2 /* PMSIDR.CountSize: 12 bits, saturating */

u64 spe_unit_idr(const struct spe_unit_config *config)
{
	/* event (also inverted), type and latency filters; samples instructions, not
	 * micro-operations */
	return 0x4f | INTERVAL_CODE << 8 | (u64)__builtin_ctz(config->max_record) << 12 |
	       COUNT_SIZE << 16;
}

void spe_unit_init(struct spe_unit *unit, const struct spe_unit_config *config,
		   const struct spe_output_bus *bus)
{
	__builtin_memset(unit, 0, sizeof(*unit));
	unit->config = *config;
	unit->random = 0x2545f491;
	spe_output_init(&unit->out, bus, config->max_record, config->align);
}

static u64 *register_of(struct spe_unit *unit, u32 reg)
{
	switch (reg) {
	case SYS_PMSCR:
		return &unit->pmscr;
	case SYS_PMSNEVFR:
		return &unit->pmsnevfr;
	case SYS_PMSICR:
		return &unit->pmsicr;
	case SYS_PMSIRR:
		return &unit->pmsirr;
	case SYS_PMSFCR:
		return &unit->pmsfcr;
	case SYS_PMSEVFR:
		return &unit->pmsevfr;
	case SYS_PMSLATFR:
		return &unit->pmslatfr;
	default:
		return NULL;
	}
}

bool spe_unit_read(const struct spe_unit *unit, u32 reg, u64 *value)
{
	const u64 *r = register_of((struct spe_unit *)(uintptr_t)unit, reg);

	if (reg == SYS_PMSIDR) {
		*value = spe_unit_idr(&unit->config);
		return true;
	}
	if (!r)
		return spe_output_read(&unit->out, reg, value);
	*value = *r;
	return true;
}

bool spe_unit_write(struct spe_unit *unit, u32 reg, u64 value)
{
	u64 *r = register_of(unit, reg);

	if (!r)
		return spe_output_write(&unit->out, reg, value);
	*r = value;
	return true;
}

u32 spe_unit_count(struct spe_unit *unit, u32 nr)
{
	u32 left = (u32)unit->pmsicr;

	if (!spe_unit_is_on(unit) || !nr)
		return 0;
	if (!left) /* as at the start of profiling, when the counter is loaded */
		left = spe_interval_next((u32)unit->pmsirr, &unit->random);
	if (left > nr) {
		unit->pmsicr = left - nr;
		return 0;
	}
	unit->pmsicr = spe_interval_next((u32)unit->pmsirr, &unit->random);
	return left;
}

/* ---- classes ---- */

/* CAS, LDADD and similar, exclusives, acquire and release. False: another instruction. */
static bool classify_extended(u32 code, u8 *subclass)
{
	if ((code & 0x3f000000) == 0x08000000) {
		bool single = code >> 23 & 1, pair = code >> 21 & 1, load = code >> 22 & 1;

		*subclass = LDST_EXTENDED | (load ? 0 : LDST_STORE);
		if (pair && (single || !(code >> 31))) { /* cas; casp */
			/* in a compare and swap the bit L means acquire */
			*subclass = LDST_EXTENDED | LDST_ATOMIC |
				    (load || code >> 15 & 1 ? LDST_ORDERED : 0);
			return true;
		}
		*subclass |= single ? LDST_ORDERED :
				      LDST_EXCLUSIVE | (code >> 15 & 1 ? LDST_ORDERED : 0);
		return true;
	}
	if ((code & 0x3f200c00) == 0x38200000) {
		if ((code & 0x0000f000) == 0x0000c000) /* ldapr */
			*subclass = LDST_EXTENDED | LDST_ORDERED;
		else /* without a result (stadd and similar) it is a store */
			*subclass = LDST_EXTENDED | LDST_ATOMIC |
				    (code >> 22 & 3 ? LDST_ORDERED : 0) |
				    ((code & 0x0080801f) == 0x1f ? LDST_STORE : 0);
		return true;
	}
	return false;
}

static bool classify_ldst(u32 code, u8 *subclass)
{
	bool vector = code >> 26 & 1, store;

	if ((code & 0x0a000000) != 0x08000000)
		return false;
	if (classify_extended(code, subclass))
		return true;
	if ((code & 0x3b000000) == 0x18000000) /* literal */
		store = false;
	else if ((code & 0x38000000) == 0x38000000) /* single register */
		store = vector ? !(code >> 22 & 1) : !(code >> 22 & 3);
	else /* pairs, structures */
		store = !(code >> 22 & 1);
	*subclass = (vector ? LDST_SIMD : 0) | (store ? LDST_STORE : 0);
	return true;
}

enum spe_op_class spe_classify(const struct spe_op *op, u8 *subclass)
{
	switch (a64_insn_decode(op->code).cls) {
	case A64_COND:
		*subclass = BRANCH_COND;
		return SPE_OP_BRANCH;
	case A64_B:
	case A64_BL:
		*subclass = 0;
		return SPE_OP_BRANCH;
	case A64_BR:
	case A64_BLR:
	case A64_RET:
	case A64_ERET:
		*subclass = BRANCH_INDIRECT;
		return SPE_OP_BRANCH;
	default:
		break;
	}
	if (classify_ldst(op->code, subclass))
		return SPE_OP_LDST;
	if (op->has_addr) { /* dc zva and similar; vectors of any length */
		bool sve = !(op->code >> 28 & 1) && (op->code >> 25 & 0xf) == 2;

		*subclass = (sve ? LDST_SVE : LDST_UNKNOWN) | (op->is_store ? LDST_STORE : 0);
		return SPE_OP_LDST;
	}
	/* csel and similar, ccmp: their result depends on flags */
	*subclass = (op->code & 0x1fe00000) == 0x1a800000 || (op->code & 0x1fe00000) == 0x1a400000 ?
			    OTHER_COND :
			    0;
	return SPE_OP_OTHER;
}

/* ---- latency and data source ---- */

struct op_timing {
	u64 events;
	u32 issue, total, xlat;
	u16 source;
};

/* Looks up a line among the ways of a set; makes it the newest. */
static bool cache_lookup(u64 *way, u32 nr_ways, u64 line)
{
	u32 at = 0;
	bool hit;

	while (at < nr_ways - 1 && way[at] != line + 1)
		at++;
	hit = way[at] == line + 1;
	for (; at; at--)
		way[at] = way[at - 1];
	way[0] = line + 1;
	return hit;
}

static void access_memory(struct spe_unit *unit, const struct spe_op *op, bool store,
			  struct op_timing *timing)
{
	u64 addr = op->addr & 0x00ffffffffffffffull, line = addr >> 6, page = addr >> 12;

	timing->events |= SPE_EVENT_TLB_ACCESS | SPE_EVENT_L1D_ACCESS;
	timing->xlat = 1;
	if (unit->tlb[page % SPE_TLB_SIZE] != page + 1) {
		unit->tlb[page % SPE_TLB_SIZE] = page + 1;
		timing->events |= SPE_EVENT_TLB_WALK;
		timing->xlat = 22;
	}
	timing->total += timing->xlat;
	if (op->size && addr & (op->size - 1))
		timing->events |= SPE_EVENT_MISALIGNED;
	if (cache_lookup(unit->l1[line % SPE_L1_SETS], SPE_L1_WAYS, line)) {
		timing->total += store ? 1 : 3;
		return;
	}
	timing->events |= SPE_EVENT_L1D_REFILL | SPE_EVENT_LLC_ACCESS;
	if (cache_lookup(unit->llc[line % SPE_LLC_SETS], SPE_LLC_WAYS, line)) {
		timing->total += store ? 1 : 14;
		timing->source =
			8; /* as Neoverse cores number: 0 L1, 8 L2 (here the LLC), 14 DRAM */
		return;
	}
	timing->events |= SPE_EVENT_LLC_MISS;
	timing->total += store ? 1 : 130;
	timing->source = 14;
}

static void branch(struct spe_unit *unit, const struct spe_op *op, struct op_timing *timing)
{
	u8 *last = &unit->taken[op->pc / A64_INSN_LEN % SPE_BHT_SIZE];
	u8 now = op->next == op->pc + A64_INSN_LEN ? 1 : 2;

	if (now == 1 && a64_insn_decode(op->code).cls == A64_COND)
		timing->events |= SPE_EVENT_NOT_TAKEN;
	if (*last && *last != now) {
		timing->events |= SPE_EVENT_MISPREDICTED;
		timing->total += 11;
	}
	*last = now;
}

static bool passes_filters(const struct spe_unit *unit, enum spe_op_class cls, u8 subclass,
			   const struct op_timing *timing)
{
	u64 f = unit->pmsfcr;
	bool store = subclass & LDST_STORE;
	bool load_and_store = cls == SPE_OP_LDST && (subclass & 6) == (LDST_EXTENDED | LDST_ATOMIC);

	if (f & PMSFCR_FT &&
	    !((f & PMSFCR_B && cls == SPE_OP_BRANCH) ||
	      (f & PMSFCR_LD && cls == SPE_OP_LDST && (!store || load_and_store)) ||
	      (f & PMSFCR_ST && cls == SPE_OP_LDST && (store || load_and_store))))
		return false;
	if (f & PMSFCR_FE && (timing->events & unit->pmsevfr) != unit->pmsevfr)
		return false;
	if (f & PMSFCR_FNE && timing->events & unit->pmsnevfr)
		return false;
	return !(f & PMSFCR_FL) || timing->total >= (unit->pmslatfr & 0xffff);
}

void spe_unit_sample(struct spe_unit *unit, const struct spe_op *op)
{
	struct op_timing timing = {.events = SPE_EVENT_RETIRED, .issue = 2, .total = 3};
	struct spe_record r = {.nr = 0};
	enum spe_op_class cls;
	u8 subclass;

	if (!spe_unit_is_on(unit))
		return;
	unit->nr_samples++;
	cls = spe_classify(op, &subclass);
	if (cls == SPE_OP_LDST && op->has_addr)
		access_memory(unit, op, subclass & LDST_STORE, &timing);
	else if (cls == SPE_OP_BRANCH)
		branch(unit, op, &timing);
	if (!passes_filters(unit, cls, subclass, &timing)) {
		unit->nr_filtered++;
		return;
	}
	spe_put_address(&r, SPE_ADDRESS_PC, spe_code_address(op->pc, 0));
	if (unit->pmscr & PMSCR_CX)
		spe_put_context(&r, 1, unit->contextid);
	spe_put_operation(&r, cls, subclass);
	spe_put_counter(&r, SPE_LATENCY_ISSUE, timing.issue);
	spe_put_counter(&r, SPE_LATENCY_TOTAL, timing.total);
	spe_put_events(&r, timing.events);
	if (cls == SPE_OP_BRANCH)
		spe_put_address(&r, SPE_ADDRESS_TARGET, spe_code_address(op->next, 0));
	if (cls == SPE_OP_LDST && op->has_addr) {
		spe_put_counter(&r, SPE_LATENCY_XLAT, timing.xlat);
		spe_put_address(&r, SPE_ADDRESS_VIRT, op->addr);
		/* the physical address is the virtual one, in the non-secure space */
		if (unit->pmscr & PMSCR_PA)
			spe_put_address(&r, SPE_ADDRESS_PHYS,
					(op->addr & 0x00ffffffffffffffull) | 1ull << 63);
		if (!(subclass & LDST_STORE))
			spe_put_source(&r, timing.source);
	}
	if (unit->pmscr & PMSCR_TS)
		spe_put_timestamp(&r, *unit->config.clock);
	else
		spe_put_end(&r);
	spe_output_record(&unit->out, r.bytes, r.nr);
}
