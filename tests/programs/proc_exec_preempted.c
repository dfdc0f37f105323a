/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A thread execs while its leader and others spin without a call; the new program is busy
 * under a timer, and execs again from its main thread. argv: what is still to do.
 * Wrong: a spinning sibling is waited for for ever, or a probe outlives the exec.
 * pyrr-test: cflags=-pthread
 */
#include "alarmed.h"

#include <pthread.h>

static volatile uint64_t counters[3];
static char *program;

static void *spin(void *arg)
{
	volatile uint64_t *counter = arg;

	for (;;)
		(*counter)++;
	return NULL;
}

static void *exec_soon(void *arg)
{
	(void)arg;
	while (counters[0] < 100000 || counters[1] < 100000 || counters[2] < 100000)
		sched_yield();
	say("before the exec: %lu, %lu, %lu\n", counters[0], counters[1], counters[2]);
	execl(program, program, "1", (char *)NULL);
	CHECK(!"exec failed");
	return NULL;
}

int main(int argc, char **argv)
{
	int left = argc > 1 ? atoi(argv[1]) : 2;
	volatile uint64_t x = 0;
	pthread_t t;

	program = argv[0];
	if (left == 2) {
		for (int i = 0; i < 2; i++)
			CHECK(pthread_create(&t, NULL, spin, (void *)&counters[i]) == 0);
		CHECK(pthread_create(&t, NULL, exec_soon, NULL) == 0);
		spin((void *)&counters[2]);
	}
	alarm_every(2000);
	for (int i = 0; i < 5000000; i++)
		x = x * 3 + 1;
	if (left == 1) { /* the timer goes along */
		signal(SIGALRM, SIG_IGN);
		execl(program, program, "0", (char *)NULL);
	}
	alarm_every(0);
	say("%d alarms, %lx\n", alarms, x);
	return 0;
}
