/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * 4 MB to stdout by write, writev and buffered stdio, interleaved with stderr.
 * pyrr-test: deterministic
 */
#include "check.h"

#include <sys/uio.h>

int main(void)
{
	static char block[1 << 20];
	struct iovec vec[3];

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i % 61 == 60 ? '\n' : '!' + i * 7 % 90);
	write_all(STDOUT_FILENO, block, sizeof(block));
	(void)dprintf(STDERR_FILENO, "one of four\n");
	for (size_t i = 0; i < sizeof(block); i += 4096)
		write_all(STDOUT_FILENO, block + i, 4096);
	(void)dprintf(STDERR_FILENO, "two of four\n");
	for (int i = 0; i < 3; i++)
		vec[i] = (struct iovec){ .iov_base = block + i * 1000, .iov_len = 1000 };
	for (int i = 0; i < 300; i++)
		CHECK(writev(STDOUT_FILENO, vec, 3) == 3000);
	(void)dprintf(STDERR_FILENO, "three of four\n");
	CHECK(fwrite(block, 1, sizeof(block), stdout) == sizeof(block) && fflush(stdout) == 0);
	(void)dprintf(STDERR_FILENO, "four of four\n");
	return 0;
}
