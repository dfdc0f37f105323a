/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: a call that meets a bad pointer half way has written more than its result
 * says: readv of a pipe that holds two writes, the second cut by the fault; read
 * across the edge of a mapping; recvmsg whose second buffer is bad.
 * Wrong: outputs are taken from the result alone.
 * pyrr-test: deterministic
 */
#include "check.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

static char *edge; /* 16 bytes before the end of what is mapped */

static void show(const char *what, long result, const char *bytes)
{
	say("%s: %ld%s, \"%.16s\"\n", what, result, result == -1 ? " and an error" : "", bytes);
}

static void two_writes(int fds[2])
{
	CHECK(write(fds[1], "a", 1) == 1 && write(fds[1], "bcdefghijklmnopqrstuv", 21) == 21);
}

static void drain(int fd)
{
	char text[64];

	while (read(fd, text, sizeof(text)) > 0) {
	}
}

/* A page and some bytes more: two buffers of the pipe. The first one counts. */
static void a_page_and_more(int fds[2])
{
	static char page[4096], target[4096 + 16 + 1];
	struct iovec vec[2] = { { .iov_base = target, .iov_len = 4096 + 4 },
		{ .iov_base = (void *)16, .iov_len = 8 } };

	memset(page, 'p', sizeof(page));
	memset(target, '.', sizeof(target) - 1);
	CHECK(write(fds[1], page, sizeof(page)) == 4096 && write(fds[1], "0123456789", 10) == 10);
	show("readv of a page and more", readv(fds[0], vec, 2), target + 4096);
}

int main(void)
{
	struct iovec vec[2] = { { .iov_len = 4 }, { .iov_base = (void *)16, .iov_len = 8 } };
	struct msghdr msg = { .msg_iov = vec, .msg_iovlen = 2 };
	char bytes[17] = "................";
	int fds[2], pair[2];

	edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(edge != MAP_FAILED && munmap(edge + 4096, 4096) == 0);
	edge += 4096 - 16;
	memset(edge, '.', 16);
	vec[0].iov_base = bytes;
	CHECK(pipe2(fds, O_NONBLOCK) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);

	two_writes(fds);
	show("readv", readv(fds[0], vec, 2), bytes);
	drain(fds[0]);
	two_writes(fds);
	show("read", read(fds[0], edge, 100), edge);
	drain(fds[0]);
	memset(edge, '.', 16);
	CHECK(write(fds[1], "0123456789abcdefghij", 20) == 20);
	show("read of one write", read(fds[0], edge, 100), edge);
	drain(fds[0]);
	a_page_and_more(fds);
	drain(fds[0]);
	memset(bytes, '.', 16);
	CHECK(send(pair[1], "a datagram", 10, 0) == 10);
	show("recvmsg", recvmsg(pair[0], &msg, MSG_DONTWAIT), bytes);
	memset(bytes, '.', 16);
	vec[1] = (struct iovec){ .iov_base = bytes + 8, .iov_len = 8 };
	CHECK(write(fds[1], "the rest", 8) == 8);
	show("readv once more", readv(fds[0], vec, 2), bytes);
	return 0;
}
