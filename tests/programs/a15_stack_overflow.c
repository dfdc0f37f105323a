/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A15: endless recursion ends in SIGSEGV at the limit, handled on an alternate
 * stack: in the main thread and in a thread with a guard page.
 * Wrong: the replay's stack grows further, or not as far.
 * pyrr-test: cflags=-pthread
 * pyrr-test: status=3
 */
#include "check.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>

static sigjmp_buf back;
static volatile uintptr_t fault;
static volatile long depth;
static volatile int last;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)context;
	fault = (uintptr_t)info->si_addr;
	if (last) {
		say("overflow at depth %ld, signal %d\n", depth, signo);
		_exit(3);
	}
	siglongjmp(back, 1);
}

static int descend(volatile int *above)
{
	volatile int here[100];

	depth++;
	here[0] = *above + 1;
	return depth < 0 ? 0 : descend(here) + here[0]; /* never < 0 */
}

static void overflow(const char *who)
{
	static _Thread_local char other[65536];
	stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	volatile int zero = 0;

	CHECK(sigaltstack(&stack, NULL) == 0);
	depth = 0;
	if (sigsetjmp(back, 1) == 0)
		say("%d\n", descend(&zero));
	say("%s: fault at %lx, depth %ld\n", who, fault, depth);
	CHECK(depth > 100);
}

static void *thread(void *arg)
{
	overflow(arg);
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct rlimit limit;
	pthread_t t;

	CHECK(getrlimit(RLIMIT_STACK, &limit) == 0);
	limit.rlim_cur = 1 << 20;
	CHECK(setrlimit(RLIMIT_STACK, &limit) == 0);
	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	overflow("main");
	CHECK(pthread_create(&t, NULL, thread, "thread") == 0 && pthread_join(t, NULL) == 0);
	last = 1;
	overflow("main again");
	return 0;
}
