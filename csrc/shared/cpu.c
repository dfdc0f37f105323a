/* SPDX-License-Identifier: GPL-2.0-or-later
 * Choosing the core that supervisor and tracees share; what CPU this is. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <string.h>

#include "insn.h"
#include "probe_code.h"
#include "pyrr_core.h"

/* Busy time of each core so far, in clock ticks (proc_stat(5)). */
static void read_busy(uint64_t busy[CPU_SETSIZE])
{
	char line[512];
	FILE *file = fopen("/proc/stat", "re");

	memset(busy, 0, CPU_SETSIZE * sizeof(*busy));
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		unsigned int cpu;
		unsigned long long user, nice, system, idle, wait, irq, soft, steal;

		if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user,
			    &nice, &system, &idle, &wait, &irq, &soft, &steal) == 9 &&
			cpu < CPU_SETSIZE)
			busy[cpu] = user + nice + system + irq + soft + steal;
	}
	fclose(file);
}

int32_t prr_choose_cpu(void)
{
	static const struct timespec sample = { 0, 20000000 };
	uint64_t before[CPU_SETSIZE], after[CPU_SETSIZE];
	cpu_set_t set;
	int32_t best = -1;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return -1;
	if (CPU_COUNT(&set) > 1) {
		read_busy(before);
		nanosleep(&sample, NULL);
		read_busy(after);
	} else {
		memset(before, 0, sizeof(before));
		memset(after, 0, sizeof(after));
	}
	for (int32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET((size_t)cpu, &set))
			continue;
		if (best < 0 || after[cpu] - before[cpu] < after[best] - before[best])
			best = cpu;
	}
	return best;
}

/* cpuid(1).ecx: the OS has enabled XSAVE, so that xgetbv may be used. */
#define OSXSAVE (1u << 27)

static uint64_t read_xcr0(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (uint64_t)high << 32 | low;
}

/* Intel SDM vol. 1, 11.6.6: byte 28 of an FXSAVE area; 0 stands for 0xffbf. */
static uint32_t read_mxcsr_mask(void)
{
	uint8_t area[512] __attribute__((aligned(16))) = { 0 };
	uint32_t mask;

	__asm__ volatile("fxsave %0" : "=m"(area));
	memcpy(&mask, area + 28, sizeof(mask));
	return mask ? mask : 0xffbf;
}

void prr_cpu_state(struct prr_cpu_state *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->mxcsr_mask = read_mxcsr_mask();
	if (!(prr_cpuid_read(1, 0).ecx & OSXSAVE))
		return;
	ret->xcr0 = read_xcr0();
	ret->xsave_size = prr_cpuid_read(0xd, 0).ebx;
}

/* Intel SDM vol. 1, 13.3; vol. 2, cpuid. */
enum {
	XCR0_AVX = 0x4,
	XCR0_AVX512 = 0xe6, /* needs SSE's and AVX's components too */
	OPMASK = 5,         /* state components, sub-leaves of cpuid(0xd) */
	ZMM_HIGH,
	ZMM_16,
	AVX512F = 1 << 16, /* cpuid(7).ebx */
	AVX512BW = 1 << 30,
	YMM_END = 832 /* of the XSAVE area */
};

/* Where a component stands in the standard format; false: not where it can be. */
static bool find_component(uint32_t component, uint32_t len, uint32_t *ret)
{
	struct prr_cpuid data = prr_cpuid_read(0xd, component);

	*ret = data.ebx;
	return data.eax == len && data.ebx >= YMM_END && data.ebx % 16 == 0;
}

void prr_probe_cpu(struct prr_probe_cpu *ret)
{
	struct prr_cpu_state state;
	uint32_t features;

	memset(ret, 0, sizeof(*ret));
	prr_cpu_state(&state);
	ret->avx = state.xcr0 & XCR0_AVX;
	if ((state.xcr0 & XCR0_AVX512) != XCR0_AVX512)
		return;
	features = prr_cpuid_read(7, 0).ebx;
	ret->avx512 = (features & AVX512F) && find_component(OPMASK, 64, &ret->opmask_at) &&
		find_component(ZMM_HIGH, 512, &ret->zmm_high_at) &&
		find_component(ZMM_16, 1024, &ret->zmm_16_at);
	ret->avx512bw = ret->avx512 && (features & AVX512BW);
}

void prr_cpu_leaf(uint32_t leaf, uint32_t subleaf, struct prr_cpuid_answer *ret)
{
	struct prr_cpuid data = prr_cpuid_read(leaf, subleaf);

	prr_cpuid_mask(leaf, subleaf, &data);
	*ret = (struct prr_cpuid_answer){ data.eax, data.ebx, data.ecx, data.edx };
}
