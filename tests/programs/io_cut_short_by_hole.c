/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reads of two pieces of data whose buffers have a hole: the second piece faults
 * half way, the call returns the first piece's length, and yet bytes of the
 * second stand in memory behind it.
 * Wrong: only as many bytes are recorded as the result says.
 */
#include "check.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

static char *end_of_page(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED);
	CHECK(munmap(pages + 4096, 4096) == 0);
	memset(pages, '.', 4096);
	return pages + 4096;
}

static void send_two(int fd)
{
	char text[300];

	memset(text, 'x', sizeof(text));
	CHECK(send(fd, "1", 1, 0) == 1 && send(fd, text, sizeof(text), 0) == sizeof(text));
}

int main(void)
{
	int pair[2];
	char *end = end_of_page(), first[100];
	struct iovec vec[2] = { { first, sizeof(first) }, { (void *)16, 1000 } };
	struct msghdr message = { .msg_iov = vec, .msg_iovlen = 2 };
	ssize_t n;

	/* Twice: alone, and with a shared mapping, which makes pyrr use scratch. */
	for (int i = 0; i < 2; i++) {
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
		memset(first, '.', sizeof(first));
		send_two(pair[0]);
		n = readv(pair[1], vec, 2);
		say("readv %zd, %016lx\n", n, hash_bytes(first, sizeof(first), HASH_START));
		CHECK(n == 1 || n == -1);
		send_two(pair[0]);
		n = recvmsg(pair[1], &message, 0);
		say("recvmsg %zd, %016lx\n", n, hash_bytes(first, sizeof(first), HASH_START));
		send_two(pair[0]);
		n = read(pair[1], end - 200, 4000);
		say("read %zd, %016lx\n", n, hash_bytes(end - 200, 200, HASH_START));
		close(pair[0]);
		close(pair[1]);
		CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) !=
			MAP_FAILED);
	}
	return 0;
}
