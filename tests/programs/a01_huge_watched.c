/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: read(2) with room for gigabytes sleeps while another thread watches where
 * the buffer begins: all of it there, or only its first pages, or a count that
 * is more than the kernel ever moves.
 * Wrong: so large a call is left in place, and the watcher's slice sees the
 * bytes at an unrecorded instruction; or all that room is really taken.
 * pyrr-test: cflags=-pthread
 */
#include "watch.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>

static int fds[2];
static unsigned char *room;
static size_t count;

static void *reader(void *arg)
{
	watch_about_to_sleep(arg);
	CHECK(read(fds[0], room, count) == 48);
	return NULL;
}

static void show(const char *what)
{
	char text[48];

	memset(text, 't', sizeof(text));
	for (int round = 0; round < 4; round++) {
		struct watch w;

		memset(room, '.', 64);
		text[0] = (char)('a' + round);
		watch_start(&w, room, 64, reader);
		write_all(fds[1], text, sizeof(text));
		watch_finish(&w, what);
		CHECK(memcmp(room, text, 48) == 0 && room[48] == '.');
	}
}

int main(void)
{
	const size_t size = (size_t)3 << 30;
	struct rusage usage;

	room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);
	CHECK(room != MAP_FAILED && pipe(fds) == 0);
	count = (size_t)300 << 20;
	show("300 MiB");
	count = INT_MAX;
	show("INT_MAX");
	CHECK(munmap(room + 8192, size - 8192) == 0);
	show("two pages of it");
	CHECK(getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss < 100 << 10);
	return 0;
}
