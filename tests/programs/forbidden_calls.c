/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Calls that a container's seccomp profile may answer before anybody else sees
 * them, between others, with signals on the way. What they answer is printed.
 * tests/integration/test_forbidden.py runs this under such a filter.
 */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static volatile sig_atomic_t handled;

static void handler(int signo)
{
	(void)signo;
	handled++;
}

static long answer_of_clone3(void)
{
	/* Too small for the kernel's taste, whoever answers. */
	return syscall(SYS_clone3, NULL, 0) == -1 ? errno : 0;
}

static void *calls(void *arg)
{
	long *sum = arg;

	for (int i = 0; i < 200; i++) {
		*sum = *sum * 31 + answer_of_clone3();
		*sum = *sum * 31 + (syscall(SYS_personality, 0xffffffff) == -1 ? errno : 0);
		if (i % 16 == 0)
			sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[3];
	long sums[4] = { 0 };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&threads[i], NULL, calls, &sums[i]) == 0);
	for (int i = 0; i < 40; i++) {
		pthread_kill(threads[i % 3], SIGUSR1);
		sums[3] += answer_of_clone3();
	}
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < 5; i++) {
		CHECK(kill(getpid(), SIGUSR1) == 0);
		sums[3] = sums[3] * 31 + answer_of_clone3() + handled;
	}
	CHECK(handled > 5);
	say("clone3 %ld, mode %d, %ld %ld %ld %ld, handled %d\n", answer_of_clone3(),
		prctl(PR_GET_SECCOMP), sums[0], sums[1], sums[2], sums[3], (int)handled);
	return 0;
}
