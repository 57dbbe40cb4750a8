// SPDX-License-Identifier: BSD-2-Clause
/*
 * A stack protector's check fails after the function has overwritten the registers that it had
 * saved: neither its result in rax nor its callers' variables are what these registers say now.
 */
#include <stdio.h>

struct user {
	int uid;
	char name[48];
};

__attribute__((noinline)) static size_t copy(char *to, const char *from)
{
	size_t nr = 0;

	for (; from[nr]; nr++)
		to[nr] = from[nr];
	to[nr] = 0;
	return nr;
}

__attribute__((noinline)) static int format(const struct user *user, char *line, size_t size)
{
	char name[16];
	size_t nr = copy(name, user->name);
	int result = snprintf(line, size, "%d: %s, %zu", user->uid, name, nr);

	return result; /* 46 at the crash */
}

__attribute__((noinline)) static int list(const struct user *users, int nr)
{
	char line[128];
	int sum = 0;

	for (int entry = 0; entry < nr; entry++) {
		sum += format(&users[entry], line, sizeof(line));
		puts(line);
	}
	return sum;
}

int main(void)
{
	static const struct user users[] = {
		{1, "short"}, {2, "shorter"}, {3, "aaaaaaaabbbbbbbbccccccccddddddddeeeeeee"}};

	return list(users, 4);
}
