/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A static program, without ld.so and at a fixed address: threads, locale, clocks,
 * random bytes and a fork.
 * pyrr-test: cflags=-static -no-pie -pthread
 */
#include "check.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/random.h>

static void *thread(void *arg)
{
	*(int *)arg = gettid();
	return NULL;
}

int main(void)
{
	struct timespec now;
	uint64_t random;
	pthread_t t;
	pid_t child;
	int tid = 0;

	CHECK(pthread_create(&t, NULL, thread, &tid) == 0 && pthread_join(t, NULL) == 0 && tid > 0);
	CHECK(clock_gettime(CLOCK_REALTIME, &now) == 0 && getrandom(&random, 8, 0) == 8);
	say("thread %d, %ld.%09ld, %016lx, main at %p, base %lx\n", tid, (long)now.tv_sec,
		now.tv_nsec, random, (void *)main, getauxval(AT_BASE));
	child = fork();
	if (child == 0)
		_exit((int)(random & 0));
	reap_ok(child);
	return 0;
}
