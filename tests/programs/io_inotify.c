/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * inotify: events of creation, writing, moving and removal by a child, read in
 * one piece and awaited by poll.
 */
#include "check.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>

int main(void)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), watch, seen = 0;
	char buffer[4096] __attribute__((aligned(8)));
	struct pollfd set = { .fd = fd, .events = POLLIN };
	pid_t child;

	if (fd < 0) {
		say("no inotify: %s\n", strerror(errno));
		return 0;
	}
	CHECK(mkdir("watched", 0700) == 0);
	watch = inotify_add_watch(fd, "watched", IN_CREATE | IN_MODIFY | IN_MOVE | IN_DELETE);
	CHECK(watch > 0 && read(fd, buffer, sizeof(buffer)) == -1 && errno == EAGAIN);
	child = fork();
	if (child == 0) {
		int file = open("watched/a", O_WRONLY | O_CREAT, 0600);

		write_all(file, "x", 1);
		CHECK(rename("watched/a", "watched/b") == 0 && unlink("watched/b") == 0);
		_exit(0);
	}
	while (!(seen & IN_DELETE)) {
		ssize_t n;

		CHECK(poll(&set, 1, -1) == 1);
		n = read(fd, buffer, sizeof(buffer));
		CHECK(n > 0);
		for (char *p = buffer; p < buffer + n;) {
			const struct inotify_event *e = (const void *)p;

			say("%08x %s cookie %u\n", e->mask, e->len ? e->name : "", e->cookie);
			seen |= (int)e->mask;
			p += sizeof(*e) + e->len;
		}
	}
	CHECK(seen & IN_CREATE && seen & IN_MODIFY && seen & IN_MOVED_FROM && seen & IN_MOVED_TO);
	reap_ok(child);
	CHECK(inotify_rm_watch(fd, watch) == 0);
	return 0;
}
