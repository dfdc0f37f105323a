/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A2: a SIGTRAP waits blocked while a loop faults every few instructions and is preempted: the
 * way to a place is cut short by a fault.
 * Wrong: the SIGTRAP that was taken out for the steps does not come back, or what a step does to
 * the mask and the disposition of SIGTRAP stays.
 */
#include "check.h"

#include <signal.h>
#include <sys/ucontext.h>
#include <ucontext.h>

enum { ROUNDS = 4000, VALUE = 7 };

static volatile int faults;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)signo;
	(void)info;
	faults++;
	u->uc_mcontext.gregs[REG_RIP] += 2;
}

static void fault_often(void)
{
	faults = 0;
	for (int i = 0; i < ROUNDS; i++) {
		for (volatile int k = 0; k < 3; k++)
			;
		__asm__ volatile("movb (%%rax),%%al" : : "a"(8UL) : "memory");
	}
	CHECK(faults == ROUNDS);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	const union sigval value = { .sival_int = VALUE };
	const struct timespec none = { 0, 0 };
	siginfo_t info;
	sigset_t trap;

	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	CHECK(sigprocmask(SIG_BLOCK, &trap, NULL) == 0);
	CHECK(sigqueue(getpid(), SIGTRAP, value) == 0);
	fault_often();
	CHECK(sigtimedwait(&trap, &info, &none) == SIGTRAP);
	CHECK(info.si_code == SI_QUEUE && info.si_value.sival_int == VALUE);
	CHECK(sigtimedwait(&trap, &info, &none) == -1 && errno == EAGAIN);
	/* Ignored, and not blocked. */
	CHECK(signal(SIGTRAP, SIG_IGN) != SIG_ERR);
	CHECK(sigprocmask(SIG_UNBLOCK, &trap, NULL) == 0);
	fault_often();
	CHECK(sigaction(SIGTRAP, NULL, &action) == 0 && action.sa_handler == SIG_IGN);
	say("%d faults, the trap is still there\n", faults);
	return 0;
}
