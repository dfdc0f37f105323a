/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A12: filters that kill: the thread (the process goes on), the process (status
 * 128 + SIGSYS), and strict mode, where another call than read, write, exit and
 * sigreturn is SIGKILL.
 * Wrong: the recorder's injected calls are killed, or the program goes on.
 * pyrr-test: cflags=-pthread
 * pyrr-test: status=159
 */
#include "filter.h"

#include <pthread.h>
#include <signal.h>

static void *killed_thread(void *arg)
{
	filter_install(SYS_getppid, SECCOMP_RET_KILL_THREAD);
	getppid();
	*(int *)arg = 1;
	return NULL;
}

static int thread_case(void)
{
	pthread_t t;
	int reached = 0;

	CHECK(pthread_create(&t, NULL, killed_thread, &reached) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	return reached;
}

static void strict_case(void)
{
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	(void)!write(STDOUT_FILENO, "strict\n", 7);
	syscall(SYS_getppid);
	(void)!write(STDOUT_FILENO, "never\n", 6);
	syscall(SYS_exit, 0);
}

int main(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		int reached = thread_case();

		say("the thread went alone: %d\n", !reached);
		_exit(reached);
	}
	reap_ok(child);
	child = fork();
	if (child == 0) {
		strict_case();
		_exit(1);
	}
	status = reap(child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	filter_install(SYS_getppid, SECCOMP_RET_KILL_PROCESS);
	say("pid %d now\n", getpid());
	getppid();
	say("never\n");
	return 0;
}
