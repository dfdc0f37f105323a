/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A loop in which nothing changes but the upper half of one ymm register, under a timer's
 * signals; the lower half, as SSE shows it, stays zero.
 * Wrong: a point is compared by the legacy part of XSTATE alone.
 * pyrr-test: needs=cpu:avx2
 */
#include "alarmed.h"

int main(void)
{
	uint64_t one[4] __attribute__((aligned(32))) = { 0, 0, 0, 1 };
	uint64_t end[4] __attribute__((aligned(32))) = { 0, 0, 0, 1u << 26 };
	uint64_t result[4] __attribute__((aligned(32)));

	alarm_every(1000);
	__asm__ volatile("vpxor %%ymm0, %%ymm0, %%ymm0\n"
			 "vmovdqa %1, %%ymm1\n"
			 "vmovdqa %2, %%ymm2\n"
			 "xor %%eax, %%eax\n"
			 "1: vpaddq %%ymm1, %%ymm0, %%ymm0\n"
			 "vptest %%ymm2, %%ymm0\n"
			 "jz 1b\n"
			 "vmovdqa %%ymm0, %0\n"
			 "vzeroupper\n"
		: "=m"(result)
		: "m"(one), "m"(end)
		: "rax", "xmm0", "xmm1", "xmm2", "cc");
	alarm_every(0);
	CHECK(result[0] == 0 && result[2] == 0 && result[3] == end[3]);
	say("%d alarms\n", alarms);
	return 0;
}
