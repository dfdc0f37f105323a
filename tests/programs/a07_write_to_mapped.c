/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A7: write, pwrite, pwritev and an O_APPEND write to a mapped file change the
 * shared mapping and the untouched pages of the private one, not touched pages.
 * Wrong: the replay, which writes no file, still shows the old bytes.
 * pyrr-test: deterministic
 */
#include "mapfile.h"

#include <sys/uio.h>

int main(void)
{
	struct mapfile m;
	struct iovec vec[2] = { { .iov_base = "left", .iov_len = 4 },
		{ .iov_base = "right", .iov_len = 5 } };
	char big[2 * PAGE];
	int append;

	mapfile_open(&m, "mapped");
	mapfile_show(&m, "start");
	CHECK(pwrite(m.fd, "PWRITE", 6, 10) == 6);
	CHECK(m.shared_map[10] == 'P' && m.private_map[10] == 'P');
	mapfile_show(&m, "pwrite");
	CHECK(pwrite(m.fd, "touched", 7, PAGE + 100) == 7);
	CHECK(m.shared_map[PAGE + 100] == 't' && m.private_map[PAGE + 100] == 'b');
	mapfile_show(&m, "pwrite to the touched page");
	memset(big, 'Z', sizeof(big));
	CHECK(lseek(m.fd, 2 * PAGE - 50, SEEK_SET) == 2 * PAGE - 50);
	write_all(m.fd, big, sizeof(big));
	CHECK(m.private_map[2 * PAGE] == 'Z' && m.private_map[2 * PAGE - 1] == 'b');
	mapfile_show(&m, "write of two pages");
	CHECK(pwritev(m.fd, vec, 2, 3 * PAGE + 1) == 9);
	CHECK(memcmp((const char *)m.private_map + 3 * PAGE + 1, "leftright", 9) == 0);
	mapfile_show(&m, "pwritev");
	append = open("mapped", O_WRONLY | O_APPEND);
	write_all(append, "more", 4);
	mapfile_show(&m, "append by another descriptor");

	m.shared_map[20] = 'S';
	CHECK(m.private_map[20] == 'S');
	m.private_map[3 * PAGE] = 'p';
	CHECK(m.shared_map[3 * PAGE] != 'p');
	mapfile_show(&m, "stores through the mappings");
	CHECK(msync((void *)m.shared_map, PAGE, MS_SYNC) == 0);
	mapfile_show(&m, "msync");
	return 0;
}
