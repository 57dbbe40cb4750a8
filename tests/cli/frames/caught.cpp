// SPDX-License-Identifier: BSD-2-Clause
// Exceptions that are caught some calls farther out, also in a recursion, and then a crash; or one
// that leaves a noexcept function ("escape"), or is caught where it is thrown ("self").
#include <cstring>
#include <stdexcept>

static int *volatile wrong;

static __attribute__((noinline)) void die(int n) { *wrong = n; }
static __attribute__((noinline)) void fail(int n)
{
	if (n)
		throw std::runtime_error("no");
	asm volatile("");
}
struct Guard {
	int &n;
	~Guard() { n++; }
};
static int guarded;

static __attribute__((noinline)) int parse(int depth)
{
	Guard guard{guarded};
	if (depth)
		return parse(depth - 1) + 1;
	fail(1);
	return 0;
}
// catches in its outermost call only
static __attribute__((noinline)) int nested(int depth)
{
	if (depth)
		return nested(depth - 1) + 1;
	try {
		parse(3);
	} catch (const std::exception &) {
		die(guarded);
	}
	return 0;
}
// throws and catches in itself, both in a part that the compiler puts elsewhere
static __attribute__((noinline)) int self(int n)
{
	try {
		if (n > 1)
			throw std::runtime_error("self");
	} catch (const std::exception &) {
		guarded++;
	}
	die(guarded);
	return n;
}
static __attribute__((noinline)) int commit(int n) noexcept
{
	fail(n);
	return n;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !std::strcmp(argv[1], "escape"))
		return commit(argc) + 1;
	if (argc > 1 && !std::strcmp(argv[1], "self"))
		return self(argc) + 1;
	return nested(2) + 1;
}
