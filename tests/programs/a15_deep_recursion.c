/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A15: the main stack grows by page faults only, to 7 MB, in large steps and
 * small ones, with system calls that write into the new pages.
 * Wrong: the replay's stack has no room below, or unlike contents.
 */
#include "check.h"

#include <sys/resource.h>

static uint64_t descend(int depth, uint64_t hash)
{
	volatile unsigned char frame[4000];
	struct timespec now;

	frame[0] = (unsigned char)depth;
	frame[3999] = (unsigned char)hash;
	if (depth % 400 == 0) {
		CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
		hash = hash_bytes(&now, sizeof(now), hash);
	}
	if (depth > 0)
		hash = descend(depth - 1, hash * 31 + 7);
	return hash + frame[0] + frame[3999];
}

static uint64_t big_frame(int fd)
{
	char frame[6 << 20];
	ssize_t n = read(fd, frame, sizeof(frame)); /* the kernel grows the stack */

	CHECK(n > 0);
	return hash_bytes(frame, (size_t)n, HASH_START);
}

int main(void)
{
	struct rlimit limit;
	int fd = open("/proc/self/exe", O_RDONLY);

	CHECK(getrlimit(RLIMIT_STACK, &limit) == 0);
	say("limit %lu, main's frame at %p\n", (unsigned long)limit.rlim_cur, (void *)&limit);
	if (limit.rlim_cur < 8 << 20)
		return 0;
	say("%016lx\n", descend(200, 1));
	say("%016lx\n", descend(1700, 1));
	say("%016lx\n", big_frame(fd));
	say("%016lx\n", descend(1700, 2));
	return 0;
}
