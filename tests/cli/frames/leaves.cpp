// SPDX-License-Identifier: BSD-2-Clause
/* Leaves deep calls at once, or a long chain of tail calls, and dies later. */
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static jmp_buf out;
static volatile int total;

__attribute__((noinline)) static int down(int n, bool jumps)
{
	total = total + n;
	if (n == 0 && jumps)
		longjmp(out, 1);
	if (n == 0)
		throw 7;
	return down(n - 1, jumps) + 1;
}

__attribute__((noinline)) static int attempt(int n, bool jumps)
{
	if (jumps)
		return setjmp(out) ? 1 : down(n, true) + 1;
	try {
		return down(n, false) + 1;
	} catch (int code) {
		return code;
	}
}

__attribute__((noinline)) static int odd(int n);
__attribute__((noinline)) static int even(int n)
{
	total = total + n;
	return n ? odd(n - 1) : total;
}

__attribute__((noinline)) static int odd(int n)
{
	total = total - n;
	return n ? even(n - 1) : -1;
}

__attribute__((noinline)) static void finish()
{
	__builtin_trap();
}

int main(int argc, char **argv)
{
	int depth = argc > 2 ? atoi(argv[2]) : 0, got;

	if (argc < 3)
		return 2;
	got = strcmp(argv[1], "tails") ? attempt(depth, !strcmp(argv[1], "longjmp")) : even(depth);
	total = total + got;
	finish();
	return 0;
}
