// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A trace unit: its registers, and the decision when a packet is due (Arm IHI 0064, chapters
 * "Instruction trace" and "Register descriptions"; ETE in the Arm ARM). Neighbour: etm_encoder.c,
 * which knows the packets' layout.
 */
#include "etm_unit.h"

#define CONFIGR_FIELDS                                                                       \
	(TRCCONFIGR_BB | TRCCONFIGR_CCI | TRCCONFIGR_CID | TRCCONFIGR_VMID | TRCCONFIGR_TS | \
	 TRCCONFIGR_RS)
#define VICTLR_FIELDS  0x00ff02ffu
#define SYNC_SHIFT_MIN 8 /* TRCSYNCPR.PERIOD: 2^n bytes; smaller values read as 0: never */
#define SYNC_SHIFT_MAX 20
#define CYCLES_MIN     4 /* TRCIDR3.CCITMIN */
#define NO_TIMESTAMP   (~0ull)

static u32 cycle_bits(const struct etm_unit *unit)
{
	return unit->config.cycle_bits ? unit->config.cycle_bits : 12;
}

void etm_unit_init(struct etm_unit *unit, const struct etm_unit_config *config,
		   const struct etm_sink *sink)
{
	__builtin_memset(unit, 0, sizeof(*unit));
	unit->config = *config;
	if (config->ete) /* the architecture defines no other value */
		unit->config.max_spec = 0;
	unit->sink = sink;
	unit->ccctlr = CYCLES_MIN;
	unit->context.sf = true;
	unit->context.ns = !config->secure;
}

/* ---- registers ---- */

static u32 idr0(const struct etm_unit *unit)
{
	return 1u | 1u << 5 /* BB */ | 1u << 7 /* CCI */ | 1u << 9 /* RETSTACK */ |
	       3u << 10 /* NUMEVENT: four */ | 8u << 24 /* TSSIZE: 64 bits */ |
	       (unit->config.ete && unit->config.ete_minor ? 1u << 23 : 0) /* TSMARK */ |
	       1u << 29; /* COMMOPT: as in all real traces; the only mode that OpenCSD supports */
}

/* DESIGNER as in Arm's own units; version ETMv4.3, or for ETE 'see TRCDEVARCH'. */
static u32 idr1(const struct etm_unit *unit)
{
	return unit->config.ete ? 0x4100fff0u : 0x4100f430u;
}

static u32 idr2(const struct etm_unit *unit)
{
	return 8u /* IASIZE */ | 4u << 5 /* CIDSIZE */ | 4u << 10 /* VMIDSIZE */ |
	       (cycle_bits(unit) - 12) << 25 | (unit->config.wfx_branch ? 1u << 31 : 0);
}

/* Exception levels 0 to 2; TRCSYNCPR is writable. */
static u32 idr3(const struct etm_unit *unit)
{
	return CYCLES_MIN | (unit->config.secure ? 7u << 16 : 7u << 20);
}

static u32 devarch(const struct etm_unit *unit)
{
	return unit->config.ete ? 0x47705a13u | (u32)(unit->config.ete_minor & 0xf) << 16 :
				  0x47734a13u;
}

u32 etm_unit_read(const struct etm_unit *unit, u32 reg)
{
	switch (reg) {
	case TRCPRGCTLR:
		return unit->prgctlr;
	case TRCSTATR:
		return unit->prgctlr & TRCPRGCTLR_EN ? 0 : TRCSTATR_IDLE | TRCSTATR_PMSTABLE;
	case TRCCONFIGR:
		return unit->configr;
	case TRCEVENTCTL1R:
		return unit->eventctl1r;
	case TRCTSCTLR:
		return unit->tsctlr;
	case TRCSYNCPR:
		return unit->syncpr;
	case TRCCCCTLR:
		return unit->ccctlr;
	case TRCBBCTLR:
		return unit->bbctlr;
	case TRCTRACEIDR:
		return unit->traceidr;
	case TRCVICTLR:
		return unit->victlr;
	case TRCCNTRLDVR0:
		return unit->cntrldvr;
	case TRCCNTCTLR0:
		return unit->cntctlr;
	case TRCRSCTLR2:
	case TRCRSCTLR3:
		return unit->rsctlr[(reg - TRCRSCTLR2) / 4];
	case TRCIDR0:
		return idr0(unit);
	case TRCIDR0 + 4:
		return idr1(unit);
	case TRCIDR0 + 8:
		return idr2(unit);
	case TRCIDR0 + 12:
		return idr3(unit);
	case TRCIDR0 + 16:
		return 1u << 16; /* TRCIDR4.NUMRSPAIR: two */
	case TRCIDR0 + 20:
		return 7u << 16 | 1u << 28; /* TRCIDR5.TRACEIDSIZE, NUMCNTR */
	case TRCIDR8:
		return unit->config.max_spec;
	case TRCAUTHSTATUS:
		return unit->config.secure ? 0xff : 0xcf;
	case TRCDEVARCH:
		return devarch(unit);
	default:
		return 0;
	}
}

/* 0: timestamps only with synchronisation; else the interval in cycles. */
static u64 timestamp_period(const struct etm_unit *unit)
{
	u32 event = unit->tsctlr & 0xff;

	if (!(unit->configr & TRCCONFIGR_TS))
		return 0;
	if (event == 1)
		return 1;
	if ((event != 2 && event != 3) || unit->rsctlr[event - 2] != TRCRSCTLR_COUNTER0 ||
	    unit->cntctlr != (TRCCNTCTLR_RLDSELF | 1))
		return 0;
	return (u64)unit->cntrldvr + 1;
}

static bool enabled(const struct etm_unit *unit)
{
	return unit->prgctlr & TRCPRGCTLR_EN;
}

static void enable(struct etm_unit *unit)
{
	struct etm_format format = {
		.ete = unit->config.ete,
		.contextid = unit->configr & TRCCONFIGR_CID,
		.vmid = unit->configr & TRCCONFIGR_VMID,
		.vmid_bytes = 4,
		.cycles = unit->configr & TRCCONFIGR_CCI,
		.cycle_bits = (u8)cycle_bits(unit),
		.threshold = (u16)unit->ccctlr,
		.commit_mode_1 = true,
		.max_spec = unit->config.max_spec,
	};

	etm_encoder_init(&unit->enc, &format);
	unit->counts_cycles = format.cycles;
	unit->active = false;
	unit->overflow_due = false;
	unit->sync_due = true;
	unit->cycles_valid = false;
	unit->timestamp_due = false;
	unit->timestamp_at = timestamp_period(unit) ? *unit->config.clock + timestamp_period(unit) :
						      NO_TIMESTAMP;
}

static void drain(struct etm_unit *unit);
static void begin(struct etm_unit *unit);

static int write_config(struct etm_unit *unit, u32 reg, u32 value)
{
	switch (reg) {
	case TRCCONFIGR:
		unit->configr = value & CONFIGR_FIELDS;
		return 0;
	case TRCEVENTCTL1R:
		unit->eventctl1r = value & 0xf;
		return 0;
	case TRCTSCTLR:
		unit->tsctlr = value & 0xff;
		return 0;
	case TRCSYNCPR:
		unit->syncpr = value & 0x1f;
		return 0;
	case TRCCCCTLR: /* below CCITMIN: unpredictable */
		unit->ccctlr = value & 0xfff;
		if (unit->ccctlr < CYCLES_MIN)
			unit->ccctlr = CYCLES_MIN;
		return 0;
	case TRCBBCTLR: /* there are no address ranges */
		unit->bbctlr = value & TRCBBCTLR_MODE;
		return 0;
	case TRCTRACEIDR:
		unit->traceidr = value & 0x7f;
		return 0;
	case TRCVICTLR:
		unit->victlr = value & VICTLR_FIELDS;
		return 0;
	case TRCCNTRLDVR0:
		unit->cntrldvr = value & 0xffff;
		return 0;
	case TRCCNTCTLR0:
		unit->cntctlr = value & (TRCCNTCTLR_RLDSELF | 0xff);
		return 0;
	case TRCRSCTLR2:
	case TRCRSCTLR3:
		unit->rsctlr[(reg - TRCRSCTLR2) / 4] = value & 0xfffff;
		return 0;
	default:
		return -1;
	}
}

int etm_unit_write(struct etm_unit *unit, u32 reg, u32 value)
{
	bool was = enabled(unit), now = value & TRCPRGCTLR_EN;

	if (reg != TRCPRGCTLR)
		return was ? -1 : write_config(unit, reg, value);
	if (was && !now)
		drain(unit);
	unit->prgctlr = value & TRCPRGCTLR_EN;
	if (!was && now) {
		enable(unit);
		begin(unit);
	}
	return 0;
}

/* ---- packets that are due ---- */

static u64 sync_period(const struct etm_unit *unit)
{
	u32 n = unit->syncpr;

	if (n < SYNC_SHIFT_MIN)
		return 0;
	return 1ull << (n > SYNC_SHIFT_MAX ? SYNC_SHIFT_MAX : n);
}

static void send(struct etm_unit *unit, struct etm_burst *burst)
{
	size_t nr_bytes = etm_burst_nr_bytes(burst);

	if (!nr_bytes)
		return;
	unit->nr_produced += nr_bytes;
	unit->sink->write(unit->sink->ctx, burst->bytes, nr_bytes);
}

static u64 cycles_now(const struct etm_unit *unit)
{
	return unit->cycles_valid ? *unit->config.clock - unit->cycles_at : ETM_CYCLES_UNKNOWN;
}

/*
 * Puts the current address of the program, and with it a context and an exception return if they
 * are due.
 */
static void put_current_address(struct etm_unit *unit, struct etm_burst *burst)
{
	if (unit->context_due)
		etm_put_address_context(&unit->enc, burst, unit->ip, ETM_IS0, &unit->context);
	else
		etm_put_address(&unit->enc, burst, unit->ip, ETM_IS0);
	if (unit->exception_ret)
		etm_put_exception_return(&unit->enc, burst);
	unit->address_due = false;
	unit->context_due = false;
	unit->exception_ret = false;
}

/* Puts the previous branch's target, which must precede any packet about later execution. */
static void put_due_address(struct etm_unit *unit, struct etm_burst *burst)
{
	if (unit->address_due)
		put_current_address(unit, burst);
}

static void put_timestamp(struct etm_unit *unit, struct etm_burst *burst)
{
	u64 period = timestamp_period(unit);

	unit->timestamp_due = false;
	if (!(unit->configr & TRCCONFIGR_TS))
		return;
	if (unit->config.ete && unit->config.ete_minor)
		etm_put_timestamp_marker(&unit->enc, burst);
	etm_put_timestamp(&unit->enc, burst, *unit->config.clock, cycles_now(unit));
	if (period)
		unit->timestamp_at = *unit->config.clock + period;
}

/* Puts A-Sync and Trace Info. A decoder can start here, so address and context must follow. */
static void put_sync(struct etm_unit *unit, struct etm_burst *burst)
{
	u64 period = sync_period(unit);

	etm_put_async(&unit->enc, burst);
	etm_put_trace_info(&unit->enc, burst);
	unit->sync_due = false;
	unit->sync_at = period ? unit->nr_produced + period : ~0ull;
	unit->ret_depth = 0;
	unit->timestamp_due = true;
	unit->context_due = true;
}

static bool is_sync_due(const struct etm_unit *unit)
{
	return unit->sync_due || unit->nr_produced >= unit->sync_at;
}

/* ViewInst becomes active: puts Trace On, after an Overflow or synchronisation that is due. */
static void put_trace_on(struct etm_unit *unit, struct etm_burst *burst)
{
	if (unit->overflow_due) {
		etm_put_overflow(&unit->enc, burst);
		unit->overflow_due = false;
		unit->sync_due = true;
	}
	if (is_sync_due(unit))
		put_sync(unit, burst);
	etm_put_trace_on(&unit->enc, burst);
	unit->context_due = true;
	unit->exception_ret = false;
	unit->ret_depth = 0;
	unit->cycles_valid = false;
	put_current_address(unit, burst);
	put_timestamp(unit, burst);
}

static bool excluded(const struct etm_unit *unit)
{
	unsigned int shift =
		unit->context.ns ? TRCVICTLR_EXLEVEL_NS_SHIFT : TRCVICTLR_EXLEVEL_S_SHIFT;

	return (unit->victlr & TRCVICTLR_EVENT) != 1 || !(unit->victlr & TRCVICTLR_SSSTATUS) ||
	       unit->victlr >> (shift + unit->context.el) & 1;
}

/* Starts tracing at unit->ip, unless ViewInst excludes it. */
static void begin(struct etm_unit *unit)
{
	struct etm_burst burst;

	if (!enabled(unit) || !unit->running || excluded(unit))
		return;
	unit->active = true;
	etm_burst_begin(&burst);
	put_trace_on(unit, &burst);
	send(unit, &burst);
}

/* The trace ends here: sends all pending packets. */
static void drain(struct etm_unit *unit)
{
	struct etm_burst burst;

	etm_burst_begin(&burst);
	if (unit->active && unit->overflow_due) {
		etm_put_overflow(&unit->enc, &burst);
	} else if (unit->active) {
		etm_put_atoms(&unit->enc, &burst);
		put_due_address(unit, &burst);
	}
	send(unit, &burst);
	unit->active = false;
}

/* An overflow has ended: tracing continues at unit->ip, the current position of the program. */
static __attribute__((__noinline__)) void recover(struct etm_unit *unit)
{
	struct etm_burst burst;

	etm_burst_begin(&burst);
	put_trace_on(unit, &burst);
	send(unit, &burst);
}

static inline bool needs_recovery(const struct etm_unit *unit)
{
	return __builtin_expect(unit->overflow_due, 0) && unit->active;
}

/* After a P0 element: puts synchronisation and timestamp if they are due, after pending atoms. */
static void put_periodic(struct etm_unit *unit, struct etm_burst *burst)
{
	if (is_sync_due(unit)) {
		put_sync(unit, burst);
		put_current_address(unit, burst);
	}
	if (*unit->config.clock >= unit->timestamp_at)
		unit->timestamp_due = true;
	if (unit->timestamp_due) {
		etm_put_atoms(&unit->enc, burst);
		put_due_address(unit, burst);
		put_timestamp(unit, burst);
	}
}

/* ---- execution ---- */

void etm_unit_set_context(struct etm_unit *unit, u32 contextid, u32 vmid)
{
	struct etm_burst burst;
	bool changed = (unit->configr & TRCCONFIGR_CID && contextid != unit->context.contextid) ||
		       (unit->configr & TRCCONFIGR_VMID && vmid != unit->context.vmid);

	unit->context.contextid = contextid;
	unit->context.vmid = vmid;
	if (!changed || !unit->active || unit->overflow_due)
		return;
	etm_burst_begin(&burst);
	etm_put_atoms(&unit->enc, &burst);
	put_due_address(unit, &burst);
	etm_put_context(&unit->enc, &burst, &unit->context);
	send(unit, &burst);
}

void etm_unit_enter(struct etm_unit *unit, u8 el, u64 ip)
{
	bool was_active = unit->active;

	if (unit->running) /* no call reported how the program got from unit->ip to ip */
		etm_unit_exception(unit, ETM_IRQ, unit->ip);
	was_active &= unit->active;
	unit->running = true;
	unit->ip = ip;
	unit->context.el = el;
	if (!was_active) {
		begin(unit);
		return;
	}
	if (excluded(unit)) {
		unit->active = false;
		return;
	}
	unit->address_due = true;
	unit->context_due = true;
}

void etm_unit_retire(struct etm_unit *unit, u32 nr_insns, u64 next_ip)
{
	(void)nr_insns; /* the machine has counted them on its clock */
	if (needs_recovery(unit))
		recover(unit);
	if (__builtin_expect(unit->address_due, 0)) {
		struct etm_burst burst;

		/* a later exception is no longer at the branch's target */
		etm_burst_begin(&burst);
		put_due_address(unit, &burst);
		send(unit, &burst);
	}
	unit->ip = next_ip;
}

static void push_return(struct etm_unit *unit, u64 addr)
{
	if (!(unit->configr & TRCCONFIGR_RS))
		return;
	unit->ret_top = (unit->ret_top + 1) & ETM_NR_RETURNS;
	unit->ret_stack[unit->ret_top] = addr;
	if (unit->ret_depth < ETM_NR_RETURNS)
		unit->ret_depth++;
}

/* Decoders pop a return address for each indirect branch without an address packet. */
static bool pop_return(struct etm_unit *unit, u64 target)
{
	if (!unit->ret_depth || unit->ret_stack[unit->ret_top] != target)
		return false;
	unit->ret_top = (unit->ret_top - 1) & ETM_NR_RETURNS;
	unit->ret_depth--;
	return true;
}

static bool broadcasts(const struct etm_unit *unit)
{
	return unit->configr & TRCCONFIGR_BB && !(unit->bbctlr & TRCBBCTLR_MODE);
}

/* Whether decoders need an address packet for the target. Updates the return stack. */
static inline bool needs_address(struct etm_unit *unit, enum a64_class cls, u64 ip, u64 target)
{
	bool wanted = broadcasts(unit);

	switch (cls) {
	case A64_COND:
	case A64_B:
		return wanted;
	case A64_BL:
		push_return(unit, ip + A64_INSN_LEN);
		return wanted;
	case A64_BLR:
		push_return(unit, ip + A64_INSN_LEN);
		return true;
	case A64_BR:
	case A64_RET:
		return wanted || !pop_return(unit, target);
	default:
		return cls == A64_ERET;
	}
}

/* Puts an atom, with the cycles up to it if they reach the threshold. */
static void put_p0(struct etm_unit *unit, struct etm_burst *burst, bool taken)
{
	u64 cycles = cycles_now(unit);

	put_due_address(unit, burst);
	if (!unit->counts_cycles || cycles < unit->ccctlr) {
		etm_put_atom(&unit->enc, burst, taken);
		return;
	}
	etm_put_atom_cycles(&unit->enc, burst, taken, cycles);
	unit->cycles_at = *unit->config.clock;
	unit->cycles_valid = true;
}

static bool is_p0(const struct etm_unit *unit, enum a64_class cls)
{
	return cls != A64_WFX || unit->config.wfx_branch;
}

static void branch(struct etm_unit *unit, enum a64_class cls, u64 ip, u64 target,
		   struct etm_burst *burst)
{
	bool taken = cls != A64_COND || target != ip + A64_INSN_LEN;

	put_p0(unit, burst, taken);
	unit->ip = target;
	unit->address_due = needs_address(unit, cls, ip, target) && taken;
}

static __attribute__((__noinline__)) void branch_slowly(struct etm_unit *unit, enum a64_class cls,
							u64 ip, u64 target)
{
	struct etm_burst burst;

	if (needs_recovery(unit)) {
		unit->ip = ip;
		recover(unit);
	}
	if (!unit->active || !is_p0(unit, cls)) {
		etm_unit_retire(unit, 1, target);
		return;
	}
	etm_burst_begin(&burst);
	branch(unit, cls, ip, target, &burst);
	put_periodic(unit, &burst);
	send(unit, &burst);
}

/* An atom has been added: sends the completed packet, and other packets that are due. */
static __attribute__((__noinline__)) void send_step(struct etm_unit *unit,
						    struct etm_atom_step step)
{
	struct etm_burst burst;

	etm_burst_begin(&burst);
	etm_put_step(&unit->enc, &burst, step);
	put_periodic(unit, &burst);
	send(unit, &burst);
}

/* Most branches only add an atom to a packet that is not full yet. */
void etm_unit_branch(struct etm_unit *unit, enum a64_class cls, u64 ip, u64 target)
{
	bool taken = cls != A64_COND || target != ip + A64_INSN_LEN;
	struct etm_atom_step step;

	if (__builtin_expect(!unit->active | unit->address_due | unit->overflow_due |
				     unit->counts_cycles | (cls == A64_WFX),
			     0)) {
		branch_slowly(unit, cls, ip, target);
		return;
	}
	step = etm_add_atom(&unit->enc, taken);
	unit->ip = target;
	unit->address_due = needs_address(unit, cls, ip, target) && taken;
	if (step.out || *unit->config.clock >= unit->timestamp_at)
		send_step(unit, step);
}

void etm_unit_eret(struct etm_unit *unit, u64 ip, u64 target, u8 el)
{
	struct etm_burst burst;
	bool was_active;

	if (needs_recovery(unit)) {
		unit->ip = ip;
		recover(unit);
	}
	was_active = unit->active;
	etm_burst_begin(&burst);
	if (was_active) {
		branch(unit, A64_ERET, ip, target, &burst);
		etm_put_atoms(&unit->enc, &burst);
		unit->exception_ret = !unit->config.ete;
	}
	unit->context_due |= unit->context.el != el;
	unit->context.el = el;
	unit->ip = target;
	if (was_active && excluded(unit)) {
		unit->active = false;
		unit->address_due = false;
	}
	send(unit, &burst);
	if (!was_active)
		begin(unit);
}

void etm_unit_exception(struct etm_unit *unit, enum etm_exception type, u64 preferred_return)
{
	struct etm_burst burst;

	if (needs_recovery(unit)) {
		unit->ip = preferred_return; /* the overflow drops everything before this address */
		recover(unit);
	}
	if (unit->active) {
		/*
		 * One address serves both. Not with a return stack: OpenCSD, which perf decodes
		 * with, would pop the target from the stack before it reads the exception's
		 * address.
		 */
		bool is_target = unit->address_due && !unit->context_due && !unit->exception_ret &&
				 unit->ip == preferred_return && !(unit->configr & TRCCONFIGR_RS);

		etm_burst_begin(&burst);
		etm_put_atoms(&unit->enc, &burst);
		if (is_target)
			unit->address_due = false;
		put_due_address(unit, &burst);
		etm_put_exception(&unit->enc, &burst, type, preferred_return, ETM_IS0, is_target);
		send(unit, &burst);
	}
	unit->running = false;
	unit->ip = preferred_return;
	unit->context.el = 1;
	if (excluded(unit))
		unit->active = false;
}

void etm_unit_event(struct etm_unit *unit, u8 events)
{
	struct etm_burst burst;

	events &= unit->eventctl1r;
	if (!enabled(unit) || !unit->active || unit->overflow_due || !events)
		return;
	etm_burst_begin(&burst);
	etm_put_atoms(&unit->enc, &burst);
	put_due_address(unit, &burst);
	etm_put_event(&unit->enc, &burst, events);
	send(unit, &burst);
}

void etm_unit_inject_overflow(struct etm_unit *unit)
{
	if (!enabled(unit) || !unit->active)
		return;
	unit->nr_lost_atoms += etm_nr_pending(&unit->enc);
	unit->enc.state = 0;
	unit->address_due = false;
	unit->context_due = false;
	unit->exception_ret = false;
	unit->overflow_due = true;
}
