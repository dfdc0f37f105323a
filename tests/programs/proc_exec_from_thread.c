/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * exec by a thread that is not the leader, while the leader and others sleep:
 * the caller takes over the leader's tid, all the others vanish.
 * Wrong: the recorder waits for the vanished, or mixes the tids up.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>

static char *args[4], number[16], pid[16];

static void *sleeper(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

static void *caller(void *arg)
{
	(void)arg;
	say("thread %d of %d execs\n", gettid(), getpid());
	execv(args[0], args);
	CHECK(!"exec came back");
	return NULL;
}

int main(int argc, char **argv)
{
	int round = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t t;

	if (argc > 2)
		CHECK(getpid() == atoi(argv[2]) && gettid() == getpid());
	say("round %d: pid %d, tid %d\n", round, getpid(), gettid());
	if (round == 5)
		return 0;
	(void)snprintf(number, sizeof(number), "%d", round + 1);
	(void)snprintf(pid, sizeof(pid), "%d", getpid());
	args[0] = argv[0]; /* not /proc/self/exe: a dead leader has none */
	args[1] = number;
	args[2] = pid;
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&t, NULL, sleeper, NULL) == 0);
	if (round % 2)
		sched_yield();
	CHECK(pthread_create(&t, NULL, caller, NULL) == 0);
	if (round == 3)
		pthread_exit(NULL); /* the leader is dead when the exec comes */
	pthread_join(t, NULL);
	return 1;
}
