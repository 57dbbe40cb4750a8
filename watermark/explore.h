/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration that is searched: what can happen in a state (actions.c), for explore.c. */
#ifndef AUXTAP_WATERMARK_EXPLORE_H
#define AUXTAP_WATERMARK_EXPLORE_H

#include "units.h"
#include "sim.h"

/* Their letters: include/auxtap/watermark.h, auxtap_explore_result. */
enum {
	ACT_PRODUCE = 'p',
	ACT_IRQ = 'i',
	ACT_SWITCH = 's',
	ACT_READ = 'r',
	ACT_READ_ALL = 'a',
	ACT_SLEEP = 'e',
	ACT_STALL_CHECK = 'w',
	ACT_UNMAP = 'u', /* the last one: nothing is left to go on */
};
#define MAX_ACTIONS 8

struct sim *explore_sim(const struct auxtap_watermark_config *config,
			struct auxtap_watermark_result *r, struct auxtap_error *err);
/* Those that can happen; how many. */
unsigned int explore_actions(const struct sim *sim, u8 *actions);
void explore_act(struct sim *sim, u8 action);
/* The same state in the smallest numbers: what only counts up is taken back. */
void explore_normalise(struct sim *sim);
/* Not to be followed any further: positions have moved by more than MAX_SLIPS bytes. */
#define MAX_SLIPS 2
bool explore_beyond(const struct sim *sim);
/* All memory that a state is made of. */
size_t explore_ranges(struct sim *sim, struct core_range *ranges, size_t max);

#endif
