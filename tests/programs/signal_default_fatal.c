/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Children die of every signal whose default is fatal, sent by themselves, by
 * the parent and by a real fault while it is blocked; then this process dies of
 * SIGSEGV: 128 + 11.
 * pyrr-test: status=139
 */
#include "check.h"

#include <signal.h>
#include <sys/resource.h>

static void fault_while_blocked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	*(volatile char *)40 = 1; /* blocked, so the kernel kills */
	_exit(1);
}

int main(void)
{
	struct rlimit none = { 0, 0 };
	pid_t child;

	CHECK(setrlimit(RLIMIT_CORE, &none) == 0);
	for (int signo = 1; signo < 65; signo++) {
		int status;

		if (signo == SIGCHLD || signo == SIGCONT || signo == SIGURG || signo == SIGWINCH ||
			signo == SIGSTOP || signo == SIGTSTP || signo == SIGTTIN ||
			signo == SIGTTOU || signo == 32 || signo == 33)
			continue;
		child = fork();
		if (child == 0) {
			if (signo % 2) {
				CHECK(kill(getpid(), signo) == 0);
				_exit(1);
			}
			for (;;)
				pause();
		}
		if (signo % 2 == 0)
			CHECK(kill(child, signo) == 0);
		status = reap(child);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signo);
	}
	child = fork();
	if (child == 0)
		fault_while_blocked();
	CHECK(WTERMSIG(reap(child)) == SIGSEGV);
	say("pid %d next\n", getpid());
	*(volatile char *)40 = 1;
	return 1;
}
