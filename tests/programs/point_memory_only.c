/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two threads in loops that change nothing but memory: at the end of each round the registers are
 * what they were. That looks like waiting, and is not.
 * Wrong: the place is named without the words that change, and replay tries every round.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>

static volatile uint64_t by_main, by_thread;
static volatile int stop;

static void *busy(void *arg)
{
	(void)arg;
	while (!stop)
		by_thread++;
	return NULL;
}

int main(void)
{
	pthread_t t;

	CHECK(pthread_create(&t, NULL, busy, NULL) == 0);
	while (by_thread == 0)
		by_main++;
	for (uint32_t i = 0; i < 20000000; i++)
		by_main++;
	stop = 1;
	CHECK(pthread_join(t, NULL) == 0);
	say("%lu by the thread, %lu by main\n", by_thread, by_main);
	return 0;
}
