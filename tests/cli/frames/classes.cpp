// SPDX-License-Identifier: BSD-2-Clause
/* Arguments and local variables of C++: references, classes with bases, members of templates. */
#include <cstdint>

namespace shop {

enum class size : std::uint8_t { small, large = 7 };

class animal {
public:
	explicit animal(int legs) : legs_(legs) {}
	virtual ~animal() = default;
	virtual int weigh(int times, const int &unit) = 0;

protected:
	int legs_;
};

template <typename T> class cage {
public:
	cage(T first, T second) : first_(first), second_(second) {}
	T sum(T more) const;

private:
	T first_, second_;
	static int nr_cages;
};

template <typename T> int cage<T>::nr_cages = 2;

static int *volatile nowhere;

template <typename T> __attribute__((noinline)) T cage<T>::sum(T more) const
{
	T total = first_ + second_ + more;

	*nowhere = static_cast<int>(total);
	return total + nr_cages;
}

class cat final : public animal {
public:
	cat(int legs, size how) : animal(legs), how_(how) {}
	__attribute__((noinline)) int weigh(int times, const int &unit) override
	{
		cage<long> box(legs_, unit);
#ifndef __OPTIMIZE__ /* gdb 13 cannot print it then */
		auto add = [&box, times](long more) { return box.sum(more) + times; };

		return static_cast<int>(add(40)) + static_cast<int>(how_);
#else
		return static_cast<int>(box.sum(40)) + times + static_cast<int>(how_);
#endif
	}

private:
	size how_;
	bool tame_ = true;
};

__attribute__((noinline)) static int feed(animal &who, size how, const char *food, int &&amount)
{
	int unit = static_cast<int>(how) + amount;

	return who.weigh(3, unit) + food[0];
}

} // namespace shop

int main()
{
	shop::cat tom(4, shop::size::large);
	volatile int amount = 11;

	return shop::feed(tom, shop::size::large, "fish\tand \\chips\\", amount + 1) + amount;
}
