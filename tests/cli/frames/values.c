// SPDX-License-Identifier: BSD-2-Clause
/* Arguments and local variables of many types, in registers, on the stack and constant. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum colour { RED, GREEN = 5, BLUE };
enum flags { READ = 1, WRITE = 2, EXECUTE = 4 };
enum level { LOW = -1, MIDDLE, HIGH };

struct point {
	int x, y;
};

struct nested {
	struct point from, to;
	const char *label;
	unsigned int low : 3, high : 13;
	int below : 5;
	enum level level : 3, other : 5;
	enum colour colour : 4;
	signed char letter : 3;
};

struct node {
	int value;
	struct node *next;
};

union number {
	int i;
	unsigned char bytes[4];
};

typedef int (*operation)(int);
typedef struct point point_type;

static volatile int sink;
static int *volatile nowhere;

__attribute__((noinline)) static int twice(int x)
{
	return 2 * x;
}

__attribute__((noinline)) static int crash(const char *text, int value)
{
	*nowhere = value;
	return text[0] + value;
}

static inline __attribute__((always_inline)) int inlined(short width, long count)
{
	long product = width * count;

	sink = (int)product;
	return crash("inlined \"text\"\n", (int)product) + (int)product;
}

__attribute__((noinline)) static int scalars(char c, unsigned char u, short s, long l, bool b,
					     enum colour colour, enum flags flags, float f,
					     double d, uint64_t big)
{
	int sum = c + u + s + (int)l + b;
	const char *name = b ? "scalars" : "none";
	/* as long as a text that is shown as a whole may be */
	const char *shown = "123456789 123456789 123456789 123456789 12345678";
	char room[64] = "123456789 123456789 123456789 123456789 12345678";
	int result = 1;

	result += inlined(s, l) + sum;
	sink = (int)colour + (int)flags + (int)f + (int)d + (int)big + name[0];
	sink += shown[0] + room[0];
	return result + sink;
}

__attribute__((noinline)) static int structs(struct point p, point_type *q, struct nested n,
					     union number u, operation op)
{
	int numbers[5] = {1, 2, 3, 4, p.x};
	int zeros[64] = {0};
	char word[16] = "a word";
	int matrix[2][3] = {{1, 2, 3}, {4, 5, q->y}};
	struct node last = {3, NULL}, first = {p.y, &last};
	int result = 0;

	result += scalars('A', 200, -7, 1000000007l, op(1) == 2, GREEN, READ | EXECUTE, 1.5f,
			     -0.1, 0xfedcba9876543210ull);

	for (int i = 0; i < 5; i++)
		result += numbers[i] + zeros[i] + word[i] + matrix[i % 2][i % 3];
	return result + first.value + first.next->value + u.i + n.from.x;
}

__attribute__((noinline)) static int recursion(int depth, const char *text)
{
	struct nested n = {{1, 2}, {-3, depth}, text, 5, 4000, -9, LOW, -9, BLUE, -3};
	enum colour not_one = (enum colour)-3;
	enum level no_level = -5;
	point_type where = {depth, -depth};
	union number u = {.i = 0x41424344};

	if (depth)
		return recursion(depth - 1, text + 1) + n.to.y + (int)not_one + (int)no_level;
	return structs(where, &where, n, u, twice) + n.low;
}

int main(int argc, char **argv)
{
	(void)argv;
	return recursion(3, "recursive") + argc;
}
