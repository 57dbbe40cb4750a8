/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The replay engine of one kind of unit: replay.c produces bytes, replay_data.c keeps the bytes to
 * produce. Its units are in kmod_unit_pt.c; on arm64 in kmod_unit_spe.c and kmod_unit_etm.c.
 */
#ifndef AUXTAP_KMOD_REPLAY_H
#define AUXTAP_KMOD_REPLAY_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/types.h>

struct dentry;
struct replay_cpu;
struct replay_data;

/* Operations of the unit, called on its CPU with interrupts off. */
struct replay_unit {
	/*
	 * Passes bytes to the unit. Returns how many it has consumed, *nr_written of which are in
	 * memory. 0: the unit needs more bytes at once.
	 */
	size_t (*produce)(const u8 *bytes, size_t nr_bytes, size_t *nr_written);
	/* Whether an interrupt is pending; it is taken when the timer's handler returns. */
	bool (*interrupt_pending)(void);
	/* the largest number of bytes that one call of produce() needs */
	unsigned int chunk_max;
};

struct replay {
	const struct replay_unit *unit;
	struct replay_cpu __percpu *cpus;
	u64 rate, limit;
	atomic64_t nr_reserved; /* of the limit */
	struct replay_data __rcu *data;
	struct { /* the process that writes the next data */
		atomic_t taken;
		struct mutex lock; /* its threads' writes */
		struct replay_data *data;
		size_t capacity;
		bool failed;
	} writer;
};

/* Whether the replay engine is selected, instead of the units' other engines. */
bool replay_selected(void);
/* This CPU's unit was switched on and needs bytes; it is about to be switched off. */
void replay_on(struct replay *replay);
void replay_off(struct replay *replay);
/* 0 or a negative errno. Creates a directory replay in dir; remove it before replay_exit(). */
int replay_init(struct replay *replay, const struct replay_unit *unit, struct dentry *dir);
void replay_exit(struct replay *replay);

/* ---- private ---- */

/* Immutable once published. */
struct replay_data {
	u64 nr_bytes; /* never 0 */
	u8 bytes[];
};

/* NULL: no data. Valid until rcu_read_unlock(). */
const struct replay_data *replay_data_get(struct replay *replay);
void replay_data_init(struct replay *replay, struct dentry *dir);
void replay_data_exit(struct replay *replay);

#endif
