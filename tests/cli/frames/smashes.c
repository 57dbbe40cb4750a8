// SPDX-License-Identifier: BSD-2-Clause
/*
 * At the end of a recursion a function overwrites its own return address with the argument. Its
 * caller has the address of a function, which it did not call, at the top of the stack. Compile it
 * without optimization and without the stack protector.
 */
#include <alloca.h>
#include <stdlib.h>

static unsigned long wrong;
static int i;

static void not_called(void)
{
}

__attribute__((noinline)) static int walk(int depth)
{
	void (*volatile *top)(void) = alloca(64);

	for (i = 0; i < 8; i++)
		top[i] = not_called;
	if (!depth)
		*((volatile unsigned long *)__builtin_frame_address(0) + 1) = wrong;
	else
		depth += walk(depth - 1);
	return depth;
}

int main(int argc, char **argv)
{
	wrong = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	return walk(4);
}
