// SPDX-License-Identifier: BSD-2-Clause
/* A variable-length array moves the stack pointer far beyond the stack's end. */
#include <stdio.h>

static int digest(unsigned int size)
{
	unsigned char copy[size];

	copy[0] = 1;
	for (unsigned int i = 1; i < size; i++)
		copy[i] = copy[i - 1] * 3;
	return copy[size - 1];
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", digest((unsigned int)argc * (64u << 20)));
	return 0;
}
