/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sigaltstack: handlers run there or not as SA_ONSTACK says, SS_ONSTACK and
 * SS_AUTODISARM show and change the state, a switch while on it is refused, and
 * each thread has its own.
 * Wrong: replay puts a frame on the other stack.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>

enum { SIZE = 65536 };
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif

static _Thread_local char stack_bytes[SIZE];
static _Thread_local volatile int on_alternate, state, depth;

static void handler(int signo)
{
	char here;
	stack_t now, other = { .ss_sp = stack_bytes, .ss_size = SIZE };

	on_alternate = &here >= stack_bytes && &here < stack_bytes + SIZE;
	CHECK(sigaltstack(NULL, &now) == 0);
	state = now.ss_flags;
	if (on_alternate && state == SS_ONSTACK)
		CHECK(sigaltstack(&other, NULL) == -1 && errno == EPERM);
	if (signo == SIGUSR1 && depth++ < 3)
		CHECK(raise(SIGUSR1) == 0);
}

static void install(int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

static void try(const char *who)
{
	stack_t stack = { .ss_sp = stack_bytes, .ss_size = SIZE }, now;
	stack_t off = { .ss_flags = SS_DISABLE }, tiny = { .ss_sp = stack_bytes, .ss_size = 100 };

	CHECK(sigaltstack(NULL, &now) == 0 && now.ss_flags == SS_DISABLE);
	CHECK(sigaltstack(&tiny, NULL) == -1 && errno == ENOMEM);
	CHECK(sigaltstack(&stack, NULL) == 0);
	install(0);
	CHECK(raise(SIGUSR1) == 0 && !on_alternate && state == 0);
	install(SA_ONSTACK);
	depth = 3;
	CHECK(raise(SIGUSR1) == 0 && on_alternate && state == SS_ONSTACK);
	install(SA_ONSTACK | SA_NODEFER);
	depth = 0;
	CHECK(raise(SIGUSR1) == 0 && depth >= 3 && on_alternate);
	depth = 3;
	stack.ss_flags = (int)SS_AUTODISARM;
	CHECK(sigaltstack(&stack, NULL) == 0);
	CHECK(raise(SIGUSR1) == 0 && on_alternate && state == SS_DISABLE);
	CHECK(sigaltstack(&off, &now) == 0 && now.ss_flags == (int)SS_AUTODISARM);
	say("%s: stack was %p\n", who, now.ss_sp);
}

static void *thread(void *arg)
{
	try(arg);
	return NULL;
}

int main(void)
{
	pthread_t t;

	try("main");
	CHECK(pthread_create(&t, NULL, thread, "thread") == 0 && pthread_join(t, NULL) == 0);
	return 0;
}
