/* SPDX-License-Identifier: GPL-2.0-or-later
 * A PMU with known faults, for test_pmu.c and test_pmu_run.c. */
#ifndef FAKE_PMU_H
#define FAKE_PMU_H

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "pmu_check.h"

#define FAKE_EVENTS 8
#define FAKE_FIRST_FD 100
#define FAKE_TID 4711
#define FAKE_SPEC_LOCK 0x0825

struct fake_event {
	bool open;
	uint64_t config, value;
	uint64_t period, left; /* 0: does not interrupt */
	int signo;
};

struct fake {
	struct fake_event events[FAKE_EVENTS];
	/* The signal on its way: branches until it stops the task. */
	bool is_due, came;
	uint64_t due, came_at;
	uint64_t total;

	/* Faults. */
	int open_error;             /* errno of every open */
	bool without_txcp;          /* a kernel that does not know IN_TXCP */
	bool txcp_undercounts;      /* KVM's fault with it */
	bool stolen;                /* another user of the PMU has the counter */
	uint64_t skid;              /* branches between overflow and stop */
	bool loses_overflows;
	bool keeps_old_period;      /* setting a period has no effect at once */
	bool halves_periods;     /* overflows come early */
	uint64_t extra_every;       /* one too many each so many branches */
	bool extra_at_overflow;     /* one too many at each interrupt */
	bool rolls_back_locks;      /* SpecLockMap: too many around locks */
	bool counts_spec_locks;     /* what its own event says */
	bool without_spec_event;
	bool has_msr;
	uint64_t msr;
};

static void fake_add(struct fake *f, uint64_t count, bool aborted)
{
	for (size_t i = 0; i < FAKE_EVENTS; i++) {
		struct fake_event *e = &f->events[i];

		if (!e->open || e->config == FAKE_SPEC_LOCK)
			continue;
		if (aborted && (e->config & PRR_PMU_IN_TXCP))
			continue;
		e->value += count;
		if (f->txcp_undercounts && (e->config & PRR_PMU_IN_TXCP) && count > 100)
			e->value -= 1;
	}
}

static uint64_t fake_measured(const struct fake *f)
{
	uint64_t value = 0;

	for (size_t i = 0; i < FAKE_EVENTS; i++)
		if (f->events[i].open && f->events[i].config != FAKE_SPEC_LOCK)
			value = f->events[i].value; /* the last one is the measuring one */
	return value;
}

static void fake_overflow(struct fake *f, struct fake_event *e)
{
	e->left = e->period;
	if (f->extra_at_overflow)
		fake_add(f, 1, false);
	if (!e->signo || f->loses_overflows || f->is_due)
		return;
	f->is_due = true;
	f->due = f->skid;
}

static void fake_deliver(struct fake *f)
{
	if (!f->is_due || f->due > 0)
		return;
	f->is_due = false;
	if (!f->came)
		f->came_at = fake_measured(f);
	f->came = true;
}

/* The program retires so many conditional branches. */
static void fake_retire(struct fake *f, uint64_t count, bool aborted)
{
	while (count > 0) {
		uint64_t chunk = count;

		for (size_t i = 0; i < FAKE_EVENTS; i++)
			if (f->events[i].open && f->events[i].left && f->events[i].left < chunk)
				chunk = f->events[i].left;
		if (f->is_due && f->due < chunk)
			chunk = f->due;
		fake_add(f, chunk, aborted);
		if (f->extra_every &&
			(f->total + chunk) / f->extra_every != f->total / f->extra_every)
			fake_add(f, 1, false);
		f->total += chunk;
		count -= chunk;
		if (f->is_due)
			f->due -= chunk;
		fake_deliver(f);
		for (size_t i = 0; i < FAKE_EVENTS; i++) {
			struct fake_event *e = &f->events[i];

			if (!e->open || !e->left)
				continue;
			e->left -= chunk;
			if (e->left == 0)
				fake_overflow(f, e);
		}
		fake_deliver(f);
	}
}

/* --------------------------------------------------------- struct prr_perf_ops */

static struct fake_event *fake_event(struct fake *f, int fd)
{
	struct fake_event *e = &f->events[fd - FAKE_FIRST_FD];

	assert(fd >= FAKE_FIRST_FD && fd < FAKE_FIRST_FD + FAKE_EVENTS && e->open);
	return e;
}

static int fake_open(void *context, const struct perf_event_attr *attr, pid_t tid, int group)
{
	struct fake *f = context;

	(void)tid;
	assert(attr->type == PERF_TYPE_RAW && attr->size == sizeof(*attr));
	assert(attr->exclude_kernel && attr->exclude_guest && !attr->inherit && !attr->disabled);
	assert(attr->pinned == (group < 0));
	/* The kernel refuses an IN_TXCP event that interrupts. */
	assert(!(attr->config & PRR_PMU_IN_TXCP) || attr->sample_period == 0);
	if (f->open_error)
		return -f->open_error;
	if (f->without_txcp && (attr->config & PRR_PMU_IN_TXCP))
		return -EINVAL;
	if (f->without_spec_event && attr->config == FAKE_SPEC_LOCK)
		return -EINVAL;
	for (int i = 0; i < FAKE_EVENTS; i++) {
		struct fake_event *e = &f->events[i];

		if (e->open)
			continue;
		*e = (struct fake_event){ .open = true, .config = attr->config };
		e->period = e->left = attr->sample_period;
		return FAKE_FIRST_FD + i;
	}
	return -EMFILE;
}

static int fake_read(void *context, int fd, uint64_t *ret)
{
	struct fake *f = context;

	if (f->stolen)
		return -ENODATA;
	*ret = fake_event(f, fd)->value;
	return 0;
}

static int fake_reset(void *context, int fd)
{
	fake_event(context, fd)->value = 0;
	return 0;
}

static int fake_set_period(void *context, int fd, uint64_t period)
{
	struct fake *f = context;
	struct fake_event *e = fake_event(f, fd);

	assert(e->period != 0 && period > 0);
	if (f->halves_periods && period > 1)
		period /= 2;
	e->period = period;
	if (!f->keeps_old_period)
		e->left = period;
	return 0;
}

static int fake_notify(void *context, int fd, pid_t tid, int signo)
{
	assert(tid == FAKE_TID && signo == PRR_PMU_SIGNAL);
	fake_event(context, fd)->signo = signo;
	return 0;
}

static void fake_close(void *context, int fd)
{
	fake_event(context, fd)->open = false;
}

static inline struct prr_perf fake_perf(struct fake *f)
{
	static const struct prr_perf_ops ops = { fake_open, fake_read, fake_reset, fake_set_period,
		fake_notify, fake_close };

	return (struct prr_perf){ &ops, f };
}

static inline unsigned int fake_open_events(const struct fake *f)
{
	unsigned int count = 0;

	for (size_t i = 0; i < FAKE_EVENTS; i++)
		count += f->events[i].open;
	return count;
}

#endif
