/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by mutate.c and mutate_records.c. */
#ifndef TEST_MUTATE_H
#define TEST_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Below 'below', or any number if that is 0. */
uint64_t mutate_rnd(uint64_t below);
/* A value that is critical for lengths and offsets. */
uint64_t mutate_number(size_t file_size);
/* One change to a perf.data file that keeps most of its structure; the new size, at most room. */
size_t mutate_structure(unsigned char *data, size_t size, size_t max);

#endif
