/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sigsuspend, sigwait, sigwaitinfo, ppoll, pselect and epoll_pwait with masks:
 * the mask holds during the call only, and the handler runs before it returns.
 */
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

static volatile sig_atomic_t hits;
static sigset_t usr1, none;

static void handler(int signo)
{
	(void)signo;
	hits++;
}

/* A child that sends SIGUSR1 once this process sleeps. */
static pid_t sender(void)
{
	pid_t child = fork();

	if (child == 0) {
		wait_until_asleep(getppid());
		CHECK(kill(getppid(), SIGUSR1) == 0);
		_exit(0);
	}
	return child;
}

static int call(int kind)
{
	struct timespec limit = { .tv_sec = 100 };
	struct epoll_event event;
	int epoll = epoll_create1(0), result = -1, error;

	switch (kind) {
	case 0:
		result = sigsuspend(&none);
		break;
	case 1:
		result = ppoll(NULL, 0, NULL, &none);
		break;
	case 2:
		result = pselect(0, NULL, NULL, NULL, &limit, &none);
		break;
	default:
		result = epoll_pwait(epoll, &event, 1, 100000, &none);
	}
	error = errno;
	close(epoll);
	errno = error;
	return result;
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	siginfo_t info;
	sigset_t now;
	int signo;

	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(sigprocmask(SIG_BLOCK, &usr1, NULL) == 0);
	for (int kind = 0; kind < 8; kind++) {
		pid_t child = sender();

		hits = 0;
		CHECK(call(kind % 4) == -1 && errno == EINTR && hits == 1);
		CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGUSR1));
		reap_ok(child);

		/* Already pending when the call begins. */
		hits = 0;
		CHECK(raise(SIGUSR1) == 0 && hits == 0);
		CHECK(call(kind % 4) == -1 && errno == EINTR && hits == 1);
	}
	for (int i = 0; i < 3; i++) {
		pid_t child = sender();

		CHECK(sigwait(&usr1, &signo) == 0 && signo == SIGUSR1);
		reap_ok(child);
		child = sender();
		CHECK(sigwaitinfo(&usr1, &info) == SIGUSR1 && info.si_pid == child);
		say("from %d\n", info.si_pid);
		reap_ok(child);
	}
	CHECK(hits == 1);
	return 0;
}
