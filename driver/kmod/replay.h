/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The replay source of one kind of unit: replay.c produces, replay_data.c has what is produced.
 * The units' side: kmod_unit_pt.c; kmod_unit_spe.c, kmod_unit_etm.c on arm64.
 */
#ifndef AUXTAP_KMOD_REPLAY_H
#define AUXTAP_KMOD_REPLAY_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/types.h>

struct dentry;
struct replay_cpu;
struct replay_data;

/* The unit's side: called on its CPU, with interrupts off. */
struct replay_unit {
	/*
	 * Bytes for the unit: how many of them it has taken, *nr_written of which are in memory.
	 * 0: these are too few, there must be more at once.
	 */
	size_t (*produce)(const u8 *bytes, size_t nr_bytes, size_t *nr_written);
	/* An interrupt is on its way, and comes in when we return. */
	bool (*interrupt_pending)(void);
	/* What produce() takes at once, at most. */
	unsigned int piece_max;
};

struct replay {
	const struct replay_unit *unit;
	struct replay_cpu __percpu *cpus;
	u64 rate, limit;
	atomic64_t nr_reserved; /* of the limit */
	struct replay_data __rcu *data;
	struct { /* who writes the next data */
		atomic_t taken;
		struct mutex lock; /* its threads' writes */
		struct replay_data *data;
		size_t room;
		bool failed;
	} writer;
};

/* Is it selected, instead of what else the units could do? */
bool replay_selected(void);
/* This CPU's unit was switched on, and wants bytes. It is about to be switched off. */
void replay_on(struct replay *replay);
void replay_off(struct replay *replay);
/* 0 or a negative errno. A folder replay appears in dir; it is to be gone before replay_exit(). */
int replay_init(struct replay *replay, const struct replay_unit *unit, struct dentry *dir);
void replay_exit(struct replay *replay);

/* ---- inside ---- */

/* Never changed once it can be got. */
struct replay_data {
	u64 nr_bytes; /* never 0 */
	u8 bytes[];
};

/* NULL: nothing. It lives until rcu_read_unlock(). */
const struct replay_data *replay_data_get(struct replay *replay);
void replay_data_init(struct replay *replay, struct dentry *dir);
void replay_data_exit(struct replay *replay);

#endif
