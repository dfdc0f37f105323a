/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * FUTEX_REQUEUE, FUTEX_CMP_REQUEUE and FUTEX_WAKE_OP: sleepers move from one
 * word to another, and a word changes in the kernel while the other is woken.
 * Wrong: the word WAKE_OP wrote is not in the trace.
 * pyrr-test: cflags=-pthread
 */
#include "futex.h"

enum { SLEEPERS = 5 };
static atomic_uint first, second;
static atomic_int tids[SLEEPERS], awake;

static void *sleeper(void *arg)
{
	atomic_store(&tids[(intptr_t)arg], gettid());
	futex(&first, FUTEX_WAIT, 0, NULL, NULL, 0);
	atomic_fetch_add(&awake, 1);
	return NULL;
}

static void start(pthread_t *t)
{
	atomic_store(&first, 0);
	atomic_store(&second, 0);
	atomic_store(&awake, 0);
	for (intptr_t i = 0; i < SLEEPERS; i++) {
		atomic_store(&tids[i], 0);
		CHECK(pthread_create(&t[i], NULL, sleeper, (void *)i) == 0);
	}
	wait_all_asleep(tids, SLEEPERS);
}

/* Wakes all on both words until every thread has gone. */
static void finish(pthread_t *t)
{
	while (atomic_load(&awake) < SLEEPERS) {
		atomic_store(&first, 1);
		futex(&first, FUTEX_WAKE, 100, NULL, NULL, 0);
		futex(&second, FUTEX_WAKE, 100, NULL, NULL, 0);
		sched_yield();
	}
	for (int i = 0; i < SLEEPERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
}

static void requeues(void)
{
	pthread_t t[SLEEPERS];

	start(t);
	say("requeue: %ld\n", futex(&first, FUTEX_REQUEUE, 1, futex_count(2), &second, 0));
	say("wake second: %ld\n", futex(&second, FUTEX_WAKE, 10, NULL, NULL, 0));
	CHECK(futex(&first, FUTEX_CMP_REQUEUE, 1, futex_count(9), &second, 7) == -1);
	CHECK(errno == EAGAIN);
	say("cmp_requeue: %ld\n", futex(&first, FUTEX_CMP_REQUEUE, 1, futex_count(9), &second, 0));
	finish(t);
}

static void wake_ops(void)
{
	pthread_t t[SLEEPERS];
	int op = FUTEX_OP(FUTEX_OP_ADD, 10, FUTEX_OP_CMP_EQ, 3);

	start(t);
	atomic_store(&second, 3);
	say("wake_op: %ld\n",
		futex(&first, FUTEX_WAKE_OP, 2, futex_count(2), &second, (uint32_t)op));
	CHECK(atomic_load(&second) == 13);
	op = FUTEX_OP(FUTEX_OP_XOR, 1, FUTEX_OP_CMP_GT, 100);
	futex(&first, FUTEX_WAKE_OP, 0, futex_count(2), &second, (uint32_t)op);
	CHECK(atomic_load(&second) == 12);
	op = FUTEX_OP((FUTEX_OP_OR | FUTEX_OP_OPARG_SHIFT), 5, FUTEX_OP_CMP_LT, 0);
	futex(&second, FUTEX_WAKE_OP, 0, futex_count(0), &second, (uint32_t)op);
	CHECK(atomic_load(&second) == (12 | 32));
	op = FUTEX_OP(FUTEX_OP_ANDN, 4, FUTEX_OP_CMP_NE, 0);
	futex(&second, FUTEX_WAKE_OP, 0, futex_count(0), &second, (uint32_t)op);
	CHECK(atomic_load(&second) == (8 | 32));
	op = FUTEX_OP(FUTEX_OP_SET, 77, FUTEX_OP_CMP_GE, 0);
	futex(&second, FUTEX_WAKE_OP, 0, futex_count(0), &second, (uint32_t)op);
	CHECK(atomic_load(&second) == 77);
	finish(t);
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		requeues();
		wake_ops();
	}
	return 0;
}
