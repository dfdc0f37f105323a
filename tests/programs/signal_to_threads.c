/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A signal to the process goes to a thread that does not block it; tgkill and
 * pthread_kill choose one; sigwait in a dedicated thread takes them; a process
 * full of blockers keeps it pending.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_int handled_by, waited;
static pthread_barrier_t ready;

static void handler(int signo)
{
	(void)signo;
	atomic_store(&handled_by, gettid());
}

static void *open_thread(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
	*(int *)arg = gettid();
	pthread_barrier_wait(&ready);
	while (atomic_load(&handled_by) == 0)
		sleep_ms(1);
	return NULL;
}

static void *waiting_thread(void *arg)
{
	sigset_t set;
	int signo;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTERM);
	for (;;) {
		CHECK(sigwait(&set, &signo) == 0);
		atomic_fetch_add(&waited, 1);
		if (signo == SIGTERM)
			return NULL;
	}
}

int main(void)
{
	sigset_t all, pending;
	pthread_t t, waiter;

	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
	CHECK(signal(SIGUSR1, handler) != SIG_ERR);
	CHECK(pthread_barrier_init(&ready, NULL, 2) == 0);
	for (int i = 0; i < 6; i++) {
		int tid = 0;

		atomic_store(&handled_by, 0);
		CHECK(pthread_create(&t, NULL, open_thread, &tid) == 0);
		pthread_barrier_wait(&ready);
		if (i % 2)
			CHECK(kill(getpid(), SIGUSR1) == 0);
		else
			CHECK(pthread_kill(t, SIGUSR1) == 0);
		CHECK(pthread_join(t, NULL) == 0);
		CHECK(atomic_load(&handled_by) == tid);
		say("thread %d took it\n", tid);
	}
	CHECK(pthread_create(&waiter, NULL, waiting_thread, NULL) == 0);
	for (int i = 1; i <= 5; i++) {
		CHECK(kill(getpid(), SIGUSR2) == 0);
		while (atomic_load(&waited) < i)
			sched_yield();
	}
	CHECK(kill(getpid(), SIGTERM) == 0 && pthread_join(waiter, NULL) == 0);
	CHECK(kill(getpid(), SIGUSR1) == 0);
	CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1));
	return 0;
}
