/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A vfork child that is busy for long in its parent's memory while a third thread is busy
 * too, then execs or exits; the parent sleeps meanwhile and goes on where it was.
 * Wrong: a point of the child is looked for in the parent, or the parent runs too early.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>

static volatile uint64_t by_child, by_thread;
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
	for (int i = 1; i <= 3; i++) {
		pid_t child = vfork();

		if (child == 0) {
			for (int k = 0; k < 3000000; k++)
				by_child++;
			if (i == 2)
				execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		CHECK(by_child == 3000000u * (unsigned)i);
		reap_ok(child);
		say("the thread is at %lu\n", by_thread);
	}
	stop = 1;
	CHECK(pthread_join(t, NULL) == 0);
	say("by the child %lu, by the thread %lu\n", by_child, by_thread);
	return 0;
}
