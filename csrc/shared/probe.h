/* SPDX-License-Identifier: GPL-2.0-or-later
 * A probe in a live tracee: stops a task where it arrives at a site, at the n-th
 * time or in a given state. A stub in a region of its own does the sifting
 * (probe_code.h); where none can stand, a breakpoint (int3) stops at each arrival.
 *
 * Every task that uses the AddressSpace must be stopped while one is armed,
 * disarmed or run over, save the one that runs. */
#ifndef PRR_PROBE_H
#define PRR_PROBE_H

#include <sys/types.h>

#include "mappings.h"
#include "probe_code.h"

#define PRR_PROBE_REGION_LEN 0x4000ull /* bytes of a stub's region */

struct prr_probe {
	uint64_t site;
	bool has_stub; /* else a breakpoint */
	bool hardware; /* a debug register in place of int3: leaves the code alone */
	bool armed;
	struct prr_probe_cpu cpu;
	struct prr_probe_insn insn;
	uint64_t region, code_addr, data_addr; /* of the stub; region 0: none */
	struct prr_probe_stub stub;
	uint8_t original[PRR_PROBE_PATCH_MAX]; /* the program's bytes at the site */
	uint8_t patch_len;
};

/* Prepares a probe at `site`, mapping a region for its stub near it where one can
 * stand. `tid` is a stopped task of the AddressSpace that `mappings` describe; calls
 * are injected into it (inject.h), so its registers in the kernel are as before but it
 * no longer stands at the stop it stood at. */
PRR_MUST_USE enum prr_status prr_probe_open(struct prr_probe *probe, pid_t tid,
	const struct prr_mappings *mappings, uint64_t site, struct prr_error *err);
/* Takes the region away. Disarms. */
PRR_MUST_USE enum prr_status prr_probe_close(
	struct prr_probe *probe, pid_t tid, struct prr_error *err);

/* From now on a debug register of `tid` does it, wherever it is armed: for code that the
 * program itself reads or writes. Each arrival stops (35 us). */
void prr_probe_use_hardware(struct prr_probe *probe);
/* From now on arrivals that match all tests trap (without a stub: all arrivals). */
bool prr_probe_arm_match(
	struct prr_probe *probe, pid_t tid, const struct prr_probe_test *tests, size_t count);
/* The hits-th arrival traps; without a stub every one does. */
bool prr_probe_arm_count(struct prr_probe *probe, pid_t tid, uint64_t hits);
/* The counter of a COUNT stub: arrivals still to come. */
bool prr_probe_counter(const struct prr_probe *probe, pid_t tid, uint64_t *ret);
bool prr_probe_set_counter(const struct prr_probe *probe, pid_t tid, uint64_t value);
/* The program's bytes are back. Nobody's rip may be in the stub. */
bool prr_probe_disarm(struct prr_probe *probe, pid_t tid);
/* Plants the stub that was armed last again. */
bool prr_probe_rearm(struct prr_probe *probe, pid_t tid);

/* Do `regs`, at a SIGTRAP, show the trap of this probe? */
bool prr_probe_is_trap(const struct prr_probe *probe, const struct prr_regs *regs);
/* Is rip in its stub? */
bool prr_probe_is_inside(const struct prr_probe *probe, uint64_t rip);
/* Makes of registers inside a stub what they are in the program: back to before
 * the site, this arrival not counted, or on to behind it. */
bool prr_probe_leave(const struct prr_probe *probe, pid_t tid, struct prr_regs *regs);

#endif
