/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A12: a SIGSYS handler that makes the trapped call itself, from an address that
 * the filter lets through, as sandboxes do; with an alternate stack, in a thread
 * and in a forked child; nested in another handler; SIGALRM storms meanwhile.
 * A blocked or ignored SIGSYS is fatal all the same.
 * Wrong: another result than the kernel's, a lost alarm, a process that goes on.
 * pyrr-test: cflags=-pthread
 */
#include "filter.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>

static volatile int traps, alarms;

/* The only place from which getppid may be called. */
__attribute__((naked, noinline)) static long allowed_call(long nr __attribute__((unused)))
{
	__asm__("mov %rdi, %rax\n\tsyscall\n\t.globl allowed_end\nallowed_end:\n\tret");
}
extern const char allowed_end[];

static void install(void)
{
	uint64_t ip = (uint64_t)(uintptr_t)allowed_end;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)ip, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(ip >> 32), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void on_sys(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	CHECK(signo == SIGSYS && info->si_syscall == SYS_getppid);
	CHECK(info->si_call_addr == (void *)(uintptr_t)u->uc_mcontext.gregs[REG_RIP]);
	u->uc_mcontext.gregs[REG_RAX] = allowed_call(SYS_getppid) + 1000000;
	traps++;
}

static void on_alarm(int signo)
{
	(void)signo;
	CHECK(getppid() >= 1000000); /* a trap inside a handler */
	alarms++;
}

static void *in_thread(void *arg)
{
	for (int i = 0; i < 50; i++)
		CHECK(getppid() >= 1000000);
	return arg;
}

/* Ends by SIGSYS though the signal is kept away. */
static void fatal_case(bool ignored)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, SIGSYS);
		if (ignored)
			signal(SIGSYS, SIG_IGN);
		else
			sigprocmask(SIG_BLOCK, &set, NULL);
		getppid();
		_exit(1);
	}
	status = reap(child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

int main(void)
{
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
	pthread_t t;

	CHECK(sigaltstack(&alternate, NULL) == 0);
	sigaddset(&action.sa_mask, SIGALRM); /* a trap while SIGSYS is blocked kills */
	CHECK(sigaction(SIGSYS, &action, NULL) == 0);
	signal(SIGALRM, on_alarm);
	install();
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	while (alarms < 20)
		CHECK(getppid() >= 1000000);
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	CHECK(pthread_create(&t, NULL, in_thread, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	pid_t child = fork();

	if (child == 0) {
		CHECK(getppid() >= 1000000);
		_exit(0);
	}
	reap_ok(child);
	fatal_case(true);
	fatal_case(false);
	say("%d traps, %d alarms\n", traps, alarms);
	return 0;
}
