/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * stdout is closed: writes fail with EBADF, the next open takes number 1, and the
 * program goes on; then stderr and stdin too.
 * pyrr-test: deterministic
 */
#include "check.h"

int main(void)
{
	char text[16];
	int fds[2];

	say("before\n");
	close(STDOUT_FILENO);
	CHECK(write(STDOUT_FILENO, "lost\n", 5) == -1 && errno == EBADF);
	CHECK(printf("lost as well\n") > 0 && fflush(stdout) == EOF);
	CHECK(pipe(fds) == 0 && fds[0] == 1);
	CHECK(write(fds[1], "in a pipe", 9) == 9 && read(1, text, sizeof(text)) == 9);
	(void)dprintf(STDERR_FILENO, "stdout is a pipe's read end now\n");
	close(0);
	close(2);
	CHECK(read(0, text, 1) == -1 && errno == EBADF);
	return 0;
}
