/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Condition variables (signal, broadcast, a timed wait on both clocks) and
 * barriers: a bounded queue with three producers and two consumers.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>

enum { PRODUCERS = 3, CONSUMERS = 2, ITEMS = 40, ROOM = 4 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t start;
static int queue[ROOM], held, finished;
static uint64_t order = HASH_START;
static long sum;

static void *producer(void *arg)
{
	int base = (int)(intptr_t)arg * 1000;

	pthread_barrier_wait(&start);
	for (int i = 0; i < ITEMS; i++) {
		CHECK(pthread_mutex_lock(&mutex) == 0);
		while (held == ROOM)
			CHECK(pthread_cond_wait(&not_full, &mutex) == 0);
		queue[held++] = base + i;
		CHECK(pthread_cond_signal(&not_empty) == 0);
		CHECK(pthread_mutex_unlock(&mutex) == 0);
	}
	return NULL;
}

static void *consumer(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&start);
	for (;;) {
		CHECK(pthread_mutex_lock(&mutex) == 0);
		while (held == 0 && !finished)
			CHECK(pthread_cond_wait(&not_empty, &mutex) == 0);
		if (held == 0) {
			CHECK(pthread_mutex_unlock(&mutex) == 0);
			return NULL;
		}
		held--;
		sum += queue[held];
		order = hash_bytes(&queue[held], sizeof(int), order);
		CHECK(pthread_cond_signal(&not_full) == 0);
		CHECK(pthread_mutex_unlock(&mutex) == 0);
	}
}

static void timed_wait(clockid_t clock)
{
	struct timespec until;
	int result;

	CHECK(clock_gettime(clock, &until) == 0);
	until.tv_nsec += 3000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	CHECK(pthread_mutex_lock(&mutex) == 0);
	do {
		result = pthread_cond_clockwait(&not_full, &mutex, clock, &until);
	} while (result == 0);
	CHECK(result == ETIMEDOUT);
	CHECK(pthread_mutex_unlock(&mutex) == 0);
}

int main(void)
{
	pthread_t producers[PRODUCERS], consumers[CONSUMERS];
	long wanted = 0;

	CHECK(pthread_barrier_init(&start, NULL, PRODUCERS + CONSUMERS) == 0);
	for (intptr_t i = 0; i < PRODUCERS; i++) {
		CHECK(pthread_create(&producers[i], NULL, producer, (void *)i) == 0);
		wanted += i * 1000 * ITEMS + ITEMS * (ITEMS - 1) / 2;
	}
	for (int i = 0; i < CONSUMERS; i++)
		CHECK(pthread_create(&consumers[i], NULL, consumer, NULL) == 0);
	for (int i = 0; i < PRODUCERS; i++)
		CHECK(pthread_join(producers[i], NULL) == 0);
	CHECK(pthread_mutex_lock(&mutex) == 0);
	finished = 1;
	CHECK(pthread_cond_broadcast(&not_empty) == 0 && pthread_mutex_unlock(&mutex) == 0);
	for (int i = 0; i < CONSUMERS; i++)
		CHECK(pthread_join(consumers[i], NULL) == 0);
	CHECK(sum == wanted);
	timed_wait(CLOCK_REALTIME);
	timed_wait(CLOCK_MONOTONIC);
	say("sum %ld, order %016lx\n", sum, order);
	return 0;
}
