// SPDX-License-Identifier: BSD-2-Clause
/* See cs_config.h. */
#include "cs_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* perf record writes one of these before the registers of each CPU. */
#define MAGIC_ETMV3 0x3030303030303030ull
#define MAGIC_ETMV4 0x4040404040404040ull
#define MAGIC_ETE   0x5050505050505050ull

#define VERSION_MAX	  1
#define ID_UNUSED	  (1u << 31) /* in a trace ID register: wait for the HW_ID record */
#define ID_MASK		  0x7f
#define ETMIDR_MAJOR(idr) ((idr) >> 8 & 0xf)

#define CONFIGR_CID	(1u << 6)
#define CONFIGR_VMID	(1u << 7)
#define CONFIGR_TS	(1u << 11)
#define CONFIGR_VMIDOPT (1u << 15)
#define ETMCR_CID	(3u << 14)

#define HW_ID_SINK(v)  ((v) >> 8 & 0xffffffffull)
#define HW_ID_MINOR(v) ((v) >> 56 & 0xf)
#define HW_ID_MAJOR(v) ((v) >> 60)

const char *cs_protocol_name(enum cs_protocol protocol)
{
	static const char *const names[] = {"no trace", "ETMv3", "PTM", "ETMv4",
					    "ETE",	"STM",	 "ITM"};

	return names[protocol];
}

bool cs_exception_is_call(enum cs_protocol protocol, uint32_t number)
{
	switch (protocol) {
	case CS_PROTOCOL_ETMV4:
	case CS_PROTOCOL_ETE:
		return number == 2;
	case CS_PROTOCOL_ETMV3:
	case CS_PROTOCOL_PTM:
		return number == 2 || number == 3 || number == 10;
	default:
		return false;
	}
}

void cs_unit_set_id(struct cs_unit *unit, uint8_t id)
{
	unit->id = id;
	unit->regs.traceidr = id;
}

int cs_unit_thread_register(const struct cs_unit *unit)
{
	switch (unit->protocol) {
	case CS_PROTOCOL_ETMV3:
	case CS_PROTOCOL_PTM:
		return unit->regs.ctrl & ETMCR_CID ? 1 : 0;
	case CS_PROTOCOL_ETMV4:
	case CS_PROTOCOL_ETE:
		break;
	default:
		return 0;
	}
	/* A kernel at EL2 (VHE) keeps the PID in CONTEXTIDR_EL2, which is traced as the VMID. */
	if ((unit->regs.configr & (CONFIGR_VMID | CONFIGR_VMIDOPT)) ==
	    (CONFIGR_VMID | CONFIGR_VMIDOPT))
		return 2;
	return unit->regs.configr & CONFIGR_CID ? 1 : 0;
}

bool cs_unit_has_timestamps(const struct cs_unit *unit)
{
	if (unit->ts_source != CS_TS_VIRTUAL)
		return false;
	return (unit->protocol == CS_PROTOCOL_ETE || unit->protocol == CS_PROTOCOL_ETMV4) &&
	       unit->regs.configr & CONFIGR_TS;
}

/* ---- AUXTRACE_INFO ---- */

static void set_id(struct cs_unit *unit, uint64_t reg)
{
	unit->id = CS_ID_NONE;
	if (!(reg & ID_UNUSED))
		cs_unit_set_id(unit, reg & ID_MASK);
}

/* ETMCR, ETMTRACEIDR, ETMCCER, ETMIDR */
static void parse_etmv3(struct cs_unit *unit, const uint64_t *v)
{
	bool ptm = ETMIDR_MAJOR((uint32_t)v[3]) == 3;

	unit->protocol = ptm ? CS_PROTOCOL_PTM : CS_PROTOCOL_ETMV3;
	unit->regs.ctrl = (uint32_t)v[0];
	unit->regs.ccer = (uint32_t)v[2];
	unit->regs.idr = (uint32_t)v[3];
	unit->arch = CS_ARCH_V7;
	set_id(unit, v[1]);
}

/*
 * TRCCONFIGR, TRCTRACEIDR, TRCIDR0, 1, 2, 8, TRCAUTHSTATUS. The file does not say which
 * architecture the CPU has; the newest one includes the instructions of the older ones.
 */
static void parse_etmv4(struct cs_unit *unit, const uint64_t *v, size_t nr)
{
	unit->protocol = CS_PROTOCOL_ETMV4;
	unit->regs.configr = (uint32_t)v[0];
	unit->regs.idr0 = (uint32_t)v[2];
	unit->regs.idr1 = (uint32_t)v[3];
	unit->regs.idr2 = (uint32_t)v[4];
	unit->regs.idr8 = (uint32_t)v[5];
	unit->arch = CS_ARCH_AA64;
	set_id(unit, v[1]);
	if (nr > 7)
		unit->ts_source = v[7];
}

/* The registers of ETMv4, then TRCDEVARCH. */
static void parse_ete(struct cs_unit *unit, const uint64_t *v, size_t nr)
{
	parse_etmv4(unit, v, 7);
	unit->protocol = CS_PROTOCOL_ETE;
	unit->regs.devarch = (uint32_t)v[7];
	if (nr > 8)
		unit->ts_source = v[8];
}

/* Reads one CPU's block of at most nr words; returns its length in words, 0 if it is invalid. */
static size_t parse_unit(struct cs_unit *unit, uint64_t version, const uint64_t *v, size_t nr)
{
	size_t need, head = version ? 3 : 2, regs;

	if (nr < head)
		return 0;
	switch (v[0]) {
	case MAGIC_ETMV3:
		need = 4;
		break;
	case MAGIC_ETMV4:
		need = 7;
		break;
	case MAGIC_ETE:
		need = 8;
		break;
	default:
		return 0;
	}
	/* Version 1 says how many registers follow; newer perf may write more than known here. */
	regs = version ? (v[2] > nr ? nr : (size_t)v[2]) : need;
	if (regs < need || nr - head < regs)
		return 0;
	unit->cpu = v[1] > INT32_MAX ? -1 : (int)v[1];
	unit->ts_source = UINT64_MAX;
	unit->profile = CS_PROFILE_A;
	if (v[0] == MAGIC_ETMV3)
		parse_etmv3(unit, v + head);
	else if (v[0] == MAGIC_ETMV4)
		parse_etmv4(unit, v + head, regs);
	else
		parse_ete(unit, v + head, regs);
	return head + regs;
}

/* [0] version; [1] PMU type << 32 | number of CPUs; [2] snapshot mode; then a block for each CPU */
int cs_config_from_info(struct cs_config *config, const uint64_t *priv, size_t nr,
			struct auxtap_error *err)
{
	size_t nr_cpus, at = 3;

	memset(config, 0, sizeof(*config));
	if (nr < 3)
		return auxtap_error_set(err, -EBADMSG, "AUXTRACE_INFO",
					"has %zu words; CoreSight needs at least 3", nr);
	if (priv[0] > VERSION_MAX)
		return auxtap_error_set(err, -ENOTSUP, "AUXTRACE_INFO",
					"version %llu of CoreSight's metadata is not known",
					(unsigned long long)priv[0]);
	nr_cpus = priv[1] & UINT32_MAX;
	config->snapshot_mode = priv[2];
	if (nr_cpus > (nr - at) / 6) /* the shortest block has 6 words */
		return auxtap_error_set(err, -EBADMSG, "AUXTRACE_INFO",
					"lists %zu CPUs, but is too short for them", nr_cpus);
	if (!nr_cpus)
		return auxtap_error_set(err, -EBADMSG, "AUXTRACE_INFO", "names no CPU");
	config->units = calloc(nr_cpus, sizeof(*config->units));
	if (!config->units)
		return auxtap_error_set(err, -ENOMEM, "AUXTRACE_INFO", "out of memory");
	for (size_t i = 0; i < nr_cpus; i++) {
		size_t used = parse_unit(&config->units[i], priv[0], priv + at, nr - at);

		if (!used) {
			cs_config_free(config);
			return auxtap_error_set(err, -EBADMSG, "AUXTRACE_INFO",
						"metadata block %zu is invalid", i);
		}
		config->nr++;
		at += used;
	}
	return 0;
}

bool cs_config_hw_id(struct cs_config *config, int cpu, uint64_t hw_id)
{
	uint8_t id = hw_id & ID_MASK;

	if (HW_ID_MAJOR(hw_id))
		return false;
	for (size_t i = 0; i < config->nr; i++) {
		struct cs_unit *unit = &config->units[i];

		if (unit->cpu != cpu)
			continue;
		cs_unit_set_id(unit, id);
		unit->sink = HW_ID_MINOR(hw_id) ? HW_ID_SINK(hw_id) : 0;
		return true;
	}
	return false;
}

size_t cs_config_units(const struct cs_config *config, int cpu, bool raw,
		       const struct cs_unit *units[CS_NR_IDS])
{
	bool seen[CS_NR_IDS] = {false};
	const struct cs_unit *own = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < config->nr && !own; i++)
		if (config->units[i].cpu == cpu)
			own = &config->units[i];
	if (raw && own)
		units[nr++] = own;
	/* trace IDs are unique within a sink */
	for (size_t i = 0; !raw && i < config->nr; i++) {
		const struct cs_unit *unit = &config->units[i];

		if (unit->id >= CS_NR_IDS || seen[unit->id] || (own && own->sink != unit->sink))
			continue;
		seen[unit->id] = true;
		units[nr++] = unit;
	}
	return nr;
}

void cs_config_free(struct cs_config *config)
{
	free(config->units);
	memset(config, 0, sizeof(*config));
}
