/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * FUTEX_LOCK_PI, TRYLOCK_PI, UNLOCK_PI, LOCK_PI2: the kernel writes the owner's
 * tid to the word at a hand-over, in the middle of nobody's call. Then
 * FUTEX_WAIT_REQUEUE_PI with FUTEX_CMP_REQUEUE_PI.
 * Wrong: the word the kernel wrote for the next owner is missing in the replay.
 * pyrr-test: cflags=-pthread
 */
#include "futex.h"

enum { THREADS = 3, ROUNDS = 15 };
static atomic_uint lock, condition;
static atomic_int tids[THREADS];
static int counter;

static void *worker(void *arg)
{
	uint32_t me = (uint32_t)gettid(), expected;

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		int before;

		expected = 0;
		if (!atomic_compare_exchange_strong(&lock, &expected, me))
			CHECK(futex(&lock, FUTEX_LOCK_PI, 0, NULL, NULL, 0) == 0);
		CHECK((atomic_load(&lock) & FUTEX_TID_MASK) == me);
		before = counter;
		sched_yield();
		counter = before + 1;
		expected = me;
		if (!atomic_compare_exchange_strong(&lock, &expected, 0))
			CHECK(futex(&lock, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0) == 0);
	}
	return NULL;
}

static void contend(void)
{
	pthread_t t[THREADS];

	counter = 0;
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, worker, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(counter == THREADS * ROUNDS && atomic_load(&lock) == 0);
}

static void *holder(void *arg)
{
	struct timespec soon = time_from_now(CLOCK_REALTIME, 5);

	(void)arg;
	CHECK(futex(&lock, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0) == -1 && errno == EAGAIN);
	CHECK(futex(&lock, FUTEX_LOCK_PI, 0, &soon, NULL, 0) == -1 && errno == ETIMEDOUT);
	return NULL;
}

static void edges(void)
{
	pthread_t t;
	uint32_t me = (uint32_t)gettid();

	CHECK(futex(&lock, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0) == 0);
	CHECK(atomic_load(&lock) == me);
	CHECK(futex(&lock, FUTEX_LOCK_PI, 0, NULL, NULL, 0) == -1 && errno == EDEADLK);
	CHECK(pthread_create(&t, NULL, holder, NULL) == 0 && pthread_join(t, NULL) == 0);
	say("word with and after waiters: %08x\n", atomic_load(&lock));
	CHECK(futex(&lock, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0) == 0 && atomic_load(&lock) == 0);
	CHECK(futex(&lock, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0) == -1 && errno == EPERM);
	atomic_store(&lock, 0x3ffffffe);
	CHECK(futex(&lock, FUTEX_LOCK_PI, 0, NULL, NULL, 0) == -1 && errno == ESRCH);
	atomic_store(&lock, 0);
}

static void *pi_waiter(void *arg)
{
	atomic_store(&tids[(intptr_t)arg], gettid());
	CHECK(futex(&condition, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &lock, 0) == 0);
	CHECK((atomic_load(&lock) & FUTEX_TID_MASK) == (uint32_t)gettid());
	counter++;
	CHECK(futex(&lock, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0) == 0);
	return NULL;
}

static void requeue_pi(void)
{
	pthread_t t[THREADS];
	long moved = 0;

	counter = 0;
	for (intptr_t i = 0; i < THREADS; i++) {
		atomic_store(&tids[i], 0);
		CHECK(pthread_create(&t[i], NULL, pi_waiter, (void *)i) == 0);
	}
	wait_all_asleep(tids, THREADS);
	CHECK(futex(&lock, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0) == 0);
	while (moved < THREADS) {
		long n = futex(&condition, FUTEX_CMP_REQUEUE_PI, 1, futex_count(THREADS), &lock, 0);

		CHECK(n >= 0);
		moved += n;
		sched_yield();
	}
	say("requeued %ld, word %08x\n", moved, atomic_load(&lock));
	CHECK(futex(&lock, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(counter == THREADS && (atomic_load(&lock) & FUTEX_TID_MASK) == 0);
	atomic_store(&lock, 0);
}

int main(void)
{
	for (int i = 0; i < 4; i++) {
		contend();
		edges();
		requeue_pi();
	}
	return 0;
}
