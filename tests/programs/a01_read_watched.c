/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: read(2) of an empty pipe sleeps while another thread watches its buffer.
 * Wrong: the watcher's slice sees the bytes at an unrecorded instruction.
 * pyrr-test: cflags=-pthread
 */
#include "watch.h"

static int fds[2];
static char buffer[64];

static void *reader(void *arg)
{
	watch_about_to_sleep(arg);
	CHECK(read(fds[0], buffer, sizeof(buffer)) == 48);
	return NULL;
}

int main(void)
{
	char text[48];

	CHECK(pipe(fds) == 0);
	for (int round = 0; round < 20; round++) {
		struct watch w;

		memset(buffer, '.', sizeof(buffer));
		memset(text, 'a' + round, sizeof(text));
		watch_start(&w, buffer, sizeof(buffer), reader);
		write_all(fds[1], text, sizeof(text));
		watch_finish(&w, "read");
		CHECK(memcmp(buffer, text, 48) == 0 && buffer[48] == '.');
	}
	return 0;
}
