/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: the main thread reads to its stack, far below what that has grown to, and
 * sleeps until another thread writes. The kernel makes the stack grow; but a target
 * below the stack's limit is a bad one.
 * Wrong: the target passes for memory that cannot be written, and the read fails;
 * or the bytes are lost, since nobody but the task itself makes its stack grow.
 * pyrr-test: cflags=-pthread
 * pyrr-test: deterministic
 */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ROUNDS = 4, STEP = 700000 };

static int fds[2];
static atomic_int go;

static void *writer(void *arg)
{
	char text[48];

	for (int round = 1; round <= ROUNDS; round++) {
		while (atomic_load(&go) < round)
			sched_yield();
		wait_until_asleep(getpid());
		memset(text, 'a' + round, sizeof(text));
		write_all(fds[1], text, sizeof(text));
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	char on_stack = 0;

	CHECK(pipe(fds) == 0 && pthread_create(&thread, NULL, writer, NULL) == 0);
	for (int round = 1; round < ROUNDS; round++) {
		/* Across two pages. */
		uintptr_t target = ((uintptr_t)&on_stack - (uintptr_t)round * STEP) & -4096;
		const char *bytes = (const char *)(target - 24);

		atomic_store(&go, round);
		/* The system call itself: the compiler knows that this is no room for read(2). */
		long result = syscall(SYS_read, fds[0], target - 24, 64);
		say("round %d: %ld, %016lx\n", round, result,
			result > 0 ? hash_bytes(bytes, 64, HASH_START) : 0);
	}
	atomic_store(&go, ROUNDS);
	long result = syscall(SYS_read, fds[0], (uintptr_t)&on_stack - (100 << 20), 64);
	say("far below: %ld %s\n", result, strerror(errno));
	CHECK(pthread_join(thread, NULL) == 0);
	return 0;
}
