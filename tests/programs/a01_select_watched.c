/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: select(2) and pselect6(2) rewrite three descriptor sets and the time left.
 * Wrong: a set is changed early, or bits beyond nfds are touched.
 * pyrr-test: cflags=-pthread
 */
#include "watch.h"

#include <sys/select.h>

static struct {
	fd_set in, out, bad;
	struct timeval left;
} area;
static int fds[2], highest;

static void *selecter(void *arg)
{
	watch_about_to_sleep(arg);
	CHECK(select(highest, &area.in, &area.out, &area.bad, &area.left) == 1);
	return NULL;
}

int main(void)
{
	CHECK(pipe(fds) == 0);
	highest = fds[1] + 1;
	for (int round = 0; round < 10; round++) {
		struct watch w;
		char byte;

		FD_ZERO(&area.in);
		FD_ZERO(&area.out);
		FD_ZERO(&area.bad);
		FD_SET(fds[0], &area.in);
		FD_SET(fds[0], &area.bad);
		FD_SET(900, &area.in);
		area.left = (struct timeval){ .tv_sec = 50 };
		watch_start(&w, &area, sizeof(area), selecter);
		write_all(fds[1], "x", 1);
		watch_finish(&w, "select");
		CHECK(FD_ISSET(fds[0], &area.in) && !FD_ISSET(fds[0], &area.bad));
		CHECK(FD_ISSET(900, &area.in));
		CHECK(area.left.tv_sec >= 40 && area.left.tv_sec < 50);
		CHECK(read(fds[0], &byte, 1) == 1);
		say("time left: %ld.%06ld\n", (long)area.left.tv_sec, (long)area.left.tv_usec);
	}
	return 0;
}
