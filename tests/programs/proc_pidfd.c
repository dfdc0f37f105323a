/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pidfd_open, poll on it, pidfd_send_signal, pidfd_getfd, waitid(P_PIDFD).
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <poll.h>
#include <signal.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

int main(void)
{
	struct pollfd ready;
	siginfo_t info;
	int fds[2], copy;
	char text[4];
	pid_t child;

	CHECK(pipe(fds) == 0);
	child = fork();
	if (child == 0) {
		for (;;)
			pause();
	}
	ready = (struct pollfd){ .fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN };
	CHECK(ready.fd >= 0 && poll(&ready, 1, 0) == 0);
	copy = (int)syscall(SYS_pidfd_getfd, ready.fd, fds[1], 0);
	if (copy >= 0) {
		write_all(copy, "abc", 3);
		CHECK(read(fds[0], text, 3) == 3 && memcmp(text, "abc", 3) == 0);
	} else {
		say("pidfd_getfd: %s\n", strerror(errno));
	}
	CHECK(syscall(SYS_pidfd_send_signal, ready.fd, SIGTERM, NULL, 0) == 0);
	CHECK(poll(&ready, 1, -1) == 1);
	CHECK(waitid(P_PIDFD, (id_t)ready.fd, &info, WEXITED) == 0);
	CHECK(info.si_pid == child && info.si_status == SIGTERM);
	CHECK(syscall(SYS_pidfd_send_signal, ready.fd, SIGTERM, NULL, 0) == -1 && errno == ESRCH);
	CHECK(syscall(SYS_pidfd_open, 0x3fffffff, 0) == -1);
	say("child %d ended by its descriptor\n", child);
	return 0;
}
