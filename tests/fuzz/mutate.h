/* SPDX-License-Identifier: BSD-2-Clause */
/* What mutate.c and mutate_records.c tell each other. */
#ifndef TEST_MUTATE_H
#define TEST_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Below 'below', or any number if that is 0. */
uint64_t mutate_rnd(uint64_t below);
/* A number that lengths and offsets stumble over. */
uint64_t mutate_number(size_t file_size);
/* One change to a perf.data file that keeps most of its structure; the new size, at most room. */
size_t mutate_structure(unsigned char *data, size_t size, size_t room);

#endif
