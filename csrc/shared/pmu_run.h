/* SPDX-License-Identifier: GPL-2.0-or-later
 * Running a task to an exact place that its ticks name: the place where it has retired
 * so many conditional branches and has these registers. Only the decisions are here;
 * what is done to the task, and what came of it, goes through callbacks. */
#ifndef PRR_PMU_RUN_H
#define PRR_PMU_RUN_H

#include "pyrr_core.h"

struct prr_pmu_target {
	uint64_t ticks;       /* on the counter's scale */
	struct prr_regs regs; /* what must be there then; TF and RF do not matter */
	uint32_t skid;        /* struct prr_pmu_cpu's */
};

/* Why the task stands again. */
enum prr_pmu_stop {
	PRR_PMU_STOP_OVERFLOW,   /* the armed overflow's signal (swallowed) */
	PRR_PMU_STOP_BREAKPOINT, /* before the instruction at the breakpoint (trap undone) */
	PRR_PMU_STOP_STEP,       /* one instruction has been executed */
	PRR_PMU_STOP_CHECK,      /* the driver's own watchdog interrupted it, or a stale trap */
	PRR_PMU_STOP_OTHER,      /* an event of the program: a syscall, a fault, its end, ... */
	PRR_PMU_STOP_FAILED      /* the supervisor could not go on: the driver knows why */
};

/* Callbacks that return bool say false for PRR_PMU_STOP_FAILED. */
struct prr_pmu_driver {
	bool (*ticks)(void *context, uint64_t *ret);
	bool (*registers)(void *context, struct prr_regs *ret);
	/* Overflow after so many more ticks; PRR_PMU_NEVER: none. */
	bool (*arm)(void *context, uint64_t period);
	/* At most one breakpoint is set at a time, and none while stepping. False: none can be
	 * set at this place, which is no failure. */
	bool (*set_breakpoint)(void *context, uint64_t addr);
	bool (*clear_breakpoint)(void *context);
	enum prr_pmu_stop (*run)(void *context);
	/* Executes one instruction; of a repeated one a single round, or with `whole` all of
	 * them (there may be millions). OTHER: the one that stands there is an event itself and
	 * was not executed. */
	enum prr_pmu_stop (*step)(void *context, bool whole);
	/* Ticks and registers are the target's: is it? A loop without conditional branches may
	 * bring them back (rr issue 2263); memory tells. NULL: yes. */
	bool (*confirm)(void *context);
};

enum prr_pmu_end {
	PRR_PMU_AT_TARGET = 1,
	PRR_PMU_OVERSHOT, /* more ticks than the target's: the place has been missed */
	PRR_PMU_OTHER,    /* the last stop was OTHER: treat it, then call again or give up */
	PRR_PMU_BROKEN,   /* overflow upon overflow, and the ticks stand still */
	PRR_PMU_FAILED    /* a callback said so */
};

struct prr_pmu_outcome {
	enum prr_pmu_end end;
	uint64_t ticks;      /* where the task stands */
	uint64_t overflows;  /* signals that came */
	uint64_t lost;       /* signals that should have come before a CHECK found it out */
	uint64_t candidates; /* stops at the target's rip */
	uint64_t steps;
	bool was_late; /* OVERSHOT by an overflow that came later than the skid allows */
};

/* Keeps no state between calls: the task's ticks say how far it is. The task has no
 * breakpoint and no armed overflow of the driver's afterwards. */
void prr_pmu_run_to(const struct prr_pmu_target *target, const struct prr_pmu_driver *driver,
	void *context, struct prr_pmu_outcome *ret);

#endif
