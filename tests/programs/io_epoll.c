/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * epoll level, edge and one-shot, nested, with timeouts, several waiters in
 * threads, epoll_pwait2; select and poll on the same set; eventfd as semaphore.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static int shared_epoll, taken[3];

static void add(int epoll, int fd, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.fd = fd };

	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) == 0);
}

static void modes(void)
{
	int epoll = epoll_create1(0), outer = epoll_create1(0), fds[2];
	struct epoll_event got[4], e;
	struct timespec limit = { .tv_nsec = 1000000 };
	long n;

	CHECK(pipe(fds) == 0);
	add(epoll, fds[0], EPOLLIN);
	add(outer, epoll, EPOLLIN);
	CHECK(epoll_wait(epoll, got, 4, 0) == 0 && epoll_wait(epoll, got, 4, 2) == 0);
	write_all(fds[1], "ab", 2);
	CHECK(epoll_wait(epoll, got, 4, -1) == 1 && epoll_wait(epoll, got, 4, 0) == 1);
	CHECK(epoll_wait(outer, got, 4, 0) == 1 && got[0].data.fd == epoll);
	e = (struct epoll_event){ .events = EPOLLIN | EPOLLET, .data.u64 = 77 };
	CHECK(epoll_ctl(epoll, EPOLL_CTL_MOD, fds[0], &e) == 0);
	CHECK(epoll_wait(epoll, got, 4, 0) == 1 && got[0].data.u64 == 77);
	CHECK(epoll_wait(epoll, got, 4, 0) == 0);
	e.events = EPOLLIN | EPOLLONESHOT;
	CHECK(epoll_ctl(epoll, EPOLL_CTL_MOD, fds[0], &e) == 0);
	CHECK(epoll_wait(epoll, got, 4, 0) == 1 && epoll_wait(epoll, got, 4, 0) == 0);
	close(fds[1]);
	e.events = EPOLLIN;
	CHECK(epoll_ctl(epoll, EPOLL_CTL_MOD, fds[0], &e) == 0);
	CHECK(epoll_wait(epoll, got, 4, 0) == 1 && got[0].events == (EPOLLIN | EPOLLHUP));
	CHECK(epoll_ctl(epoll, EPOLL_CTL_DEL, fds[0], NULL) == 0);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_DEL, fds[0], NULL) == -1 && errno == ENOENT);
	n = syscall(441 /* epoll_pwait2 */, epoll, got, 4, &limit, NULL, 8);
	say("epoll_pwait2: %ld %s\n", n, n < 0 ? strerror(errno) : "");
}

static void *taker(void *arg)
{
	struct epoll_event got;
	uint64_t one;

	for (;;) {
		CHECK(epoll_wait(shared_epoll, &got, 1, -1) == 1);
		if (read(got.data.fd, &one, 8) != 8) {
			CHECK(errno == EAGAIN);
			continue;
		}
		CHECK(one == 1);
		taken[(intptr_t)arg]++;
		if (__atomic_load_n(&taken[2], __ATOMIC_SEQ_CST))
			return NULL;
	}
}

static void shared(void)
{
	int tokens = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK);
	pthread_t t[2];
	uint64_t n = 1;

	shared_epoll = epoll_create1(0);
	add(shared_epoll, tokens, EPOLLIN);
	for (intptr_t i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, taker, (void *)i) == 0);
	for (int i = 0; i < 40; i++) {
		write_all(tokens, &n, 8);
		if (i % 8 == 7)
			sched_yield();
	}
	while (__atomic_load_n(&taken[0], __ATOMIC_SEQ_CST) +
			__atomic_load_n(&taken[1], __ATOMIC_SEQ_CST) <
		40)
		sched_yield();
	__atomic_store_n(&taken[2], 1, __ATOMIC_SEQ_CST);
	n = 2;
	write_all(tokens, &n, 8);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	say("one took %d, the other %d\n", taken[0], taken[1]);
}

int main(void)
{
	modes();
	shared();
	return 0;
}
