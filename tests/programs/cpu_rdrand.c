/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * rdrand and rdseed in all operand sizes and in high registers, with the carry
 * flag as the sign of success and the other flags cleared; used only if cpuid
 * (which a recorder may mask) says they are there, as programs do, and once
 * without asking if the environment has RDRAND_ANYWAY.
 * pyrr-test: needs=cpu:rdrand
 * pyrr-test: needs=cpu:rdseed
 * pyrr-test: env=RDRAND_ANYWAY=1
 */
#include "check.h"
#include "insns.h"

static void draw(void)
{
	uint64_t wide = 0, high = 0, flags = 0;
	uint32_t middle = 0;
	uint16_t narrow = 0;
	unsigned char ok;

	for (int i = 0; i < 5; i++) {
		do {
			__asm__ volatile("rdrand %0\n\tsetc %1" : "=r"(wide), "=qm"(ok) : : "cc");
		} while (!ok);
		do {
			__asm__ volatile("rdrand %0\n\tsetc %1" : "=r"(middle), "=qm"(ok) : : "cc");
		} while (!ok);
		do {
			__asm__ volatile("rdrand %0\n\tsetc %1" : "=r"(narrow), "=qm"(ok) : : "cc");
		} while (!ok);
		do {
			__asm__ volatile("rdrand %%r13\n\tpushfq\n\tpopq %1\n\tmovq %%r13, %0"
				: "=r"(high), "=r"(flags)
				:
				: "r13", "cc", "memory");
		} while (!(flags & 1));
		CHECK((flags & 0x8d4) == 0); /* OF, SF, ZF, AF, PF */
		say("rdrand: %016lx %08x %04x %016lx\n", wide, middle, narrow, high);
		do {
			__asm__ volatile("rdseed %0\n\tsetc %1" : "=r"(wide), "=qm"(ok) : : "cc");
		} while (!ok);
		do {
			__asm__ volatile("rdseed %0\n\tsetc %1" : "=r"(middle), "=qm"(ok) : : "cc");
		} while (!ok);
		say("rdseed: %016lx %08x\n", wide, middle);
	}
}

int main(void)
{
	struct cpuid_result one = insn_cpuid(1, 0), seven = insn_cpuid(7, 0);
	int there = (one.c >> 30 & 1) && (seven.b >> 18 & 1);

	say("cpuid says %s\n", there ? "there" : "not there");
	if (there || getenv("RDRAND_ANYWAY"))
		draw();
	return 0;
}
