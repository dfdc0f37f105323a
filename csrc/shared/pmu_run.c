/* SPDX-License-Identifier: GPL-2.0-or-later
 * In two phases. *Far* from the target the task runs freely, until an overflow asked for
 * `skid` ticks ahead of it stops it somewhere short of it. *Near* it, it runs to a
 * breakpoint at the target's rip again and again, or in single steps where none can be
 * set, until ticks and registers are the target's. */
#include "pmu_run.h"

#include <string.h>

#include "pmu.h"
#include "regs.h"

struct machine {
	const struct prr_pmu_target *target;
	const struct prr_pmu_driver *driver;
	void *context;
	struct prr_pmu_outcome *ret;
	uint64_t now; /* the task's ticks */
	bool free;    /* the last thing it did was to run: an overflow may have been late */
	unsigned int standstills; /* overflows in a row without a tick between them */
};

/* A stale signal or two may be left over from before. */
enum { STANDSTILLS_MAX = 100 };

/* What to do next. */
enum state { FAR, NEAR, STEP, END };

static enum state end(struct machine *m, enum prr_pmu_end how)
{
	m->ret->end = how;
	return END;
}

/* The one place that notices an overshoot. False: it is over. */
static bool take_ticks(struct machine *m)
{
	if (!m->driver->ticks(m->context, &m->now)) {
		end(m, PRR_PMU_FAILED);
		return false;
	}
	m->ret->ticks = m->now;
	if (m->now <= m->target->ticks)
		return true;
	m->ret->was_late = m->free;
	end(m, PRR_PMU_OVERSHOT);
	return false;
}

static bool same_registers(const struct prr_regs *a, const struct prr_regs *b)
{
	struct prr_regs one = *a, other = *b;

	one.rflags &= ~(PRR_FLAG_TF | PRR_FLAG_RF);
	other.rflags &= ~(PRR_FLAG_TF | PRR_FLAG_RF);
	/* What the last syscall was is no state of user code. */
	one.orig_rax = other.orig_rax;
	return memcmp(&one, &other, sizeof(one)) == 0;
}

/* NEAR: stands at the target's rip or not, go on; END: at the target, or failed. */
static enum state look(struct machine *m, bool *at_rip)
{
	struct prr_regs regs;

	if (!m->driver->registers(m->context, &regs))
		return end(m, PRR_PMU_FAILED);
	*at_rip = regs.rip == m->target->regs.rip;
	if (!*at_rip)
		return NEAR;
	m->ret->candidates++;
	if (m->now == m->target->ticks && same_registers(&regs, &m->target->regs) &&
		(!m->driver->confirm || m->driver->confirm(m->context)))
		return end(m, PRR_PMU_AT_TARGET);
	return NEAR;
}

static enum state run_far(struct machine *m)
{
	uint64_t before = m->now, left = m->target->ticks - m->now;
	enum prr_pmu_stop stop;

	if (left < m->target->skid + PRR_PMU_PERIOD_MIN)
		return NEAR;
	if (!m->driver->arm(m->context, left - m->target->skid))
		return end(m, PRR_PMU_FAILED);
	stop = m->driver->run(m->context);
	m->free = stop == PRR_PMU_STOP_OVERFLOW || stop == PRR_PMU_STOP_CHECK;
	if (stop == PRR_PMU_STOP_FAILED)
		return end(m, PRR_PMU_FAILED);
	if (stop == PRR_PMU_STOP_OVERFLOW)
		m->ret->overflows++;
	if (!take_ticks(m))
		return END;
	if (stop == PRR_PMU_STOP_OTHER)
		return end(m, PRR_PMU_OTHER);
	/* An interrupt request is lost if another stop comes between (ARCHITECTURE section 6). */
	if (stop == PRR_PMU_STOP_CHECK && m->target->ticks - m->now <= m->target->skid)
		m->ret->lost++;
	m->standstills = stop == PRR_PMU_STOP_OVERFLOW && m->now == before ? m->standstills + 1 : 0;
	if (m->standstills > STANDSTILLS_MAX)
		return end(m, PRR_PMU_BROKEN);
	/* An overflow that came too early, of an older request or because of transactions,
	 * leads here again. */
	return FAR;
}

static enum state step(struct machine *m)
{
	/* Before the last tick, rounds of a repeated instruction are of no interest. */
	bool whole = m->now < m->target->ticks;
	enum prr_pmu_stop stop = m->driver->step(m->context, whole);

	m->free = false;
	if (stop == PRR_PMU_STOP_FAILED)
		return end(m, PRR_PMU_FAILED);
	if (stop == PRR_PMU_STOP_STEP)
		m->ret->steps++;
	if (!take_ticks(m))
		return END;
	if (stop == PRR_PMU_STOP_OTHER)
		return end(m, PRR_PMU_OTHER);
	return NEAR;
}

/* To the next arrival at the target's rip. */
static enum state run_near(struct machine *m)
{
	enum prr_pmu_stop stop;
	bool at_rip;

	if (look(m, &at_rip) == END)
		return END;
	/* A step away from the breakpoint's own place; if that is within an interrupted `rep`
	 * instruction, round by round, since a breakpoint stops before the first only. */
	if (at_rip)
		return STEP;
	if (!m->driver->set_breakpoint(m->context, m->target->regs.rip))
		return STEP;
	/* Should the target's rip not be on the way, the task must not run off. */
	if (!m->driver->arm(m->context, m->target->ticks - m->now + 1))
		stop = PRR_PMU_STOP_FAILED;
	else
		stop = m->driver->run(m->context);
	if (!m->driver->clear_breakpoint(m->context) || stop == PRR_PMU_STOP_FAILED)
		return end(m, PRR_PMU_FAILED);
	m->free = false;
	if (stop == PRR_PMU_STOP_OVERFLOW)
		m->ret->overflows++;
	if (!take_ticks(m))
		return END;
	return stop == PRR_PMU_STOP_OTHER ? end(m, PRR_PMU_OTHER) : NEAR;
}

void prr_pmu_run_to(const struct prr_pmu_target *target, const struct prr_pmu_driver *driver,
	void *context, struct prr_pmu_outcome *ret)
{
	struct machine m = { target, driver, context, ret, 0, false, 0 };
	enum state state;

	memset(ret, 0, sizeof(*ret));
	state = take_ticks(&m) ? FAR : END;
	while (state != END) {
		switch (state) {
		case FAR:
			state = run_far(&m);
			break;
		case NEAR:
			state = run_near(&m);
			break;
		default:
			state = step(&m);
		}
	}
	/* A request that is left would stop the task somewhere later for nothing. */
	if (!driver->arm(context, PRR_PMU_NEVER))
		ret->end = PRR_PMU_FAILED;
}
