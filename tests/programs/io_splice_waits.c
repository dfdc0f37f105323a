/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * splice and tee from pipes to stdout that must wait for their writer, find the
 * end, would block, or are ended by a signal; and vmsplice. When stdout can not
 * be spliced to (a file in append mode) read and write do the work.
 * Wrong: the recorder does not know what went out, hangs, or answers with an
 * error that the kernel would not give.
 */
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>

static volatile int alarms;

static void on_alarm(int signo)
{
	(void)signo;
	alarms++;
}

/* splice to stdout, or what a program does without it. */
static ssize_t forward(int from, size_t len)
{
	char text[4096];
	ssize_t n = splice(from, NULL, STDOUT_FILENO, NULL, len, 0);

	if (n == -1 && errno == EINVAL) {
		n = read(from, text, len < sizeof(text) ? len : sizeof(text));
		if (n > 0)
			write_all(STDOUT_FILENO, text, (size_t)n);
	}
	return n;
}

static void *write_later(void *argument)
{
	int fd = *(int *)argument;

	wait_until_asleep(getpid());
	write_all(fd, "from a thread\n", 14);
	return NULL;
}

static void from_a_thread(void)
{
	pthread_t thread;
	int fds[2];

	CHECK(pipe(fds) == 0 && pthread_create(&thread, NULL, write_later, &fds[1]) == 0);
	CHECK(forward(fds[0], 1000) == 14);
	CHECK(pthread_join(thread, NULL) == 0);
	close(fds[1]);
	CHECK(forward(fds[0], 1000) == 0);
}

static void from_a_child(void)
{
	char line[64];
	int fds[2];
	ssize_t n;
	pid_t child;

	CHECK(pipe(fds) == 0);
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 20; i++) {
			(void)snprintf(line, sizeof(line), "line %d of %d\n", i, getpid());
			write_all(fds[1], line, strlen(line));
			if (i % 4 == 0)
				sched_yield();
		}
		_exit(0);
	}
	close(fds[1]);
	while ((n = forward(fds[0], 100)) > 0)
		;
	CHECK(n == 0);
	reap_ok(child);
}

static void without_waiting(void)
{
	char text[16];
	int fds[2];
	ssize_t n;

	CHECK(pipe(fds) == 0);
	n = splice(fds[0], NULL, STDOUT_FILENO, NULL, 10, SPLICE_F_NONBLOCK);
	CHECK(n == -1 && (errno == EAGAIN || errno == EINVAL));
	write_all(fds[1], "0123456789\n", 11);
	n = tee(fds[0], STDOUT_FILENO, 4, SPLICE_F_NONBLOCK);
	CHECK(n == 4 || (n == -1 && errno == EINVAL)); /* not a pipe */
	CHECK(read(fds[0], text, sizeof(text)) == 11 && memcmp(text, "0123456789\n", 11) == 0);
}

static void until_a_signal(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	int fds[2];
	ssize_t n;

	CHECK(pipe(fds) == 0 && sigaction(SIGALRM, &action, NULL) == 0);
	alarm(1);
	n = splice(fds[0], NULL, STDOUT_FILENO, NULL, 10, 0);
	if (n == -1 && errno == EINVAL)
		n = read(fds[0], &n, 1);
	CHECK(n == -1 && errno == EINTR && alarms == 1);
	say("interrupted\n");
}

static void from_memory(void)
{
	static char first[] = "given ", second[] = "pages\n";
	struct iovec vec[2] = { { .iov_base = first, .iov_len = 6 },
		{ .iov_base = second, .iov_len = 6 } };
	ssize_t n = vmsplice(STDOUT_FILENO, vec, 2, 0);

	CHECK(n == 12 || (n == -1 && errno == EBADF)); /* not a pipe */
}

int main(void)
{
	from_a_thread();
	from_a_child();
	without_waiting();
	until_a_signal();
	from_memory();
	return 0;
}
