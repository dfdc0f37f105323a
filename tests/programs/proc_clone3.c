/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clone3: a pidfd, tid words in parent and child, a given stack, and arguments
 * that the kernel refuses. Where it is forbidden (ENOSYS) that is the answer.
 * Wrong: the struct is not read in full, or the pidfd is not delivered.
 */
#include "check.h"

#include <linux/sched.h>
#include <poll.h>
#include <signal.h>

static long clone3(struct clone_args *args, size_t size)
{
	return syscall(SYS_clone3, args, size);
}

int main(void)
{
	int pidfd = -1, parent_word = 0, status;
	static volatile int child_word;
	struct clone_args args = { .flags = CLONE_PIDFD | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID,
		.pidfd = (uintptr_t)&pidfd,
		.parent_tid = (uintptr_t)&parent_word,
		.child_tid = (uintptr_t)&child_word,
		.exit_signal = SIGCHLD };
	struct pollfd ready;
	long child = clone3(&args, sizeof(args));

	if (child == -1 && errno == ENOSYS) {
		say("clone3 is forbidden here\n");
		return 0;
	}
	CHECK(child >= 0);
	if (child == 0) {
		CHECK(child_word == getpid());
		say("child %d\n", getpid());
		_exit(17);
	}
	CHECK(parent_word == child && child_word == 0 && pidfd >= 0);
	ready = (struct pollfd){ .fd = pidfd, .events = POLLIN };
	CHECK(poll(&ready, 1, -1) == 1);
	status = reap((pid_t)child);
	CHECK(WEXITSTATUS(status) == 17);
	close(pidfd);

	args = (struct clone_args){ .flags = CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD };
	child = clone3(&args, sizeof(args));
	if (child == 0)
		_exit(18);
	CHECK(WEXITSTATUS(reap((pid_t)child)) == 18);

	args = (struct clone_args){ .exit_signal = 1000 };
	CHECK(clone3(&args, sizeof(args)) == -1 && errno == EINVAL);
	CHECK(clone3(&args, 8) == -1 && errno == EINVAL);
	CHECK(clone3(NULL, sizeof(args)) == -1 && errno == EFAULT);
	say("word %d, pidfd %d\n", parent_word, pidfd);
	return 0;
}
