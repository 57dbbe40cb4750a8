/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Structs of the public API begin with their own size, so that a program and a library of different
 * versions work together. All of them are copied with these functions; docs/api.md states the rule
 * for callers.
 */
#ifndef UTIL_SIZED_H
#define UTIL_SIZED_H

#include <auxtap/error.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define SIZED_MAX 65536 /* no struct of any version is larger: such a size was not initialised */

/* The size that a struct had when 'member' was its last member. */
#define SIZED_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/*
 * Checks that a caller has set the size of its struct. first_size: size of the first version of the
 * struct; own_size: size in this version. 0, or -EINVAL.
 */
static inline int sized_check(const void *given, size_t own_size, size_t first_size,
			      const char *what, struct auxtap_error *err)
{
	size_t size;

	memcpy(&size, given, sizeof(size));
	if (size >= first_size && size <= SIZED_MAX)
		return 0;
	auxtap_error_set(err, -EINVAL, what, "size is %zu; this version's is %zu", size, own_size);
	auxtap_error_hint(err, "set the member size to the size of the struct");
	return -EINVAL;
}

/*
 * For options: copies a caller's struct into the library's own one, like the kernel's
 * copy_struct_from_user(); given NULL: all defaults. Members that a shorter (older) struct lacks
 * become zero, the default of every option. A longer (newer) one is accepted if the bytes that this
 * library does not know are zero. -EINVAL: as sized_check(); -E2BIG: an unknown option is set.
 */
static inline int sized_copy_in(void *own, size_t own_size, size_t first_size, const void *given,
				const char *what, struct auxtap_error *err)
{
	const unsigned char *bytes = given;
	size_t size = 0;
	int ret = 0;

	memset(own, 0, own_size);
	if (given) {
		memcpy(&size, given, sizeof(size));
		ret = sized_check(given, own_size, first_size, what, err);
	}
	for (size_t i = own_size; !ret && i < size; i++) {
		if (!bytes[i])
			continue;
		ret = auxtap_error_set(err, -E2BIG, what,
				       "byte %zu is set, which this version does not know", i);
		auxtap_error_hint(err, "use the library that the program was built for");
	}
	if (!ret && given)
		memcpy(own, given, size < own_size ? size : own_size);
	memcpy(own, &own_size, sizeof(own_size));
	return ret;
}

/*
 * For results: copies the library's own struct into that of a caller, whose size sized_check() has
 * accepted. A shorter struct gets the members that it has; the unknown rest of a longer one becomes
 * zero. The caller's size is kept.
 */
static inline void sized_copy_out(void *given, const void *own, size_t own_size)
{
	const size_t skip = sizeof(size_t);
	size_t size;

	memcpy(&size, given, sizeof(size));
	if (size > own_size)
		memset((char *)given + own_size, 0, size - own_size);
	memcpy((char *)given + skip, (const char *)own + skip,
	       (size < own_size ? size : own_size) - skip);
}

#endif
