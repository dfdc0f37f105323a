/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * futex_waitv: sleeps on three words, tells which one woke it. A recorder may
 * refuse it (ENOSYS), then threads wait one by one.
 * pyrr-test: cflags=-pthread
 */
#include "futex.h"

struct waiter { /* struct futex_waitv */
	uint64_t value, address;
	uint32_t flags, reserved;
};
static atomic_uint words[3];
static atomic_int tid;
static long result;
static int result_errno;

static void *sleeper(void *arg)
{
	struct waiter v[3];
	struct timespec limit = time_from_now(CLOCK_MONOTONIC, 20000);

	(void)arg;
	for (int i = 0; i < 3; i++)
		v[i] = (struct waiter){ .address = (uintptr_t)&words[i], .flags = 2 /* 32 bits */ };
	atomic_store(&tid, gettid());
	result = syscall(449, v, 3, 0, &limit, CLOCK_MONOTONIC);
	result_errno = errno;
	if (result == -1 && errno == ENOSYS)
		while (atomic_load(&words[1]) == 0)
			futex(&words[1], FUTEX_WAIT, 0, NULL, NULL, 0);
	return NULL;
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		pthread_t t;

		atomic_store(&tid, 0);
		atomic_store(&words[1], 0);
		CHECK(pthread_create(&t, NULL, sleeper, NULL) == 0);
		wait_all_asleep(&tid, 1);
		atomic_store(&words[1], 1);
		futex(&words[1], FUTEX_WAKE, 1, NULL, NULL, 0);
		CHECK(pthread_join(t, NULL) == 0);
		say("result %ld\n", result);
		CHECK(result == 1 || result_errno == ENOSYS || result_errno == EAGAIN);
	}
	return 0;
}
