/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A5: no room on the stack for a handler's frame: SIGSEGV comes in its place, whose
 * handler runs on the alternate stack; the signal came by a call, by a timer in a
 * loop, by a fault. Where SIGSEGV has no room either, the process dies of it.
 * Wrong: the process dies though it has a handler; a replay that diverges there.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

static volatile int faults;
static volatile unsigned long rounds;
static sigjmp_buf back;
static char alternate[65536];
static char *narrow; /* 400 bytes above what is not mapped */

static void on_segv(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	CHECK(info->si_code == SI_KERNEL);
	faults++;
	siglongjmp(back, 1);
}

static void never_runs(int signo)
{
	(void)signo;
	_exit(50);
}

static void kill_on_narrow_stack(void)
{
	__asm__ volatile("mov %0, %%rsp\n"
			 "syscall\n"
			 "ud2\n"
		:
		: "r"(narrow), "a"((long)SYS_tgkill), "D"((long)getpid()), "S"(syscall(SYS_gettid)),
		"d"((long)SIGUSR1)
		: "rcx", "r11", "memory");
}

static void loop_on_narrow_stack(void)
{
	struct itimerval once = { { 0, 0 }, { 0, 2000 } };

	CHECK(setitimer(ITIMER_REAL, &once, NULL) == 0);
	__asm__ volatile("mov %1, %%rsp\n"
			 "1: addq $1, %0\n"
			 "mov $110, %%eax\n" /* getppid */
			 "syscall\n"
			 "jmp 1b\n"
		: "+m"(rounds)
		: "r"(narrow)
		: "rax", "rcx", "r11", "memory");
}

static void fault_on_narrow_stack(void)
{
	__asm__ volatile("mov %0, %%rsp\n"
			 "ud2\n"
		:
		: "r"(narrow)
		: "memory");
}

int main(void)
{
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction action = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	void (*const ways[])(
		void) = { kill_on_narrow_stack, loop_on_narrow_stack, fault_on_narrow_stack };
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED && munmap(pages, 4096) == 0);
	narrow = pages + 4096 + 400;
	CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
	signal(SIGUSR1, never_runs);
	signal(SIGALRM, never_runs);
	signal(SIGILL, never_runs);
	for (volatile int i = 0; i < 3; i++) {
		if (sigsetjmp(back, 1) == 0)
			ways[i]();
		CHECK(faults == i + 1);
	}
	say("%d faults, %lu rounds\n", faults, rounds);
	pid_t child = fork();

	if (child == 0) {
		action.sa_flags = SA_SIGINFO;
		CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
		kill_on_narrow_stack();
	}
	int status = reap(child);

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	return 0;
}
