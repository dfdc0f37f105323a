/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Without signals: read, readv, recv, recvmsg, accept, epoll_wait, futex and semop, each served
 * by another thread, next to busy ones: each call ends once, with all that was sent.
 * Wrong: EINTR, a short count, a wake-up without a reason.
 * pyrr-test: cflags=-pthread
 */
#include "calm.h"

#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

enum { ROUNDS = 4, LEN = 3000 };

static int pipes[2], sockets[2], listener, semaphore;
static struct sockaddr_un address = { AF_UNIX, "" };
static atomic_uint word;

static void check_bytes(const char *bytes, size_t len, int round)
{
	for (size_t i = 0; i < len; i++)
		CHECK(bytes[i] == (char)round);
}

static void *reads(void *arg)
{
	char bytes[LEN];

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		memset(bytes, -1, LEN);
		if (i % 2) {
			struct iovec parts[2] = { { bytes, 1000 }, { bytes + 1000, LEN - 1000 } };

			CHECK(readv(pipes[0], parts, 2) == LEN);
		} else {
			CHECK(read(pipes[0], bytes, LEN) == LEN);
		}
		check_bytes(bytes, LEN, i);
	}
	return calm_done();
}

static void *receives(void *arg)
{
	char bytes[LEN];

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		struct iovec part = { bytes, LEN };
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

		memset(bytes, -1, LEN);
		if (i % 2)
			CHECK(recv(sockets[0], bytes, LEN, MSG_WAITALL) == LEN);
		else
			CHECK(recvmsg(sockets[0], &message, MSG_WAITALL) == LEN);
		check_bytes(bytes, LEN, i);
	}
	return calm_done();
}

static void *accepts(void *arg)
{
	int epoll = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };

	(void)arg;
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		int fd;

		if (i % 2)
			CHECK(epoll_wait(epoll, &event, 1, -1) == 1 && event.events == EPOLLIN);
		fd = accept(listener, NULL, NULL);
		CHECK(fd >= 0 && close(fd) == 0);
	}
	return calm_done();
}

/* Each sleep has one wake-up, whose word it finds. */
static void *sleeps(void *arg)
{
	struct sembuf down = { 0, -1, 0 };

	(void)arg;
	for (unsigned i = 0; i < ROUNDS; i++) {
		long result = syscall(SYS_futex, &word, FUTEX_WAIT, i, NULL, NULL, 0);

		CHECK(result == 0 || errno == EAGAIN);
		CHECK(atomic_load(&word) == i + 1);
		CHECK(semop(semaphore, &down, 1) == 0);
	}
	return calm_done();
}

/* Serves all of them, a little later each time; and then the next one. */
static void *serves(void *arg)
{
	struct sembuf up = { 0, 1, 0 };
	char bytes[LEN];

	(void)arg;
	for (unsigned i = 0; i < ROUNDS; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		memset(bytes, (int)i, LEN);
		usleep(1500);
		CHECK(write(pipes[1], bytes, LEN) == LEN);
		CHECK(send(sockets[1], bytes, LEN, 0) == LEN);
		CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
		atomic_store(&word, i + 1);
		CHECK(syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) >= 0);
		usleep(1500);
		CHECK(semop(semaphore, &up, 1) == 0);
		while (semctl(semaphore, 0, GETVAL) != 0)
			usleep(500);
		close(fd);
	}
	return calm_done();
}

int main(void)
{
	void *(*const bodies[])(void *) = { reads, receives, accepts, sleeps, serves };

	CHECK(pipe(pipes) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%ccalm%d", 0, getpid());
	memcpy(address.sun_path + 1, "calm", 4);
	CHECK(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(listen(listener, ROUNDS) == 0);
	semaphore = semget(IPC_PRIVATE, 1, 0600);
	CHECK(semaphore >= 0);
	calm_run(bodies, 5);
	CHECK(semctl(semaphore, 0, IPC_RMID) == 0);
	return 0;
}
