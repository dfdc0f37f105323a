/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A loop in which nothing changes but one xmm register, under a timer's signals.
 * Wrong: a point is taken for found where general registers and memory are the recorded
 * ones; then the loop makes another number of rounds.
 */
#include "alarmed.h"

static uint64_t last_seen;

static void look(ucontext_t *u)
{
	uint64_t value[2];

	frame_xmm(u, 0, value);
	CHECK(value[0] >= last_seen && value[1] == 0);
	last_seen = value[0];
}

int main(void)
{
	uint64_t one[2] __attribute__((aligned(16))) = { 1, 0 };
	uint64_t end[2] __attribute__((aligned(16))) = { 1u << 26, 0 }, result;

	alarm_also = look;
	alarm_every(1000);
	/* The flags stay the same until the end bit is set. */
	__asm__ volatile("pxor %%xmm0, %%xmm0\n"
			 "movdqa %1, %%xmm1\n"
			 "movdqa %2, %%xmm2\n"
			 "xor %%eax, %%eax\n"
			 "1: paddq %%xmm1, %%xmm0\n"
			 "ptest %%xmm2, %%xmm0\n"
			 "jz 1b\n"
			 "movq %%xmm0, %0\n"
		: "=r"(result)
		: "m"(one), "m"(end)
		: "rax", "xmm0", "xmm1", "xmm2", "cc");
	alarm_every(0);
	CHECK(result == end[0]);
	say("%d alarms, the last at %lu\n", alarms, last_seen);
	return 0;
}
