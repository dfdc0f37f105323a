/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A SIGCHLD handler that reaps with WNOHANG in a loop, SA_NOCLDWAIT and an
 * ignored SIGCHLD (children vanish, wait gives ECHILD at the end).
 */
#include "check.h"

#include <signal.h>

static volatile sig_atomic_t reaped, calls;
static volatile int sum;

static void on_child(int signo)
{
	int status, saved = errno;

	(void)signo;
	calls++;
	while (waitpid(-1, &status, WNOHANG) > 0) {
		reaped++;
		sum += WEXITSTATUS(status);
	}
	errno = saved;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP };
	sigset_t chld, old;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
	CHECK(sigprocmask(SIG_BLOCK, &chld, &old) == 0);
	for (int i = 0; i < 12; i++)
		if (fork() == 0)
			_exit(i);
	while (reaped < 12)
		sigsuspend(&old);
	CHECK(sum == 66);
	say("%d handler calls for 12 children\n", calls);

	action = (struct sigaction){ .sa_handler = SIG_IGN };
	for (int round = 0; round < 2; round++) {
		CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
		for (int i = 0; i < 3; i++)
			if (fork() == 0)
				_exit(i);
		CHECK(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
		action = (struct sigaction){ .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT };
	}
	return 0;
}
