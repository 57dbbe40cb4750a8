// SPDX-License-Identifier: BSD-2-Clause
/*
 * Goes through 32-bit code by far jumps, as emulators do, and comes back. No far calls: QEMU 7.2
 * treated their push as an access by the kernel. Exits with 0.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct {
	uint32_t offset;
	uint16_t selector;
} __attribute__((packed)) far_pointer;

uint64_t stack; /* 32-bit code keeps only the lower half of rsp */
uint32_t through32(uint32_t value);
extern const char back_in_64[];

__asm__(".globl through32, back_in_64\n"
	"through32:\n\t"
	"movl %edi, %eax\n\t"
	"movq %rsp, stack(%rip)\n\t"
	"ljmp *far_pointer(%rip)\n"
	"back_in_64:\n\t"
	"movq stack(%rip), %rsp\n\t"
	"ret\n");

int main(void)
{
	/* add eax, eax; nop; jmp 33:back_in_64 */
	unsigned char code[] = {0x01, 0xc0, 0x90, 0xea, 0, 0, 0, 0, 0x33, 0};
	uint32_t back = (uint32_t)(uintptr_t)back_in_64, value = 1;
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (page == MAP_FAILED)
		return 1;
	memcpy(code + 4, &back, sizeof(back));
	memcpy(page, code, sizeof(code));
	far_pointer.offset = (uint32_t)(uintptr_t)page;
	far_pointer.selector = 0x23;
	for (int i = 0; i < 4; i++)
		value = through32(value);
	if (value != 16) {
		printf("code32: %u\n", value);
		return 1;
	}
	return 0;
}
