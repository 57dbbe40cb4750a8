// SPDX-License-Identifier: BSD-2-Clause
/* The smallest program: exits with 0, without a library (built with -nostdlib). */
void _start(void);
void _start(void)
{
	__asm__ volatile("movl $60, %eax\n\txorl %edi, %edi\n\tsyscall");
	__builtin_unreachable();
}
