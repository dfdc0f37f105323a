/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For programs without any signal: calls in some threads next to busy ones. Nobody may see an
 * EINTR, a short count or an extra wake-up, whatever the recorder does to the busy threads.
 */
#ifndef CALM_H
#define CALM_H

#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { CALM_MOST = 16 };

static atomic_int calm_left;
static volatile uint64_t calm_counters[2];

static inline uint64_t calm_now(void)
{
	struct timespec t;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void *calm_busy(void *arg)
{
	volatile uint64_t *counter = arg;

	while (atomic_load(&calm_left) > 0)
		(*counter)++;
	return NULL;
}

/* Runs the bodies, each in a thread, next to two busy ones. A body calls calm_done at its end. */
static inline void calm_run(void *(*const bodies[])(void *), int count)
{
	pthread_t threads[CALM_MOST], busy[2];

	atomic_store(&calm_left, count);
	for (int i = 0; i < count; i++)
		CHECK(pthread_create(&threads[i], NULL, bodies[i], NULL) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&busy[i], NULL, calm_busy, (void *)&calm_counters[i]) == 0);
	for (int i = 0; i < count; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(busy[i], NULL) == 0);
	say("the busy ones counted to %lu and %lu\n", calm_counters[0], calm_counters[1]);
}

static inline void *calm_done(void)
{
	atomic_fetch_sub(&calm_left, 1);
	return NULL;
}

#endif
