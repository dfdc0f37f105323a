/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A grandchild goes on after its parent and the first process are gone, and
 * writes to the inherited stdout and stderr; the recording lasts until its end,
 * and the status is the first process's.
 * Wrong: the trace ends with the first process.
 * pyrr-test: status=6
 */
#include "check.h"

int main(void)
{
	int fds[2];
	char byte;

	CHECK(pipe(fds) == 0);
	if (fork() == 0) {
		pid_t parent = getpid();

		if (fork() != 0)
			_exit(0);
		close(fds[1]);
		CHECK(read(fds[0], &byte, 1) == 0); /* the first process is gone */
		while (getppid() == parent)
			sched_yield();
		say("orphan %d, now of %d\n", getpid(), getppid());
		(void)dprintf(STDERR_FILENO, "orphan on stderr\n");
		_exit(3);
	}
	CHECK(waitpid(-1, NULL, 0) > 0);
	say("first process %d ends\n", getpid());
	return 6;
}
