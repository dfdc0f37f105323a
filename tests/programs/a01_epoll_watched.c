/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: epoll_wait(2) sleeps while the array of events is watched.
 * Wrong: events are seen early, or more than the result says is copied.
 * pyrr-test: cflags=-pthread
 */
#include "watch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

static struct epoll_event events[8];
static int epoll;

static void *waiter(void *arg)
{
	watch_about_to_sleep(arg);
	CHECK(epoll_wait(epoll, events, 8, -1) == 1);
	return NULL;
}

int main(void)
{
	int source = eventfd(0, 0);
	struct epoll_event want = { .events = EPOLLIN, .data.u64 = 0x1122334455667788 };

	epoll = epoll_create1(EPOLL_CLOEXEC);
	CHECK(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, source, &want) == 0);
	for (int round = 0; round < 20; round++) {
		struct watch w;
		uint64_t count = (uint64_t)round + 1;

		memset(events, 0x77, sizeof(events));
		watch_start(&w, events, sizeof(events), waiter);
		write_all(source, &count, sizeof(count));
		watch_finish(&w, "epoll_wait");
		CHECK(events[0].data.u64 == want.data.u64 && events[0].events == EPOLLIN);
		CHECK(events[1].events == 0x77777777);
		CHECK(read(source, &count, sizeof(count)) == 8);
		CHECK(count == (uint64_t)round + 1);
	}
	return 0;
}
