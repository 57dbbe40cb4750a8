// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file whose name comes from a recording is opened only if the users who could choose the name
 * may read it. Opening a device or FIFO does not block.
 */
#include "open_for_users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define MAX_USERS  4

/*
 * Whether the user may do this: 4 read, 1 search. The user's groups are unknown: both the group's
 * and the others' bits must permit it.
 */
static bool permitted(const struct stat *st, uid_t uid, unsigned int what)
{
	if (uid == 0)
		return true;
	if (st->st_uid == uid)
		return st->st_mode >> 6 & what;
	return (st->st_mode >> 3 & what) && (st->st_mode & what);
}

static bool all_permitted(int fd, const uid_t *uids, size_t nr_uids, unsigned int what)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	for (size_t i = 0; i < nr_uids; i++)
		if (!permitted(&st, uids[i], what)) {
			errno = EACCES;
			return false;
		}
	return true;
}

/* Opens the path from the root on and checks each directory; follows no symbolic links. */
static int open_as(char *path, const uid_t *uids, size_t nr_uids)
{
	int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	char *save = NULL, *name = strtok_r(path, "/", &save), *next;

	while (dir >= 0 && name && all_permitted(dir, uids, nr_uids, 1)) {
		next = strtok_r(NULL, "/", &save);
		if (!next) {
			fd = openat(dir, name, OPEN_FLAGS | O_NOFOLLOW);
			break;
		}
		fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(dir);
		dir = fd;
		fd = -1;
		name = next;
	}
	if (dir >= 0)
		close(dir);
	if (fd >= 0 && !all_permitted(fd, uids, nr_uids, 4)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int open_for_users(const char *file, const uid_t *uids, size_t nr_uids)
{
	uid_t others[MAX_USERS];
	size_t nr_others = 0;
	char *real;
	int fd, error;

	/* for this process the kernel itself checks the permissions */
	for (size_t i = 0; i < nr_uids && i < MAX_USERS; i++)
		if (uids[i] != 0 && uids[i] != geteuid())
			others[nr_others++] = uids[i];
	if (!nr_others)
		return open(file, OPEN_FLAGS);
	real = realpath(file, NULL);
	fd = real ? open_as(real, others, nr_others) : -1;
	error = errno;
	free(real);
	errno = error;
	return fd;
}
