// SPDX-License-Identifier: BSD-2-Clause
#include "shapes.h"

#include <cstdio>
#include <cstdlib>

namespace {

class square : public shapes::figure {
public:
	explicit square(int s) : side(s) {}
	long area(const shapes::point *at) const override
	{
		return scaled(at, side) + inner(at);
	}

private:
	inline long inner(const shapes::point *at) const { return at->y * side; }
	int side;
};

template <int N, typename F> inline long repeat(F &&f)
{
	long sum = 0;

	for (int i = 0; i < N; i++)
		sum += f(i);
	return sum;
}

} // namespace

int main(int argc, char **argv)
{
	square s(argc + 2);
	int values[4] = {argc, 2, 3, 4};
	shapes::point p = {argc, 2};
	long sum = shapes::checked(values, 4);

	(void)argv;
	sum += repeat<3>([&](int i) {
		p.x += i;
		return shapes::weigh(&s, i == 2 ? nullptr : &p, i);
	});
	printf("%ld\n", sum);
	return 0;
}
