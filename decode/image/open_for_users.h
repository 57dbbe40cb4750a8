/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens files that a recording names, with the rights of its owner. */
#ifndef AUXTAP_OPEN_FOR_USERS_H
#define AUXTAP_OPEN_FOR_USERS_H

#include <sys/types.h>

/*
 * Opens the file for reading if this process and each of the users may read it ((uid_t)-1: an
 * unknown user). Returns a descriptor, or -1 and errno, which is EACCES if a user may not.
 */
int open_for_users(const char *file, const uid_t *uids, size_t nr_uids);

#endif
