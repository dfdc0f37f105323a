/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A7: processes truncate a file by open(O_TRUNC), truncate and ftruncate and write
 * it again, while another looks at its mapping: how long it sees bytes, zeros or
 * SIGBUS is a race, printed as a hash.
 * Wrong: the call was switched away from, so the file changes in the middle of the
 * watcher's slice, before the event that says so.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { SIZE = 40 * 4096, ROUNDS = 40 };
static sigjmp_buf back;
static volatile size_t at;

static void on_bus(int signo)
{
	siglongjmp(back, signo);
}

static void fill(int fd, int round)
{
	char bytes[4096];

	memset(bytes, 'a' + round % 26, sizeof(bytes));
	for (int i = 0; i < SIZE; i += 4096)
		CHECK(pwrite(fd, bytes, sizeof(bytes), i) == sizeof(bytes));
}

static void change(int kind)
{
	for (int round = 0; round < ROUNDS; round++) {
		int fd = open("file", O_WRONLY | (kind == 0 ? O_TRUNC : 0));

		CHECK(fd >= 0);
		if (kind == 1)
			CHECK(truncate("file", 4096) == 0);
		if (kind == 2)
			CHECK(ftruncate(fd, 4096 * round) == 0);
		fill(fd, round);
		close(fd);
	}
	_exit(0);
}

static uint64_t look(const volatile unsigned char *map, uint64_t hash)
{
	if (sigsetjmp(back, 1)) {
		unsigned char mark = 'B';
		size_t where = at;

		hash = hash_bytes(&where, sizeof(where), hash);
		return hash_bytes(&mark, 1, hash);
	}
	for (at = 0; at < SIZE; at += 4096) {
		unsigned char now = map[at];

		hash = hash_bytes(&now, 1, hash);
	}
	return hash;
}

int main(void)
{
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600), running = 3;
	const volatile unsigned char *shared, *own;
	uint64_t hash = HASH_START;
	long looks = 0;

	fill(fd, 0);
	shared = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	own = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(shared != MAP_FAILED && own != MAP_FAILED && signal(SIGBUS, on_bus) != SIG_ERR);
	for (int kind = 0; kind < 3; kind++)
		if (fork() == 0)
			change(kind);
	while (running > 0) {
		int status;

		hash = look(looks % 2 ? shared : own, hash);
		looks++;
		if (waitpid(-1, &status, WNOHANG) > 0) {
			CHECK(status == 0);
			running--;
		}
	}
	say("%ld looks, hash %016lx\n", looks, hash);
	return 0;
}
