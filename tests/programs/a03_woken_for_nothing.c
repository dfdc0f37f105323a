/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A3: SIGCONT, ignored, keeps waking a thread in epoll_wait, which is entered again
 * behind the program's back; a timer's signals with a handler come in between.
 * Wrong: EINTR without a handler that ran, or a handler without EINTR.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>

static volatile int alarms, stop;

static void on_alarm(int signo)
{
	(void)signo;
	alarms++;
}

static void *keep_waking(void *arg)
{
	while (!stop) {
		kill(getpid(), SIGCONT);
		for (volatile int i = 0; i < 2000; i++)
			;
		sched_yield();
	}
	return arg;
}

int main(void)
{
	struct itimerval often = { { 0, 3000 }, { 0, 3000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct epoll_event event;
	sigset_t alarm_only;
	pthread_t t;
	int epoll = epoll_create1(0), waits = 0;

	signal(SIGALRM, on_alarm);
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	CHECK(pthread_sigmask(SIG_BLOCK, &alarm_only, NULL) == 0);
	CHECK(pthread_create(&t, NULL, keep_waking, NULL) == 0);
	CHECK(pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (; waits < 30; waits++) {
		int before = alarms;

		CHECK(epoll_wait(epoll, &event, 1, -1) == -1 && errno == EINTR);
		CHECK(alarms > before);
	}
	stop = 1;
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	say("%d waits, %d alarms\n", waits, alarms);
	return 0;
}
