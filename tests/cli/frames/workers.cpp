// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <cstdio>

struct job {
	std::string name;
	std::unique_ptr<int> left;
};

static int parse(const std::string &text)
{
	if (text.empty())
		throw std::invalid_argument("empty");
	return std::stoi(text);
}

static int guarded(const std::string &text)
{
	try {
		return parse(text);
	} catch (const std::invalid_argument &) {
		return -1;
	}
}

static long run(std::vector<job> &jobs, int which)
{
	std::map<std::string, int> seen;
	std::function<int(job &)> visit = [&](job &j) {
		seen[j.name] += guarded(j.name);
		return *j.left + which;
	};
	long sum = 0;

	std::sort(jobs.begin(), jobs.end(),
		  [](const job &a, const job &b) { return a.name < b.name; });
	for (job &j : jobs)
		sum += visit(j);
	return sum;
}

int main()
{
	std::vector<job> jobs;

	for (int i = 0; i < 6; i++)
		jobs.push_back({i == 3 ? "" : std::to_string(7 * (5 - i)),
				i == 1 ? nullptr : std::make_unique<int>(i)});
	std::thread worker([&jobs] { std::printf("%ld\n", run(jobs, 5)); });
	worker.join();
	return 0;
}
