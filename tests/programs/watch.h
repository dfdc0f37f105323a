/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For the programs of rule A1: one thread sleeps in a system call that will
 * write memory, another looks at that memory all the while.
 *
 * A recorder that lets the kernel write straight to the program's memory makes
 * the watcher see the bytes in the middle of its slice, at an instruction that
 * no event names, and its replay shows them at another. The number of looks is
 * printed, so such a replay differs. Nothing here waits for the change: the
 * number of looks is bounded, and without system calls.
 */
#ifndef WATCH_H
#define WATCH_H

#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WATCH_LOOKS = 300000, WATCH_MAX = 512 };

struct watch {
	pthread_t thread;
	atomic_int tid; /* of the thread that sleeps in the call */
	const volatile unsigned char *area;
	size_t len;
	unsigned char before[WATCH_MAX];
};

/* Called by the sleeping thread just before its system call. */
static inline void watch_about_to_sleep(struct watch *w)
{
	atomic_store(&w->tid, gettid());
}

/* Starts `body`, which gets the watch, and returns once it sleeps. */
static inline void watch_start(
	struct watch *w, volatile void *area, size_t len, void *(*body)(void *))
{
	CHECK(len <= WATCH_MAX);
	w->area = area;
	w->len = len;
	atomic_store(&w->tid, 0);
	CHECK(pthread_create(&w->thread, NULL, body, w) == 0);
	while (atomic_load(&w->tid) == 0)
		sched_yield();
	wait_until_asleep(atomic_load(&w->tid));
	for (size_t i = 0; i < len; i++)
		w->before[i] = w->area[i];
}

/* The look at which a byte of the area first differed, -1 if none did. */
static inline long watch_look(const struct watch *w)
{
	for (long look = 0; look < WATCH_LOOKS; look++) {
		for (size_t i = 0; i < w->len; i += 4) {
			if (w->area[i] != w->before[i])
				return look;
		}
	}
	return -1;
}

/* Looks after the wake-up was sent, joins the sleeper, prints what was seen. */
static inline void watch_finish(struct watch *w, const char *what)
{
	long look = watch_look(w);
	uint64_t seen = hash_bytes((const void *)w->area, w->len, HASH_START);

	CHECK(pthread_join(w->thread, NULL) == 0);
	say("%s: changed at look %ld, then %016lx, after the join %016lx\n", what, look, seen,
		hash_bytes((const void *)w->area, w->len, HASH_START));
}

#endif
