/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that a recording names, opened with its owner's rights. Not public. */
#ifndef AUXTAP_OPEN_FOR_USERS_H
#define AUXTAP_OPEN_FOR_USERS_H

#include <sys/types.h>

/*
 * Opens the file for reading if this process and each of the users may read it ((uid_t)-1: a user
 * of whom nothing is known). A descriptor, or -1 with errno; EACCES where it is denied.
 */
int open_for_users(const char *file, const uid_t *uids, size_t nr_uids);

#endif
