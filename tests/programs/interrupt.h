/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For programs about interrupted calls: one thread sleeps in a call, another
 * sends it SIGUSR1 once it is asleep, then lets the call end by itself.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

struct interrupt {
	pthread_t sender;
	pthread_t target;
	pid_t target_tid;
	int pokes;             /* signals to send */
	void (*finish)(void);  /* afterwards; may be NULL */
};

static atomic_int interrupt_handled;

static inline void interrupt_handler(int signo)
{
	(void)signo;
	atomic_fetch_add(&interrupt_handled, 1);
}

static inline void interrupt_install(int flags)
{
	struct sigaction action = { .sa_handler = interrupt_handler, .sa_flags = flags };

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	atomic_store(&interrupt_handled, 0);
}

static inline void *interrupt_body(void *arg)
{
	struct interrupt *in = arg;

	for (int i = 0; i < in->pokes; i++) {
		wait_until_asleep(in->target_tid);
		CHECK(pthread_kill(in->target, SIGUSR1) == 0);
		while (atomic_load(&interrupt_handled) == i)
			sched_yield();
	}
	wait_until_asleep(in->target_tid);
	if (in->finish)
		in->finish();
	return NULL;
}

/* The calling thread is the one that will be interrupted `pokes` times. */
static inline void interrupt_start(struct interrupt *in, int pokes, void (*finish)(void))
{
	*in = (struct interrupt){
		.target = pthread_self(), .target_tid = gettid(), .pokes = pokes, .finish = finish
	};
	CHECK(pthread_create(&in->sender, NULL, interrupt_body, in) == 0);
}

static inline void interrupt_join(struct interrupt *in)
{
	CHECK(pthread_join(in->sender, NULL) == 0);
	CHECK(atomic_load(&interrupt_handled) == in->pokes);
}

#endif
