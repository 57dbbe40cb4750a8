// SPDX-License-Identifier: BSD-2-Clause
/* Dies at a line of the file named by SOURCE (-DSOURCE='"…"'), in a thread with a hostile name. */
#include <stddef.h>
#include <sys/prctl.h>

int function_name(int *p) __asm__("fnAB31mname"); /* the test replaces AB by ESC and [ */

#line LINE SOURCE
int function_name(int *p) { return *p; }

int main(void)
{
	prctl(PR_SET_NAME, "co\033[2Jmm");
	return function_name(NULL);
}
