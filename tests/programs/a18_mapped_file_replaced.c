/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A18: a file is mapped and its pages not yet touched when another file takes
 * its name, when it is unlinked, and when it is rewritten in place after the
 * mapping has gone; then it is mapped again.
 * Wrong: the trace shares storage with the user's file, or goes by name.
 * pyrr-test: deterministic
 */
#include "check.h"

#include <sys/mman.h>

enum { SIZE = 3 * 4096 };

static void make(const char *name, char c)
{
	char bytes[SIZE];
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0);
	memset(bytes, c, sizeof(bytes));
	write_all(fd, bytes, sizeof(bytes));
	close(fd);
}

static const volatile char *map(const char *name)
{
	int fd = open(name, O_RDONLY);
	void *p = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0);

	CHECK(fd >= 0 && p != MAP_FAILED);
	close(fd);
	return p;
}

int main(void)
{
	const volatile char *first, *second, *third;
	int fd;

	make("data", '1');
	make("other", '2');
	first = map("data");
	CHECK(rename("other", "data") == 0);
	second = map("data");
	CHECK(first[0] == '1' && first[SIZE - 1] == '1');
	CHECK(second[0] == '2');
	CHECK(unlink("data") == 0);
	CHECK(second[SIZE - 1] == '2');
	make("data", '3');
	third = map("data");
	CHECK(third[4096] == '3' && second[4096] == '2' && first[4096] == '1');
	CHECK(munmap((void *)third, SIZE) == 0);

	fd = open("data", O_WRONLY);
	CHECK(pwrite(fd, "in place", 8, 4096) == 8);
	third = map("data");
	CHECK(memcmp((const char *)third + 4096, "in place", 8) == 0 && third[0] == '3');
	CHECK(munmap((void *)third, SIZE) == 0);
	CHECK(pwrite(fd, "again", 5, 4096) == 5);
	third = map("data");
	CHECK(memcmp((const char *)third + 4096, "againace", 8) == 0);
	say("each mapping kept its own file\n");
	return 0;
}
