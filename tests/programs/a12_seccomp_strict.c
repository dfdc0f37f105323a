/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A12: strict mode by both ways in; read, write, exit and sigreturn work, also
 * from a handler; any other call kills with SIGKILL, in a thread the thread alone.
 * rdtsc faults.
 * Wrong: another status, or another thread that dies too.
 * pyrr-test: cflags=-pthread
 */
#include "filter.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <x86intrin.h>

static int fds[2];

static void enter(bool by_prctl)
{
	if (by_prctl)
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	else
		CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) == 0);
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)info;
	(void)!write(STDOUT_FILENO, signo == SIGSEGV ? "S" : "A", 1);
	if (signo == SIGSEGV)
		u->uc_mcontext.gregs[REG_RIP] += 2; /* past rdtsc */
}

static void good(bool by_prctl)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	char c = 0;

	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	CHECK(write(fds[1], "q", 1) == 1);
	enter(by_prctl);
	(void)!read(fds[0], &c, 1);
	(void)!write(STDOUT_FILENO, &c, 1);
	__asm__ volatile("rdtsc" ::: "rax", "rdx");
	(void)!write(STDOUT_FILENO, "\n", 1);
	syscall(SYS_exit, 42);
}

static void bad(bool by_prctl)
{
	enter(by_prctl);
	syscall(SYS_getpid);
	syscall(SYS_exit, 0);
}

static void *thread_dies(void *arg)
{
	(void)arg;
	bad(true);
	return NULL;
}

static void in_thread(bool unused)
{
	pthread_t t;

	(void)unused;
	CHECK(pthread_create(&t, NULL, thread_dies, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	_exit(17);
}

static int run(void (*body)(bool), bool by_prctl)
{
	pid_t child = fork();

	if (child == 0) {
		body(by_prctl);
		_exit(1);
	}
	return reap(child);
}

int main(void)
{
	CHECK(pipe(fds) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == -1 && errno == EINVAL);
	for (int i = 0; i < 2; i++) {
		int status = run(good, i);

		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
		status = run(bad, i);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !WCOREDUMP(status));
	}
	int status = run(in_thread, true);

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 17);
	say("pid %d saw its children end\n", getpid());
	return 0;
}
