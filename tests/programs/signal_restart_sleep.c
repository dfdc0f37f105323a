/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * nanosleep, clock_nanosleep, poll and futex waits that a handler interrupts
 * fail with EINTR whatever SA_RESTART says (futex and untimed poll: see signal(7)),
 * and nanosleep tells the time left.
 * pyrr-test: cflags=-pthread
 */
#include "interrupt.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>

static int word, fds[2];

static void poke_word(void)
{
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void sleeps(void)
{
	struct timespec left = { 0 }, want = { .tv_sec = 50, .tv_nsec = 7 };
	struct interrupt in;

	interrupt_start(&in, 1, NULL);
	CHECK(nanosleep(&want, &left) == -1 && errno == EINTR);
	interrupt_join(&in);
	CHECK(left.tv_sec >= 30 && left.tv_sec <= 50);
	say("left: %ld.%09ld\n", (long)left.tv_sec, left.tv_nsec);

	atomic_store(&interrupt_handled, 0);
	interrupt_start(&in, 1, NULL);
	CHECK(clock_nanosleep(CLOCK_REALTIME, 0, &want, &left) == EINTR);
	interrupt_join(&in);
	say("left: %ld.%09ld\n", (long)left.tv_sec, left.tv_nsec);

	atomic_store(&interrupt_handled, 0);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &want) == 0);
	want.tv_sec += 60;
	interrupt_start(&in, 1, NULL);
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &want, NULL) == EINTR);
	interrupt_join(&in);
}

static void polls(void)
{
	struct pollfd set = { .fd = fds[0], .events = POLLIN };
	struct epoll_event event;
	struct interrupt in;
	int epoll = epoll_create1(0);

	for (int i = 0; i < 4; i++) {
		atomic_store(&interrupt_handled, 0);
		interrupt_start(&in, 1, NULL);
		switch (i) {
		case 0:
			CHECK(poll(&set, 1, -1) == -1);
			break;
		case 1:
			CHECK(poll(&set, 1, 50000) == -1);
			break;
		case 2:
			CHECK(epoll_wait(epoll, &event, 1, -1) == -1);
			break;
		default:
			CHECK(epoll_wait(epoll, &event, 1, 50000) == -1);
		}
		CHECK(errno == EINTR);
		interrupt_join(&in);
	}
	close(epoll);
}

static void futexes(int flags)
{
	struct timespec limit = { .tv_sec = 50 };
	struct interrupt in;

	atomic_store(&interrupt_handled, 0);
	word = 0;
	interrupt_start(&in, 1, poke_word);
	if (syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0) == -1)
		CHECK(errno == EAGAIN || (errno == EINTR && !(flags & SA_RESTART)));
	interrupt_join(&in);

	atomic_store(&interrupt_handled, 0);
	word = 0;
	interrupt_start(&in, 1, poke_word);
	if (syscall(SYS_futex, &word, FUTEX_WAIT, 0, &limit, NULL, 0) == -1)
		CHECK(errno == EAGAIN || errno == EINTR);
	interrupt_join(&in);
}

int main(void)
{
	CHECK(pipe(fds) == 0);
	for (int i = 0; i < 4; i++) {
		int flags = i % 2 ? SA_RESTART : 0;

		interrupt_install(flags);
		sleeps();
		polls();
		futexes(flags);
	}
	return 0;
}
