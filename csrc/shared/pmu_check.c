/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pmu_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

/* But the probe clock. */
#define NOTHING_HELPS ""

/* AMD, PMCx025 LsLocks umask 8: lock instructions carried out speculatively. It stays 0 with
 * SpecLockMap off (rr issue 2034). */
#define SPEC_LOCK_MAP_COMMIT 0x0825
/* AMD, MSRC001_1020 (LS_CFG) bit 54 switches SpecLockMap off (same place). */
#define LS_CFG 0xc0011020u
#define SPEC_LOCK_MAP_OFF (1ull << 54)

/* On Zen 1 the kernel writes LS_CFG anew whenever it switches the mitigation of speculative
 * store bypass for a process, unless that is on or off for all (rr pull request 2690). */
static const char speclockmap_remedy[] =
	"as root, after each boot (package msr-tools): modprobe msr; "
	"for n in $(seq 0 $(($(nproc --all) - 1))); do wrmsr -p $n 0xc0011020 "
	"$((0x$(rdmsr -p $n 0xc0011020) | 1 << 54)); done; on Zen 1, boot with "
	"spec_store_bypass_disable=on, too; in a virtual machine, on its host";

__attribute__((format(printf, 3, 4))) static bool refuse(
	struct prr_pmu_verdict *ret, const char *remedy, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(ret->reason, sizeof(ret->reason), format, ap);
	va_end(ap);
	snprintf(ret->remedy, sizeof(ret->remedy), "%s", remedy);
	ret->usable = false;
	return false;
}

/* An error of pmu.c is a reason. */
static bool refuse_error(struct prr_pmu_verdict *ret, struct prr_error *err)
{
	refuse(ret, err->remedy ? err->remedy : NOTHING_HELPS, "%s",
		err->message ? err->message : "out of memory");
	prr_error_deinit(err);
	return false;
}

static bool refuse_open(
	const struct prr_pmu_machine *machine, struct prr_pmu_verdict *ret, struct prr_error *err)
{
	int errnum = err->errnum;
	char level[48] = "";

	/* perf_event_open(2), ERRORS: how a CPU or hypervisor without a PMU answers. */
	if (errnum == ENOENT || errnum == ENODEV || errnum == EOPNOTSUPP) {
		prr_error_deinit(err);
		return refuse(ret, "in a virtual machine: have its host give it a PMU",
			"no branch counter: this CPU or hypervisor has none");
	}
	if (errnum != EACCES && errnum != EPERM)
		return refuse_error(ret, err);
	prr_error_deinit(err);
	if (machine->paranoid != PRR_PMU_PARANOID_UNKNOWN)
		snprintf(level, sizeof(level), " (kernel.perf_event_paranoid is %d)",
			machine->paranoid);
	/* Up to 2 the kernel itself lets everybody count user code; Debian has 3, Ubuntu 4. */
	return refuse(ret,
		machine->paranoid > 2 ? "sysctl kernel.perf_event_paranoid=2 (on the host)"
				      : "container: docker run --security-opt seccomp=unconfined",
		"perf_event_open is forbidden%s", level);
}

static void name_cpu(
	const struct prr_cpu_id *id, const struct prr_pmu_cpu *cpu, struct prr_pmu_verdict *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (cpu)
		snprintf(ret->cpu, sizeof(ret->cpu), "%s", cpu->name);
	else
		snprintf(ret->cpu, sizeof(ret->cpu), "%s family %u model %u", id->vendor,
			id->family, id->model);
}

static bool is_suitable(const struct prr_pmu_machine *machine, const struct prr_pmu_cpu *cpu,
	struct prr_pmu_verdict *ret)
{
	if (!cpu)
		return refuse(
			ret, NOTHING_HELPS, "no branch event is known for this CPU: %s", ret->cpu);
	if (cpu->event == 0)
		return refuse(ret, NOTHING_HELPS, "%s: no event counts its conditional branches",
			cpu->name);
	if (machine->cpu.efficiency_core)
		return refuse(ret,
			"taskset -c $(cat /sys/devices/cpu_core/cpus) pyrr record PROGRAM",
			"an efficiency core of %s: only its performance cores are known",
			cpu->name);
	if ((cpu->flags & PRR_PMU_FREEZE_ON_SMI) && machine->freeze_on_smi == 0)
		return refuse(ret, "echo 1 > /sys/devices/cpu/freeze_on_smi",
			"the counter runs on during system management interrupts");
	return true;
}

const struct prr_pmu_cpu *prr_pmu_check_there(
	const struct prr_pmu_machine *machine, struct prr_pmu_verdict *ret)
{
	const struct prr_pmu_cpu *cpu = prr_pmu_find(&machine->cpu);
	struct prr_pmu_counter counter;
	struct prr_error err;

	name_cpu(&machine->cpu, cpu, ret);
	if (!is_suitable(machine, cpu, ret))
		return NULL;
	prr_error_init(&err);
	if (prr_pmu_open(&counter, &machine->perf, cpu, &machine->cpu, 0, &err) != PRR_OK) {
		refuse_open(machine, ret, &err);
		return NULL;
	}
	prr_pmu_close(&counter);
	return cpu;
}

/* --------------------------------------------------------------- exactness */

struct trial {
	const struct prr_pmu_machine *machine;
	const struct prr_pmu_cpu *cpu;
	struct prr_pmu_counter counter;
	struct prr_pmu_verdict *ret;
	struct prr_error err;
	uint64_t besides; /* branches of the measuring itself */
	uint64_t runs;
};

typedef void workload(void *context, uint64_t count);

/* Ticks that `work` takes, those of measuring included. */
static bool measure(struct trial *t, workload *work, uint64_t count, uint64_t *ret)
{
	uint64_t before, after;

	if (prr_pmu_ticks(&t->counter, &before, &t->err) != PRR_OK)
		return false;
	work(t->machine->context, count);
	if (prr_pmu_ticks(&t->counter, &after, &t->err) != PRR_OK)
		return false;
	*ret = after - before;
	t->runs++;
	return true;
}

/* Not even one in a million may be wrong: a replay would end in the wrong place. */
static bool is_exact(
	struct trial *t, workload *work, uint64_t count, const char *what, const char *remedy)
{
	uint64_t ticks;

	if (!measure(t, work, count, &ticks))
		return refuse_error(t->ret, &t->err);
	if (ticks == count + t->besides)
		return true;
	return refuse(t->ret, remedy,
		"the branch counter is not exact: %+lld of %llu branches%s, in run %llu",
		(long long)(ticks - count - t->besides), (unsigned long long)count, what,
		(unsigned long long)t->runs);
}

static bool counts_exactly(struct trial *t)
{
	static const uint64_t counts[] = { 1, 2, 3, 10, 100, 1000, 5000 };
	workload *branches = t->machine->work->branches;

	/* The first time anything is run, the dynamic linker's branches come in. */
	if (!measure(t, branches, 1, &t->besides) || !measure(t, branches, 1, &t->besides))
		return refuse_error(t->ret, &t->err);
	t->besides--;
	for (unsigned int round = 0; round < 50; round++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			if (!is_exact(t, branches, counts[i], "", NOTHING_HELPS))
				return false;
	/* Some milliseconds each: the kernel's own interrupts come in between. */
	for (unsigned int round = 0; round < 4; round++)
		if (!is_exact(t, branches, 5000000, " in a long run", NOTHING_HELPS))
			return false;
	return true;
}

/* With interrupts of the counter's own. Few enough not to be throttled, which would stop the
 * counter for a while (kernel.perf_event_max_sample_rate). */
static bool counts_through_overflows(struct trial *t)
{
	for (unsigned int round = 0; round < 4; round++) {
		if (prr_pmu_arm(&t->counter, 100000 + 7 * round, &t->err) != PRR_OK)
			return refuse_error(t->ret, &t->err);
		if (!is_exact(t, t->machine->work->branches, 1000000, " with overflow interrupts",
			    NOTHING_HELPS))
			return false;
	}
	return prr_pmu_arm(&t->counter, PRR_PMU_NEVER, &t->err) == PRR_OK ||
		refuse_error(t->ret, &t->err);
}

/* -------------------------------------------------------------- SpecLockMap */

/* 1 it is on, 0 off, -1 cannot be told. */
static int speclockmap_by_event(const struct trial *t)
{
	struct prr_pmu_cpu event = *t->cpu;
	struct prr_pmu_counter counter;
	struct prr_error err;
	uint64_t before, after;
	int answer = -1;

	prr_error_init(&err);
	event.event = SPEC_LOCK_MAP_COMMIT;
	if (prr_pmu_open(&counter, &t->machine->perf, &event, &t->machine->cpu, 0, &err) ==
		PRR_OK) {
		if (prr_pmu_ticks(&counter, &before, &err) == PRR_OK) {
			t->machine->work->lock_once(t->machine->context);
			if (prr_pmu_ticks(&counter, &after, &err) == PRR_OK)
				answer = after != before;
		}
		prr_pmu_close(&counter);
	}
	prr_error_deinit(&err);
	return answer;
}

/* The MSR may be a hypervisor's invention, so the event, which is what the CPU really does,
 * is asked first. */
static int speclockmap(const struct trial *t)
{
	int answer = speclockmap_by_event(t);
	uint64_t value;

	if (answer < 0 && t->machine->work->read_msr(t->machine->context, LS_CFG, &value))
		answer = !(value & SPEC_LOCK_MAP_OFF);
	return answer;
}

static bool counts_through_locks(struct trial *t)
{
	bool zen = (t->cpu->flags & PRR_PMU_SPECLOCKMAP) != 0;
	const char *remedy = zen ? speclockmap_remedy : NOTHING_HELPS;
	int on = zen ? speclockmap(t) : 0;

	if (on > 0)
		return refuse(t->ret, remedy,
			"SpecLockMap is on: it makes this CPU's branch counter count too many");
	if (on < 0)
		return refuse(t->ret, remedy,
			"whether this CPU's SpecLockMap is off cannot be told here");
	for (unsigned int round = 0; round < 20; round++)
		if (!is_exact(t, t->machine->work->locked, 2000, " with lock instructions", remedy))
			return false;
	return true;
}

static bool counts_through_transactions(struct trial *t)
{
	if (!t->machine->cpu.transactions)
		return true;
	for (unsigned int round = 0; round < 20; round++)
		if (!is_exact(t, t->machine->work->aborted, 1000, " with aborted transactions",
			    NOTHING_HELPS))
			return false;
	return true;
}

/* ------------------------------------------------------------------- the skid */

/* Branches of the handler that tells when the signal came. */
enum { HANDLER_SLACK = 64 };

static bool overflow_comes(struct trial *t, uint64_t period)
{
	uint64_t count = period + 2 * t->cpu->skid + 10000, at;
	bool came;

	if (prr_pmu_reset(&t->counter, &t->err) != PRR_OK ||
		prr_pmu_arm(&t->counter, period, &t->err) != PRR_OK)
		return refuse_error(t->ret, &t->err);
	came = t->machine->work->interrupted(t->machine->context, &t->counter, count, &at);
	if (prr_pmu_arm(&t->counter, PRR_PMU_NEVER, &t->err) != PRR_OK)
		return refuse_error(t->ret, &t->err);
	if (!came)
		return refuse(t->ret, NOTHING_HELPS,
			"no overflow signal came within %llu branches of the %llu asked for",
			(unsigned long long)count, (unsigned long long)period);
	/* In a transaction the interrupting event runs ahead of the measuring one; here
	 * there is none. */
	if (at < period)
		return refuse(t->ret, NOTHING_HELPS,
			"an overflow signal came after %llu branches instead of %llu",
			(unsigned long long)at, (unsigned long long)period);
	if (at > period + t->cpu->skid + HANDLER_SLACK)
		return refuse(t->ret, NOTHING_HELPS,
			"an overflow signal came %llu branches late; at most %u are expected",
			(unsigned long long)(at - period), t->cpu->skid);
	return true;
}

static bool overflows_in_time(struct trial *t)
{
	if (prr_pmu_notify(&t->counter, t->machine->tid, &t->err) != PRR_OK)
		return refuse_error(t->ret, &t->err);
	for (uint64_t round = 0; round < 30; round++)
		if (!overflow_comes(t, PRR_PMU_PERIOD_MIN + round * round * 37))
			return false;
	return true;
}

void prr_pmu_check(const struct prr_pmu_machine *machine, struct prr_pmu_verdict *ret)
{
	struct trial t = { .machine = machine, .ret = ret };

	t.cpu = prr_pmu_check_there(machine, ret);
	if (!t.cpu)
		return;
	prr_error_init(&t.err);
	if (prr_pmu_open(&t.counter, &machine->perf, t.cpu, &machine->cpu, 0, &t.err) != PRR_OK) {
		refuse_open(machine, ret, &t.err);
		return;
	}
	ret->usable = counts_exactly(&t) && counts_through_overflows(&t) &&
		counts_through_locks(&t) && counts_through_transactions(&t) &&
		overflows_in_time(&t);
	prr_pmu_close(&t.counter);
	if (ret->usable)
		snprintf(ret->reason, sizeof(ret->reason),
			"the branch counter was exact in all of %llu runs",
			(unsigned long long)t.runs);
}
