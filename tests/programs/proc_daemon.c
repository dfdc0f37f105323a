/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The classic daemon: fork, setsid, fork, chdir, umask, descriptors closed and
 * reopened on /dev/null; it then writes a file and ends.
 * Wrong: the daemon outlives the recording, or new sessions confuse it.
 */
#include "check.h"

#include <sys/stat.h>

static void daemon_body(int report)
{
	char text[100];
	int n, fd;

	CHECK(chdir("/") == 0);
	(void)umask(027);
	for (int i = 0; i < 3; i++)
		close(i);
	CHECK(open("/dev/null", O_RDWR) == 0 && dup(0) == 1 && dup(0) == 2);
	say("nobody hears this\n");
	fd = (int)syscall(SYS_memfd_create, "log", 0);
	n = snprintf(text, sizeof(text), "daemon %d, session %d, group %d, umask %o\n", getpid(),
		getsid(0), getpgrp(), umask(0));
	write_all(fd, text, (size_t)n);
	CHECK(pread(fd, text, sizeof(text), 0) == n);
	write_all(report, text, (size_t)n);
	_exit(0);
}

int main(void)
{
	char text[200];
	int fds[2];
	ssize_t n;
	pid_t child;

	CHECK(pipe(fds) == 0);
	child = fork();
	if (child == 0) {
		CHECK(setsid() == getpid());
		if (fork() == 0)
			daemon_body(fds[1]);
		_exit(0);
	}
	reap_ok(child);
	close(fds[1]);
	n = read(fds[0], text, sizeof(text));
	CHECK(n > 10);
	write_all(STDOUT_FILENO, text, (size_t)n);
	CHECK(read(fds[0], text, 1) == 0);
	return 0;
}
