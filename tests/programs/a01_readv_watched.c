/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: readv(2) with three separate buffers sleeps while they are watched. The
 * iovec array itself must stay as the program wrote it.
 * Wrong: an iovec is not redirected, or the program sees redirected pointers.
 * pyrr-test: cflags=-pthread
 */
#include "watch.h"

#include <sys/uio.h>

static int fds[2];
static char buffer[96];
static struct iovec vec[3];

static void *reader(void *arg)
{
	watch_about_to_sleep(arg);
	CHECK(readv(fds[0], vec, 3) == 70);
	return NULL;
}

int main(void)
{
	char text[70];

	CHECK(pipe(fds) == 0);
	for (int round = 0; round < 10; round++) {
		struct watch w;
		struct iovec before[3];

		vec[0] = (struct iovec){ .iov_base = buffer + 64, .iov_len = 32 };
		vec[1] = (struct iovec){ .iov_base = buffer, .iov_len = 30 };
		vec[2] = (struct iovec){ .iov_base = buffer + 32, .iov_len = 32 };
		memcpy(before, vec, sizeof(vec));
		memset(buffer, '.', sizeof(buffer));
		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = (char)('0' + (i + (size_t)round) % 64);
		watch_start(&w, buffer, sizeof(buffer), reader);
		CHECK(memcmp(before, vec, sizeof(vec)) == 0);
		write_all(fds[1], text, sizeof(text));
		watch_finish(&w, "readv");
		CHECK(memcmp(before, vec, sizeof(vec)) == 0);
		CHECK(memcmp(buffer + 64, text, 32) == 0 && memcmp(buffer, text + 32, 30) == 0);
		CHECK(memcmp(buffer + 32, text + 62, 8) == 0 && buffer[40] == '.');
	}
	return 0;
}
