/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Crashes with names that a page, a terminal or a parser may stumble over; the test replaces the
 * capital letters of the first two in the binary.
 */
#include <sys/prctl.h>

#define TEN(x)	   x x x x x x x x x x
#define LONG(x)	   TEN(TEN(x)) TEN(TEN(x)) TEN(TEN(x)) TEN(TEN(x))

void script(void) __asm__("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
void bytes(void) __asm__("BBBBBBBBBBBBBBBBBBBB");
void wide(void) __asm__("wide_" LONG("x"));

void script(void)
{
	*(volatile int *)0 = 1; /* </script><script>window.foreign = 1</script> */
}

void bytes(void)
{
	script();
}

void wide(void)
{
	bytes();
}

int main(void)
{
	prctl(PR_SET_NAME, "</script>\033[2J\377");
	wide();
	return 0;
}
