/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* See bits.h. */
#include <linux/bits.h>
