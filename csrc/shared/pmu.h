/* SPDX-License-Identifier: GPL-2.0-or-later
 * A task's ticks: the conditional branches it has retired, counted by the CPU's
 * performance monitoring unit (PMU) through perf_event_open(2). What the PMU clock
 * names points with (ARCHITECTURE section 6). Nothing here knows a session.
 *
 * All perf calls go through struct prr_perf_ops: csrc/tests/test_pmu.c puts a PMU with
 * known faults in the kernel's place. */
#ifndef PRR_PMU_H
#define PRR_PMU_H

#include <linux/perf_event.h>
#include <signal.h>
#include <sys/types.h>

#include "pyrr_core.h"

/* -------------------------------------------------------------- known CPUs */

struct prr_cpu_id {
	char vendor[13]; /* as cpuid leaf 0 spells it */
	uint32_t family, model;
	bool efficiency_core; /* of a hybrid CPU, the other kind of core */
	bool transactions;    /* RTM: branches of aborted transactions are counted, too */
};

enum prr_pmu_flag {
	/* Counts come out too high after a rolled back `lock` instruction unless the
	 * SpecLockMap optimisation is switched off (rr issue 2034). */
	PRR_PMU_SPECLOCKMAP = 1 << 0,
	/* Counts come out too high after a system management interrupt unless
	 * /sys/devices/cpu/freeze_on_smi is 1 (Comet Lake and later, rr's start-up check). */
	PRR_PMU_FREEZE_ON_SMI = 1 << 1,
	/* The overflow signal may, rarely, come later than `skid` (rr issue 2834): such a
	 * stop is an overshoot, told as such. */
	PRR_PMU_SKID_UNBOUNDED = 1 << 2
};

struct prr_pmu_cpu {
	const char *vendor;
	uint32_t family, first_model, last_model;
	const char *name;
	uint64_t event; /* config of a PERF_TYPE_RAW event; 0: it has none that fits */
	uint32_t skid;  /* ticks that may pass between the overflow and the stop */
	uint32_t flags; /* enum prr_pmu_flag */
};

/* NULL: not a CPU that anybody has said anything about. */
const struct prr_pmu_cpu *prr_pmu_find(const struct prr_cpu_id *id);

/* -------------------------------------------------------------------- perf */

/* All return 0 (open: a descriptor), or -errno. */
struct prr_perf_ops {
	/* `group` is the descriptor of the leader to be scheduled with, or -1. */
	int (*open)(void *context, const struct perf_event_attr *attr, pid_t tid, int group);
	/* -ENODATA: a pinned event has lost its place on the PMU (perf_event_open(2)). */
	int (*read)(void *context, int fd, uint64_t *ret);
	int (*reset)(void *context, int fd);
	/* The next overflow comes after `period` more. */
	int (*set_period)(void *context, int fd, uint64_t period);
	/* Overflows send `signo` to the task `tid`. */
	int (*notify)(void *context, int fd, pid_t tid, int signo);
	void (*close)(void *context, int fd);
};

struct prr_perf {
	const struct prr_perf_ops *ops;
	void *context;
};

/* The kernel's. */
struct prr_perf prr_perf_kernel(void);

/* ----------------------------------------------------------------- counter */

/* Intel SDM vol. 3B, IA32_PERFEVTSEL2: leave out what aborted transactions did. */
#define PRR_PMU_IN_TXCP (1ull << 33)
/* A period that no slice reaches; perf refuses bit 63. */
#define PRR_PMU_NEVER (1ull << 60)
/* The kernel may round a shorter period up: to 2 anywhere, to 32 on Nehalem, to 128 for
 * some events of Broadwell (limit_period in Linux' arch/x86/events). */
#define PRR_PMU_PERIOD_MIN 128

/* The overflow signal goes to the tracee itself, by F_SETOWN_EX with F_OWNER_TID: it is
 * raised in the PMU's interrupt, so the task comes to its signal-delivery-stop on the
 * way back to user code, where it stands after the skid, and the supervisor's wait tells.
 * Sent to the supervisor, which sleeps in that wait on the same core, it would let the
 * task run on until the supervisor is scheduled and interrupts it: a skid without bound.
 * perf's own `sigtrap` stops sooner, but as a forced SIGTRAP (PITFALLS A2).
 *
 * The tracer swallows the signal, so the task never sees it, and a disposition of
 * SIG_IGN does not drop the signal of a traced task; but it must not be *blocked*: see
 * prr_pmu_is_overflow. The kernel itself sends SIGSTKFLT to nobody on x86, and being a
 * standard signal it is never refused for lack of queue space. */
#define PRR_PMU_SIGNAL SIGSTKFLT

struct prr_pmu_counter {
	struct prr_perf perf;
	int overflow; /* descriptor of the event that interrupts; -1: closed */
	int measure;  /* of the one that is read: the same, except with transactions */
};

/* Counts the ticks of `tid` (0: the caller's) in user code, from now on; it raises no signal yet.
 * PRR_ERR_ENVIRONMENT with errnum where the kernel does not give a counter. */
PRR_MUST_USE enum prr_status prr_pmu_open(struct prr_pmu_counter *counter,
	const struct prr_perf *perf, const struct prr_pmu_cpu *cpu, const struct prr_cpu_id *id,
	pid_t tid, struct prr_error *err);
/* Once: an overflow sends PRR_PMU_SIGNAL to the task. */
PRR_MUST_USE enum prr_status prr_pmu_notify(
	struct prr_pmu_counter *counter, pid_t tid, struct prr_error *err);
/* Ticks since it was opened or reset. The task must not be running. */
PRR_MUST_USE enum prr_status prr_pmu_ticks(
	const struct prr_pmu_counter *counter, uint64_t *ret, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_pmu_reset(
	const struct prr_pmu_counter *counter, struct prr_error *err);
/* The next overflow comes after `period` (at least 1) more ticks, plus the skid;
 * PRR_PMU_NEVER takes an earlier request back. */
PRR_MUST_USE enum prr_status prr_pmu_arm(
	const struct prr_pmu_counter *counter, uint64_t period, struct prr_error *err);
void prr_pmu_close(struct prr_pmu_counter *counter);

/* Is this, at a signal-delivery-stop, the counter's overflow rather than a SIGSTKFLT of
 * somebody's? Both may have become one: then the other is lost, as two of a standard
 * signal are. Whoever resumes a task with an armed counter keeps PRR_PMU_SIGNAL out of its
 * mask in the kernel (prr_ptrace_set_sigmask) and remembers the program's own mask. */
bool prr_pmu_is_overflow(const struct prr_pmu_counter *counter, const siginfo_t *info);

#endif
