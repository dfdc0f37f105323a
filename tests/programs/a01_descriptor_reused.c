/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: a descriptor that led to a file, whose reads wait for nobody, leads to an
 * empty pipe from then on, by every way there is; its reads then wait for
 * another thread. The way back, too.
 * Wrong: what was found out about the file is still believed, nobody else runs
 * during the read, and the recording hangs; or the pipe's bytes arrive unseen.
 * pyrr-test: cflags=-pthread
 * pyrr-test: timeout=30
 */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

enum { FD = 40 };

static atomic_int round_number;
static int pipe_fds[2];
static volatile unsigned char area[64];

static void read_file(void)
{
	char text[16];
	struct iovec part = { text, sizeof(text) };

	for (int i = 0; i < 3; i++) {
		CHECK(lseek(FD, 0, SEEK_SET) == 0);
		CHECK(read(FD, text, sizeof(text)) == 16 && text[15] == 'p');
		CHECK(lseek(FD, 0, SEEK_SET) == 0);
		CHECK(readv(FD, &part, 1) == 16 && text[0] == 'a');
	}
}

static void lead_to_file(void)
{
	int fd = open("letters", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && dup2(fd, FD) == FD && close(fd) == 0);
}

static void *dup_elsewhere(void *arg)
{
	CHECK(dup2(pipe_fds[0], FD) == FD);
	return arg;
}

static void lead_to_pipe(int way)
{
	pthread_t thread;

	switch (way) {
	case 0:
		CHECK(dup2(pipe_fds[0], FD) == FD);
		return;
	case 1:
		CHECK(dup3(pipe_fds[0], FD, O_CLOEXEC) == FD);
		return;
	case 2:
		CHECK(close(FD) == 0 && fcntl(pipe_fds[0], F_DUPFD, FD) == FD);
		return;
	case 3:
		CHECK(syscall(SYS_close_range, FD, FD, 0) == 0);
		CHECK(fcntl(pipe_fds[0], F_DUPFD_CLOEXEC, FD) == FD);
		return;
	default:
		CHECK(pthread_create(&thread, NULL, dup_elsewhere, NULL) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
		return;
	}
}
enum { WAYS = 5 };

/* Watches, then sends what the reader waits for. */
static void *writer(void *arg)
{
	for (int n = 1; n <= 2 * WAYS; n++) {
		long looks = 0;

		while (atomic_load(&round_number) < n)
			sched_yield();
		wait_until_asleep(getpid());
		write_all(pipe_fds[1], "from the pipe", 13);
		while (looks < 100000 && area[0] != 'f')
			looks++;
		say("round %d: seen at look %ld\n", n, looks);
		while (atomic_load(&round_number) < 100 * n)
			sched_yield();
		atomic_store(&round_number, 0);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	int fd = open("letters", O_RDWR | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && write(fd, "abcdefghijklmnop", 16) == 16 && close(fd) == 0);
	CHECK(pipe(pipe_fds) == 0);
	CHECK(pthread_create(&thread, NULL, writer, NULL) == 0);
	for (int n = 1; n <= 2 * WAYS; n++) {
		while (atomic_load(&round_number) != 0)
			sched_yield();
		area[0] = '.';
		lead_to_file();
		read_file();
		lead_to_pipe((n - 1) % WAYS);
		atomic_store(&round_number, n);
		CHECK(read(FD, (void *)area, sizeof(area)) == 13);
		CHECK(memcmp((const void *)area, "from the pipe", 13) == 0);
		atomic_store(&round_number, 100 * n);
	}
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(unlink("letters") == 0);
	return 0;
}
