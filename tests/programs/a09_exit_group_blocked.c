/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A9: exit_group by a non-leader while its siblings sleep in read, futex,
 * nanosleep, poll, wait4 and pause, and some have never run.
 * Wrong: a sleeper is waited for, or the status is another thread's.
 * pyrr-test: cflags=-pthread
 * pyrr-test: status=7
 */
#include "check.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>

static int fds[2], word;

static void *sleeper(void *arg)
{
	char byte;

	switch ((int)(intptr_t)arg) {
	case 0:
		CHECK(read(fds[0], &byte, 1) < 0);
		break;
	case 1:
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
		break;
	case 2:
		sleep_ms(1000000);
		break;
	case 3:
		poll(NULL, 0, -1);
		break;
	case 4:
		waitpid(-1, NULL, 0);
		break;
	default:
		pause();
	}
	return NULL;
}

static void *ender(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++)
		sched_yield();
	say("tid %d of pid %d ends all\n", gettid(), getpid());
	_exit(7);
}

int main(void)
{
	pthread_t t;

	CHECK(pipe(fds) == 0);
	if (fork() == 0) {
		char byte;

		close(fds[1]);
		CHECK(read(fds[0], &byte, 1) == 0); /* until the parent is gone */
		_exit(0);
	}
	for (intptr_t i = 0; i < 12; i++)
		CHECK(pthread_create(&t, NULL, sleeper, (void *)i) == 0);
	CHECK(pthread_create(&t, NULL, ender, NULL) == 0);
	for (intptr_t i = 0; i < 4; i++)
		CHECK(pthread_create(&t, NULL, sleeper, (void *)i) == 0);
	pthread_join(t, NULL);
	pause();
	return 0;
}
