/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fork: a tree of processes that write to one stdout and one pipe at a time.
 * Wrong: lines get mixed up, or a pid of the replay is not the recorded one.
 */
#include "check.h"

static void grow(int depth, int pipe_in)
{
	pid_t left, right;
	char line[64];
	int n;

	n = snprintf(line, sizeof(line), "pid %d of %d at depth %d\n", getpid(), getppid(), depth);
	write_all(STDOUT_FILENO, line, (size_t)n);
	write_all(pipe_in, "x", 1);
	if (depth == 0)
		return;
	left = fork();
	if (left == 0) {
		grow(depth - 1, pipe_in);
		_exit(0);
	}
	right = fork();
	if (right == 0) {
		grow(depth - 1, pipe_in);
		_exit(0);
	}
	reap_ok(left);
	reap_ok(right);
}

int main(void)
{
	char all[64];
	int fds[2];

	CHECK(pipe(fds) == 0);
	grow(4, fds[1]);
	CHECK(read(fds[0], all, sizeof(all)) == 31);
	return 0;
}
