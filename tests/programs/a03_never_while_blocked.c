/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A3: signals that come while the program is about to block them wait; the
 * handler never runs in a blocked section, and none that is sent is lost.
 * Wrong: a signal held by the recorder is delivered after sigprocmask(BLOCK).
 */
#include "check.h"

#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t blocked, broken, alarms, children;

static void handler(int signo)
{
	if (blocked)
		broken = 1;
	if (signo == SIGALRM)
		alarms++;
	else
		children++;
}

int main(void)
{
	struct itimerval every = { .it_interval.tv_usec = 700, .it_value.tv_usec = 500 };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	sigset_t set, pending;
	int sections = 0, were_pending = 0;
	pid_t self = getpid(), child;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigaddset(&set, SIGUSR1);
	CHECK(sigaction(SIGALRM, &action, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 60; i++)
			CHECK(kill(self, SIGUSR1) == 0 && sched_yield() == 0);
		_exit(0);
	}
	while (alarms < 20 && sections < 20000) {
		CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
		blocked = 1;
		for (int i = 0; i < 5; i++)
			CHECK(getppid() > 0);
		CHECK(sigpending(&pending) == 0);
		if (sigismember(&pending, SIGALRM) || sigismember(&pending, SIGUSR1))
			were_pending++;
		blocked = 0;
		CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
		CHECK(sigpending(&pending) == 0 || sections >= 0);
		sections++;
	}
	reap_ok(child);
	CHECK(!broken && children > 0);
	say("%d sections, %d alarms, %d signals of the child, pending in %d\n", sections, alarms,
		children, were_pending);
	return 0;
}
