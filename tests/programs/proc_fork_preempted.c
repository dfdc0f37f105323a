/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Busy threads, one of which forks now and then; parent and child run the same loop at the
 * same addresses, each interrupted by a timer of its own.
 * Wrong: a probe goes along with a fork, or a point of one is looked for in the other.
 * pyrr-test: cflags=-pthread
 */
#include "alarmed.h"

#include <pthread.h>

static volatile uint64_t counters[4];
static volatile int stop;

static __attribute__((noinline)) void count(volatile uint64_t *counter, int rounds)
{
	for (int i = 0; i < rounds; i++)
		*counter = *counter * 5 + 1;
}

static uint64_t counted(int rounds)
{
	uint64_t x = 0;

	for (int i = 0; i < rounds; i++)
		x = x * 5 + 1;
	return x;
}

static void *thread(void *arg)
{
	while (!stop)
		count(arg, 1000);
	return NULL;
}

int main(void)
{
	const uint64_t wanted = counted(4000000);
	pid_t children[2];
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, thread, (void *)&counters[i]) == 0);
	for (int i = 0; i < 2; i++) {
		count(&counters[3], 100000);
		children[i] = fork();
		CHECK(children[i] >= 0);
		if (children[i] == 0) {
			counters[2] = 0;
			alarm_every_of(ITIMER_VIRTUAL, 3000);
			count(&counters[2], 4000000);
			alarm_every_of(ITIMER_VIRTUAL, 0);
			CHECK(counters[2] == wanted);
			say("child: %d alarms, %lx, %lx\n", alarms, counters[0], counters[1]);
			_exit(0);
		}
	}
	counters[2] = 0;
	count(&counters[2], 4000000);
	CHECK(counters[2] == wanted);
	for (int i = 0; i < 2; i++)
		reap_ok(children[i]);
	stop = 1;
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	say("%lx, %lx, %lx\n", counters[0], counters[1], counters[3]);
	return 0;
}
