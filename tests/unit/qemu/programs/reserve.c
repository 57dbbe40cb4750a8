// SPDX-License-Identifier: BSD-2-Clause
/*
 * Replaces a qemu and executes NAME.real, the real one, with -R and the size first: without a
 * shell, which would change the environment of the program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char **args = calloc((size_t)argc + 3, sizeof(*args));
	char real[4096];

	args[0] = argv[0];
	args[1] = "-R";
	args[2] = "0x10000000000";
	for (int i = 1; i < argc; i++)
		args[i + 2] = argv[i];
	snprintf(real, sizeof(real), "%s.real", argv[0]);
	execv(real, args);
	return 127;
}
