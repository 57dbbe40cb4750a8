/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel log: lines go to the machine's log function (core.h), if it has one. */
#ifndef AUXTAP_SHIM_LINUX_PRINTK_H
#define AUXTAP_SHIM_LINUX_PRINTK_H

#ifndef pr_fmt
#define pr_fmt(fmt) fmt
#endif

/* No format attribute: %llx is right in a kernel, where u64 is always long long. */
void core_printk(char level, const char *fmt, ...);

#define pr_err(fmt, ...)    core_printk('3', pr_fmt(fmt), ##__VA_ARGS__)
#define pr_warn(fmt, ...)   core_printk('4', pr_fmt(fmt), ##__VA_ARGS__)
#define pr_info(fmt, ...)   core_printk('6', pr_fmt(fmt), ##__VA_ARGS__)
#define pr_debug(fmt, ...)  core_printk('7', pr_fmt(fmt), ##__VA_ARGS__)
#define pr_err_ratelimited  pr_err
#define pr_warn_ratelimited pr_warn
#define pr_warn_once	    pr_warn

#endif
