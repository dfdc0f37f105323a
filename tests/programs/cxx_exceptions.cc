// SPDX-License-Identifier: GPL-2.0-or-later
//
// C++: exceptions through several frames and threads, a future, a thread-local with
// a destructor, std::random_device (which uses rdrand or rdseed where cpuid has
// them), clocks, a condition variable, and unwinding by pthread_cancel.
// pyrr-test: needs=command:g++
// pyrr-test: cflags=-pthread
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <pthread.h>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

static void check(bool good, const char *what)
{
	if (!good) {
		std::fprintf(stderr, "does not hold: %s\n", what);
		std::_Exit(99);
	}
}

struct Noted {
	std::string name;
	int *count;
	~Noted()
	{
		++*count;
	}
};

static int thrower(int depth, int *count)
{
	Noted here{"frame", count};

	if (depth == 0)
		throw std::runtime_error("from the bottom");
	return thrower(depth - 1, count) + 1;
}

static int destroyed_by_cancel;

static void *cancelled(void *fds)
{
	Noted here{"cancelled", &destroyed_by_cancel};
	char byte;

	while (read(*static_cast<int *>(fds), &byte, 1) >= 0) {
	}
	return nullptr;
}

int main()
{
	int count = 0, fds[2];
	std::random_device device;
	std::vector<std::thread> threads;
	std::mutex mutex;
	std::condition_variable changed;
	int turn = 0;
	pthread_t thread;

	try {
		thrower(20, &count);
	} catch (const std::exception &error) {
		std::printf("%s, %d destructors\n", error.what(), count);
	}
	check(count == 21, "all frames unwound");
	std::printf("random: %u %u\n", device(), device());
	auto later = std::async(std::launch::async, []() -> int { throw std::out_of_range("async"); });
	try {
		later.get();
		check(false, "the future throws");
	} catch (const std::out_of_range &error) {
		std::printf("future: %s\n", error.what());
	}
	for (int i = 0; i < 4; i++)
		threads.emplace_back([&, i] {
			std::unique_lock<std::mutex> lock(mutex);
			changed.wait(lock, [&] { return turn == i; });
			turn++;
			changed.notify_all();
		});
	for (auto &t : threads)
		t.join();
	check(turn == 4, "every thread had its turn");
	check(pipe(fds) == 0, "pipe");
	check(pthread_create(&thread, nullptr, cancelled, &fds[0]) == 0, "create");
	check(pthread_cancel(thread) == 0 && pthread_join(thread, nullptr) == 0, "cancel");
	check(destroyed_by_cancel <= 1, "at most once");
	std::printf("%lld, cancelled: %d\n",
		    static_cast<long long>(std::chrono::steady_clock::now().time_since_epoch().count()),
		    destroyed_by_cancel);
	return 0;
}
