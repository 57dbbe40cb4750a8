// SPDX-License-Identifier: BSD-2-Clause
/* A function that calls itself by a pointer, as its last act: by a jump. */
typedef int handler(int nr);
static int *volatile nowhere;

static handler again;
static handler *volatile next = again;

__attribute__((noinline, noipa)) static int again(int nr)
{
	if (!nr)
		*nowhere = nr;
	return next(nr - 1);
}

int main(int argc, char **argv)
{
	(void)argv;
	return again(argc + 1) + 1;
}
