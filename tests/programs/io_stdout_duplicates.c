/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Output that reaches stdout and stderr by other numbers: dup, dup2, dup3,
 * fcntl(F_DUPFD), /proc/self/fd/1, a descriptor passed through a socket, an
 * inherited one in an exec'ed program, and by a grandchild; 1 and 2 swapped; 1
 * closed and taken by a file, whose bytes are not output.
 * Wrong: the replay echoes by number and not by what was opened.
 * pyrr-test: deterministic
 */
#include "check.h"

#include <sys/socket.h>

static void pass_descriptor(void)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec vec = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &vec,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	int pair[2], one = 1;

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
	control.header = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS
	};
	memcpy(CMSG_DATA(&control.header), &one, sizeof(one));
	CHECK(sendmsg(pair[0], &msg, 0) == 1 && recvmsg(pair[1], &msg, 0) == 1);
	memcpy(&one, CMSG_DATA(&control.header), sizeof(one));
	write_all(one, "by a passed descriptor\n", 23);
	close(one);
	close(pair[0]);
	close(pair[1]);
}

static void from_others(void)
{
	pid_t child = fork();

	if (child == 0) {
		pid_t grandchild = fork();

		if (grandchild == 0) {
			say("grandchild\n");
			execl("/bin/sh", "sh", "-c", "echo shell; echo shell-err >&2; echo fd7 >&7",
				NULL);
			_exit(1);
		}
		reap_ok(grandchild);
		_exit(0);
	}
	reap_ok(child);
}

int main(void)
{
	int a = dup(1), b = fcntl(1, F_DUPFD, 20), swap, file;

	write_all(a, "dup\n", 4);
	write_all(b, "fcntl\n", 6);
	CHECK(dup2(1, 30) == 30 && dup2(1, 7) == 7);
	write_all(30, "dup2\n", 5);
	CHECK(dup3(2, 31, O_CLOEXEC) == 31);
	write_all(31, "dup3 of stderr\n", 15);
	pass_descriptor();
	from_others();

	swap = dup(1);
	CHECK(dup2(2, 1) == 1 && dup2(swap, 2) == 2);
	write_all(1, "1 is stderr\n", 12);
	write_all(2, "2 is stdout\n", 12);
	from_others();
	CHECK(dup2(1, 40) == 40 && dup2(2, 1) == 1 && dup2(40, 2) == 2);

	close(1);
	file = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(file == 1);
	say("this goes to a file\n");
	CHECK(lseek(1, 0, SEEK_END) == 20);
	close(1);
	CHECK(dup2(30, 1) == 1);
	say("and this to stdout again\n");
	return 0;
}
