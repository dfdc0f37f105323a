/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Instructions whose results the CPU or the moment decides.
 */
#ifndef INSNS_H
#define INSNS_H

#include <stdint.h>

struct cpuid_result {
	uint32_t a, b, c, d;
};

static inline uint64_t insn_rdtsc(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

static inline uint64_t insn_rdtscp(uint32_t *aux)
{
	uint32_t low, high;

	__asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(*aux));
	return (uint64_t)high << 32 | low;
}

static inline struct cpuid_result insn_cpuid(uint32_t leaf, uint32_t subleaf)
{
	struct cpuid_result r;

	__asm__ volatile("cpuid"
		: "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d)
		: "0"(leaf), "2"(subleaf));
	return r;
}

static inline uint64_t insn_pushf(void)
{
	uint64_t flags;

	__asm__ volatile("pushfq\n\tpopq %0" : "=r"(flags));
	return flags;
}
#define FLAG_TRAP 0x100u

#endif
