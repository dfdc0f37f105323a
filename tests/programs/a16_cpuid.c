/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A16: cpuid of the leaves that name the core (1, 0xB, 0x8000001E), of the cache
 * and XSAVE leaves; xgetbv(0); and what gcc's and glibc's checks make of them.
 * Wrong: the replay, on another core, prints that core's APIC id.
 */
#include "check.h"
#include "insns.h"

static void show(uint32_t leaf, uint32_t subleaf)
{
	struct cpuid_result r = insn_cpuid(leaf, subleaf);

	say("%08x.%u: %08x %08x %08x %08x\n", leaf, subleaf, r.a, r.b, r.c, r.d);
}

int main(void)
{
	uint32_t low = 0, high = 0;

	for (int i = 0; i < 3; i++) {
		show(1, 0);
		show(0xb, 0);
		show(0xb, 1);
		show(0x8000001e, 0);
		sched_yield();
	}
	for (uint32_t leaf = 0; leaf <= 7; leaf++)
		show(leaf, 0);
	for (uint32_t sub = 0; sub < 3; sub++)
		show(0xd, sub);
	show(0x80000000, 0);
	show(0x80000008, 0);
	if (insn_cpuid(1, 0).c & 1u << 27) {
		__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
		CHECK((low & 3) == 3);
	}
	say("xcr0 %08x%08x, avx2 %d, sse4.2 %d\n", high, low, !!__builtin_cpu_supports("avx2"),
		!!__builtin_cpu_supports("sse4.2"));
	return 0;
}
