/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * wait4, waitpid and waitid: any child, one, a group; WNOHANG before and after
 * the death; WNOWAIT, which leaves it; ECHILD; each status kind; resource usage.
 * Wrong: a wait in the replay is really run, or its outputs are not in the trace.
 */
#include "check.h"

#include <signal.h>
#include <sys/resource.h>

static pid_t child_until_told(int *gate, int code)
{
	int fds[2];
	pid_t child;
	char byte;

	CHECK(pipe2(fds, O_CLOEXEC) == 0);
	child = fork();
	if (child == 0) {
		close(fds[1]);
		CHECK(read(fds[0], &byte, 1) == 0);
		_exit(code);
	}
	close(fds[0]);
	*gate = fds[1];
	return child;
}

static void not_yet_then_peek(void)
{
	siginfo_t info = { 0 };
	struct rusage usage;
	int gate, status;
	pid_t child = child_until_told(&gate, 44);

	for (int i = 0; i < 20; i++) {
		CHECK(waitpid(child, &status, WNOHANG) == 0);
		CHECK(waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG) == 0 &&
			info.si_pid == 0);
		CHECK(waitpid(-1, &status, WNOHANG) == 0);
	}
	close(gate);
	for (int i = 0; i < 3; i++) {
		CHECK(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0);
		CHECK(info.si_pid == child && info.si_code == CLD_EXITED && info.si_status == 44);
		CHECK(info.si_signo == SIGCHLD && info.si_uid == getuid());
	}
	CHECK(wait4(-1, &status, WNOHANG, &usage) == child && WEXITSTATUS(status) == 44);
	CHECK(waitpid(child, &status, 0) == -1 && errno == ECHILD);
	CHECK(waitid(P_ALL, 0, &info, WEXITED) == -1 && errno == ECHILD);
	say("child %d: %ld faults\n", child, usage.ru_minflt);
}

static void in_any_order(void)
{
	int gates[5], status, sum = 0;
	pid_t children[5];

	for (int i = 0; i < 5; i++) {
		children[i] = child_until_told(&gates[i], i + 1);
		if (i >= 3)
			CHECK(setpgid(children[i], children[3]) == 0);
	}
	for (int i = 0; i < 5; i++)
		close(gates[i]);
	for (int i = 0; i < 2; i++) {
		pid_t child = waitpid(-children[3], &status, 0);

		CHECK(child == children[3] || child == children[4]);
		say("of the group: %d, %d\n", child, WEXITSTATUS(status));
	}
	for (int i = 0; i < 3; i++) {
		pid_t child = waitpid(0, &status, __WALL);

		CHECK(child > 0);
		say("of mine: %d, %d\n", child, WEXITSTATUS(status));
		sum += WEXITSTATUS(status);
	}
	CHECK(sum == 6);
}

int main(void)
{
	siginfo_t info;
	pid_t child;

	for (int i = 0; i < 3; i++) {
		not_yet_then_peek();
		in_any_order();
	}
	child = fork();
	if (child == 0) {
		raise(SIGKILL);
		_exit(0);
	}
	CHECK(waitid(P_PID, (id_t)child, &info, WEXITED) == 0);
	CHECK(info.si_code == CLD_KILLED && info.si_status == SIGKILL);
	CHECK(waitpid(child, NULL, 0x8000) == -1 && errno == EINVAL);
	return 0;
}
