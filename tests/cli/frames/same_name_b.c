// SPDX-License-Identifier: BSD-2-Clause
/* See same_name_a.c. */
void *jump_buffer[5];
extern volatile int sum;
extern int start(int value);

__attribute__((noinline, noclone)) static void run(int value)
{
	sum += value;
	__builtin_longjmp(jump_buffer, 1);
}

void enter(int value)
{
	run(value + 1);
	sum++;
}

int main(void)
{
	return start(9);
}
