/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clone with unusual sets of flags: shared memory without shared descriptors, a
 * descriptor table without memory, another exit signal, none at all, and
 * CLONE_PARENT.
 * Wrong: the child shares more or less than the flags say.
 */
#include "check.h"

#include <signal.h>
#include <sys/mman.h>

enum { STACK = 262144 };
static volatile int value;
static int opened = -1;
static pid_t parent_seen;

static int child_body(void *arg)
{
	value = (int)(intptr_t)arg;
	opened = dup(STDOUT_FILENO);
	parent_seen = getppid();
	say("child %d, parent %d\n", getpid(), parent_seen);
	return value;
}

static int run(int flags, int number, int wait_flags)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int child, status = 0;

	value = 0;
	opened = -1;
	child = clone(child_body, stack + STACK, flags, (void *)(intptr_t)number);
	CHECK(child > 0);
	CHECK(waitpid(child, &status, wait_flags) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == number);
	CHECK(munmap(stack, STACK) == 0);
	return child;
}

int main(void)
{
	pid_t middle;
	int before;

	run(CLONE_VM | SIGCHLD, 11, 0);
	CHECK(value == 11 && opened > 2 && fcntl(opened, F_GETFD) == -1);
	run(CLONE_FILES | SIGCHLD, 12, 0);
	CHECK(value == 0);
	before = dup(STDOUT_FILENO); /* the number after the child's own */
	CHECK(fcntl(before - 1, F_GETFD) == 0);
	run(CLONE_VM | CLONE_FS | CLONE_FILES, 13, __WCLONE);
	CHECK(value == 13 && fcntl(opened, F_GETFD) == 0);
	CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
	run(SIGUSR1, 14, __WALL);
	run(CLONE_VM | CLONE_VFORK | SIGCHLD, 15, 0);
	CHECK(value == 15);

	middle = fork();
	if (middle == 0) {
		long child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

		if (child == 0) {
			say("adopted %d\n", getpid());
			_exit(0);
		}
		CHECK(waitpid((pid_t)child, NULL, WNOHANG) == -1 && errno == ECHILD);
		_exit(0);
	}
	reap_ok(middle);
	CHECK(waitpid(-1, NULL, 0) > 0);
	CHECK(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
	return 0;
}
