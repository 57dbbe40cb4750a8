/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel split this off kernel.h. */
#include <linux/kernel.h>
