/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A process stopped and continued in the middle of nanosleep, poll and a timed
 * futex wait goes on by restart_syscall(2), to the end of its own limit, without
 * EINTR.
 * Wrong: the recorder or the replay gets ERESTART_RESTARTBLOCK wrong.
 */
#include "check.h"

#include <linux/futex.h>
#include <poll.h>
#include <signal.h>

static void sleeper(int kind)
{
	struct timespec limit = { .tv_nsec = 150000000 }, before, after;
	int word = 0, fds[2];
	struct pollfd set;
	long ms;

	CHECK(pipe(fds) == 0);
	set = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	CHECK(clock_gettime(CLOCK_MONOTONIC, &before) == 0);
	if (kind == 0)
		CHECK(nanosleep(&limit, NULL) == 0);
	else if (kind == 1)
		CHECK(poll(&set, 1, 150) == 0);
	else
		CHECK(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &limit, NULL, 0) == -1 &&
			errno == ETIMEDOUT);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &after) == 0);
	ms = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
	CHECK(ms >= 148);
	say("kind %d: %ld ms\n", kind, ms);
	_exit(0);
}

int main(void)
{
	for (int kind = 0; kind < 3; kind++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			sleeper(kind);
		for (int i = 0; i < 3; i++) {
			wait_until_asleep(child);
			CHECK(kill(child, SIGSTOP) == 0);
			CHECK(waitpid(child, &status, WUNTRACED) == child);
			if (WIFEXITED(status))
				break;
			CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
			CHECK(kill(child, SIGCONT) == 0);
		}
		if (!WIFEXITED(status))
			status = reap(child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	return 0;
}
