/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Structs that cross the API begin with their own size, so that a program and a library of
 * different versions understand each other. These helpers decide for all of them; docs/api.md
 * states the rule for callers.
 */
#ifndef UTIL_SIZED_H
#define UTIL_SIZED_H

#include <auxtap/error.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define SIZED_MAX 65536 /* more than any struct of any version: a size that nothing has set */

/* The size that a struct had when this was its last member. */
#define SIZED_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/*
 * Whether a caller has set the size of its struct. first_size: of the first version of the struct;
 * known_size: of this version. 0, or -EINVAL.
 */
static inline int sized_check(const void *given, size_t known_size, size_t first_size,
			      const char *what, struct auxtap_error *err)
{
	size_t size;

	memcpy(&size, given, sizeof(size));
	if (size >= first_size && size <= SIZED_MAX)
		return 0;
	auxtap_error_set(err, -EINVAL, what, "size is %zu; this version's is %zu", size,
			 known_size);
	auxtap_error_hint(err, "set the member size to the size of the struct");
	return -EINVAL;
}

/*
 * Options: copies those that a caller has given into the library's own struct; given NULL: all
 * defaults. What a shorter (older) struct does not have becomes zero, the default of every option.
 * A longer (newer) one is accepted where what this library does not know is zero. -EINVAL: as
 * sized_check(); -E2BIG: an option that is not known here.
 */
static inline int sized_take(void *known, size_t known_size, size_t first_size, const void *given,
			     const char *what, struct auxtap_error *err)
{
	const unsigned char *bytes = given;
	size_t size = 0;
	int ret = 0;

	memset(known, 0, known_size);
	if (given) {
		memcpy(&size, given, sizeof(size));
		ret = sized_check(given, known_size, first_size, what, err);
	}
	for (size_t i = known_size; !ret && i < size; i++) {
		if (!bytes[i])
			continue;
		ret = auxtap_error_set(err, -E2BIG, what,
				       "byte %zu is set, which this version does not know", i);
		auxtap_error_hint(err, "use the library that the program was built for");
	}
	if (!ret && given)
		memcpy(known, given, size < known_size ? size : known_size);
	memcpy(known, &known_size, sizeof(known_size));
	return ret;
}

/*
 * Results: copies the library's own struct into that of a caller, whose size sized_check() has
 * accepted. A shorter struct gets the members that it has; what this library does not know of a
 * longer one becomes zero. The caller's size stays.
 */
static inline void sized_give(void *given, const void *known, size_t known_size)
{
	const size_t skip = sizeof(size_t);
	size_t size;

	memcpy(&size, given, sizeof(size));
	if (size > known_size)
		memset((char *)given + known_size, 0, size - known_size);
	memcpy((char *)given + skip, (const char *)known + skip,
	       (size < known_size ? size : known_size) - skip);
}

#endif
