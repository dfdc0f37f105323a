/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * rdtsc and rdtscp in several registers' neighbourhood, in threads and children:
 * monotonic, and the upper halves of rax and rdx are cleared.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"
#include "insns.h"

#include <pthread.h>

static void check_registers(void)
{
	uint64_t rax = ~0ull, rdx = ~0ull, rcx = 0x1234, rbx = 0x5678;

	__asm__ volatile("rdtsc" : "+a"(rax), "+d"(rdx), "+c"(rcx), "+b"(rbx));
	CHECK(rax >> 32 == 0 && rdx >> 32 == 0 && rcx == 0x1234 && rbx == 0x5678);
	rax = rdx = rcx = ~0ull;
	__asm__ volatile("rdtscp" : "+a"(rax), "+d"(rdx), "+c"(rcx), "+b"(rbx));
	CHECK(rax >> 32 == 0 && rdx >> 32 == 0 && rcx >> 32 == 0 && rbx == 0x5678);
}

static void *series(void *arg)
{
	uint64_t last = 0, now;
	uint32_t aux;

	for (int i = 0; i < 30; i++) {
		now = i % 2 ? insn_rdtsc() : insn_rdtscp(&aux);
		CHECK(now > last);
		last = now;
		if (i % 10 == 0)
			say("%s: %lu\n", (const char *)arg, now);
	}
	check_registers();
	return NULL;
}

int main(void)
{
	pthread_t t[2];
	pid_t child;

	series("main");
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, series, "thread") == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	child = fork();
	if (child == 0) {
		series("child");
		_exit(0);
	}
	reap_ok(child);
	return 0;
}
