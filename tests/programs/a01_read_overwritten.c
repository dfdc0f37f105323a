/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: the other thread overwrites the buffer of a sleeping read(2) just after
 * it sent the data. Which bytes win is a race; the replay must end it alike.
 * Wrong: the recorder saves the buffer late and stores the scribbler's bytes.
 * pyrr-test: cflags=-pthread
 */
#include "watch.h"

static int fds[2];
static char buffer[256];

static void *reader(void *arg)
{
	watch_about_to_sleep(arg);
	CHECK(read(fds[0], buffer, sizeof(buffer)) == 256);
	return NULL;
}

int main(void)
{
	char text[256];

	CHECK(pipe(fds) == 0);
	memset(text, 'K', sizeof(text));
	for (int round = 0; round < 20; round++) {
		struct watch w;

		memset(buffer, '.', sizeof(buffer));
		watch_start(&w, buffer, sizeof(buffer), reader);
		write_all(fds[1], text, sizeof(text));
		for (size_t i = 0; i < sizeof(buffer); i += 2)
			((volatile char *)buffer)[i] = 's';
		watch_finish(&w, "overwritten");
		CHECK(buffer[1] == 'K' && (buffer[0] == 'K' || buffer[0] == 's'));
	}
	return 0;
}
