/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * FUTEX_WAIT and FUTEX_WAKE, private and shared: value already changed (EAGAIN),
 * relative timeout, a wake of one, of all, of none; FUTEX_WAIT_BITSET with
 * absolute timeouts on both clocks and bit sets that match or not.
 * pyrr-test: cflags=-pthread
 */
#include "futex.h"

enum { SLEEPERS = 4 };
static atomic_uint word;
static atomic_int tids[SLEEPERS], awake;
static int op_flags;

static void *sleeper(void *arg)
{
	int i = (int)(intptr_t)arg;

	atomic_store(&tids[i], gettid());
	while (atomic_load(&word) == 0)
		futex(&word, FUTEX_WAIT_BITSET | op_flags, 0, NULL, NULL, 1u << i);
	atomic_fetch_add(&awake, 1);
	return NULL;
}

static void timeouts(void)
{
	struct timespec relative = { .tv_nsec = 3000000 }, deadline;

	atomic_store(&word, 5);
	CHECK(futex(&word, FUTEX_WAIT, 4, NULL, NULL, 0) == -1 && errno == EAGAIN);
	CHECK(futex(&word, FUTEX_WAIT, 5, &relative, NULL, 0) == -1 && errno == ETIMEDOUT);
	deadline = time_from_now(CLOCK_MONOTONIC, 4);
	CHECK(futex(&word, FUTEX_WAIT_BITSET, 5, &deadline, NULL, 1) == -1 && errno == ETIMEDOUT);
	deadline = time_from_now(CLOCK_REALTIME, 4);
	CHECK(futex(&word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 5, &deadline, NULL, ~0u) ==
		-1);
	CHECK(errno == ETIMEDOUT);
	CHECK(futex(&word, FUTEX_WAIT_BITSET, 5, NULL, NULL, 0) == -1 && errno == EINVAL);
	CHECK(futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
	CHECK(futex((char *)&word + 1, FUTEX_WAKE, 1, NULL, NULL, 0) == -1 && errno == EINVAL);
	CHECK(futex((void *)4096, FUTEX_WAIT, 0, NULL, NULL, 0) == -1 && errno == EFAULT);
	say("deadline was %ld.%09ld\n", (long)deadline.tv_sec, deadline.tv_nsec);
}

static void wakes(int flags)
{
	pthread_t t[SLEEPERS];

	op_flags = flags;
	atomic_store(&word, 0);
	atomic_store(&awake, 0);
	for (intptr_t i = 0; i < SLEEPERS; i++) {
		atomic_store(&tids[i], 0);
		CHECK(pthread_create(&t[i], NULL, sleeper, (void *)i) == 0);
	}
	wait_all_asleep(tids, SLEEPERS);
	CHECK(futex(&word, FUTEX_WAKE_BITSET | flags, 10, NULL, NULL, 1u << 20) == 0);
	atomic_store(&word, 1);
	CHECK(futex(&word, FUTEX_WAKE_BITSET | flags, 10, NULL, NULL, 1u << 2) <= 1);
	CHECK(pthread_join(t[2], NULL) == 0);
	say("woken: %ld of one, ", futex(&word, FUTEX_WAKE | flags, 1, NULL, NULL, 0));
	say("%ld of the rest\n", futex(&word, FUTEX_WAKE | flags, 100, NULL, NULL, 0));
	for (int i = 0; i < SLEEPERS; i++)
		if (i != 2)
			CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(atomic_load(&awake) == SLEEPERS);
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		timeouts();
		wakes(0);
		wakes(FUTEX_PRIVATE_FLAG);
	}
	return 0;
}
