// SPDX-License-Identifier: BSD-2-Clause
/*
 * The SPE output stage (driver/hw/spe_output.c) as a trace unit of the simulator. The registers
 * that control sampling are stored, but have no effect: records come from produce().
 */
#include "units.h"

#include "hw/spe_output.h"
#include <stddef.h>
#include <stdlib.h>

#define SYS_PMSCR  0xc4c8
#define SYS_PMSIDR 0xc4cf
#define NR_REGS	   16 /* starting at SYS_PMSCR */
/* PMSIDR: every feature up to FnE, counters of 12 bits; MaxSize comes from the setup. */
#define PMSIDR_REST	     (0x7full | 2ull << 16)
#define PMSIDR_MAXSIZE_SHIFT 12

struct spe {
	const struct auxtap_unit_bus *bus;
	struct spe_output_bus stage_bus;
	struct spe_output out;
	u32 record_bytes;
	u64 regs[NR_REGS];
	const u8 *bytes; /* the record that is being stored; NULL: positions only */
	u32 nr_bytes;
	u8 memory[4096]; /* the stage stores its padding here; bus->store(): the simulated memory */
};

/*
 * Stores into the simulated memory. Called once for each record with its padding, or by
 * spe_output_advance() for many records without contents.
 */
static void *stage_virt(void *ctx, u64 addr, u64 size)
{
	struct spe *spe = ctx;
	u64 pad = size > spe->nr_bytes ? size - spe->nr_bytes : 0;
	static const u8 zeros[2048];

	if (spe->bytes) {
		if (pad && spe->bus->store(spe->bus->ctx, addr, zeros, pad))
			return NULL;
		if (spe->bus->store(spe->bus->ctx, addr + pad, spe->bytes, size - pad))
			return NULL;
	} else if (spe->bus->store(spe->bus->ctx, addr, NULL, size)) {
		return NULL;
	}
	return spe->memory;
}

static void stage_irq(void *ctx)
{
	struct spe *spe = ctx;

	spe->bus->irq(spe->bus->ctx);
}

static void *spe_create(const struct auxtap_unit_bus *bus, const struct auxtap_unit_setup *setup)
{
	struct spe *spe = calloc(1, sizeof(*spe));

	if (!spe)
		return NULL;
	spe->bus = bus;
	spe->stage_bus = (struct spe_output_bus){spe, stage_virt, stage_irq};
	spe_output_init(&spe->out, &spe->stage_bus, setup->max_record, setup->align);
	spe->out.irq_delay_bytes = (u32)setup->irq_delay_bytes;
	spe->record_bytes = setup->record_bytes;
	return spe;
}

static uint64_t spe_reg_read(void *unit, uint32_t reg)
{
	const struct spe *spe = unit;
	u64 value;

	if (reg == SYS_PMSIDR)
		return PMSIDR_REST | (u64)__builtin_ctz(spe->out.max_record)
					     << PMSIDR_MAXSIZE_SHIFT;
	if (spe_output_read(&spe->out, reg, &value))
		return value;
	return reg - SYS_PMSCR < NR_REGS ? spe->regs[reg - SYS_PMSCR] : 0;
}

static void spe_reg_write(void *unit, uint32_t reg, uint64_t value)
{
	struct spe *spe = unit;

	if (!spe_output_write(&spe->out, reg, value) && reg - SYS_PMSCR < NR_REGS)
		spe->regs[reg - SYS_PMSCR] = value;
}

static uint64_t spe_produce(void *unit, const uint8_t *bytes, uint64_t nr_bytes, uint64_t *taken)
{
	struct spe *spe = unit;
	/*
	 * Less than a record comes only from follow.c, which replays a run of real hardware
	 * ('auxtap watermark live') and ends each transaction where the hardware ended it.
	 */
	u32 record = nr_bytes < spe->record_bytes ? (u32)nr_bytes : spe->record_bytes;
	u64 skim = 0;

	if (!bytes && !(spe->out.status & PMBSR_S)) {
		spe->bytes = NULL;
		spe->nr_bytes = record;
		skim = spe_output_advance(&spe->out, record, nr_bytes / record);
	}
	if (skim) {
		*taken = skim * record;
		return *taken;
	}
	if (spe->out.status & PMBSR_S && !spe->out.irq_pending) {
		/* stopped, and the interrupt line is raised: all is lost until the driver reacts */
		spe->out.nr_dropped += nr_bytes;
		spe->out.nr_records_dropped += nr_bytes / record;
		*taken = nr_bytes;
		return 0;
	}
	spe->bytes = bytes;
	spe->nr_bytes = record;
	*taken = record;
	/* NULL, because stage_virt() stores the record itself */
	return spe_output_record(&spe->out, NULL, record) ? record : 0;
}

static int spe_irq_level(void *unit)
{
	return spe_output_irq(&((struct spe *)unit)->out);
}

static const struct auxtap_trace_unit spe_unit = {
	.size = sizeof(spe_unit),
	.name = "arm_spe",
	.driver = "arm_spe",
	.create = spe_create,
	.destroy = free,
	.reg_read = spe_reg_read,
	.reg_write = spe_reg_write,
	.produce = spe_produce,
	.irq_level = spe_irq_level,
};

static void normalise(void *unit, bool closed)
{
	struct spe *spe = unit;
	struct spe_output *out = &spe->out;

	/* the distance from now; 0: none is pending */
	out->irq_at -= out->irq_pending ? out->nr_written + out->nr_dropped : out->irq_at;
	out->nr_written = out->nr_dropped = out->nr_padding = 0;
	out->nr_records = out->nr_records_dropped = 0;
	spe->nr_bytes = 0;
	if (closed && !(out->limitr & 1))
		out->limitr = out->ptr = 0;
}

/* without the memory at the end of the struct, which is never read */
const struct unit_state unit_spe_state = {offsetof(struct spe, memory), normalise};

const struct auxtap_trace_unit *unit_spe(void)
{
	return &spe_unit;
}
