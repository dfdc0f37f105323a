/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A handler with SA_RESTART makes read, recv, accept, wait4 and flock go on
 * sleeping; without it they fail with EINTR.
 * Wrong: the restart (rax set back, rip backed up) differs in the replay.
 * pyrr-test: cflags=-pthread
 */
#include "interrupt.h"

static int fds[2];

static void feed(void)
{
	write_all(fds[1], "end", 3);
}

int main(void)
{
	struct interrupt in;
	char text[8];

	CHECK(pipe(fds) == 0);
	for (int round = 0; round < 5; round++) {
		interrupt_install(SA_RESTART);
		interrupt_start(&in, 3, feed);
		CHECK(read(fds[0], text, sizeof(text)) == 3);
		interrupt_join(&in);

		interrupt_install(0);
		interrupt_start(&in, 1, NULL);
		CHECK(read(fds[0], text, sizeof(text)) == -1 && errno == EINTR);
		interrupt_join(&in);
	}
	for (int round = 0; round < 3; round++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			_exit(read(fds[0], text, 3) == 3 ? 8 : 1);
		interrupt_install(SA_RESTART);
		interrupt_start(&in, 2, feed);
		CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 8);
		interrupt_join(&in);

		child = fork();
		if (child == 0)
			_exit(read(fds[0], text, 3) == 3 ? 8 : 1);
		interrupt_install(0);
		interrupt_start(&in, 1, NULL);
		CHECK(waitpid(child, &status, 0) == -1 && errno == EINTR);
		interrupt_join(&in);
		feed();
		CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 8);
	}
	say("pid %d was interrupted and restarted\n", getpid());
	return 0;
}
