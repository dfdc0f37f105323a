/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The futex system call by its operations, and a pool of threads that sleep on
 * words until told.
 */
#ifndef FUTEX_H
#define FUTEX_H

#include "check.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>

static inline long futex(
	void *word, int op, uint32_t value, const void *timeout, void *word2, uint32_t value3)
{
	return syscall(SYS_futex, word, op, value, timeout, word2, value3);
}

/* The second number of the operations that take one in the timeout's place. */
static inline const void *futex_count(uint32_t n)
{
	return (const void *)(uintptr_t)n;
}

/* Waits until `n` threads sleep; their tids are in `tids`. */
static inline void wait_all_asleep(atomic_int *tids, int n)
{
	for (int i = 0; i < n; i++) {
		while (atomic_load(&tids[i]) == 0)
			sched_yield();
		wait_until_asleep(atomic_load(&tids[i]));
	}
}

static inline struct timespec time_from_now(clockid_t clock, long ms)
{
	struct timespec t;

	CHECK(clock_gettime(clock, &t) == 0);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

#endif
