/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A2: with SIGSEGV, SIGILL and SIGTRAP ignored, rdtsc and cpuid leave that
 * disposition alone, in this thread, in others and in a forked child.
 * Wrong: the kernel resets it to the default, and the next kill is fatal.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"
#include "insns.h"

#include <pthread.h>
#include <signal.h>

static const int traps[] = { SIGSEGV, SIGILL, SIGTRAP };

static void check_ignored(const char *who)
{
	for (int i = 0; i < 3; i++) {
		struct sigaction action;

		say("%s: tsc %lu, cpuid %08x\n", who, insn_rdtsc(), insn_cpuid(1, 0).b);
		CHECK(sigaction(traps[i], NULL, &action) == 0);
		CHECK(action.sa_handler == SIG_IGN);
		CHECK(kill(getpid(), traps[i]) == 0);
	}
}

static void *thread(void *arg)
{
	check_ignored(arg);
	return NULL;
}

int main(void)
{
	pthread_t t;
	pid_t child;

	for (int i = 0; i < 3; i++)
		CHECK(signal(traps[i], SIG_IGN) != SIG_ERR);
	check_ignored("main");
	CHECK(pthread_create(&t, NULL, thread, "thread") == 0 && pthread_join(t, NULL) == 0);
	child = fork();
	if (child == 0) {
		check_ignored("child");
		_exit(0);
	}
	reap_ok(child);
	return 0;
}
