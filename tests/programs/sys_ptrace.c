/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A program that would trace another one or be traced: a recorder is the only
 * tracer there can be, so it says no; what matters is that both go on.
 * Wrong: the tracee stops for a tracer that never comes.
 */
#include "check.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

static void tell(const char *what, long result)
{
	say("%s: %s\n", what, result == -1 ? strerror(errno) : "yes");
}

int main(void)
{
	pid_t child = fork();
	long result;
	int status;

	if (child == 0) {
		for (;;)
			pause();
	}
	result = ptrace(PTRACE_SEIZE, child, 0, 0);
	tell("seize a child", result);
	if (result == 0)
		CHECK(ptrace(PTRACE_INTERRUPT, child, 0, 0) == 0 &&
			waitpid(child, &status, 0) == child);
	CHECK(kill(child, SIGKILL) == 0);
	do {
		status = reap(child);
	} while (!WIFSIGNALED(status));
	CHECK(ptrace(PTRACE_ATTACH, getpid(), 0, 0) == -1);
	tell("PR_SET_PTRACER", prctl(PR_SET_PTRACER, -1, 0, 0, 0));
	child = fork();
	if (child == 0) {
		tell("be traced", ptrace(PTRACE_TRACEME, 0, 0, 0));
		_exit(3);
	}
	status = reap(child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	return 0;
}
