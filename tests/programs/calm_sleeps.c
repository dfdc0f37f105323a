/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Without signals: nanosleep, clock_nanosleep, poll, select, epoll_wait, sigtimedwait, futex
 * and semtimedop sleep for all of their time, once, next to busy threads.
 * Wrong: EINTR, a timeout cut short, nanosleep's rest written.
 * pyrr-test: cflags=-pthread
 */
#include "calm.h"

#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>

enum { ROUNDS = 2, MS = 4 };

static const struct timespec sleep_time = { 0, MS * 1000000 };

static void check_slept(uint64_t begin)
{
	uint64_t took = calm_now() - begin;

	CHECK(took >= MS * 1000000u - 100000u);
}

static void *sleeps(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec rest = { 47, 11 }, until;
		uint64_t begin = calm_now();

		CHECK(nanosleep(&sleep_time, &rest) == 0);
		CHECK(rest.tv_sec == 47 && rest.tv_nsec == 11);
		check_slept(begin);
		begin = calm_now();
		CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &sleep_time, &rest) == 0);
		CHECK(rest.tv_sec == 47 && rest.tv_nsec == 11);
		check_slept(begin);
		begin = calm_now() + MS * 1000000u;
		until = (struct timespec){ (time_t)(begin / 1000000000u),
			(long)(begin % 1000000000u) };
		CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
		CHECK(calm_now() >= begin);
	}
	return calm_done();
}

static void *polls(void *arg)
{
	int epoll = epoll_create1(0), fds[2];

	(void)arg;
	CHECK(epoll >= 0 && pipe(fds) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct pollfd pollfd = { fds[0], POLLIN, 77 };
		struct timeval time = { 0, MS * 1000 };
		struct epoll_event event = { .events = 77 };
		uint64_t begin = calm_now();
		fd_set set;

		CHECK(poll(&pollfd, 1, MS) == 0 && pollfd.revents == 0);
		check_slept(begin);
		begin = calm_now();
		FD_ZERO(&set);
		FD_SET(fds[0], &set);
		CHECK(select(fds[0] + 1, &set, NULL, NULL, &time) == 0 && !FD_ISSET(fds[0], &set));
		CHECK(time.tv_sec == 0 && time.tv_usec == 0);
		check_slept(begin);
		begin = calm_now();
		CHECK(epoll_wait(epoll, &event, 1, MS) == 0 && event.events == 77);
		check_slept(begin);
	}
	return calm_done();
}

static void *waits(void *arg)
{
	int word = 0, semaphore = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf down = { 0, -1, 0 };
	sigset_t set;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK(semaphore >= 0 && sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begin = calm_now();

		CHECK(sigtimedwait(&set, NULL, &sleep_time) == -1 && errno == EAGAIN);
		check_slept(begin);
		begin = calm_now();
		CHECK(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &sleep_time, NULL, 0) == -1);
		CHECK(errno == ETIMEDOUT);
		check_slept(begin);
		begin = calm_now();
		CHECK(semtimedop(semaphore, &down, 1, &sleep_time) == -1 && errno == EAGAIN);
		check_slept(begin);
	}
	CHECK(semctl(semaphore, 0, IPC_RMID) == 0);
	return calm_done();
}

int main(void)
{
	void *(*const bodies[])(void *) = { sleeps, polls, waits };

	calm_run(bodies, 3);
	return 0;
}
