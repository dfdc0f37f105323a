/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Transfers larger than any scratch area: 3 MB through a pipe by single reads of
 * 2 MB, by readv of 300 pieces, through a socket by one recv with MSG_WAITALL,
 * and one pread of 5 MB from a file.
 * Wrong: a large output is cut, or a short count appears that bare has not.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { SIZE = 3 << 20 };
static unsigned char *data, *copy;

static void *writer(void *arg)
{
	write_all(*(int *)arg, data, SIZE);
	return NULL;
}

static void read_in_pieces(int fd, size_t piece)
{
	size_t got = 0;

	memset(copy, 0, SIZE);
	while (got < SIZE) {
		ssize_t n = read(fd, copy + got, piece < SIZE - got ? piece : SIZE - got);

		CHECK(n > 0);
		got += (size_t)n;
	}
}

static void readv_in_pieces(int fd)
{
	static struct iovec vec[300];
	size_t got = 0;

	memset(copy, 0, SIZE);
	while (got < SIZE) {
		size_t piece = (SIZE - got + 299) / 300, at = got;
		ssize_t n;
		int count = 0;

		while (at < SIZE && count < 300) {
			size_t len = piece < SIZE - at ? piece : SIZE - at;

			vec[count++] = (struct iovec){ .iov_base = copy + at, .iov_len = len };
			at += len;
		}
		n = readv(fd, vec, count);
		CHECK(n > 0);
		got += (size_t)n;
	}
}

int main(void)
{
	int fds[2], pair[2], file = open("big", O_RDWR | O_CREAT | O_TRUNC, 0600);
	pthread_t t;
	uint64_t x = 88172645463325252u;

	data = malloc(5 << 20);
	copy = malloc(5 << 20);
	for (int i = 0; i < 5 << 20; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		data[i] = (unsigned char)x;
	}
	CHECK(pipe(fds) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	for (int i = 0; i < 3; i++) {
		int out = i == 2 ? pair[1] : fds[1];

		CHECK(pthread_create(&t, NULL, writer, &out) == 0);
		if (i == 0)
			read_in_pieces(fds[0], 2 << 20);
		else if (i == 1)
			readv_in_pieces(fds[0]);
		else
			CHECK(recv(pair[0], copy, SIZE, MSG_WAITALL) == SIZE);
		CHECK(pthread_join(t, NULL) == 0);
		CHECK(memcmp(data, copy, SIZE) == 0);
	}
	write_all(file, data, 5 << 20);
	CHECK(pread(file, copy, 5 << 20, 0) == 5 << 20 && memcmp(data, copy, 5 << 20) == 0);
	say("%016lx\n", hash_bytes(copy, 5 << 20, HASH_START));
	return 0;
}
