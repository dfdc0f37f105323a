/* SPDX-License-Identifier: GPL-2.0-or-later
 * Which event counts retired conditional branches, by CPU.
 *
 * Intel: models and events are those of Intel's own lists (github.com/intel/perfmon,
 * mapfile.csv and the *_core.json of each micro-architecture): BR_INST_RETIRED.CONDITIONAL,
 * event 0xc4 umask 0x01, up to Comet Lake; .COND, umask 0x11, from Ice Lake on, on Lion Cove
 * with bit 0 of the umask's extension (config bit 40), 0x07 from Cougar Cove on; .JCC, umask
 * 0x7e, on the small cores. Core 2 has no such event. Small cores of hybrid CPUs, and those
 * whose list names an erratum of the event (Crestmont: MTL013, ARL011, SRF7), are left out.
 * (SKL091 of Skylake does not keep rr from using it there.)
 *
 * AMD: ex_ret_cond, PMCx0D1, in each Zen's Processor Programming Reference and in Linux'
 * tools/perf/pmu-events/arch/x86/amdzen*. Models as in Linux' arch/x86/kernel/cpu/amd.c.
 *
 * Skid: the bounds rr works with (its table of PMUs; AMD: rr issues 2034, 2834). */
#include <string.h>

#include "pmu.h"

#define INTEL "GenuineIntel"
#define AMD "AuthenticAMD"

#define COND_OLD 0x01c4
#define COND_NEW 0x11c4
#define COND_LION_COVE 0x100000011c4
#define COND_COUGAR_COVE 0x07c4
#define JCC_SMALL 0x7ec4
#define ZEN_COND 0xd1

#define SMI PRR_PMU_FREEZE_ON_SMI
#define ZEN (PRR_PMU_SPECLOCKMAP | PRR_PMU_SKID_UNBOUNDED)
#define ZEN_SKID 10000

static const struct prr_pmu_cpu cpus[] = {
	{ INTEL, 6, 0x0f, 0x0f, "Intel Core 2 (Merom)", 0, 0, 0 },
	{ INTEL, 6, 0x16, 0x16, "Intel Core 2 (Merom)", 0, 0, 0 },
	{ INTEL, 6, 0x17, 0x17, "Intel Core 2 (Penryn)", 0, 0, 0 },
	{ INTEL, 6, 0x1d, 0x1d, "Intel Core 2 (Dunnington)", 0, 0, 0 },
	{ INTEL, 6, 0x1a, 0x1a, "Intel Nehalem", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x1e, 0x1f, "Intel Nehalem", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x2e, 0x2e, "Intel Nehalem", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x25, 0x25, "Intel Westmere", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x2c, 0x2c, "Intel Westmere", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x2f, 0x2f, "Intel Westmere", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x2a, 0x2a, "Intel Sandy Bridge", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x2d, 0x2d, "Intel Sandy Bridge", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x3a, 0x3a, "Intel Ivy Bridge", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x3e, 0x3e, "Intel Ivy Bridge", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x3c, 0x3c, "Intel Haswell", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x3f, 0x3f, "Intel Haswell", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x45, 0x46, "Intel Haswell", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x3d, 0x3d, "Intel Broadwell", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x47, 0x47, "Intel Broadwell", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x4f, 0x4f, "Intel Broadwell", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x56, 0x56, "Intel Broadwell", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x4e, 0x4e, "Intel Skylake", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x5e, 0x5e, "Intel Skylake", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x55, 0x55, "Intel Skylake or Cascade Lake (server)", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x8e, 0x8e, "Intel Kaby Lake", COND_OLD, 100, 0 },
	{ INTEL, 6, 0x9e, 0x9e, "Intel Kaby Lake", COND_OLD, 100, 0 },
	{ INTEL, 6, 0xa5, 0xa6, "Intel Comet Lake", COND_OLD, 100, SMI },
	{ INTEL, 6, 0x7d, 0x7e, "Intel Ice Lake", COND_NEW, 100, SMI },
	{ INTEL, 6, 0x6a, 0x6a, "Intel Ice Lake (server)", COND_NEW, 100, SMI },
	{ INTEL, 6, 0x6c, 0x6c, "Intel Ice Lake (server)", COND_NEW, 100, SMI },
	{ INTEL, 6, 0x8c, 0x8d, "Intel Tiger Lake", COND_NEW, 100, SMI },
	{ INTEL, 6, 0xa7, 0xa7, "Intel Rocket Lake", COND_NEW, 100, SMI },
	{ INTEL, 6, 0x97, 0x97, "Intel Alder Lake", COND_NEW, 125, SMI },
	{ INTEL, 6, 0x9a, 0x9a, "Intel Alder Lake", COND_NEW, 125, SMI },
	{ INTEL, 6, 0xb7, 0xb7, "Intel Raptor Lake", COND_NEW, 125, SMI },
	{ INTEL, 6, 0xba, 0xba, "Intel Raptor Lake", COND_NEW, 125, SMI },
	{ INTEL, 6, 0xbf, 0xbf, "Intel Raptor Lake", COND_NEW, 125, SMI },
	{ INTEL, 6, 0x8f, 0x8f, "Intel Sapphire Rapids", COND_NEW, 125, SMI },
	{ INTEL, 6, 0xcf, 0xcf, "Intel Emerald Rapids", COND_NEW, 125, SMI },
	{ INTEL, 6, 0xad, 0xae, "Intel Granite Rapids", COND_NEW, 125, SMI },
	{ INTEL, 6, 0xaa, 0xaa, "Intel Meteor Lake", COND_NEW, 125, SMI },
	{ INTEL, 6, 0xac, 0xac, "Intel Meteor Lake", COND_NEW, 125, SMI },
	{ INTEL, 6, 0xb5, 0xb5, "Intel Arrow Lake (U)", COND_NEW, 125, SMI },
	{ INTEL, 6, 0xbd, 0xbd, "Intel Lunar Lake", COND_LION_COVE, 125, SMI },
	{ INTEL, 6, 0xc5, 0xc6, "Intel Arrow Lake", COND_LION_COVE, 125, SMI },
	{ INTEL, 6, 0xcc, 0xcc, "Intel Panther Lake", COND_COUGAR_COVE, 125, SMI },
	{ INTEL, 6, 0xd5, 0xd5, "Intel Panther Lake", COND_COUGAR_COVE, 125, SMI },
	{ INTEL, 6, 0xe5, 0xe5, "Intel Panther Lake", COND_COUGAR_COVE, 125, SMI },
	{ INTEL, 6, 0x37, 0x37, "Intel Silvermont", JCC_SMALL, 100, 0 },
	{ INTEL, 6, 0x4a, 0x4a, "Intel Silvermont", JCC_SMALL, 100, 0 },
	{ INTEL, 6, 0x4c, 0x4d, "Intel Silvermont", JCC_SMALL, 100, 0 },
	{ INTEL, 6, 0x5a, 0x5a, "Intel Silvermont", JCC_SMALL, 100, 0 },
	{ INTEL, 6, 0x5c, 0x5c, "Intel Goldmont", JCC_SMALL, 100, 0 },
	{ INTEL, 6, 0x5f, 0x5f, "Intel Goldmont", JCC_SMALL, 100, 0 },
	{ INTEL, 6, 0x7a, 0x7a, "Intel Goldmont Plus", JCC_SMALL, 100, 0 },
	{ INTEL, 6, 0x86, 0x86, "Intel Tremont", JCC_SMALL, 100, 0 },
	{ INTEL, 6, 0x96, 0x96, "Intel Tremont", JCC_SMALL, 100, 0 },
	{ INTEL, 6, 0x9c, 0x9c, "Intel Tremont", JCC_SMALL, 100, 0 },
	{ AMD, 0x17, 0x00, 0x2f, "AMD Zen", ZEN_COND, ZEN_SKID, ZEN },
	{ AMD, 0x17, 0x50, 0x5f, "AMD Zen", ZEN_COND, ZEN_SKID, ZEN },
	{ AMD, 0x17, 0x30, 0x4f, "AMD Zen 2", ZEN_COND, ZEN_SKID, ZEN },
	{ AMD, 0x17, 0x60, 0x7f, "AMD Zen 2", ZEN_COND, ZEN_SKID, ZEN },
	{ AMD, 0x17, 0x90, 0x91, "AMD Zen 2", ZEN_COND, ZEN_SKID, ZEN },
	{ AMD, 0x17, 0xa0, 0xaf, "AMD Zen 2", ZEN_COND, ZEN_SKID, ZEN },
	{ AMD, 0x19, 0x00, 0x0f, "AMD Zen 3", ZEN_COND, ZEN_SKID, ZEN },
	{ AMD, 0x19, 0x20, 0x5f, "AMD Zen 3", ZEN_COND, ZEN_SKID, ZEN },
	{ AMD, 0x19, 0x10, 0x1f, "AMD Zen 4", ZEN_COND, ZEN_SKID, ZEN },
	{ AMD, 0x19, 0x60, 0xaf, "AMD Zen 4", ZEN_COND, ZEN_SKID, ZEN },
	{ AMD, 0x1a, 0x00, 0x0f, "AMD Zen 5", ZEN_COND, ZEN_SKID, ZEN },
	{ AMD, 0x1a, 0x20, 0x2f, "AMD Zen 5", ZEN_COND, ZEN_SKID, ZEN },
	{ AMD, 0x1a, 0x40, 0x4f, "AMD Zen 5", ZEN_COND, ZEN_SKID, ZEN },
	{ AMD, 0x1a, 0x70, 0x7f, "AMD Zen 5", ZEN_COND, ZEN_SKID, ZEN },
};

const struct prr_pmu_cpu *prr_pmu_find(const struct prr_cpu_id *id)
{
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		const struct prr_pmu_cpu *cpu = &cpus[i];

		if (strcmp(cpu->vendor, id->vendor) == 0 && cpu->family == id->family &&
			cpu->first_model <= id->model && id->model <= cpu->last_model)
			return cpu;
	}
	return NULL;
}
