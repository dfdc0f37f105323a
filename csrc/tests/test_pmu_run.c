/* sources: shared/pmu.c shared/pmu_run.c shared/error.c */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * Running to an exact place, over a small made-up program and PMUs with known faults. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "fake_pmu.h"
#include "pmu_run.h"
#include "regs.h"

/* The program, an endless loop:
 *	ADD    rax += 1
 *	LOOP   every 8th time falls through, else back to ADD    (a tick)
 *	REP    rcx rounds of an instruction, each changes rdi only
 *	SPIN   a loop without conditional branches: 3 rounds, memory changes, no register
 *	BACK   to ADD                                            (a tick) */
enum { ADD = 0x1000, LOOP = 0x1003, REP = 0x1005, SPIN = 0x1008, BACK = 0x100a };
enum { REP_ROUNDS = 5, SPIN_ROUNDS = 3 };

struct program {
	struct prr_regs regs;
	uint64_t done;  /* instructions and rounds */
	uint64_t spins; /* in memory */
};

struct driven {
	struct fake pmu;
	struct prr_pmu_counter counter;
	struct program program;
	uint64_t breakpoint;
	bool armed;
	uint64_t event_at;   /* an event of the program stands there, by `done` */
	uint64_t want_spins; /* what confirm asks for */
	bool refuses_breakpoints, stale_overflows, fails;
	uint64_t watched; /* the watchdog's period, in instructions */
};

static struct prr_error err;

static void ok(enum prr_status status)
{
	if (status == PRR_OK)
		return;
	fprintf(stderr, "failed: %s\n", err.message);
	exit(1);
}

static void start(struct driven *d)
{
	static const struct prr_cpu_id id = { "GenuineIntel", 6, 0x5e, false, false };
	struct prr_pmu_cpu cpu = { .event = 0x1c4 };
	struct prr_perf perf = fake_perf(&d->pmu);

	d->program.regs.rip = ADD;
	d->program.regs.rcx = REP_ROUNDS;
	ok(prr_pmu_open(&d->counter, &perf, &cpu, &id, FAKE_TID, &err));
	ok(prr_pmu_notify(&d->counter, FAKE_TID, &err));
}

/* One instruction, or round. */
static void execute(struct driven *d)
{
	struct prr_regs *r = &d->program.regs;

	d->program.done++;
	switch (r->rip) {
	case ADD:
		r->rax++;
		r->rip = LOOP;
		break;
	case LOOP:
		r->rip = r->rax % 8 ? ADD : REP;
		fake_retire(&d->pmu, 1, false);
		break;
	case REP:
		r->rdi++;
		if (--r->rcx == 0) {
			r->rcx = REP_ROUNDS;
			r->rip = SPIN;
		}
		break;
	case SPIN:
		if (++d->program.spins % SPIN_ROUNDS == 0)
			r->rip = BACK;
		break;
	default:
		r->rip = ADD;
		fake_retire(&d->pmu, 1, false);
	}
}

/* ------------------------------------------------------------------ callbacks */

static bool get_ticks(void *context, uint64_t *ret)
{
	struct driven *d = context;

	ok(prr_pmu_ticks(&d->counter, ret, &err));
	return true;
}

static bool get_registers(void *context, struct prr_regs *ret)
{
	struct driven *d = context;

	*ret = d->program.regs;
	ret->rflags |= PRR_FLAG_TF; /* of a step: no matter */
	ret->orig_rax = d->program.done;
	return true;
}

static bool arm(void *context, uint64_t period)
{
	struct driven *d = context;

	if (d->fails && period != PRR_PMU_NEVER)
		return false;
	d->armed = period != PRR_PMU_NEVER;
	ok(prr_pmu_arm(&d->counter, period, &err));
	return true;
}

static bool set_breakpoint(void *context, uint64_t addr)
{
	struct driven *d = context;

	assert(d->breakpoint == 0 && addr != 0);
	/* It would trap at once, for ever. */
	assert(d->program.regs.rip != addr);
	if (d->refuses_breakpoints)
		return false;
	d->breakpoint = addr;
	return true;
}

static bool clear_breakpoint(void *context)
{
	struct driven *d = context;

	assert(d->breakpoint != 0);
	d->breakpoint = 0;
	return true;
}

static enum prr_pmu_stop run(void *context)
{
	struct driven *d = context;

	assert(d->armed);
	if (d->stale_overflows)
		return PRR_PMU_STOP_OVERFLOW;
	for (uint64_t n = 1;; n++) {
		if (d->event_at && d->program.done == d->event_at)
			return PRR_PMU_STOP_OTHER;
		execute(d);
		if (d->pmu.came) {
			d->pmu.came = false;
			return PRR_PMU_STOP_OVERFLOW;
		}
		if (d->program.regs.rip == d->breakpoint)
			return PRR_PMU_STOP_BREAKPOINT;
		if (n == d->watched)
			return PRR_PMU_STOP_CHECK;
		assert(n < 1000000);
	}
}

static enum prr_pmu_stop step(void *context, bool whole)
{
	struct driven *d = context;
	uint64_t rip = d->program.regs.rip;

	assert(d->breakpoint == 0);
	if (d->event_at && d->program.done == d->event_at)
		return PRR_PMU_STOP_OTHER;
	execute(d);
	while (whole && d->program.regs.rip == rip && rip == REP)
		execute(d);
	return PRR_PMU_STOP_STEP;
}

static bool confirm(void *context)
{
	const struct driven *d = context;

	return d->program.spins == d->want_spins;
}

static const struct prr_pmu_driver driver = { get_ticks, get_registers, arm, set_breakpoint,
	clear_breakpoint, run, step, confirm };

/* ----------------------------------------------------------------------- tests */

static struct prr_pmu_target target_at(uint64_t done, uint32_t skid, struct driven *d)
{
	struct driven recorded = { 0 };
	struct prr_pmu_target target = { .skid = skid };

	start(&recorded);
	while (recorded.program.done < done)
		execute(&recorded);
	get_ticks(&recorded, &target.ticks);
	target.regs = recorded.program.regs;
	d->want_spins = recorded.program.spins;
	prr_pmu_close(&recorded.counter);
	return target;
}

static struct prr_pmu_outcome go(struct driven *d, const struct prr_pmu_target *target)
{
	struct prr_pmu_outcome ret;

	prr_pmu_run_to(target, &driver, d, &ret);
	assert(d->breakpoint == 0 && !d->armed);
	return ret;
}

static void arrives(struct driven d, uint64_t done, uint32_t skid)
{
	struct prr_pmu_target target = target_at(done, skid, &d);
	struct prr_pmu_outcome ret;

	start(&d);
	ret = go(&d, &target);
	if (ret.end != PRR_PMU_AT_TARGET || d.program.done != done) {
		fprintf(stderr, "to %llu: end %d at %llu, tick %llu of %llu\n",
			(unsigned long long)done, ret.end, (unsigned long long)d.program.done,
			(unsigned long long)ret.ticks, (unsigned long long)target.ticks);
		exit(1);
	}
	assert(ret.ticks == target.ticks);
}

/* Every place of some rounds of the loop, and places far away: with every skid up to the
 * bound, without breakpoints, with watchdogs and lost overflows. */
static void every_place(void)
{
	/* So near that no overflow is asked for, and far from the start. */
	for (uint64_t done = 0; done < 150; done++)
		arrives((struct driven){ 0 }, done, 12);
	for (uint64_t done = 3000; done < 3150; done++)
		for (uint32_t skid = 0; skid < 12; skid += 3) {
			arrives((struct driven){ .pmu.skid = skid }, done, 12);
			arrives((struct driven){ .pmu.skid = skid, .refuses_breakpoints = true },
				done, 12);
			arrives((struct driven){ .pmu.skid = skid, .watched = 50 }, done, 12);
		}
	srand(1);
	for (unsigned int i = 0; i < 300; i++) {
		uint64_t done = (uint64_t)rand() % 20000;
		uint64_t skid = (uint64_t)rand() % 101;

		arrives((struct driven){ .pmu.skid = skid, .watched = i % 2 * 50 }, done, 100);
	}
}

static void early_overflows(void)
{
	struct driven d = { .pmu.skid = 10 };
	struct prr_pmu_target target = target_at(5000, 50, &d);
	struct prr_pmu_outcome ret;

	start(&d);
	/* One of an older request is on its way. */
	ok(prr_pmu_arm(&d.counter, 1, &err));
	execute(&d);
	execute(&d);
	ret = go(&d, &target);
	assert(ret.end == PRR_PMU_AT_TARGET && d.program.done == 5000 && ret.overflows >= 2);
}

static void lost_overflows(void)
{
	struct driven d;
	struct prr_pmu_target target;
	struct prr_pmu_outcome ret;
	uint64_t lost = 0;

	/* The watchdog comes while the task is short of the target, or within reach of it. */
	for (uint64_t done = 5000; done < 5400; done += 20) {
		d = (struct driven){ .pmu.loses_overflows = true, .watched = 400 };
		target = target_at(done, 150, &d);
		start(&d);
		ret = go(&d, &target);
		assert(ret.end == PRR_PMU_AT_TARGET && d.program.done == done);
		assert(ret.overflows == 0);
		lost += ret.lost;
	}
	assert(lost > 0);
	/* It comes too late. */
	d = (struct driven){ .pmu.loses_overflows = true, .watched = 2000 };
	target = target_at(5003, 1, &d);
	start(&d);
	ret = go(&d, &target);
	assert(ret.end == PRR_PMU_OVERSHOT && ret.was_late && ret.ticks > target.ticks);
}

static void late_overflow(void)
{
	struct driven d = { .pmu.skid = 120 };
	struct prr_pmu_target target = target_at(5000, 100, &d);
	struct prr_pmu_outcome ret;

	start(&d);
	ret = go(&d, &target);
	assert(ret.end == PRR_PMU_OVERSHOT && ret.was_late);
	assert(ret.ticks == target.ticks + 20);
	/* There is no way back. */
	ret = go(&d, &target);
	assert(ret.end == PRR_PMU_OVERSHOT && !ret.was_late);
}

/* The ticks are reached and the registers never come: a divergence, not a search. */
static void other_registers(void)
{
	struct driven d = { 0 };
	struct prr_pmu_target target = target_at(4000, 100, &d);
	struct prr_pmu_outcome ret;

	target.regs.rbx = 1;
	start(&d);
	ret = go(&d, &target);
	assert(ret.end == PRR_PMU_OVERSHOT && !ret.was_late && ret.ticks == target.ticks + 1);
	assert(ret.candidates > 0);
	/* Nor does the rip: the task does not run off. */
	d = (struct driven){ 0 };
	target.regs.rip = 0xdead;
	start(&d);
	ret = go(&d, &target);
	assert(ret.end == PRR_PMU_OVERSHOT && ret.ticks == target.ticks + 1);
}

static void events_on_the_way(void)
{
	struct driven d = { .pmu.skid = 3, .event_at = 2000 };
	struct prr_pmu_target target = target_at(5000, 100, &d);
	struct prr_pmu_outcome ret;

	start(&d);
	ret = go(&d, &target);
	assert(ret.end == PRR_PMU_OTHER && d.program.done == 2000);
	d.event_at = 4990; /* near it */
	ret = go(&d, &target);
	assert(ret.end == PRR_PMU_OTHER && d.program.done == 4990);
	d.event_at = 5000; /* at the very place */
	ret = go(&d, &target);
	assert(ret.end == PRR_PMU_AT_TARGET && d.program.done == 5000);
}

static void failures(void)
{
	struct driven d = { .fails = true };
	struct prr_pmu_target target = target_at(5000, 100, &d);

	start(&d);
	assert(go(&d, &target).end == PRR_PMU_FAILED);
	d.fails = false;
	d.stale_overflows = true;
	assert(go(&d, &target).end == PRR_PMU_BROKEN);
	d.stale_overflows = false;
	assert(go(&d, &target).end == PRR_PMU_AT_TARGET && d.program.done == 5000);
}

int main(void)
{
	prr_error_init(&err);
	every_place();
	early_overflows();
	lost_overflows();
	late_overflow();
	other_registers();
	events_on_the_way();
	failures();
	return 0;
}
