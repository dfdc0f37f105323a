/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A11: clone with CLONE_UNTRACED still makes a child whose output is recorded
 * and whose status is collected.
 * Wrong: the child escapes, and the replay has neither its output nor its death.
 */
#include "check.h"

int main(void)
{
	for (int i = 0; i < 3; i++) {
		long child = syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0);
		int status;

		CHECK(child >= 0);
		if (child == 0) {
			say("child %d of %d\n", getpid(), getppid());
			_exit(30 + i);
		}
		status = reap((pid_t)child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 30 + i);
	}
	return 0;
}
