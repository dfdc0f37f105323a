/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Descriptor numbers and flags: close_range, dup gaps, RLIMIT_NOFILE, F_SETFL,
 * FIONREAD, FIONBIO, F_SETPIPE_SZ, O_DIRECT pipes, /dev/null, /dev/full, a
 * directory read as a file, descriptors above 1000.
 */
#include "check.h"

#include <sys/ioctl.h>
#include <sys/resource.h>

int main(void)
{
	struct rlimit limit;
	char text[16];
	int fds[2], count = -1, on = 1, full = open("/dev/full", O_RDWR),
		    null = open("/dev/null", O_RDWR);

	CHECK(full >= 0 && null >= 0);
	CHECK(write(full, "x", 1) == -1 && errno == ENOSPC);
	CHECK(write(null, text, 16) == 16 && read(null, text, 16) == 0 &&
		read(full, text, 16) == 16);
	CHECK(pipe2(fds, O_DIRECT | O_CLOEXEC) == 0);
	write_all(fds[1], "packet", 6);
	write_all(fds[1], "two", 3);
	CHECK(ioctl(fds[0], FIONREAD, &count) == 0 && count == 9);
	CHECK(read(fds[0], text, 16) == 6 && read(fds[0], text, 16) == 3);
	say("pipe of %d bytes\n", fcntl(fds[0], F_GETPIPE_SZ));
	say("now %d\n", fcntl(fds[0], F_SETPIPE_SZ, 8192));
	CHECK(ioctl(fds[0], FIONBIO, &on) == 0 && read(fds[0], text, 1) == -1 && errno == EAGAIN);
	CHECK(fcntl(fds[0], F_SETFL, 0) == 0 && !(fcntl(fds[0], F_GETFL) & O_NONBLOCK));
	CHECK(dup2(1, 1000) == 1000 && fcntl(1000, F_GETFD) == 0);
	CHECK(fcntl(1, F_DUPFD_CLOEXEC, 1000) == 1001 && fcntl(1001, F_GETFD) == FD_CLOEXEC);
	CHECK(syscall(SYS_close_range, 1000, 2000, 0) == 0 && fcntl(1000, F_GETFD) == -1);
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = 64;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	while ((count = dup(null)) >= 0)
		CHECK(count < 64);
	CHECK(errno == EMFILE && close(10) == 0 && dup(null) == 10);
	CHECK(read(open("/", O_RDONLY), text, 1) == -1);
	for (int fd = 11; fd < 64; fd++)
		close(fd);
	fds[0] = open("/", O_RDONLY);
	CHECK(read(fds[0], text, 1) == -1 && errno == EISDIR);
	CHECK(ioctl(fds[0], TCGETS, text) == -1 && errno == ENOTTY);
	CHECK(close(63) == -1 && errno == EBADF);
	say("lowest free is %d\n", dup(null));
	return 0;
}
