/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A9: SIGTERM sent to a thread is fatal for a whole group whose other threads
 * sleep; first in a child, where the wait status tells, then in this process.
 * Wrong: siblings are not released together, or the status is 0.
 * pyrr-test: cflags=-pthread
 * pyrr-test: status=143
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>

static void *sleeper(void *arg)
{
	char byte;
	int *fds = arg;

	CHECK(read(fds[0], &byte, 1) < 0);
	return NULL;
}

static void die(void)
{
	static int fds[2];
	pthread_t t[4];

	CHECK(pipe(fds) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&t[i], NULL, sleeper, fds) == 0);
	for (int i = 0; i < 10; i++)
		sched_yield();
	say("pid %d goes\n", getpid());
	CHECK(pthread_kill(t[2], SIGTERM) == 0);
	for (;;)
		pause();
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			die();
		status = reap(child);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	}
	die();
}
