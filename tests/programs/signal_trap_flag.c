/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A4: the program sets the trap flag itself: SIGTRAP after each instruction, over a
 * syscall too, until it clears the flag; int3. An ignored SIGTRAP kills.
 * Wrong: traps that are missing in replay, since the flag got lost at the syscall.
 */
#include "check.h"

#include <signal.h>
#include <ucontext.h>

static volatile int traps, stepped, breakpoints;
static volatile uint64_t rips[64];

static void on_trap(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	(void)signo;
	rips[traps & 63] = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
	traps++;
	if (info->si_code == TRAP_TRACE)
		stepped++;
	else
		breakpoints++;
}

static long step_over_getpid(void)
{
	long pid;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n" /* past the red zone */
			 "pushfq\n"
			 "orq $0x100, (%%rsp)\n"
			 "popfq\n"
			 "nop\n"
			 "mov $39, %%eax\n"
			 "syscall\n"
			 "mov %%rax, %0\n"
			 "nop\n"
			 "pushfq\n"
			 "andq $~0x100, (%%rsp)\n"
			 "popfq\n"
			 "lea 128(%%rsp), %%rsp\n"
		: "=r"(pid)
		:
		: "rax", "rcx", "r11", "memory", "cc");
	return pid;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	pid_t child;
	int status;

	CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
	CHECK(step_over_getpid() == getpid());
	for (int i = 1; i < stepped; i++)
		CHECK(rips[i] > rips[i - 1] && rips[i] - rips[i - 1] < 12);
	__asm__ volatile("int3");
	CHECK(breakpoints == 1);
	child = fork();
	if (child == 0) {
		signal(SIGTRAP, SIG_IGN);
		__asm__ volatile("int3");
		_exit(1);
	}
	status = reap(child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP);
	say("%d steps, pid %d\n", stepped, getpid());
	return 0;
}
