// SPDX-License-Identifier: BSD-2-Clause
/* uncaught WAY: C++ exceptions that are current as the program dies by abort(). */
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace bank
{
struct refused : std::invalid_argument {
	using std::invalid_argument::invalid_argument;
};
struct coded : std::runtime_error {
	using std::runtime_error::runtime_error;
	std::string text = "the code says so";
	const char *what() const noexcept override { return text.c_str(); }
};
struct plain {
	const char *text = "not what()";
};
struct other_base {
	virtual ~other_base() {}
	int number = 3;
};
struct two : std::runtime_error, other_base {
	two() : std::runtime_error("of two bases") {}
};
struct second : other_base, std::runtime_error {
	second() : std::runtime_error("as the second base") {}
};
struct shared : virtual std::runtime_error {
	shared() : std::runtime_error("a virtual base") {}
};
} // namespace bank

namespace
{
struct hidden : std::runtime_error {
	using std::runtime_error::runtime_error;
};
} // namespace

static void closed() noexcept
{
	throw std::runtime_error("out of noexcept");
}

static void again(const char *way)
{
	std::exception_ptr kept;

	try {
		throw bank::refused("first");
	} catch (const std::exception &) {
		if (!strcmp(way, "again"))
			throw;
		if (!strcmp(way, "handling"))
			abort();
		if (!strcmp(way, "handling_two")) {
			try {
				throw 7L;
			} catch (long) {
				std::terminate();
			}
		}
		kept = std::current_exception();
	}
	if (!strcmp(way, "kept"))
		std::rethrow_exception(kept);
	if (!strcmp(way, "kept_handling")) {
		try {
			std::rethrow_exception(kept);
		} catch (...) {
			abort();
		}
	}
	abort(); /* ended: it is handled no longer */
}

/* No exception leaves it: the one that it handles is another than the one without a handler. */
static void at_end()
{
	try {
		throw 1;
	} catch (int) {
		abort();
	}
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	if (!strcmp(way, "runtime"))
		throw std::runtime_error("two\nlines\033[1m");
	if (!strcmp(way, "empty"))
		throw std::logic_error("");
	if (!strcmp(way, "long"))
		throw std::runtime_error(std::string(9000, 'x'));
	if (!strcmp(way, "header"))
		return std::vector<int>(3).at(argc + 5);
	if (!strcmp(way, "derived"))
		throw bank::refused("no such account");
	if (!strcmp(way, "coded"))
		throw bank::coded("the base's");
	if (!strcmp(way, "plain"))
		throw bank::plain();
	if (!strcmp(way, "number"))
		throw 42;
	if (!strcmp(way, "text"))
		throw "text";
	if (!strcmp(way, "string"))
		throw std::string("text");
	if (!strcmp(way, "alloc"))
		throw std::bad_alloc();
	if (!strcmp(way, "two"))
		throw bank::two();
	if (!strcmp(way, "second"))
		throw bank::second();
	if (!strcmp(way, "shared"))
		throw bank::shared();
	if (!strcmp(way, "hidden"))
		throw hidden("anonymous");
	if (!strcmp(way, "closed"))
		closed();
	if (!strcmp(way, "thread"))
		std::thread([] { throw std::range_error("in a thread"); }).join();
	if (!strcmp(way, "nested")) {
		try {
			throw std::runtime_error("inner");
		} catch (...) {
			std::throw_with_nested(std::domain_error("outer"));
		}
	}
	if (!strcmp(way, "at_end")) {
		std::set_terminate(at_end);
		throw std::runtime_error("replaced");
	}
	if (!strcmp(way, "no_throw")) {
		std::thread waits([] {});
		return 0; /* its destructor calls std::terminate() */
	}
	if (!strcmp(way, "nothing"))
		throw;
	again(way);
	return 0;
}
