/* SPDX-License-Identifier: GPL-2.0-or-later
 * Whether this machine's branch counter can be a clock: it must be exact each time, not
 * nearly. The self-test asks a struct prr_pmu_machine only; pmu_host.c is the real one. */
#ifndef PRR_PMU_CHECK_H
#define PRR_PMU_CHECK_H

#include "pmu.h"

enum { PRR_PMU_PARANOID_UNKNOWN = -1000 };

/* What is counted. Each retires as many conditional branches as it is told, and besides
 * always the same few. */
struct prr_pmu_work {
	void (*branches)(void *context, uint64_t count);
	/* Every other one hard to predict, with a `lock` instruction behind it: what SpecLockMap
	 * rolls back. `count` is even. */
	void (*locked)(void *context, uint64_t count);
	/* `count` outside, and as many more inside a transaction that is aborted: those do not
	 * count. Only called where the CPU has transactions. */
	void (*aborted)(void *context, uint64_t count);
	/* One `lock` instruction. */
	void (*lock_once)(void *context);
	/* `count` branches, during which the counter, whose signal goes to the caller, may
	 * overflow: *at gets its ticks when the signal came. False: none came. */
	bool (*interrupted)(
		void *context, const struct prr_pmu_counter *counter, uint64_t count, uint64_t *at);
	/* False: it cannot be read here. */
	bool (*read_msr)(void *context, uint32_t msr, uint64_t *ret);
};

struct prr_pmu_machine {
	struct prr_cpu_id cpu;
	struct prr_perf perf;
	int paranoid;      /* kernel.perf_event_paranoid, or PRR_PMU_PARANOID_UNKNOWN */
	int freeze_on_smi; /* -1: there is no such setting */
	pid_t tid;         /* the caller's */
	const struct prr_pmu_work *work;
	void *context; /* of `work` */
};

struct prr_pmu_verdict {
	bool usable;
	char cpu[64];     /* what CPU this is */
	char reason[256]; /* a fact with its values, in either case */
	char remedy[512]; /* a command or step; empty where nothing helps */
};

/* What can be said without running anything: a CPU of the table, a counter that opens.
 * Returns the CPU's row; NULL: not usable, *ret says why. */
const struct prr_pmu_cpu *prr_pmu_check_there(
	const struct prr_pmu_machine *machine, struct prr_pmu_verdict *ret);
/* The whole self-test; about 50 ms. */
void prr_pmu_check(const struct prr_pmu_machine *machine, struct prr_pmu_verdict *ret);

/* ----------------------------------------------------------- the real machine */

/* This machine, and of a hybrid CPU the core that the caller runs on. */
void prr_pmu_host(struct prr_pmu_machine *ret);
/* The self-test of this machine, in a child bound to `core` (-1: any). Where no child can be
 * made, that is the reason, and ret->cpu stays as it is. */
void prr_pmu_check_apart(int32_t core, struct prr_pmu_verdict *ret);

#endif
