/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CoreSight: the configuration of each trace unit that is needed to decode its trace: protocol,
 * trace ID, registers. It is read from perf.data's AUXTRACE_INFO here, from a snapshot's .ini files
 * in cs_snapshot.c. All input is untrusted.
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

/* The architecture of the core; a newer one is decoded as the newest one in this list. */
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

/* Memory spaces: a mask of exception levels and security states; 0: any. */
#define CS_SPACE_EL1S 0x01 /* and EL0 */
#define CS_SPACE_EL1N 0x02
#define CS_SPACE_EL2  0x04
#define CS_SPACE_EL3  0x08
#define CS_SPACE_EL2S 0x10
#define CS_SPACE_S    (CS_SPACE_EL1S | CS_SPACE_EL2S | CS_SPACE_EL3)
#define CS_SPACE_N    (CS_SPACE_EL1N | CS_SPACE_EL2)
#define CS_SPACE_ANY  (CS_SPACE_S | CS_SPACE_N)

/* Registers of the unit; those that its protocol does not have are 0. */
struct cs_regs {
	uint32_t traceidr; /* ETMTRACEIDR, TRCTRACEIDR */
	/* ETMv4, ETE; idr9 to idr13 only ETMv4, devarch only ETE */
	uint32_t configr, idr0, idr1, idr2, idr8, idr9, idr10, idr11, idr12, idr13, devarch;
	/* ETMv3, PTM */
	uint32_t ctrl, ccer, idr;
	/* STM: STMTCSR; ITM: ITMTCR */
	uint32_t tcr;
	uint32_t feat3r, devid; /* STM */
};

struct cs_unit {
	enum cs_protocol protocol;
	int cpu;       /* -1: it traces no CPU, or the CPU is not known */
	uint8_t id;    /* trace ID; CS_ID_NONE: not recorded yet */
	uint64_t sink; /* IDs are unique per sink; 0: one sink for all */
	/* TRFCR_ELx.TS as recorded by perf: 1 is the virtual counter; UINT64_MAX: not recorded */
	uint64_t ts_source;
	enum cs_arch arch;
	enum cs_profile profile;
	struct cs_regs regs;
};

struct cs_config {
	struct cs_unit *units;
	size_t nr;
	bool snapshot_mode; /* perf.data: recorded with --snapshot */
};

const char *cs_protocol_name(enum cs_protocol protocol);
/* Whether the protocol's exception number means a call: SVC, HVC or SMC. */
bool cs_exception_is_call(enum cs_protocol protocol, uint32_t number);
/* Sets the trace ID, also in the ID register that the library reads. */
void cs_unit_set_id(struct cs_unit *unit, uint8_t id);
/* Where the trace has the thread's PID: 0 nowhere, 1 CONTEXTIDR_EL1, 2 CONTEXTIDR_EL2 (as VMID). */
int cs_unit_thread_register(const struct cs_unit *unit);
/* Whether its trace has timestamps of the virtual counter, which convert to perf's clock. */
bool cs_unit_has_timestamps(const struct cs_unit *unit);
#define CS_TS_VIRTUAL 1 /* value of ts_source */

/* priv: the array of AUXTRACE_INFO after the type */
int cs_config_from_info(struct cs_config *config, const uint64_t *priv, size_t nr,
			struct auxtap_error *err);
/* Takes the trace ID of cpu from PERF_RECORD_AUX_OUTPUT_HW_ID; false: the record was ignored. */
bool cs_config_hw_id(struct cs_config *config, int cpu, uint64_t hw_id);
/*
 * Units whose trace can be in a buffer of cpu: for raw trace only that CPU's, else all units that
 * share its sink. Returns their number.
 */
size_t cs_config_units(const struct cs_config *config, int cpu, bool raw,
		       const struct cs_unit *units[CS_NR_IDS]);
void cs_config_free(struct cs_config *config);

#endif
