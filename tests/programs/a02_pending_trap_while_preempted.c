/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A2: a blocked SIGTRAP that the program has sent itself stays pending, with its siginfo, while
 * a busy loop is preempted and interrupted by a timer; sigtimedwait takes it then.
 * Wrong: the step to a place swallows it, since the kernel keeps one SIGTRAP alone.
 */
#include "alarmed.h"

static uint64_t be_busy(int rounds)
{
	volatile uint64_t x = 1;

	for (int i = 0; i < rounds; i++)
		x = x * 31 + (uint64_t)i;
	return x;
}

int main(void)
{
	struct timespec none = { 0, 0 };
	sigset_t set, pending;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	alarm_every(1000);
	for (int i = 0; i < 10; i++) {
		union sigval value = { .sival_int = 4700 + i };
		siginfo_t info;

		CHECK(sigqueue(getpid(), SIGTRAP, value) == 0);
		say("%d: %lx\n", i, be_busy(3000000));
		CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGTRAP));
		CHECK(sigtimedwait(&set, &info, &none) == SIGTRAP);
		CHECK(info.si_code == SI_QUEUE && info.si_value.sival_int == 4700 + i);
	}
	alarm_every(0);
	say("%d alarms\n", alarms);
	return 0;
}
