/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * F_SETLKW and flock that sleep until another process lets go, F_GETLK, F_OFD
 * locks, EDEADLK; a FIFO whose open sleeps until the other side comes.
 */
#include "check.h"

#include <sys/file.h>
#include <sys/stat.h>

static int set_lock(int fd, int command, short type, off_t start, off_t len)
{
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len
	};

	return fcntl(fd, command, &lock);
}

static void counter_under_lock(int use_flock)
{
	int rounds = 15, value = 0, fd;
	pid_t children[3];

	fd = open("counter", O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(pwrite(fd, &value, sizeof(value), 0) == sizeof(value));
	for (int c = 0; c < 3; c++) {
		children[c] = fork();
		if (children[c] != 0)
			continue;
		fd = open("counter", O_RDWR);
		for (int i = 0; i < rounds; i++) {
			CHECK(use_flock ? flock(fd, LOCK_EX) == 0
					: set_lock(fd, F_SETLKW, F_WRLCK, 0, 4) == 0);
			CHECK(pread(fd, &value, sizeof(value), 0) == sizeof(value));
			sched_yield();
			value++;
			CHECK(pwrite(fd, &value, sizeof(value), 0) == sizeof(value));
			CHECK(use_flock ? flock(fd, LOCK_UN) == 0
					: set_lock(fd, F_SETLK, F_UNLCK, 0, 4) == 0);
		}
		_exit(0);
	}
	for (int c = 0; c < 3; c++)
		reap_ok(children[c]);
	CHECK(pread(fd, &value, sizeof(value), 0) == sizeof(value) && value == 3 * rounds);
}

static void conflicts(void)
{
	struct flock asked = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open("counter", O_RDWR), other = open("counter", O_RDWR);
	pid_t child;

	CHECK(set_lock(fd, F_SETLK, F_WRLCK, 10, 5) == 0);
	child = fork();
	if (child == 0) {
		CHECK(set_lock(fd, F_SETLK, F_RDLCK, 12, 1) == -1);
		CHECK(errno == EAGAIN || errno == EACCES);
		CHECK(fcntl(fd, F_GETLK, &asked) == 0 && asked.l_pid == getppid());
		say("held by %d from %ld\n", asked.l_pid, (long)asked.l_start);
		_exit(0);
	}
	reap_ok(child);
	CHECK(flock(fd, LOCK_SH) == 0 && flock(other, LOCK_EX | LOCK_NB) == -1 &&
		errno == EWOULDBLOCK);
	CHECK(set_lock(other, F_OFD_SETLK, F_WRLCK, 50, 5) == 0);
	CHECK(set_lock(fd, F_OFD_SETLK, F_WRLCK, 52, 1) == -1 && errno == EAGAIN);
}

static void fifo(void)
{
	char text[16] = "";
	pid_t child;
	int fd;

	CHECK(mkfifo("fifo", 0600) == 0);
	CHECK(open("fifo", O_WRONLY | O_NONBLOCK) == -1 && errno == ENXIO);
	for (int i = 0; i < 3; i++) {
		child = fork();
		if (child == 0) {
			fd = open("fifo", O_WRONLY);
			write_all(fd, "through it", 10);
			_exit(0);
		}
		if (i == 1)
			wait_until_asleep(child);
		fd = open("fifo", O_RDONLY);
		CHECK(fd >= 0 && read(fd, text, 10) == 10 && strcmp(text, "through it") == 0);
		CHECK(read(fd, text, 10) == 0);
		close(fd);
		reap_ok(child);
	}
}

int main(void)
{
	counter_under_lock(0);
	counter_under_lock(1);
	conflicts();
	fifo();
	return 0;
}
