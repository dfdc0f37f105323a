/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A7: a read(2) and others whose target is a read-only private file mapping fail
 * and leave its pages untouched: they go on following the file. A call that only
 * reads that memory leaves them untouched too.
 * Wrong: the replay "restores" bytes there that the kernel never wrote, and so
 * gets a private copy of the page.
 * pyrr-test: deterministic
 */
#include "mapfile.h"

#include <sys/socket.h>
#include <sys/uio.h>

static void expect_follows(const struct mapfile *m, const volatile char *map, char c)
{
	char page[PAGE];

	for (int i = 0; i < PAGES; i++) {
		memset(page, c, sizeof(page));
		CHECK(pwrite(m->fd, page, sizeof(page), i * PAGE) == PAGE);
		CHECK(map[i * PAGE] == c && map[i * PAGE + PAGE - 1] == c);
	}
}

int main(void)
{
	struct mapfile m;
	struct iovec vec[2];
	struct timespec now;
	volatile char *map;
	int fds[2], pair[2];

	mapfile_open(&m, "mapped");
	map = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE, m.fd, 0);
	CHECK(map != MAP_FAILED && pipe(fds) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
	write_all(fds[1], "data", 4);

	CHECK(read(fds[0], (char *)map + 64, 8000) == -1 && errno == EFAULT);
	expect_follows(&m, map, '1');
	vec[0] = (struct iovec){ .iov_base = (char *)map + PAGE, .iov_len = 10 };
	vec[1] = (struct iovec){ .iov_base = (char *)map + 2 * PAGE, .iov_len = 5000 };
	CHECK(readv(fds[0], vec, 2) == -1 && errno == EFAULT);
	expect_follows(&m, map, '2');
	CHECK(pread(m.fd, (char *)map, PAGE, PAGE) == -1 && errno == EFAULT);
	expect_follows(&m, map, '3');
	CHECK(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, map) == -1 && errno == EFAULT);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	CHECK(recv(pair[0], (char *)map + 100, 3000, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	CHECK(send(pair[1], (const char *)map, 3000, 0) == 3000);
	CHECK(recv(pair[0], (char *)map + 100, 3000, MSG_DONTWAIT) == -1 && errno == EFAULT);
	expect_follows(&m, map, '4');
	CHECK(read(fds[0], (char *)map, 0) == 0 && read(-1, (char *)map, 100) == -1);
	expect_follows(&m, map, '5');
	CHECK(msync((void *)map, PAGE, MS_SYNC) == 0 &&
		mprotect((void *)map, PAGE, PROT_NONE) == 0);
	CHECK(mprotect((void *)map, PAGE, PROT_READ) == 0);
	expect_follows(&m, map, '6');
	mapfile_show(&m, "at the end");
	return 0;
}
