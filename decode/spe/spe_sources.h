/* SPDX-License-Identifier: BSD-2-Clause */
/* The CPU that took a sample: the meaning of its data source depends on the CPU model. */
#ifndef AUXTAP_SPE_SOURCES_H
#define AUXTAP_SPE_SOURCES_H

#include <auxtap/perfdata.h>
#include <auxtap/spe.h>
#include <stdbool.h>

/* MIDR_EL1 of a CPU of the machine that recorded the file; 0: not known. cpu -1: any CPU. */
uint64_t spe_midr(struct auxtap_perfdata *pd, int cpu);

/*
 * Whether the recorder's metadata says that the SPE unit was emulated. Then addresses and
 * operations are those of the program, but latencies, data sources, and events of caches and branch
 * predictors are made up by the model.
 */
bool spe_is_emulated(struct auxtap_perfdata *pd);

#endif
