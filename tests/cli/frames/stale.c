// SPDX-License-Identifier: BSD-2-Clause
/* The frames of a recursion contain return addresses that an earlier, deeper one has left there. */
static int *volatile nowhere;

__attribute__((noinline)) static int visit(int depth, int nr)
{
	int order[nr];

	order[0] = depth;
	if (depth)
		return visit(depth - 1, nr) + order[0];
	if (nr > 100)
		*nowhere = order[0];
	return order[0];
}

int main(int argc, char **argv)
{
	(void)argv;
	visit(60, 2);
	return visit(3, 200 + argc);
}
