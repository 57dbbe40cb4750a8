/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The host build links the drivers; nothing is loaded. */
#ifndef AUXTAP_SHIM_LINUX_MODULE_H
#define AUXTAP_SHIM_LINUX_MODULE_H

#include <linux/compiler.h>
#include <linux/init.h>

struct module;
#define THIS_MODULE		 ((struct module *)0)
#define MODULE_LICENSE(text)	 _Static_assert(sizeof(text) > 1, "")
#define MODULE_DESCRIPTION(text) _Static_assert(sizeof(text) > 1, "")
#define MODULE_AUTHOR(text)	 _Static_assert(sizeof(text) > 1, "")
#define EXPORT_SYMBOL_GPL(name)	 _Static_assert(sizeof(&(name)) > 0, "")

#endif
