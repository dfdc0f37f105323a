/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * prctl(PR_SET_CHILD_SUBREAPER) makes orphans of the second generation children;
 * PR_SET_PDEATHSIG signals a child whose parent thread died; names by PR_SET_NAME.
 */
#include "check.h"

#include <signal.h>
#include <sys/prctl.h>

static void orphan(int gate)
{
	char byte;

	CHECK(read(gate, &byte, 1) == 0);
	_exit(55);
}

int main(void)
{
	int value = 0, gate[2], ready[2], status, seen = 0;
	char name[16] = "";
	pid_t middle, got;

	CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	CHECK(prctl(PR_GET_CHILD_SUBREAPER, &value) == 0 && value == 1);
	CHECK(prctl(PR_SET_NAME, "renamed") == 0 && prctl(PR_GET_NAME, name) == 0);
	CHECK(strcmp(name, "renamed") == 0);
	CHECK(pipe(gate) == 0 && pipe(ready) == 0);
	middle = fork();
	if (middle == 0) {
		pid_t leaf = fork();

		if (leaf == 0) {
			close(gate[1]);
			orphan(gate[0]);
		}
		leaf = fork();
		if (leaf == 0) {
			close(gate[1]);
			CHECK(prctl(PR_SET_PDEATHSIG, SIGUSR1) == 0);
			write_all(ready[1], "r", 1);
			for (;;)
				pause();
		}
		_exit(read(ready[0], name, 1) == 1 ? 0 : 1);
	}
	reap_ok(middle);
	close(gate[1]);
	while ((got = waitpid(-1, &status, 0)) > 0) {
		say("orphan %d: wait status %#x\n", got, status);
		seen += WIFSIGNALED(status) ? 1 : 10;
		CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGUSR1
					  : WEXITSTATUS(status) == 55);
	}
	CHECK(errno == ECHILD && seen == 11);
	return 0;
}
