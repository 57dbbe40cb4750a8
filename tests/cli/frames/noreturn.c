// SPDX-License-Identifier: BSD-2-Clause
/*
 * Dies of a call through a bad pointer that is the last instruction of its function: the return
 * address is in the function after it, whose rules for the stack are others.
 */
#include <stdio.h>

static void (*volatile on_error)(const char *text) = (void (*)(const char *))0x1234567890;

__attribute__((noinline, noreturn)) static void fail(const char *why)
{
	char text[64];

	snprintf(text, sizeof(text), "fail: %s", why);
	on_error(text);
	__builtin_unreachable();
}

__attribute__((noinline)) static int digits(const char *s)
{
	int n = 0;

	while (s[n] >= '0' && s[n] <= '9')
		n++;
	if (!n)
		fail(s);
	return n;
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", digits("12") + digits(argc > 5 ? "3" : "x"));
	return 0;
}
