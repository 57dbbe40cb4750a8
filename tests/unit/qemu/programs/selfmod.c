// SPDX-License-Identifier: BSD-2-Clause
/* Deterministic: code that writes into its own page, its own block, and runs from there. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main(void)
{
	/* mov %rdi,%rax; movb $imm,(%rsi); add $1,%rax; add $2,%rax; ret; then data */
	static const unsigned char code[] = {
		0x48, 0x89, 0xf8, 0xc6, 0x06, 0x05, 0x48, 0x83,
		0xc0, 0x01, 0x48, 0x83, 0xc0, 0x02, 0xc3,
	};
	/* call +0 with its stack in the running page */
	static const unsigned char pushes[] = {
		0x48, 0x89, 0xe0, 0x48, 0x8d, 0x67, 0x40, 0xff, 0xc1,
		0x50, 0x50, 0x58, 0x58, 0x48, 0x89, 0xc4, 0xc3,
	};
	unsigned char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long sum = 0;

	memcpy(page + 64, code, sizeof(code));
	memcpy(page + 1024, pushes, sizeof(pushes));
	for (int i = 0; i < 20; i++) {
		long (*fn)(long, void *) = (void *)(page + 64);

		/* data of the page, then the operand of an instruction ahead in the block */
		sum += fn(i, page + 512);
		sum += fn(i, page + 64 + 9);
		/* the stack in the page */
		((void (*)(void *))(page + 1024))(page + 2048);
		/* an instruction across two pages */
		memcpy(page + 4096 - 7, code, sizeof(code));
		fn = (void *)(page + 4096 - 7);
		sum += fn(i, page + 600);
	}
	printf("%ld\n", sum);
	return 0;
}
