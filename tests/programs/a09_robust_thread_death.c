/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A9: a thread dies with robust mutexes locked. The next locker gets EOWNERDEAD,
 * makes them consistent or leaves them unrecoverable.
 * Wrong: the words the kernel marks FUTEX_OWNER_DIED are not in the exit event.
 * pyrr-test: cflags=-pthread
 * pyrr-test: deterministic
 */
#include "check.h"

#include <pthread.h>

enum { COUNT = 5 };
static pthread_mutex_t mutexes[COUNT];
static pthread_barrier_t held;

static void *holder(void *arg)
{
	(void)arg;
	for (int i = 0; i < COUNT; i++)
		CHECK(pthread_mutex_lock(&mutexes[i]) == 0);
	pthread_barrier_wait(&held);
	syscall(SYS_exit, 0); /* no clean-up of any kind */
	return NULL;
}

static void *waiter(void *arg)
{
	int i = *(int *)arg, result;

	pthread_barrier_wait(&held);
	result = pthread_mutex_lock(&mutexes[i]);
	CHECK(result == EOWNERDEAD);
	if (i % 2 == 0)
		CHECK(pthread_mutex_consistent(&mutexes[i]) == 0);
	CHECK(pthread_mutex_unlock(&mutexes[i]) == 0);
	return NULL;
}

int main(void)
{
	pthread_mutexattr_t attr;
	pthread_t dying, waiting[COUNT];
	int numbers[COUNT];

	CHECK(pthread_mutexattr_init(&attr) == 0);
	CHECK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0);
	CHECK(pthread_barrier_init(&held, NULL, COUNT + 1) == 0);
	for (int i = 0; i < COUNT; i++) {
		CHECK(pthread_mutex_init(&mutexes[i], &attr) == 0);
		numbers[i] = i;
		CHECK(pthread_create(&waiting[i], NULL, waiter, &numbers[i]) == 0);
	}
	CHECK(pthread_create(&dying, NULL, holder, NULL) == 0);
	for (int i = 0; i < COUNT; i++)
		CHECK(pthread_join(waiting[i], NULL) == 0);
	for (int i = 0; i < COUNT; i++) {
		int result = pthread_mutex_lock(&mutexes[i]);

		say("mutex %d: %s\n", i, result ? strerror(result) : "recovered");
		CHECK(result == (i % 2 ? ENOTRECOVERABLE : 0));
	}
	return 0;
}
