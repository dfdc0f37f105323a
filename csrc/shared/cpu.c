/* SPDX-License-Identifier: GPL-2.0-or-later
 * Choosing the core that supervisor and tracees share. */
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <string.h>

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
