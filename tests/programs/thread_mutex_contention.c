/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Five threads contend for mutexes of all kinds, a read-write lock and a spin
 * lock held over system calls; the order in which they got them is printed.
 * Wrong: a replay grants them in another order.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 5, ROUNDS = 30 };
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static char order[THREADS * ROUNDS + 1];
static int next, readers, most_readers, written;

static void *worker(void *arg)
{
	char name = (char)('a' + (int)(intptr_t)arg);

	for (int i = 0; i < ROUNDS; i++) {
		CHECK(pthread_mutex_lock(&plain) == 0);
		order[next] = name;
		sched_yield();
		next++;
		CHECK(pthread_mutex_unlock(&plain) == 0);

		CHECK(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_lock(&recursive) == 0);
		CHECK(pthread_mutex_unlock(&recursive) == 0 &&
			pthread_mutex_unlock(&recursive) == 0);

		CHECK(pthread_mutex_lock(&checked) == 0);
		CHECK(pthread_mutex_lock(&checked) == EDEADLK);
		CHECK(pthread_mutex_unlock(&checked) == 0);
		CHECK(pthread_mutex_unlock(&checked) == EPERM);

		if (i % 5 == 0) {
			CHECK(pthread_rwlock_wrlock(&rw) == 0);
			CHECK(__atomic_load_n(&readers, __ATOMIC_SEQ_CST) == 0);
			written++;
		} else {
			int now;

			CHECK(pthread_rwlock_rdlock(&rw) == 0);
			now = __atomic_add_fetch(&readers, 1, __ATOMIC_SEQ_CST);
			if (now > most_readers)
				most_readers = now;
			sched_yield();
			__atomic_sub_fetch(&readers, 1, __ATOMIC_SEQ_CST);
		}
		CHECK(pthread_rwlock_unlock(&rw) == 0);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	for (intptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, worker, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(next == THREADS * ROUNDS && written == THREADS * ROUNDS / 5);
	say("%s\nat most %d readers at a time\n", order, most_readers);
	return 0;
}
