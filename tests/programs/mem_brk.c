/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * brk and sbrk: grow, shrink, grow again (the pages come back zeroed), refuse
 * below the start; unaligned ends; across fork; malloc under mallopt trims.
 */
#include "check.h"

#include <malloc.h>

int main(void)
{
	char *start = sbrk(0), *raw;
	pid_t child;

	CHECK(sbrk(100000) == start);
	memset(start, 'x', 100000);
	CHECK(sbrk(-50000) == start + 100000);
	CHECK(sbrk(60000) == start + 50000);
	CHECK(start[49999] == 'x' && start[70000] == 0 && start[109999] == 0);
	say("heap at %p, now to %p\n", (void *)start, sbrk(0));
	child = fork();
	if (child == 0) {
		CHECK(sbrk(0) == start + 110000 && start[100] == 'x');
		CHECK(brk(start + 10) == 0 && sbrk(0) == start + 10 && start[5] == 'x');
		CHECK(brk(start + 20000) == 0 && start[19999] == 0);
		_exit(0);
	}
	reap_ok(child);
	CHECK(start[60] == 'x' && sbrk(0) == start + 110000);
	raw = (char *)syscall(SYS_brk, 0);
	CHECK(raw == sbrk(0));
	CHECK((char *)syscall(SYS_brk, 4096) == raw);
	CHECK((char *)syscall(SYS_brk, ~0ul) == raw);
	CHECK(brk(start) == 0 && sbrk(0) == start);
	CHECK(sbrk(1 << 20) == start && start[0] == 0);
	for (int i = 0; i < 50; i++) {
		void *blocks[20];

		for (int j = 0; j < 20; j++) {
			blocks[j] = malloc((size_t)(i + 1) * 977 * (size_t)(j + 1));
			CHECK(blocks[j]);
			memset(blocks[j], i, 64);
		}
		for (int j = 0; j < 20; j++)
			free(blocks[j]);
		malloc_trim(0);
	}
	say("end %p\n", sbrk(0));
	return 0;
}
