/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The replay source, of whatever kind the unit is: replay.c produces, replay_data.c has what is
 * produced. The unit's side is unit.c, or arm_unit.c.
 */
#ifndef AUXTAP_KMOD_REPLAY_H
#define AUXTAP_KMOD_REPLAY_H

#include <linux/types.h>

struct dentry;

/* Is it selected? */
bool replay_selected(void);
/* This CPU's unit was switched on, and wants bytes. It is about to be switched off. */
void replay_on(void);
void replay_off(void);
void replay_init(struct dentry *dir);
void replay_exit(void);

/* ---- the unit's side: on this CPU, interrupts off ---- */

/*
 * Bytes for the unit: how many of them it has taken, *nr_written of which are in memory. 0: these
 * are too few, there must be more at once.
 */
size_t unit_produce(const u8 *bytes, size_t nr_bytes, size_t *nr_written);
/* An interrupt is on its way, and comes in when we return. */
bool unit_interrupt_pending(void);
/* What unit_produce() takes at once, at most. */
extern const unsigned int unit_piece_max;

/* ---- inside ---- */

/* Never changed once it can be got. */
struct replay_data {
	u64 nr_bytes; /* never 0 */
	u8 bytes[];
};

/* NULL: nothing. It lives until rcu_read_unlock(). */
const struct replay_data *replay_data_get(void);
void replay_data_init(struct dentry *dir);
void replay_data_exit(void);

#endif
