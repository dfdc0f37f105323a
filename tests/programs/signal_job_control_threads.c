/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A9, A11: a process of six threads (in read, epoll_wait, a long sleep, futex waits,
 * a loop of calls) is stopped and continued again and again, by SIGSTOP and SIGTSTP;
 * its parent sees each change; it is killed while stopped.
 * Wrong: a thread that runs on or never again, EINTR where there is none bare, a
 * parent that is told nothing.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>

static int data[2], control[2];
static volatile int stop;

static void *in_read(void *arg)
{
	char c;

	CHECK(read(data[0], &c, 1) == 1);
	return arg;
}

static void *in_epoll(void *arg)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, data[0], &event) == 0);
	while (epoll_wait(epoll, &event, 1, -1) != 1)
		CHECK(errno == EINTR); /* signal(7): stop signals do that */
	return arg;
}

static void *in_sleep(void *arg)
{
	struct timespec time = { 0, 60000000 };

	CHECK(nanosleep(&time, NULL) == 0);
	return arg;
}

static void *in_calls(void *arg)
{
	while (!stop)
		getppid();
	return arg;
}

static void *in_futex(void *arg)
{
	struct timespec time = { 0, 1000000 };

	while (!stop)
		syscall(SYS_futex, &stop, 0, 0, &time, 0, 0);
	return arg;
}

static _Noreturn void many(void)
{
	void *(*const bodies[])(void *) = { in_read, in_epoll, in_sleep, in_calls, in_futex };
	pthread_t threads[5];
	char c;

	for (int i = 0; i < 5; i++)
		CHECK(pthread_create(&threads[i], NULL, bodies[i], NULL) == 0);
	CHECK(read(control[0], &c, 1) == 1);
	stop = 1;
	CHECK(write(data[1], "xx", 2) == 2);
	for (int i = 0; i < 5; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	_exit(7);
}

/* In a process group of its own: in an orphaned one SIGTSTP does nothing. */
static pid_t start(void)
{
	pid_t child = fork();

	if (child == 0) {
		setpgid(0, 0);
		many();
	}
	CHECK(setpgid(child, child) == 0);
	return child;
}

static void stop_and_continue(pid_t child, int signo)
{
	int status;

	sleep_ms(3);
	CHECK(kill(child, signo) == 0);
	CHECK(waitpid(child, &status, WUNTRACED) == child);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == signo);
	sleep_ms(2);
	CHECK(kill(child, SIGCONT) == 0);
	CHECK(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status));
}

int main(void)
{
	pid_t child;
	int status;

	CHECK(pipe(data) == 0 && pipe(control) == 0);
	for (int i = 0; i < 3; i++) {
		child = start();
		stop_and_continue(child, SIGSTOP);
		stop_and_continue(child, SIGTSTP);
		stop_and_continue(child, SIGSTOP);
		CHECK(write(control[1], "x", 1) == 1);
		status = reap(child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	}
	child = start();
	sleep_ms(3);
	CHECK(kill(child, SIGSTOP) == 0);
	CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
	CHECK(kill(child, SIGKILL) == 0);
	status = reap(child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	say("pid %d stopped them all\n", child);
	return 0;
}
