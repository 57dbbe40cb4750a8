// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reading the guest's memory from inside qemu, where any address may be bad: the kernel is
 * asked to copy, so that a fault is an error and no signal.
 */
#include "qemu_plugin.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int qp_read(u64 addr, void *buf, size_t size)
{
	struct iovec local = { buf, size };
	struct iovec remote = { (void *)(uintptr_t)(qp.guest_base + addr), size };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

char *qp_read_string(u64 addr, size_t max)
{
	size_t size = 0, room = 0;
	char *text = NULL;

	while (size < max) {
		/* never across a page, the next may be missing */
		size_t part = QEMU_PAGE - ((addr + size) & (QEMU_PAGE - 1));
		char *end;

		if (part > 256)
			part = 256;
		if (size + part > room) {
			char *bigger = realloc(text, room = 2 * room + part);

			if (!bigger)
				break;
			text = bigger;
		}
		if (!text || qp_read(addr + size, text + size, part))
			break;
		end = memchr(text + size, 0, part);
		if (end)
			return text;
		size += part;
	}
	free(text);
	return NULL;
}
