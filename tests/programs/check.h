/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the test programs share. Each program checks itself: a CHECK that does
 * not hold ends it with status 99. It also prints what it saw, whatever differs
 * from run to run most of all, since a replay must print the very same bytes.
 */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(cond)                                              \
	do {                                                     \
		if (!(cond))                                     \
			check_failed(__FILE__, __LINE__, #cond); \
	} while (0)

static inline void check_failed(const char *file, int line, const char *what)
{
	(void)dprintf(STDERR_FILENO, "%s:%d: does not hold: %s (errno %d, %s)\n", file, line, what,
		errno, strerror(errno));
	_exit(99);
}

/* Writes all of `len` bytes. */
static inline void write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n == -1 && errno == EINTR)
			continue;
		CHECK(n > 0);
		p += n;
		len -= (size_t)n;
	}
}

/* One write(2) a call: nothing is buffered or allocated, so a forked child repeats
 * nothing, lines of several processes stay whole, and handlers may use it. */
__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...)
{
	char text[4096];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	write_all(STDOUT_FILENO, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* Waits for one child and returns its wait status. */
static inline int reap(pid_t pid)
{
	int status = -1;
	pid_t got;

	do {
		got = waitpid(pid, &status, 0);
	} while (got == -1 && errno == EINTR);
	CHECK(got == pid);
	return status;
}

/* Waits for one child, which must exit with status 0. */
static inline void reap_ok(pid_t pid)
{
	int status = reap(pid);

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		(void)dprintf(STDERR_FILENO, "child %d: wait status %#x\n", pid, status);
		_exit(99);
	}
}

/* Sleeps for all of `ms` milliseconds, however often a signal interrupts. */
static inline void sleep_ms(long ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) == -1)
		CHECK(errno == EINTR);
}

/* The scheduler state letter of a task in /proc, 0 if it is gone. */
static inline char task_state(pid_t tid)
{
	char path[64], text[512];
	const char *end;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	end = strrchr(text, ')');
	return end ? end[2] : 0;
}

/* Lets others run until task `tid` sleeps in a system call. Bounded: should it
 * never be seen asleep, the caller goes on, and only its probe is weaker. */
static inline void wait_until_asleep(pid_t tid)
{
	for (int i = 0; i < 4000; i++) {
		if (task_state(tid) == 'S')
			return;
		sched_yield();
	}
}

static inline uint64_t hash_bytes(const void *data, size_t len, uint64_t hash)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * 0x100000001b3u;
	return hash;
}
#define HASH_START 0xcbf29ce484222325u

#endif
