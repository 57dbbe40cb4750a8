/* SPDX-License-Identifier: BSD-2-Clause */
/* Which CPU took a sample: what its data source means goes by that. */
#ifndef AUXTAP_SPE_SOURCES_H
#define AUXTAP_SPE_SOURCES_H

#include <auxtap/perfdata.h>
#include <auxtap/spe.h>
#include <stdbool.h>

/* MIDR_EL1 of a CPU of the machine that recorded the file; 0: not known. cpu -1: of any. */
uint64_t spe_midr(struct auxtap_perfdata *pd, int cpu);

/*
 * Was the unit a model? The recorder's metadata says so. Then addresses and operations are the
 * program's; latencies, events of caches and predictors and data sources are the model's.
 */
bool spe_is_emulated(struct auxtap_perfdata *pd);

#endif
