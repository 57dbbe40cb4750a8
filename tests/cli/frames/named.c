// SPDX-License-Identifier: BSD-2-Clause
/* Dies at a line of the file that SOURCE names (-DSOURCE='"…"'), in a thread of a hostile name. */
#include <stddef.h>
#include <sys/prctl.h>

int function_name(int *p) __asm__("fnAB31mname"); /* the test puts ESC and [ for AB */

#line LINE SOURCE
int function_name(int *p) { return *p; }

int main(void)
{
	prctl(PR_SET_NAME, "co\033[2Jmm");
	return function_name(NULL);
}
