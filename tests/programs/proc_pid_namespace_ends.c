/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Process 1 of a new pid namespace ends before its children, where that is
 * permitted: the kernel kills them and lets it go only when they are gone.
 * Wrong: the recorder waits for its end alone, and so do the killed children.
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>

static void *waits(void *arg)
{
	pause();
	return arg;
}

static void child_of_init(int number)
{
	pthread_t thread;

	if (number == 1)
		CHECK(pthread_create(&thread, NULL, waits, NULL) == 0);
	if (number == 2) {
		signal(SIGTERM, SIG_IGN);
		for (;;)
			sched_yield();
	}
	for (;;)
		pause();
}

static void init_of_namespace(void)
{
	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			child_of_init(i);
	for (int i = 0; i < 20; i++)
		sched_yield();
	_exit(37);
}

int main(void)
{
	if (unshare(CLONE_NEWPID) == -1 && unshare(CLONE_NEWUSER | CLONE_NEWPID) == -1) {
		say("no new pid namespace: %s\n", strerror(errno));
		return 0;
	}
	pid_t child = fork();

	if (child == 0)
		init_of_namespace();
	CHECK(WEXITSTATUS(reap(child)) == 37);
	say("outside: child %d of %d\n", child, getpid());
	return 0;
}
