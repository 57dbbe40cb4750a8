/* SPDX-License-Identifier: BSD-2-Clause */
/* The actions that are possible in a state of a small configuration (actions.c), for explore.c. */
#ifndef AUXTAP_WATERMARK_EXPLORE_H
#define AUXTAP_WATERMARK_EXPLORE_H

#include "units.h"
#include "sim.h"

/* Actions by their letters in a path: struct auxtap_explore_result in auxtap/watermark.h. */
enum {
	ACT_PRODUCE = 'p',
	ACT_IRQ = 'i',
	ACT_SWITCH = 's',
	ACT_READ = 'r',
	ACT_READ_ALL = 'a',
	ACT_SLEEP = 'e',
	ACT_STALL_CHECK = 'w',
	ACT_UNMAP = 'u', /* always the last one */
};
#define MAX_ACTIONS 8

/* Makes the machine in its first state. No time passes in it. NULL: see *err. */
struct sim *explore_sim(const struct auxtap_watermark_config *config,
			struct auxtap_watermark_result *r, struct auxtap_error *err);
/* Fills in the possible actions, but ACT_UNMAP; returns their number. */
unsigned int explore_actions(const struct sim *sim, u8 *actions);
/* Performs the action ACT_…: the machine is then in another state. */
void explore_act(struct sim *sim, u8 action);
/* Lowers all counters and positions as far as the state remains equivalent. */
void explore_normalise(struct sim *sim);
#define MAX_SLIPS 2
/* Whether to prune the state: padding has shifted positions by more than MAX_SLIPS bytes. */
bool explore_is_pruned(const struct sim *sim);
/* All memory that belongs to a state. Returns the number of ranges; above max: too many. */
size_t explore_ranges(struct sim *sim, struct core_range *ranges, size_t max);

#endif
