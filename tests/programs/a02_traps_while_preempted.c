/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A2: a busy loop is preempted, and interrupted by a timer, while SIGTRAP is blocked, ignored,
 * has the program's own handler, or the default; each combination stays as it was, and so do
 * SIGSEGV's and SIGILL's.
 * Wrong: a probe's or step's trap unblocks SIGTRAP or resets its disposition.
 */
#include "alarmed.h"

static volatile int traps;

static void on_trap(int signo)
{
	(void)signo;
	traps++;
}

static uint64_t be_busy(int rounds)
{
	volatile uint64_t x = 1;

	for (int i = 0; i < rounds; i++)
		x = x * 31 + (uint64_t)i;
	return x;
}

static void check_unchanged(int signo, const struct sigaction *wanted, bool blocked)
{
	struct sigaction now;
	sigset_t mask;

	CHECK(sigaction(signo, NULL, &now) == 0);
	CHECK(now.sa_handler == wanted->sa_handler && (now.sa_flags & SA_RESTART));
	CHECK(sigismember(&now.sa_mask, SIGUSR2) == sigismember(&wanted->sa_mask, SIGUSR2));
	CHECK(sigprocmask(SIG_BLOCK, NULL, &mask) == 0);
	CHECK(sigismember(&mask, signo) == blocked && !sigismember(&mask, SIGUSR1));
}

int main(void)
{
	void (*const handlers[])(int) = { SIG_DFL, SIG_IGN, on_trap };
	const int signals[] = { SIGTRAP, SIGSEGV, SIGILL };
	sigset_t set;

	sigemptyset(&set);
	for (int i = 0; i < 3; i++)
		sigaddset(&set, signals[i]);
	alarm_every(2000);
	for (int i = 0; i < 6; i++) {
		struct sigaction action = { .sa_handler = handlers[i % 3], .sa_flags = SA_RESTART };
		bool blocked = i >= 3;
		uint64_t result;

		sigaddset(&action.sa_mask, SIGUSR2);
		for (int k = 0; k < 3; k++)
			CHECK(sigaction(signals[k], &action, NULL) == 0);
		CHECK(sigprocmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL) == 0);
		result = be_busy(3000000);
		for (int k = 0; k < 3; k++)
			check_unchanged(signals[k], &action, blocked);
		say("%d: result %lx\n", i, result);
	}
	alarm_every(0);
	CHECK(traps == 0);
	say("%d alarms\n", alarms);
	return 0;
}
