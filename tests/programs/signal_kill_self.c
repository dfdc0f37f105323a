/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * SIGKILL to itself while output waits in a pipe that a child reads.
 * pyrr-test: status=137
 */
#include "check.h"

#include <signal.h>

int main(void)
{
	int fds[2];
	char text[32];

	CHECK(pipe(fds) == 0);
	if (fork() == 0) {
		ssize_t n;

		close(fds[1]);
		while ((n = read(fds[0], text, sizeof(text))) > 0)
			write_all(STDOUT_FILENO, text, (size_t)n);
		say("child %d saw the end\n", getpid());
		_exit(0);
	}
	for (int i = 0; i < 5; i++)
		(void)dprintf(fds[1], "line %d of %d\n", i, getpid());
	CHECK(kill(getpid(), SIGKILL) == 0);
	return 1;
}
