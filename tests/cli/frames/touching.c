/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that touch, each with a sequence of its own in the line table: first(), then second().
 * FIRST_LAST: the sequence of the first one comes later in the table. EMPTY_ROWS: its last rows
 * have the address of its end.
 */
void second(volatile int *where);
void first(void);

static int sink;

#ifdef EMPTY_ROWS
#define BODY                                                                                       \
	__asm__ volatile("ret\n\t.loc 1 97\n\t.loc 1 98");                                          \
	__builtin_unreachable()
#else
#define BODY sink = 1
#endif

#ifndef FIRST_LAST
__attribute__((noipa, section(".text.sorted.1"))) void first(void)
{
	BODY;
}
#endif

__attribute__((noipa, section(".text.sorted.2"))) void second(volatile int *where)
{
	*where = 1;
	*where = 2;
}

#ifdef FIRST_LAST
__attribute__((noipa, section(".text.sorted.1"))) void first(void)
{
	BODY;
}
#endif

int main(void)
{
	first();
	second((volatile int *)0x10);
	return sink;
}
