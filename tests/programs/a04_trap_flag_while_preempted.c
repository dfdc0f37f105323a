/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A4: a program that steps itself by TF with its own SIGTRAP handler, in a loop, while a timer
 * signals and slices end: each instruction traps once, none twice.
 * Wrong: a point is named while TF is the program's: its trap is swallowed, or TF is lost.
 */
#include "alarmed.h"

enum { ROUNDS = 250, INSNS = 9 };

static volatile int traps;
static volatile uint64_t rips[INSNS + 4];

static void on_trap(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	(void)signo;
	CHECK(info->si_code == TRAP_TRACE);
	rips[traps % (INSNS + 4)] = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
	traps++;
}

static uint64_t stepped(uint64_t x)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n"
			 "pushfq\n"
			 "orq $0x100, (%%rsp)\n"
			 "popfq\n"
			 "add $1, %0\n" /* traps are reported behind each of these */
			 "add $2, %0\n"
			 "imul $3, %0, %0\n"
			 "add $4, %0\n"
			 "nop\n"
			 "nop\n"
			 "pushfq\n"
			 "andq $~0x100, (%%rsp)\n"
			 "popfq\n"
			 "lea 128(%%rsp), %%rsp\n"
		: "+r"(x)
		:
		: "memory", "cc");
	return x;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	uint64_t x = 1, y = 1;

	CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
	alarm_every(3000);
	for (int i = 0; i < ROUNDS; i++) {
		x = stepped(x);
		y = (y + 3) * 3 + 4;
		CHECK(x == y && traps == INSNS * (i + 1));
		for (int k = 1; k < INSNS; k++) {
			int at = INSNS * i + k;
			uint64_t now = rips[at % (INSNS + 4)], last = rips[(at - 1) % (INSNS + 4)];

			CHECK(now > last && now - last < 12);
		}
	}
	alarm_every(0);
	say("%d traps, %d alarms, %lx\n", traps, alarms, x);
	return 0;
}
