/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: poll(2) and ppoll(2) read and write the same array (inout).
 * Wrong: revents appear early, or the redirected array loses events.
 * pyrr-test: cflags=-pthread
 */
#include "watch.h"

#include <poll.h>

static int first[2], second[2];
static struct pollfd set[3];
static struct timespec limit = { .tv_sec = 30, .tv_nsec = 0 };
static int use_ppoll;

static void *poller(void *arg)
{
	watch_about_to_sleep(arg);
	if (use_ppoll)
		CHECK(ppoll(set, 3, &limit, NULL) == 1);
	else
		CHECK(poll(set, 3, 30000) == 1);
	return NULL;
}

int main(void)
{
	CHECK(pipe(first) == 0 && pipe(second) == 0);
	for (int round = 0; round < 10; round++) {
		struct watch w;
		char byte;

		use_ppoll = round % 2;
		set[0] = (struct pollfd){ .fd = first[0], .events = POLLIN, .revents = 0x700 };
		set[1] = (struct pollfd){ .fd = -1, .events = POLLIN, .revents = 0x700 };
		set[2] = (struct pollfd){ .fd = second[0], .events = POLLIN, .revents = 0x700 };
		watch_start(&w, set, sizeof(set), poller);
		write_all(second[1], "x", 1);
		watch_finish(&w, use_ppoll ? "ppoll" : "poll");
		CHECK(set[0].revents == 0 && set[1].revents == 0 && set[2].revents == POLLIN);
		CHECK(set[2].fd == second[0] && set[2].events == POLLIN);
		CHECK(read(second[0], &byte, 1) == 1);
		say("time left of the limit: %ld.%09ld\n", (long)limit.tv_sec, limit.tv_nsec);
	}
	return 0;
}
