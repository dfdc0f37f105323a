/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Three timers' signals into a busy loop; the handlers are busy themselves and interrupted
 * by each other, the third on an alternate stack.
 * Wrong: a point inside a handler is named or found wrong; a frame is lost.
 */
#include "alarmed.h"

/* Of a handler: a tenth of the time to the next signal, so that a slow machine gets on. */
#define ROUNDS 60000u

static volatile uint64_t counter;
static volatile int depth, deepest, handled;
static uint64_t hash = HASH_START;

/* One instruction a step: handlers count in between. */
static void count(uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds; i++)
		__asm__ volatile("incq %0" : "+m"(counter) : : "cc");
}

static void on_signal(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;
	uint64_t began = counter;

	(void)info;
	depth++;
	handled++;
	if (depth > deepest)
		deepest = depth;
	hash = hash_bytes(u->uc_mcontext.gregs, (REG_EFL + 1) * sizeof(greg_t), hash);
	count(ROUNDS);
	say("signal %d at depth %d: %lu to %lu, %016lx\n", signo, depth, began, counter, hash);
	depth--;
}

int main(void)
{
	static char stack[65536];
	const int signals[] = { SIGALRM, SIGVTALRM, SIGPROF };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };

	CHECK(sigaltstack(&alternate, NULL) == 0);
	for (int i = 0; i < 3; i++) {
		struct sigaction action = { .sa_sigaction = on_signal,
			.sa_flags = SA_SIGINFO | SA_RESTART | (i == 2 ? SA_ONSTACK : 0) };
		struct itimerval often = { { 0, 3000 + 1000 * i }, { 0, 1000 + 700 * i } };

		CHECK(sigaction(signals[i], &action, NULL) == 0);
		CHECK(setitimer(i, &often, NULL) == 0);
	}
	count(30000000);
	for (int i = 0; i < 3; i++)
		CHECK(setitimer(i, &never, NULL) == 0);
	CHECK(depth == 0 && counter == 30000000u + ROUNDS * (unsigned)handled);
	say("%d handled, deepest %d\n", handled, deepest);
	return 0;
}
