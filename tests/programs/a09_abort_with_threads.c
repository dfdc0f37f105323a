/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A9: abort(3) in a program with sleeping threads: a death with a core dump,
 * for which the kernel gathers all threads first. Core files are switched off,
 * which changes WCOREDUMP only.
 * Wrong: the recorder holds a sibling stopped and the dump waits for it.
 * pyrr-test: cflags=-pthread
 * pyrr-test: status=134
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

static void *sleeper(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

static void crash(void)
{
	struct rlimit none = { 0, 0 };
	pthread_t t;

	CHECK(setrlimit(RLIMIT_CORE, &none) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&t, NULL, sleeper, NULL) == 0);
	say("pid %d aborts\n", getpid());
	abort();
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			crash();
		status = reap(child);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		say("wait status %#x\n", status);
	}
	crash();
}
