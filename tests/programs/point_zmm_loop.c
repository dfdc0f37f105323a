/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A loop in which nothing changes but the top of zmm17, then one in which nothing changes
 * but a mask register, under a timer's signals.
 * Wrong: parts of XSTATE are not compared: zmm16 to zmm31, k0 to k7.
 * pyrr-test: needs=cpu:avx512f
 * pyrr-test: cflags=-mavx512f
 */
#include "alarmed.h"

#define END (1u << 26)

int main(void)
{
	uint64_t one[8] __attribute__((aligned(64))) = { [7] = 1 };
	uint64_t end[8] __attribute__((aligned(64))) = { [7] = END };
	uint64_t result[8] __attribute__((aligned(64)));
	uint32_t rounds = 0;

	alarm_every(1000);
	__asm__ volatile("vpxorq %%zmm17, %%zmm17, %%zmm17\n"
			 "vmovdqa64 %1, %%zmm18\n"
			 "vmovdqa64 %2, %%zmm19\n"
			 "xor %%eax, %%eax\n"
			 "1: vpaddq %%zmm18, %%zmm17, %%zmm17\n"
			 "vptestmq %%zmm19, %%zmm17, %%k1\n"
			 "kortestw %%k1, %%k1\n"
			 "jz 1b\n"
			 "vmovdqa64 %%zmm17, %0\n"
			 "vzeroupper\n"
		: "=m"(result)
		: "m"(one), "m"(end)
		: "rax", "xmm17", "xmm18", "xmm19", "k1", "cc");
	CHECK(result[0] == 0 && result[6] == 0 && result[7] == END);
	say("%d alarms\n", alarms);
	/* A register of 16 bits, shifted and mixed, in 2^16 rounds; a counter around it. */
	for (int i = 0; i < 300; i++) {
		uint32_t state = 1;

		__asm__ volatile("kmovw %0, %%k2\n"
				 "mov $20000, %%ecx\n"
				 "1: kshiftlw $1, %%k2, %%k3\n"
				 "kxnorw %%k3, %%k2, %%k2\n"
				 "dec %%ecx\n"
				 "jnz 1b\n"
				 "kmovw %%k2, %0\n"
			: "+r"(state)
			:
			: "rcx", "k2", "k3", "cc");
		rounds = rounds * 31 + state;
	}
	alarm_every(0);
	say("%d alarms, %x\n", alarms, rounds);
	return 0;
}
