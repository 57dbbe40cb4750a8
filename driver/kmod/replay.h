/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside of the replay source: replay.c produces, replay_data.c has what is produced. */
#ifndef AUXTAP_KMOD_REPLAY_H
#define AUXTAP_KMOD_REPLAY_H

#include "kmod.h"

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
