/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A sibling thread, then a child process, sends signals into a busy loop, the next one when
 * the last has been handled; then SIGTERM's default ends a busy child.
 * Wrong: a handler runs at another count in replay, or a signal to a busy task is never
 * delivered.
 * pyrr-test: cflags=-pthread
 */
#include "alarmed.h"

#include <pthread.h>
#include <sys/mman.h>

enum { SIGNALS = 6 };

struct shared {
	volatile int handled, up;
	volatile uint64_t counter;
};

static struct shared *shared;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	CHECK(info->si_code == SI_TKILL || info->si_code == SI_USER);
	say_frame("sent", context);
	say("signal %d from %s at %lu\n", shared->handled,
		info->si_pid == getpid() ? "a sibling" : "a child", shared->counter);
	shared->handled++;
}

static void send_all(pid_t pid, pid_t tid)
{
	while (!shared->up)
		sched_yield();
	for (int i = 1; i <= SIGNALS; i++) {
		CHECK((tid ? tgkill(pid, tid, SIGUSR1) : kill(pid, SIGUSR1)) == 0);
		while (shared->handled < i)
			sched_yield();
	}
}

static void *sibling(void *arg)
{
	send_all(getpid(), *(pid_t *)arg);
	return NULL;
}

static void be_busy(void)
{
	shared->up = 1;
	while (shared->handled < SIGNALS)
		shared->counter++;
	shared->up = 0;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	pid_t me = gettid(), parent = getpid(), child;
	pthread_t t;
	int status;

	shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED && sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(pthread_create(&t, NULL, sibling, &me) == 0);
	be_busy();
	CHECK(pthread_join(t, NULL) == 0);
	shared->handled = 0;
	child = fork();
	if (child == 0) {
		send_all(parent, 0);
		_exit(0);
	}
	be_busy();
	reap_ok(child);
	child = fork();
	if (child == 0) {
		shared->up = 1;
		for (;;)
			shared->counter++;
	}
	while (!shared->up)
		sched_yield();
	CHECK(kill(child, SIGTERM) == 0);
	status = reap(child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	say("counter %lu\n", shared->counter);
	return 0;
}
