/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of emu_program share. */
#ifndef EMU_PROGRAM_H
#define EMU_PROGRAM_H

#include <unistd.h>

#define GOOD 42
#define CHECK(cond)                                  \
	do {                                         \
		if (!(cond))                         \
			_exit(128 + __LINE__ % 128); \
	} while (0)

int targets(void);

#endif
