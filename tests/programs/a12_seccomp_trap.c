/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A12: a filter that says TRAP: SIGSYS with the call's number, arch and address;
 * the handler answers in the kernel's place by editing rax.
 * Wrong: no SIGSYS, a wrong siginfo, or a replay that runs the call.
 */
#include "filter.h"

#include <signal.h>

static volatile int traps;

static void on_sys(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	CHECK(signo == SIGSYS && info->si_code == 1 /* SYS_SECCOMP */);
	CHECK(info->si_syscall == SYS_getppid && info->si_arch == AUDIT_ARCH_X86_64);
	CHECK(info->si_errno == 77);
	CHECK((greg_t)(uintptr_t)info->si_call_addr == u->uc_mcontext.gregs[REG_RIP]);
	CHECK(u->uc_mcontext.gregs[REG_RAX] == SYS_getppid);
	u->uc_mcontext.gregs[REG_RAX] = 4000 + traps++;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };

	CHECK(sigaction(SIGSYS, &action, NULL) == 0);
	filter_install(SYS_getppid, SECCOMP_RET_TRAP | 77);
	for (int i = 0; i < 5; i++)
		CHECK(getppid() == 4000 + i);
	say("pid %d: %d traps\n", getpid(), traps);
	return 0;
}
