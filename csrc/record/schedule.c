/* SPDX-License-Identifier: GPL-2.0-or-later
 * Which task runs next: round robin among those that can, a fair share each.
 *
 * Invariant: when a task other than the last one is chosen while that one is
 * asleep in a syscall, its BLOCKED event is written first. */
#include "session.h"

static bool can_run(const struct prr_record_task *t)
{
	return t->has_status || t->state == PRR_TASK_READY;
}

static void move_to_end(struct prr_record *s, struct prr_record_task *t)
{
	struct prr_record_task **link = &s->tasks;

	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	while (*link)
		link = &(*link)->next;
	*link = t;
	t->next = NULL;
}

static struct prr_record_task *first_runnable(struct prr_record *s)
{
	/* A task that was asleep and whose stop has come first: then no other
	 * task ran, and its call is one event. Not when always switching. */
	struct prr_record_task *p = s->pending_blocked;

	if (p && p->has_status && !s->options->always_switch)
		return p;
	for (struct prr_record_task *t = s->tasks; t; t = t->next)
		if (can_run(t))
			return t;
	return NULL;
}

enum prr_status prr_record_pick(struct prr_record *s, struct prr_error *err)
{
	struct prr_record_task *t;

	if (s->task_count > 1)
		PRR_TRY(prr_record_collect(s, false, err));
	t = first_runnable(s);
	if (!t) {
		PRR_TRY(prr_record_collect(s, true, err));
		t = first_runnable(s);
	}
	if (!t || s->stop_wanted)
		return PRR_OK;
	if (s->pending_blocked) {
		struct prr_record_task *blocked = s->pending_blocked;

		s->pending_blocked = NULL;
		if (blocked != t)
			PRR_TRY(prr_record_blocked(s, blocked, err));
	}
	move_to_end(s, t);
	s->current = t;
	s->slice_start_ns = prr_now();
	return PRR_OK;
}

void prr_record_after_event(struct prr_record *s, bool yield)
{
	if (s->task_count < 2)
		return;
	if (yield || s->options->always_switch ||
		s->last_event_ns - s->slice_start_ns > s->options->slice_ns)
		s->current = NULL;
}
