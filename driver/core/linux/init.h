/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Annotations only; see compiler.h. */
#include <linux/compiler.h>
