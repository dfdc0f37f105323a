/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define NEVER UINT64_MAX
/* Counters are reset at most so often: a microsecond each time. */
#define RESET_NS 250000ull
/* Sites on trial are looked at after that long. */
#define TRIAL_NS 2000000ull
/* An arrival costs about 2 ns: a site must be reached less often than this... */
#define PERIOD_MIN_NS 60
/* ...and the nearest to this is best. */
#define PERIOD_GOOD_NS 1000
#define WAIT_MIN_NS 500000ull
#define WAIT_MAX_NS 20000000ull
#define RETRY_NS 100000000ull
enum { RETRY_DOUBLINGS = 6, WAIT_PERIODS = 8 };

void prr_counting_free(struct prr_counting *counting)
{
	if (!counting)
		return;
	for (size_t i = 0; i < counting->count; i++)
		free(counting->probes[i]);
	free(counting);
}

static bool is_counted(const struct prr_record_task *t)
{
	const struct prr_counting *c = t->as->counting;

	return c && c->count && c->serial == t->uid.serial && c->event == t->event_count;
}

/* Forgets a probe whose bytes are the program's again. */
static void forget(struct prr_counting *c, size_t i)
{
	free(c->probes[i]);
	memmove(&c->probes[i], &c->probes[i + 1], (--c->count - i) * sizeof(struct prr_probe *));
	c->waiting = false;
}

void prr_counting_start(struct prr_record *s, struct prr_record_task *t)
{
	struct prr_counting *c = t->as->counting;

	if (!c || !c->count || is_counted(t))
		return;
	c->serial = 0;
	if (!t->at_point && !c->waiting && s->last_event_ns - c->reset_ns < RESET_NS)
		return;
	c->waiting = false;
	for (size_t i = 0; i < c->count; i++)
		if ((!c->probes[i]->armed && !prr_probe_rearm(c->probes[i], t->uid.tid)) ||
			!prr_probe_set_counter(c->probes[i], t->uid.tid, PRR_COUNT_START))
			return;
	c->serial = t->uid.serial;
	c->event = t->event_count;
	c->reset_ns = prr_now();
}

static uint64_t trial_ns(const struct prr_record *s)
{
	return s->options->slice_ns < TRIAL_NS ? s->options->slice_ns : TRIAL_NS;
}

bool prr_counting_is_ready(const struct prr_record_task *t)
{
	return is_counted(t) && !t->as->counting->measuring;
}

uint64_t prr_counting_deadline(const struct prr_record *s, const struct prr_record_task *t)
{
	const struct prr_counting *c = t->as->counting;

	if (!is_counted(t))
		return NEVER;
	if (c->waiting)
		return c->give_up_ns;
	return c->measuring ? c->reset_ns + trial_ns(s) : NEVER;
}

void prr_counting_leave(struct prr_record_task *t)
{
	struct prr_counting *c = t->as ? t->as->counting : NULL;

	for (size_t i = 0; c && i < c->count; i++) {
		if (!prr_probe_is_inside(c->probes[i], t->regs.rip))
			continue;
		if (prr_probe_leave(c->probes[i], t->uid.tid, &t->regs))
			t->regs_dirty = true;
		return;
	}
}

/* ------------------------------------------------------------------- choosing */

/* Arrivals at a site in the slice at hand. */
static uint64_t hits_of(const struct prr_probe *probe, pid_t tid)
{
	uint64_t counter;

	if (!prr_probe_counter(probe, tid, &counter) || counter > PRR_COUNT_START)
		return 0;
	return PRR_COUNT_START - counter;
}

/* Is a period better than the best one so far? The shortest of the good ones, else the
 * longest. */
static bool is_better(uint64_t period, uint64_t best)
{
	if (best == 0)
		return true;
	if (period >= PERIOD_GOOD_NS)
		return best < PERIOD_GOOD_NS || period < best;
	return best < PERIOD_GOOD_NS && period > best;
}

/* The best site with its period in ns; 0: none serves. */
static uint64_t choose(struct prr_record_task *t, uint64_t elapsed_ns, size_t *best)
{
	struct prr_counting *c = t->as->counting;
	uint64_t best_period = 0;

	for (size_t i = 0; i < c->count; i++) {
		uint64_t hits = hits_of(c->probes[i], t->uid.tid);
		uint64_t period = hits ? elapsed_ns / hits : 0;

		if (hits && period >= PERIOD_MIN_NS && is_better(period, best_period)) {
			best_period = period;
			*best = i;
		}
	}
	return best_period;
}

static enum prr_status close_all_but(
	struct prr_record_task *t, const struct prr_probe *kept, struct prr_error *err)
{
	struct prr_counting *c = t->as->counting;

	/* The calls that unmap are injected where t stands. */
	if (t->regs_dirty && !prr_ptrace_set_regs(t->uid.tid, &t->regs))
		return PRR_OK;
	t->regs_dirty = false;
	for (size_t i = c->count; i-- > 0;) {
		if (c->probes[i] == kept)
			continue;
		PRR_TRY(prr_probe_close(c->probes[i], t->uid.tid, err));
		forget(c, i);
	}
	return PRR_OK;
}

static void failed(struct prr_counting *c, uint64_t now)
{
	c->retry_ns = now + (RETRY_NS << c->failures);
	if (c->failures < RETRY_DOUBLINGS)
		c->failures++;
}

enum prr_status prr_counting_measure(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	struct prr_counting *c = t->as->counting;
	uint64_t now = prr_now();
	size_t best = 0;

	if (!is_counted(t) || !c->measuring || now < c->reset_ns + trial_ns(s))
		return PRR_OK;
	c->measuring = false;
	if (choose(t, now - c->reset_ns, &best) != 0) {
		c->failures = 0;
		return close_all_but(t, c->probes[best], err);
	}
	failed(c, now);
	return close_all_but(t, NULL, err);
}

/* -------------------------------------------------------------------- aiming */

static enum prr_status give_up(struct prr_record_task *t, uint64_t now, struct prr_error *err)
{
	struct prr_counting *c = t->as->counting;

	/* The program has left the region. */
	c->retry_ns = now;
	return close_all_but(t, NULL, err);
}

enum prr_status prr_counting_aim(struct prr_record_task *t, bool *waiting, struct prr_error *err)
{
	struct prr_counting *c = t->as->counting;
	uint64_t now = prr_now(), period;

	*waiting = false;
	/* A SIGTRAP that waits blocked would swallow the probe's. */
	if (!prr_counting_is_ready(t) || prr_record_trap_is_pending(t))
		return PRR_OK;
	if (c->waiting) {
		*waiting = now < c->give_up_ns;
		return *waiting ? PRR_OK : give_up(t, now, err);
	}
	period = choose(t, now - c->reset_ns, &c->wanted);
	if (period == 0) {
		failed(c, now);
		return close_all_but(t, NULL, err);
	}
	c->wanted_hits = hits_of(c->probes[c->wanted], t->uid.tid) + 1;
	uint64_t patience = period * WAIT_PERIODS;

	if (patience < WAIT_MIN_NS)
		patience = WAIT_MIN_NS;
	if (patience > WAIT_MAX_NS)
		patience = WAIT_MAX_NS;
	c->give_up_ns = now + patience;
	c->waiting = *waiting = prr_probe_set_counter(c->probes[c->wanted], t->uid.tid, 1);
	return PRR_OK;
}

enum prr_status prr_counting_trap(
	struct prr_record *s, struct prr_record_task *t, bool *treated, struct prr_error *err)
{
	struct prr_counting *c = t->as->counting;
	size_t i = 0;

	*treated = false;
	while (c && i < c->count && !prr_probe_is_trap(c->probes[i], &t->regs))
		i++;
	if (!c || i == c->count)
		return PRR_OK;
	*treated = true;
	t->moved = true;
	if (c->waiting && i == c->wanted && is_counted(t)) {
		c->waiting = false;
		t->regs.rip = c->probes[i]->site;
		t->regs_dirty = true;
		return prr_record_counted_point(s, t, c->wanted_hits, err);
	}
	/* Aimed at in a slice that has ended otherwise. Behind the trap the stub goes on. */
	(void)prr_probe_set_counter(c->probes[i], t->uid.tid, PRR_COUNT_START);
	PRR_TRY(prr_record_restore_after_trap(s, t, SIGTRAP, err));
	prr_slice_go_on(s, t);
	return PRR_OK;
}

/* ------------------------------------------------------- planting and dropping */

static enum prr_status plant_one(struct prr_record_task *t, uint64_t site, struct prr_error *err)
{
	struct prr_counting *c = t->as->counting;
	struct prr_probe *probe = malloc(sizeof(*probe));

	if (!probe)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory for a probe");
	enum prr_status status = prr_probe_open(probe, t->uid.tid, &t->as->mappings, site, err);

	if (status == PRR_OK && probe->has_stub &&
		prr_probe_arm_count(probe, t->uid.tid, PRR_COUNT_START) && probe->has_stub) {
		c->probes[c->count++] = probe;
		return PRR_OK;
	}
	if (status == PRR_OK)
		status = prr_probe_close(probe, t->uid.tid, err);
	free(probe);
	return status;
}

enum prr_status prr_counting_plant(struct prr_record_task *t, const uint64_t *executed,
	size_t executed_count, struct prr_error *err)
{
	uint64_t sites[PRR_COUNTED_SITES];

	if (!t->as->counting)
		t->as->counting = calloc(1, sizeof(*t->as->counting));
	struct prr_counting *c = t->as->counting;

	if (!c)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	if (c->count || prr_now() < c->retry_ns)
		return PRR_OK;
	if (t->regs_dirty && !prr_ptrace_set_regs(t->uid.tid, &t->regs))
		return PRR_OK;
	t->regs_dirty = false;
	size_t count = prr_record_sites(t, executed, executed_count, sites, PRR_COUNTED_SITES);

	for (size_t i = 0; i < count; i++)
		PRR_TRY(plant_one(t, sites[i], err));
	c->serial = 0;
	c->measuring = c->count > 0;
	if (!c->count)
		failed(c, prr_now());
	return PRR_OK;
}

void prr_counting_disarm(struct prr_record_task *t)
{
	struct prr_counting *c = t->as ? t->as->counting : NULL;

	for (size_t i = 0; c && i < c->count; i++)
		(void)prr_probe_disarm(c->probes[i], t->uid.tid);
	if (c) {
		c->serial = 0;
		c->waiting = false;
	}
}

static bool overlaps(uint64_t start, uint64_t len, uint64_t other, uint64_t other_len)
{
	return start < other + other_len && (len > UINT64_MAX - start || other < start + len);
}

static void drop_range(struct prr_record_task *t, uint64_t start, uint64_t len)
{
	struct prr_counting *c = t->as->counting;

	for (size_t i = c->count; i-- > 0;) {
		struct prr_probe *probe = c->probes[i];

		if (!overlaps(start, len, probe->site, PRR_PROBE_PATCH_MAX) &&
			!overlaps(start, len, probe->region, PRR_PROBE_REGION_LEN))
			continue;
		(void)prr_probe_disarm(probe, t->uid.tid);
		forget(c, i);
		c->serial = 0;
	}
}

void prr_counting_memory_call(struct prr_record_task *t)
{
	if (!t->as->counting || !t->as->counting->count)
		return;
	switch (t->nr) {
	case SYS_mmap:
		if (t->args[3] & MAP_FIXED)
			drop_range(t, t->args[0], t->args[1]);
		break;
	case SYS_mremap:
		drop_range(t, t->args[0], t->args[1]);
		if (t->args[3] & MREMAP_FIXED)
			drop_range(t, t->args[4], t->args[2]);
		break;
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_madvise:
		drop_range(t, t->args[0], t->args[1]);
		break;
	case SYS_shmat: /* its length is the segment's */
		if (t->args[1])
			drop_range(t, t->args[1], UINT64_MAX - t->args[1]);
		break;
	default:
		break;
	}
}
