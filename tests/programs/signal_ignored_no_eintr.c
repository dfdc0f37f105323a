/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Signals ignored by default (SIGCHLD, SIGWINCH, SIGURG) or by choice must not
 * interrupt epoll_wait, poll, sigtimedwait, pause-like calls or a sleep: under
 * ptrace the kernel wakes the tracee for them, bare it does not.
 * Wrong: the program sees EINTR only because it is recorded.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/msg.h>

static int source;
static pid_t main_tid;

static void *disturber(void *arg)
{
	static const int signals[] = { SIGWINCH, SIGURG, SIGUSR2, SIGCONT };
	uint64_t one = 1;

	(void)arg;
	for (int i = 0; i < 12; i++) {
		wait_until_asleep(main_tid);
		if (i % 3 == 0) {
			pid_t child = fork();

			if (child == 0)
				_exit(0);
			CHECK(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT) == 0);
			reap_ok(child);
		} else {
			CHECK(syscall(SYS_tgkill, getpid(), main_tid, signals[i % 4]) == 0);
		}
	}
	wait_until_asleep(main_tid);
	write_all(source, &one, sizeof(one));
	return NULL;
}

static void one_call(int kind)
{
	struct epoll_event want = { .events = EPOLLIN }, got;
	struct pollfd set = { .fd = source, .events = POLLIN };
	struct timespec limit = { .tv_nsec = 30000000 };
	uint64_t count;
	pthread_t t;
	int epoll = epoll_create1(0);

	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, source, &want) == 0);
	CHECK(pthread_create(&t, NULL, disturber, NULL) == 0);
	if (kind == 0)
		CHECK(epoll_wait(epoll, &got, 1, -1) == 1);
	else if (kind == 1)
		CHECK(epoll_wait(epoll, &got, 1, 60000) == 1);
	else if (kind == 2)
		CHECK(poll(&set, 1, -1) == 1);
	else if (kind == 3)
		CHECK(nanosleep(&limit, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(read(source, &count, sizeof(count)) == sizeof(count) && count == 1);
	close(epoll);
}

static void message_queue(void)
{
	struct {
		long type;
		char text[8];
	} message = { .type = 1 };
	int queue = msgget(IPC_PRIVATE, 0600);
	pid_t child;

	CHECK(queue >= 0);
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 5; i++) {
			wait_until_asleep(getppid());
			CHECK(kill(getppid(), SIGWINCH) == 0);
		}
		CHECK(msgsnd(queue, &message, 4, 0) == 0);
		_exit(0);
	}
	CHECK(msgrcv(queue, &message, 8, 0, 0) == 4);
	CHECK(msgctl(queue, IPC_RMID, NULL) == 0);
	reap_ok(child);
}

int main(void)
{
	main_tid = gettid();
	source = eventfd(0, 0);
	CHECK(signal(SIGUSR2, SIG_IGN) != SIG_ERR);
	for (int kind = 0; kind < 4; kind++)
		one_call(kind);
	message_queue();
	say("pid %d slept well\n", getpid());
	return 0;
}
