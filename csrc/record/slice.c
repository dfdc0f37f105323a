/* SPDX-License-Identifier: GPL-2.0-or-later
 * Time slices: stopping a task inside user code when its time is up or a signal
 * has waited for long enough, by PTRACE_INTERRUPT (interrupter.h).
 *
 * A request that reaches the task after another stop has come stays pending in the
 * kernel (ptrace_stop() clears those that come before); in a syscall it would look like
 * a signal, so prr_record_entry goes back to before the instruction first. */
#include <string.h>

#include "counting.h"
#include "session.h"

/* A signal waits that long for a syscall, where it costs nothing. */
#define SIGNAL_GRACE_NS 1000000ull
#define SIGNAL_GRACE_COUNTED_NS 200000ull
/* Looks for a task that spins, in a loop no longer than this (bytes): so many, so far
 * apart. */
#define SPIN_LOOKS 2
#define SPIN_LOOK_NS 1000000ull
#define SPIN_LOOP 256
#define NEVER PRR_INTERRUPT_NEVER

static uint64_t grace(bool counted)
{
	return counted ? SIGNAL_GRACE_COUNTED_NS : SIGNAL_GRACE_NS;
}

/* No fingerprint of t before: they may take a part of the time only. */
static uint64_t next_fingerprint(const struct prr_record *s, const struct prr_record_task *t)
{
	return t->spinning ? s->points.next_spinning_ns : s->points.next_ns;
}

static bool same_loop(uint64_t a, uint64_t b)
{
	return a - b + SPIN_LOOP < 2 * SPIN_LOOP;
}

/* A task that is looked at twice early in its slice and has not changed a register waits
 * for others to do something: they get their turn soon. */
static void look_for_spinning(const struct prr_record *s, struct prr_record_task *t, uint64_t now)
{
	uint64_t regs[16];

	if (t->sample_slice_ns != s->slice_start_ns)
		t->samples = 0;
	if (t->samples && now < t->sample_ns + SPIN_LOOK_NS / 2)
		return;
	t->sample_ns = now;
	prr_regs_encoded(&t->regs, regs);
	t->spinning = t->samples > 0 && !same_loop(t->regs.rip, t->busy_rip) &&
		same_loop(t->regs.rip, t->sample_rip) &&
		memcmp(regs, t->sample_regs, sizeof(regs)) == 0;
	memcpy(t->sample_regs, regs, sizeof(regs));
	t->sample_rip = t->regs.rip;
	t->sample_slice_ns = s->slice_start_ns;
	t->samples++;
}

static uint64_t next_look(const struct prr_record *s, const struct prr_record_task *t)
{
	unsigned samples = t->sample_slice_ns == s->slice_start_ns ? t->samples : 0;

	return samples < SPIN_LOOKS ? s->slice_start_ns + (samples + 1) * SPIN_LOOK_NS : NEVER;
}

/* When is t to be stopped, if no event comes before? */
static uint64_t deadline(const struct prr_record *s, const struct prr_record_task *t)
{
	uint64_t when = NEVER, look = prr_counting_deadline(s, t);
	bool counted = prr_counting_is_ready(t);

	if (!s->started) /* the program is not there yet */
		return NEVER;
	if (s->task_count > 1 || s->options->always_preempt)
		when = s->slice_start_ns + s->options->slice_ns;
	if (t->held_count && t->held_since_ns + grace(counted) < when)
		when = t->held_since_ns + grace(counted);
	/* A fingerprint may have to wait for the cost of the last one. */
	if (when != NEVER && when < next_fingerprint(s, t) && !counted)
		when = next_fingerprint(s, t);
	if (s->task_count > 1 && next_look(s, t) < when)
		when = next_look(s, t);
	/* An arrival is being waited for, or sites are on trial. */
	return look != NEVER && (counted || look < when) ? look : when;
}

void prr_slice_enter(struct prr_record *s, struct prr_record_task *t)
{
	prr_interrupter_enter(&s->interrupter, t->uid.tid, deadline(s, t));
}

void prr_slice_leave(struct prr_record *s, struct prr_record_task *t)
{
	/* Not known to be drained: prr_record_time_up or the next entry stop will. */
	if (prr_interrupter_leave(&s->interrupter))
		t->interrupt_sent = true;
}

static bool other_can_run(const struct prr_record *s, const struct prr_record_task *t)
{
	for (const struct prr_record_task *o = s->tasks; o; o = o->next)
		if (o != t && (o->has_status || o->state == PRR_TASK_READY))
			return true;
	return false;
}

static bool is_over(const struct prr_record *s, const struct prr_record_task *t, uint64_t now)
{
	return t->spinning || now >= s->slice_start_ns + s->options->slice_ns;
}

static bool is_due(struct prr_record *s, struct prr_record_task *t, uint64_t now)
{
	bool counted = prr_counting_is_ready(t);

	if (!s->started || (now < next_fingerprint(s, t) && !counted))
		return false;
	if (prr_record_has_held(t) && now >= t->held_since_ns + grace(counted))
		return true;
	if (now >= s->slice_start_ns + s->options->slice_ns && s->options->always_preempt)
		return true;
	return is_over(s, t, now) && other_can_run(s, t);
}

void prr_slice_go_on(const struct prr_record *s, struct prr_record_task *t)
{
	t->state = PRR_TASK_RUNNING;
	prr_record_go(s, t, 0);
}

static void note_delay(struct prr_point_stats *stats, uint64_t delay_ns)
{
	stats->signals++;
	stats->signal_delay_ns += delay_ns;
	if (delay_ns > stats->signal_delay_max_ns)
		stats->signal_delay_max_ns = delay_ns;
}

enum prr_status prr_record_after_point(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	if (is_over(s, t, prr_now())) {
		if (other_can_run(s, t))
			s->current = NULL;
		else
			s->slice_start_ns = prr_now();
	}
	t->spinning = false;
	if (!prr_record_has_held(t))
		return PRR_OK;
	note_delay(&s->points.stats, prr_now() - t->held_since_ns);
	return prr_record_deliver_after_answer(s, t, err);
}

/* A place is wanted near where t stands, moved since its last event. */
static enum prr_status take_place(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	bool waiting, made;

	PRR_TRY(prr_counting_aim(t, &waiting, err));
	if (waiting || prr_now() < next_fingerprint(s, t)) {
		prr_slice_go_on(s, t);
		return PRR_OK;
	}
	prr_counting_disarm(t);
	PRR_TRY(prr_record_point(s, t, &made, err));
	return made ? prr_record_after_point(s, t, err) : PRR_OK;
}

enum prr_status prr_record_time_up(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	struct prr_regs last = t->regs;

	t->interrupt_sent = false;
	if (!prr_ptrace_get_regs(t->uid.tid, &t->regs))
		return PRR_OK; /* killed: its exit is reported next */
	t->regs_dirty = false;
	/* The kernel is about to restart its call (after SIGCONT, say), unless something else
	 * is run in it before. */
	if ((int64_t)t->regs.orig_rax >= 0 && prr_is_restart((int64_t)t->regs.rax)) {
		prr_slice_go_on(s, t);
		return PRR_OK;
	}
	prr_counting_leave(t);
	/* What prr_record_signal says of places holds here as well. */
	if (memcmp(&last, &t->regs, sizeof(last)) != 0)
		t->moved = true;
	if (s->task_count > 1)
		PRR_TRY(prr_record_collect(s, false, err));
	if (t->has_status)
		return PRR_OK; /* killed meanwhile */
	look_for_spinning(s, t, prr_now());
	PRR_TRY(prr_counting_measure(s, t, err));
	/* A PTRACE_INTERRUPT comes before a signal, even of the instruction just done: that
	 * is no place to step from. */
	if (!is_due(s, t, prr_now()) || (t->moved && prr_record_fault_is_pending(t))) {
		/* A slice begins anew where nobody waits. */
		if (!other_can_run(s, t) && !s->options->always_preempt)
			s->slice_start_ns = prr_now();
		prr_slice_go_on(s, t);
		return PRR_OK;
	}
	if (t->moved)
		return take_place(s, t, err);
	/* Where its last event left it, which names the place. Not a step from there: a
	 * signal that the task sent itself by its last call is due now. */
	t->state = PRR_TASK_READY;
	return prr_record_after_point(s, t, err);
}
