/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intel PT packets written by hand, a small program, and decoded events as short lines.
 */
#ifndef TEST_SUPPORT_PT_H
#define TEST_SUPPORT_PT_H

#include <auxtap/decode.h>

struct pt_bytes {
	uint8_t at[8192];
	size_t nr;
};

void pt_raw(struct pt_bytes *pt, const char *hex);
/* PSB, MODE.Exec, FUP if ip, PSBEND */
void pt_psb(struct pt_bytes *pt, uint64_t ip);
void pt_tnt(struct pt_bytes *pt, const char *bits); /* "110", oldest first, up to 6 */
void pt_tip(struct pt_bytes *pt, uint64_t ip);
void pt_fup(struct pt_bytes *pt, uint64_t ip);
void pt_pge(struct pt_bytes *pt, uint64_t ip);
void pt_pgd(struct pt_bytes *pt); /* without address */
void pt_ovf(struct pt_bytes *pt);

/*
 * The program: at 0x1000 nop; nop; jne 1000; call 1010; 1009: jmp *%rax; 100b: jmp 100b;
 * 100d: nop nop nop; 1010: nop; ret; 1012: syscall; nop
 */
#define PROGRAM_BASE 0x1000
void pt_write_program(const char *path);

/* Decodes pt with the program; the lines ("i 1000", "b jcc 1002 1000", "gap no_image") in out. */
void pt_decode(const struct pt_bytes *pt, uint32_t events, unsigned int jobs, char *out,
	       size_t size);

#endif
