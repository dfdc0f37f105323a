/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Real-time signals queue: lowest number first, each in the order sent, with
 * its value; plain signals merge. Thread-directed and process-directed ones.
 * pyrr-test: cflags=-pthread
 * pyrr-test: deterministic
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>

static char seen[64][16];
static volatile int count;

static void handler(int signo, siginfo_t *info, void *context)
{
	(void)context;
	(void)snprintf(seen[count++], sizeof(seen[0]), "%d:%d", signo - SIGRTMIN,
		info->si_value.sival_int);
}

static void *thread(void *arg)
{
	sigset_t set;

	(void)arg;
	sigemptyset(&set);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_sigqueue(
			      pthread_self(), SIGRTMIN + 5, (union sigval){ .sival_int = i }) == 0);
	CHECK(pthread_sigmask(SIG_SETMASK, &set, NULL) == 0);
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	sigset_t all, none;
	pthread_t t;

	sigfillset(&action.sa_mask);
	sigfillset(&all);
	sigemptyset(&none);
	for (int i = 0; i < 8; i++)
		CHECK(sigaction(SIGRTMIN + i, &action, NULL) == 0);
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(sigprocmask(SIG_SETMASK, &all, NULL) == 0);
	for (int i = 0; i < 12; i++)
		CHECK(sigqueue(getpid(), SIGRTMIN + (12 - i) % 3,
			      (union sigval){ .sival_int = i }) == 0);
	for (int i = 0; i < 5; i++)
		CHECK(kill(getpid(), SIGUSR1) == 0);
	CHECK(sigprocmask(SIG_SETMASK, &none, NULL) == 0);
	CHECK(count == 13);
	for (int i = 0; i < count; i++)
		say("%s\n", seen[i]);

	count = 0;
	CHECK(sigprocmask(SIG_SETMASK, &all, NULL) == 0);
	CHECK(pthread_create(&t, NULL, thread, NULL) == 0 && pthread_join(t, NULL) == 0);
	CHECK(count == 4);
	for (int i = 0; i < count; i++)
		say("%s\n", seen[i]);
	return 0;
}
