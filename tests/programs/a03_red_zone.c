/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A3: a leaf function that keeps its data in the 128 bytes below rsp, while a timer's handler
 * runs on the same stack, and slices end there.
 * Wrong: a frame or a probe overwrites the red zone.
 */
#include "alarmed.h"

/* Words at -128 ... -8 from rsp are rotated; the sum of all stays the same. */
static uint64_t in_red_zone(uint32_t rounds)
{
	uint64_t sum = 0;

	__asm__ volatile("mov $16, %%ecx\n"
			 "1: mov %%rcx, %%rax\n"
			 "imul %%rax, %%rax\n"
			 "neg %%rcx\n"
			 "mov %%rax, (%%rsp,%%rcx,8)\n"
			 "neg %%rcx\n"
			 "dec %%ecx\n"
			 "jnz 1b\n"
			 "2: mov -128(%%rsp), %%rax\n"
			 "mov -8(%%rsp), %%rdx\n"
			 "mov %%rdx, -128(%%rsp)\n"
			 "xchg %%rax, -64(%%rsp)\n"
			 "mov %%rax, -8(%%rsp)\n"
			 "mov -120(%%rsp), %%rax\n"
			 "incq -120(%%rsp)\n"
			 "decq -72(%%rsp)\n"
			 "decl %1\n"
			 "jnz 2b\n"
			 "mov $16, %%ecx\n"
			 "3: neg %%rcx\n"
			 "add (%%rsp,%%rcx,8), %0\n"
			 "neg %%rcx\n"
			 "dec %%ecx\n"
			 "jnz 3b\n"
		: "+r"(sum), "+r"(rounds)
		:
		: "rax", "rcx", "rdx", "cc", "memory");
	return sum;
}

int main(void)
{
	alarm_every(1000);
	for (int i = 0; i < 10; i++)
		CHECK(in_red_zone(1000000) == 1496); /* 1 + 4 + ... + 256 */
	alarm_every(0);
	say("%d alarms\n", alarms);
	return 0;
}
