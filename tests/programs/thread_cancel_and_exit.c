/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pthread_cancel of a thread asleep in read(2), clean-up handlers, thread-local
 * destructors, pthread_once, detached threads and pthread_timedjoin.
 * Wrong: the cancel signal (SIGRTMIN) is lost or hits at another place.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>

static int fds[2];
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static volatile int cleaned, destroyed, once_ran, tid;
static _Thread_local int local = 5;

static void make_key(void)
{
	once_ran++;
}

static void clean(void *arg)
{
	cleaned += *(int *)arg;
}

static void destroy(void *arg)
{
	destroyed += *(int *)arg;
}

static void *cancelled(void *arg)
{
	int one = 1;
	char byte;

	(void)arg;
	CHECK(pthread_once(&once, make_key) == 0);
	CHECK(pthread_setspecific(key, &local) == 0);
	local++;
	pthread_cleanup_push(clean, &one);
	tid = gettid();
	(void)!read(fds[0], &byte, 1);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *detached(void *arg)
{
	CHECK(pthread_detach(pthread_self()) == 0);
	write_all(*(int *)arg, "d", 1);
	return NULL;
}

int main(void)
{
	pthread_t t;
	void *result;
	char byte;

	CHECK(pipe(fds) == 0 && pthread_key_create(&key, destroy) == 0);
	for (int i = 0; i < 10; i++) {
		tid = 0;
		CHECK(pthread_create(&t, NULL, cancelled, NULL) == 0);
		while (tid == 0)
			sched_yield();
		if (i % 2)
			wait_until_asleep(tid);
		CHECK(pthread_cancel(t) == 0);
		CHECK(pthread_join(t, &result) == 0 && result == PTHREAD_CANCELED);
		CHECK(cleaned == i + 1 && destroyed == 6 * (i + 1));
	}
	CHECK(once_ran == 1 && local == 5);
	CHECK(pthread_create(&t, NULL, detached, &fds[1]) == 0);
	CHECK(read(fds[0], &byte, 1) == 1);
	say("last tid %d\n", tid);
	return 0;
}
