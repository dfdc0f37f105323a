/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A9: the first thread ends by pthread_exit while others go on; the process
 * lives until its last thread. The parent's wait sees one death only.
 * Wrong: the recorder waits for a status that a dead leader does not give.
 * pyrr-test: cflags=-pthread
 * pyrr-test: status=21
 */
#include "check.h"

#include <pthread.h>

static pthread_t leader;

static void *last_thread(void *arg)
{
	int gate = *(int *)arg;
	char byte;

	CHECK(pthread_join(leader, NULL) == 0);
	say("pid %d: leader has gone, state %c\n", getpid(), task_state(getpid()));
	CHECK(read(gate, &byte, 1) == 1);
	for (int i = 0; i < 30; i++)
		sched_yield();
	say("thread %d ends pid %d\n", gettid(), getpid());
	exit(21);
}

int main(void)
{
	int gate[2], status;
	pid_t child;
	pthread_t t;

	CHECK(pipe(gate) == 0);
	child = fork();
	if (child == 0) {
		leader = pthread_self();
		CHECK(pthread_create(&t, NULL, last_thread, &gate[0]) == 0);
		pthread_exit(NULL);
	}
	for (int i = 0; i < 20; i++) {
		CHECK(waitpid(child, &status, WNOHANG) == 0);
		sched_yield();
	}
	write_all(gate[1], "x", 1);
	status = reap(child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 21);

	/* And the same for the first process of the recording. */
	leader = pthread_self();
	write_all(gate[1], "y", 1);
	CHECK(pthread_create(&t, NULL, last_thread, &gate[0]) == 0);
	pthread_exit(NULL);
}
