/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * setitimer of the three kinds, alarm, timer_create by signal and by thread id,
 * with overruns and values, timerfd once and periodic, and cancelling.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/timerfd.h>

static volatile sig_atomic_t hits[65], value;

static void handler(int signo, siginfo_t *info, void *context)
{
	(void)context;
	hits[signo]++;
	value = info->si_value.sival_int;
}

static void cpu_timers(void)
{
	struct itimerval soon = { .it_value.tv_usec = 2000 }, left;

	CHECK(setitimer(ITIMER_VIRTUAL, &soon, NULL) == 0);
	CHECK(setitimer(ITIMER_PROF, &soon, NULL) == 0);
	while (!hits[SIGVTALRM] || !hits[SIGPROF])
		(void)getppid();
	CHECK(getitimer(ITIMER_PROF, &left) == 0 && left.it_value.tv_usec == 0);
	CHECK(alarm(100) == 0);
	CHECK(alarm(0) >= 99);
}

static void posix_timers(void)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 4711
	};
	struct itimerspec often = { .it_value.tv_nsec = 1000000, .it_interval.tv_nsec = 200000 };
	struct itimerspec left;
	siginfo_t info;
	sigset_t set;
	timer_t timer;

	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	CHECK(timer_settime(timer, 0, &often, NULL) == 0);
	while (hits[SIGRTMIN] < 5)
		sched_yield();
	CHECK(value == 4711);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	sleep_ms(5);
	CHECK(sigwaitinfo(&set, &info) == SIGRTMIN && info.si_code == SI_TIMER);
	say("overrun %d of %d\n", info.si_overrun, timer_getoverrun(timer));
	CHECK(timer_gettime(timer, &left) == 0 && left.it_interval.tv_nsec == 200000);
	say("next in %ld ns\n", left.it_value.tv_nsec);
	CHECK(timer_delete(timer) == 0);
	event.sigev_notify = SIGEV_THREAD_ID;
	event._sigev_un._tid = gettid();
	CHECK(timer_create(CLOCK_REALTIME, &event, &timer) == 0);
	often.it_interval.tv_nsec = 0;
	CHECK(timer_settime(timer, 0, &often, NULL) == 0);
	CHECK(sigwaitinfo(&set, &info) == SIGRTMIN && info.si_value.sival_int == 4711);
	CHECK(timer_delete(timer) == 0 && timer_delete(timer) == -1);
}

static void timer_descriptors(void)
{
	struct itimerspec spec = { .it_value.tv_nsec = 2000000, .it_interval.tv_nsec = 500000 },
			  left;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	struct pollfd set = { .fd = fd, .events = POLLIN };
	uint64_t expired;

	CHECK(read(fd, &expired, 8) == -1 && errno == EAGAIN);
	CHECK(timerfd_settime(fd, 0, &spec, NULL) == 0);
	for (int i = 0; i < 5; i++) {
		CHECK(poll(&set, 1, -1) == 1);
		CHECK(read(fd, &expired, 8) == 8 && expired >= 1);
		say("expired %lu times\n", expired);
	}
	CHECK(timerfd_gettime(fd, &left) == 0 && left.it_interval.tv_nsec == 500000);
	CHECK(fcntl(fd, F_SETFL, 0) == 0 && read(fd, &expired, 8) == 8);
	close(fd);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	const int signals[] = { SIGVTALRM, SIGPROF, SIGALRM, SIGRTMIN };

	for (int i = 0; i < 4; i++)
		CHECK(sigaction(signals[i], &action, NULL) == 0);
	cpu_timers();
	posix_timers();
	timer_descriptors();
	return 0;
}
