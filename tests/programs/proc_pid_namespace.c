/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A child that is number 1 of a new pid namespace, where that is permitted: it
 * sees its own numbers, its parent sees others, kill and wait go by those.
 * Wrong: the recorder takes the number the program sees for its own.
 */
#include "check.h"

#include <signal.h>

static void init_of_namespace(int report)
{
	char text[128];
	pid_t child;
	int n;

	CHECK(getpid() == 1 && getppid() == 0);
	child = fork();
	if (child == 0) {
		CHECK(getpid() == 2 && getppid() == 1);
		for (;;)
			pause();
	}
	CHECK(child == 2 && kill(2, SIGTERM) == 0);
	CHECK(WTERMSIG(reap(child)) == SIGTERM);
	n = snprintf(text, sizeof(text), "inside: pid %d, tid %d, group %d, session %d\n", getpid(),
		gettid(), getpgrp(), getsid(0));
	write_all(report, text, (size_t)n);
	_exit(31);
}

int main(void)
{
	char text[128];
	int fds[2];
	pid_t child;
	ssize_t n;

	if (unshare(CLONE_NEWPID) == -1 && unshare(CLONE_NEWUSER | CLONE_NEWPID) == -1) {
		say("no new pid namespace: %s\n", strerror(errno));
		return 0;
	}
	CHECK(pipe(fds) == 0);
	child = fork();
	if (child == 0)
		init_of_namespace(fds[1]);
	CHECK(child > 1);
	CHECK(WEXITSTATUS(reap(child)) == 31);
	close(fds[1]);
	n = read(fds[0], text, sizeof(text));
	CHECK(n > 0);
	write_all(STDOUT_FILENO, text, (size_t)n);
	say("outside: child %d of %d\n", child, getpid());
	return 0;
}
