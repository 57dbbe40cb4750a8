/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers of a thread that died (report_regs.c). */
#ifndef AUXTAP_REPORT_REGS_H
#define AUXTAP_REPORT_REGS_H

#include <auxtap/crash.h>
#include <stdio.h>

/* False: the register is unknown. */
bool report_regs_ip(const struct auxtap_regs *regs, uint64_t *ip);
bool report_regs_sp(const struct auxtap_regs *regs, uint64_t *sp);
void report_regs_move(struct auxtap_regs *regs, uint64_t ip);
/* Writes an object "registers" of those that are known. */
struct json_out;
void report_regs_json(struct json_out *j, const struct auxtap_regs *regs);
/*
 * The register at index i in the order of printing; false: i is too large. *name is NULL if its
 * value is unknown, or is no pointer to data (ip, flags, sp).
 */
bool report_regs_pointer(const struct auxtap_regs *regs, int i, const char **name, uint64_t *value);
void report_regs_print(FILE *out, const struct auxtap_regs *regs);

#endif
