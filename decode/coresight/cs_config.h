/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CoreSight: what is known of each trace unit before a byte of its trace is read: protocol,
 * trace ID, registers. From perf.data's AUXTRACE_INFO here, from a snapshot's .ini files in
 * cs_snapshot.c. All of it is untrusted.
 */
#ifndef AUXTAP_CS_CONFIG_H
#define AUXTAP_CS_CONFIG_H

#include <auxtap/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_ID_NONE 0xff
#define CS_NR_IDS  128 /* of which 0 and from 0x70 on are reserved */

enum cs_protocol {
	CS_PROTOCOL_NONE,
	CS_PROTOCOL_ETMV3,
	CS_PROTOCOL_PTM,
	CS_PROTOCOL_ETMV4,
	CS_PROTOCOL_ETE,
	CS_PROTOCOL_STM,
	CS_PROTOCOL_ITM,
};

/* The architecture of the core; newer ones are taken for the newest here. */
enum cs_arch {
	CS_ARCH_UNKNOWN,
	CS_ARCH_V7,
	CS_ARCH_V8,
	CS_ARCH_V8R3,
	CS_ARCH_AA64,
};

enum cs_profile {
	CS_PROFILE_UNKNOWN,
	CS_PROFILE_A,
	CS_PROFILE_R,
	CS_PROFILE_M,
};

/* Which code an address is of; 0: any. Bits, as a core's memory dumps are of several. */
#define CS_SPACE_EL1S 0x01 /* and EL0 */
#define CS_SPACE_EL1N 0x02
#define CS_SPACE_EL2  0x04
#define CS_SPACE_EL3  0x08
#define CS_SPACE_EL2S 0x10
#define CS_SPACE_S    (CS_SPACE_EL1S | CS_SPACE_EL2S | CS_SPACE_EL3)
#define CS_SPACE_N    (CS_SPACE_EL1N | CS_SPACE_EL2)
#define CS_SPACE_ANY  (CS_SPACE_S | CS_SPACE_N)

/* Registers, as far as the protocol has them. */
struct cs_regs {
	uint32_t traceidr; /* ETMTRACEIDR, TRCTRACEIDR */
	/* ETMv4, ETE; idr9 to idr13 and devarch of one of them */
	uint32_t configr, idr0, idr1, idr2, idr8, idr9, idr10, idr11, idr12, idr13, devarch;
	/* ETMv3, PTM */
	uint32_t ctrl, ccer, idr;
	/* STM: STMTCSR; ITM: ITMTCR */
	uint32_t tcr;
	uint32_t feat3r, devid; /* STM */
};

struct cs_unit {
	enum cs_protocol protocol;
	int cpu;       /* -1: no CPU's, or not known */
	uint8_t id;    /* trace ID; CS_ID_NONE: not recorded yet */
	uint64_t sink; /* IDs are unique per sink; 0: one sink for all */
	/* of perf's header: TRFCR.TS, 1 is the virtual counter; UINT64_MAX: not recorded */
	uint64_t ts_source;
	enum cs_arch arch;
	enum cs_profile profile;
	struct cs_regs regs;
};

struct cs_config {
	struct cs_unit *units;
	size_t nr;
	bool snapshot; /* perf.data: recorded with --snapshot */
};

const char *cs_protocol_name(enum cs_protocol protocol);
/* The system call's exception, by the unit's protocol. */
bool cs_exception_is_call(enum cs_protocol protocol, uint32_t number);
/* The number that goes into a unit's ID register too, so that the library agrees. */
void cs_unit_set_id(struct cs_unit *unit, uint8_t id);
/*
 * Which of the context's numbers is the thread's: 0 none, 1 CONTEXTIDR (EL1), 2 that of EL2 (VMID).
 */
int cs_unit_thread_register(const struct cs_unit *unit);
/* Does its trace have timestamps of the virtual counter? perf's clock is made from that one. */
bool cs_unit_has_timestamps(const struct cs_unit *unit);
#define CS_TS_VIRTUAL 1 /* of ts_source */

/* AUXTRACE_INFO's array after the type. */
int cs_config_from_info(struct cs_config *config, const uint64_t *priv, size_t nr,
			struct auxtap_error *err);
/* PERF_RECORD_AUX_OUTPUT_HW_ID of a CPU: false where it means nothing to us. */
bool cs_config_hw_id(struct cs_config *config, int cpu, uint64_t hw_id);
/*
 * Units whose trace can be in a buffer of cpu: raw that CPU's own, else all that share its sink.
 * How many.
 */
size_t cs_config_units(const struct cs_config *config, int cpu, bool raw,
		       const struct cs_unit *units[CS_NR_IDS]);
void cs_config_free(struct cs_config *config);

#endif
