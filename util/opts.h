/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Option structs that cross the API begin with their own size, so that a program and a library of
 * different versions understand each other. This helper decides for all of them.
 */
#ifndef UTIL_OPTS_H
#define UTIL_OPTS_H

#include <auxtap/error.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define OPTS_SIZE_MAX 4096 /* more than any version will have: a size that nothing has set */

/* The size that a struct had when this was its last member. */
#define OPTS_SIZE_AT(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/*
 * Copies the options that a caller has given into the library's own struct. What a shorter (older)
 * struct does not have becomes zero, the default of every option. A longer (newer) one is accepted
 * where what this library does not know is zero. first_size: of the first version of the struct.
 * -EINVAL: the size is not set, or smaller than that; -E2BIG: an option that is not known here.
 */
static inline int opts_take(void *known, size_t known_size, size_t first_size, const void *given,
			    const char *what, struct auxtap_error *err)
{
	const unsigned char *bytes = given;
	size_t size = *(const size_t *)given;

	if (size < first_size || size > OPTS_SIZE_MAX) {
		auxtap_error_set(err, -EINVAL, what, "size is %zu; this version's is %zu", size,
				 known_size);
		auxtap_error_todo(err, "set the member size to the size of the struct");
		return -EINVAL;
	}
	for (size_t i = known_size; i < size; i++) {
		if (bytes[i]) {
			auxtap_error_set(err, -E2BIG, what,
					 "byte %zu is set, which this version does not know", i);
			auxtap_error_todo(err, "use the library that the program was built for");
			return -E2BIG;
		}
	}
	memset(known, 0, known_size);
	memcpy(known, given, size < known_size ? size : known_size);
	memcpy(known, &known_size, sizeof(known_size));
	return 0;
}

#endif
