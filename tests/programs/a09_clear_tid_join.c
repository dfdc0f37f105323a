/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A9: the kernel clears a dead thread's tid word and wakes its joiner after the
 * exit event. Joins of many short threads, then a raw CLONE_CHILD_CLEARTID child
 * whose word is watched with futex(2).
 * Wrong: the word stays, the joiner sleeps for ever, or another thread sees the
 * word clear itself in the middle of its slice.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>

static volatile int word;

static void *thread(void *arg)
{
	return (char *)arg + gettid();
}

static int raw_child(void *arg)
{
	(void)arg;
	sched_yield();
	return 0;
}

int main(void)
{
	enum { STACK = 65536 };
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

	for (int i = 0; i < 40; i++) {
		pthread_t t[3];
		void *result;

		for (int j = 0; j < 3; j++)
			CHECK(pthread_create(&t[j], NULL, thread, NULL) == 0);
		for (int j = 0; j < 3; j++) {
			CHECK(pthread_join(t[j], &result) == 0);
			if (i % 10 == 0)
				say("tid %ld\n", (long)(intptr_t)result);
		}
	}
	for (int i = 0; i < 20; i++) {
		int tid, seen, now;

		word = -1;
		tid = clone(
			raw_child, stack + STACK, flags, NULL, (int *)&word, NULL, (int *)&word);
		CHECK(tid > 0);
		while ((seen = word) != 0)
			syscall(SYS_futex, &word, FUTEX_WAIT, seen, NULL, NULL, 0);
		now = word;
		CHECK(now == 0);
		say("raw thread %d has gone\n", tid);
	}
	return 0;
}
