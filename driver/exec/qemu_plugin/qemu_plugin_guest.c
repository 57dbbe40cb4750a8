// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads the guest's memory from inside qemu, where any address may be invalid: the kernel does the
 * copy, so that a fault is an error instead of a signal.
 */
#include "qemu_plugin.h"
#include "util/vector.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIPE_PART 4096 /* write() to an empty pipe takes that many bytes at once */

/* write() also checks the memory, and filters do not deny it. */
static int copy_by_pipe(const void *from, void *to, size_t size)
{
	size_t done = 0;
	int fd[2];

	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK))
		return -EFAULT;
	while (done < size) {
		size_t part = size - done < PIPE_PART ? size - done : PIPE_PART;

		if (write(fd[1], (const u8 *)from + done, part) != (ssize_t)part ||
		    read(fd[0], (u8 *)to + done, part) != (ssize_t)part)
			break;
		done += part;
	}
	close(fd[0]);
	close(fd[1]);
	return done == size ? 0 : -EFAULT;
}

int qp_read(u64 addr, void *buf, size_t size)
{
	struct iovec local = {buf, size};
	struct iovec remote = {(void *)(uintptr_t)(qp.guest_base + addr), size};

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size)
		return 0;
	/* a container may deny the call */
	return errno == EFAULT ? -EFAULT : copy_by_pipe(remote.iov_base, buf, size);
}

char *qp_read_string(u64 addr, size_t max)
{
	size_t size = 0, capacity = 0;
	char *text = NULL;

	while (size < max) {
		/* never across a page boundary: the next page may be unmapped */
		size_t part = QEMU_PAGE - ((addr + size) & (QEMU_PAGE - 1));
		char *end;

		if (part > 256)
			part = 256;
		if (vector_grow_by(text, size, part, capacity) ||
		    qp_read(addr + size, text + size, part))
			break;
		end = memchr(text + size, 0, part);
		if (end)
			return text;
		size += part;
	}
	free(text);
	return NULL;
}
