// SPDX-License-Identifier: BSD-2-Clause
/*
 * count_steps STEPS ADDRESS: number of times that ADDRESS (hexadecimal) is in the module's log of
 * steps.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct {
		uint64_t ip;
		uint32_t tid, pid;
	} step;
	unsigned long ip, nr = 0;
	FILE *f;

	if (argc != 3)
		return 2;
	ip = strtoul(argv[2], NULL, 16);
	f = fopen(argv[1], "re");
	if (!f) {
		perror(argv[1]);
		return 2;
	}
	while (fread(&step, sizeof(step), 1, f) == 1)
		nr += step.ip == ip;
	fclose(f);
	printf("%lu\n", nr);
	return 0;
}
