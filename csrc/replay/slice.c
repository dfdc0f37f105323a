/* SPDX-License-Identifier: GPL-2.0-or-later
 * Inside a slice: stopping in it after some time, naming the place, coming back to it.
 *
 * The session stands before an event that has been read but not replayed: its task alone
 * runs. When it reaches what the event begins with, that arrival is kept, for the
 * event to be replayed from. */
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../shared/place.h"
#include "search.h"

/* Where a slice ends by preemption, nothing else may ever stop what runs beyond that: it has
 * this many times as long as when it was recorded, and some. */
#define PATIENCE 100
#define PATIENCE_NS 30000000000ull

static bool is_preemption(const struct prr_replay *s)
{
	return s->event->kind == PRR_EVENT_PREEMPT;
}

/* Does the event's task execute anything before it? */
static bool runs(const struct prr_replay *s)
{
	const struct prr_field_signal *signal;

	switch (s->event->kind) {
	case PRR_EVENT_SYSCALL:
	case PRR_EVENT_SYSCALL_BLOCKED:
	case PRR_EVENT_INSTRUCTION:
	case PRR_EVENT_PREEMPT:
		return true;
	case PRR_EVENT_SIGNAL:
		signal = prr_field_find(s->event, PRR_FIELD_SIGNAL, sizeof(*signal), NULL, NULL);
		return signal && signal->place != PRR_SIGNAL_AT_EVENT;
	default:
		return false;
	}
}

/* Does an arrival at a site, by its number, end the slice? */
static bool is_counted(const struct prr_replay *s)
{
	return is_preemption(s) && s->event->position.hits != 0;
}

/* *ret: the task that runs on in the slice; NULL: it stands at its end. */
static enum prr_status task_of(
	struct prr_replay *s, struct prr_replay_task **ret, struct prr_error *err)
{
	struct prr_replay_task *t;

	*ret = NULL;
	if (!s->has_event || s->is_beyond)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL, "the session stands in no slice");
	t = prr_replay_find(s, s->event->task.serial);
	if (t && t->as && runs(s) && !s->at_preemption)
		*ret = t;
	return PRR_OK;
}

static uint64_t deadline(const struct prr_replay *s, uint64_t limit_ns)
{
	uint64_t now = prr_now();

	if (limit_ns < PRR_INTERRUPT_NEVER - now)
		return now + limit_ns;
	if (!is_preemption(s))
		return PRR_INTERRUPT_NEVER;
	return now + PATIENCE_NS + PATIENCE * (s->event->time_ns - s->last_time_ns);
}

static void keep_arrival(struct prr_replay *s, enum prr_arrival arrival, int signo)
{
	s->arrived.kept = true;
	s->arrived.arrival = arrival;
	s->arrived.signo = signo;
}

/* What the stop itself has left in the registers is no business of the program. */
static void normalise(struct prr_replay_task *t)
{
	t->regs.orig_rax = (uint64_t)-1;
	t->regs.rflags &= ~PRR_FLAG_RF;
	t->regs_dirty = true;
}

static enum prr_status look_for(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_search_target *target, struct prr_search_result *result,
	struct prr_error *err)
{
	PRR_TRY(prr_replay_search(s, t, target, result, err));
	if (result->end != PRR_SEARCH_LOST)
		return PRR_OK;
	return prr_fail(err, PRR_ERR_UNSUPPORTED, 0, NULL,
		"the place at 0x%llx in the slice before event %llu cannot be looked for: %s",
		(unsigned long long)target->site, (unsigned long long)s->event->index, result->why);
}

/* What a search in a slice that a count ends has come to. */
static enum prr_status note_count(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_search_result *result, bool at_end, struct prr_error *err)
{
	/* The arrival that ends it has not executed the instruction. */
	s->arrivals = s->event->position.hits - (at_end ? 1 : result->hits_left);
	s->at_preemption = at_end;
	if (result->end == PRR_SEARCH_ARRIVED && !at_end)
		return prr_replay_diverged(s, t, err, "the slice went on beyond its end");
	return PRR_OK;
}

static enum prr_status run_to_place(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_place *place, uint32_t *stop, struct prr_error *err)
{
	struct prr_search_target target = { .site = place->view.regs->rip,
		.place = place->view,
		.careful = prr_replay_is_careful(s->options, s->event->index) };
	struct prr_search_result result;

	if (is_counted(s)) {
		target.end_site = s->event->position.site;
		target.end_hits = s->event->position.hits - s->arrivals;
	}
	PRR_TRY(look_for(s, t, &target, &result, err));
	*stop = result.end == PRR_SEARCH_FOUND  ? PRR_SLICE_PLACE
		: result.end == PRR_SEARCH_LATE ? PRR_SLICE_LATE
						: PRR_SLICE_EVENT;
	if (is_counted(s))
		return note_count(s, t, &result, result.at_end, err);
	if (result.end == PRR_SEARCH_ARRIVED) {
		/* A preemption by fingerprint is passed over without a notice. */
		s->is_beyond = is_preemption(s);
		keep_arrival(s, result.arrival, result.signo);
	}
	return PRR_OK;
}

static enum prr_status run_to_preemption(
	struct prr_replay *s, struct prr_replay_task *t, uint32_t *stop, struct prr_error *err)
{
	struct prr_search_target target;
	struct prr_search_result result;

	PRR_TRY(prr_replay_preemption(s, &target, err));
	PRR_TRY(look_for(s, t, &target, &result, err));
	*stop = result.end == PRR_SEARCH_LATE ? PRR_SLICE_LATE : PRR_SLICE_EVENT;
	if (is_counted(s))
		return note_count(s, t, &result, result.end == PRR_SEARCH_FOUND, err);
	if (result.end == PRR_SEARCH_ARRIVED)
		return prr_replay_diverged(s, t, err, "the slice went on beyond its end");
	s->at_preemption = result.end == PRR_SEARCH_FOUND;
	return PRR_OK;
}

static enum prr_status run_to_event(
	struct prr_replay *s, struct prr_replay_task *t, uint32_t *stop, struct prr_error *err)
{
	enum prr_arrival arrival;
	int signo = 0;

	PRR_TRY(prr_replay_advance_past_int80(s, t, &arrival, &signo, err));
	*stop = arrival == PRR_ARRIVAL_LATE ? PRR_SLICE_LATE : PRR_SLICE_EVENT;
	if (arrival == PRR_ARRIVAL_LATE)
		normalise(t);
	else
		keep_arrival(s, arrival, signo);
	return PRR_OK;
}

static enum prr_status run_slice(
	struct prr_replay *s, const struct prr_place *place, uint32_t *stop, struct prr_error *err)
{
	struct prr_replay_task *t;

	PRR_TRY(task_of(s, &t, err));
	*stop = PRR_SLICE_EVENT;
	if (!t || s->arrived.kept)
		return PRR_OK;
	if (place)
		return run_to_place(s, t, place, stop, err);
	return is_preemption(s) ? run_to_preemption(s, t, stop, err)
				: run_to_event(s, t, stop, err);
}

static enum prr_status check_place(
	const struct prr_replay *s, const struct prr_place *place, struct prr_error *err)
{
	if (!place ||
		(s->has_event && place->event == s->event->index &&
			place->serial == s->event->task.serial))
		return PRR_OK;
	return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
		"a place before event %llu is none of the slice at hand",
		(unsigned long long)place->event);
}

enum prr_status prr_replay_run_slice(struct prr_replay *s, const struct prr_place *place,
	uint64_t limit_ns, uint32_t *stop, struct prr_error *err)
{
	*stop = 0;
	PRR_TRY(check_place(s, place, err));
	if (!s->has_event)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL, "the session stands in no slice");
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	s->deadline_ns = deadline(s, limit_ns);
	enum prr_status status = run_slice(s, place, stop, err);

	s->deadline_ns = PRR_INTERRUPT_NEVER;
	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	return status;
}

/* ------------------------------------------------------------------ naming */

struct naming {
	struct prr_replay *s;
	struct prr_replay_task *t;
	enum prr_status status; /* of is_end */
	struct prr_error *err;
};

/* A stop that is no step's: what begins the event is kept, all else is passed over. */
static enum prr_status other_stop(void *context, int status, bool *go_on, struct prr_error *err)
{
	struct naming *naming = context;
	struct prr_replay_task *t = naming->t;

	*go_on = false;
	if (!WIFSTOPPED(status) || !prr_ptrace_get_regs(t->tid, &t->regs))
		return prr_fail(err, PRR_ERR_TRACEE_GONE, 0, "replay again",
			"the replaying process of task %d ended (killed from outside?)",
			t->uid.tid);
	if (prr_status_event(status) == 0 && !prr_replay_is_from_outside(t, WSTOPSIG(status)))
		keep_arrival(naming->s, PRR_ARRIVAL_SIGNAL, WSTOPSIG(status));
	else
		*go_on = true;
	return PRR_OK;
}

/* How often the steps have executed the instruction at the event's site. The first step
 * from a syscall-entry stop only ends the call (ptrace(2)): it has executed nothing. */
static uint64_t arrivals(const struct prr_replay *s, const struct prr_replay_task *t,
	const struct prr_fingerprint *path)
{
	uint64_t second = path->steps > 1 ? path->executed[1] : t->regs.rip, count = 0;

	for (int i = path->steps > 0 && path->executed[0] == second; i < path->steps; i++)
		count += path->executed[i] == s->event->position.site;
	return count;
}

/* Steps could pass a preemption without a notice. */
static bool is_end(void *context, const struct prr_fingerprint *so_far)
{
	struct naming *naming = context;
	struct prr_replay *s = naming->s;
	struct prr_search_target target;

	if (!is_preemption(s) || naming->t->regs.rip != s->event->position.site)
		return false;
	if (is_counted(s))
		s->at_preemption =
			s->arrivals + arrivals(s, naming->t, so_far) + 1 == s->event->position.hits;
	else if (naming->status == PRR_OK)
		naming->status = prr_replay_preemption(s, &target, naming->err);
	if (!is_counted(s) && naming->status == PRR_OK)
		naming->status =
			prr_replay_stands_at(s, naming->t, &target, &s->at_preemption, naming->err);
	return s->at_preemption || naming->status != PRR_OK;
}

static enum prr_status take_memory(struct prr_replay *s, struct prr_replay_task *t,
	struct prr_fingerprint *fingerprint, struct prr_error *err)
{
	uint64_t busy[PRR_FINGERPRINT_BUSY_PAGES];
	struct prr_memory_view view;

	PRR_TRY(prr_replay_memory_view(s, t, &view, err));
	enum prr_status status = prr_page_hashes_take(&view, SIZE_MAX, &fingerprint->hashes, err);

	if (status == PRR_OK) {
		fingerprint->has_hashes = true;
		status = prr_page_history_update(
			&s->history, fingerprint->hashes.items, fingerprint->hashes.count, err);
	}
	if (status == PRR_OK)
		status = prr_fingerprint_pages(&view, busy,
			prr_page_history_busy(s->history, busy, PRR_FINGERPRINT_BUSY_PAGES),
			fingerprint, err);
	free((void *)(uintptr_t)view.stack_pointers);
	return status;
}

static enum prr_status name(struct prr_replay *s, struct prr_fingerprint *fingerprint,
	struct prr_place **ret, struct prr_error *err)
{
	struct prr_replay_task *t;
	struct naming naming = { .s = s, .err = err };
	struct prr_fingerprint_walk walk = {
		.avoid = s->has_event && is_counted(s) ? s->event->position.site : 0,
		.is_end = is_end,
		.other_stop = other_stop,
		.context = &naming
	};
	bool there;

	PRR_TRY(task_of(s, &t, err));
	if (!t || s->arrived.kept)
		return PRR_OK;
	naming.t = t;
	walk.tid = t->tid;
	walk.regs = &t->regs;
	walk.mappings = &t->as->mappings;
	PRR_TRY(prr_replay_flush_regs(t, err)); /* steps start from what the kernel has */
	PRR_TRY(prr_fingerprint_walk(&walk, fingerprint, &there, err));
	PRR_TRY(naming.status);
	s->arrivals += arrivals(s, t, fingerprint);
	if (s->arrived.kept)
		return PRR_OK;
	normalise(t);
	if (!there)
		return PRR_OK;
	PRR_TRY(prr_fingerprint_take(&walk, fingerprint, err));
	PRR_TRY(take_memory(s, t, fingerprint, err));
	return prr_place_make(s->event->index, t->uid.serial, fingerprint, ret, err);
}

enum prr_status prr_replay_name_place(
	struct prr_replay *s, struct prr_place **ret, struct prr_error *err)
{
	struct prr_fingerprint fingerprint = { 0 };

	*ret = NULL;
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	enum prr_status status = name(s, &fingerprint, ret, err);

	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	prr_fingerprint_deinit(&fingerprint);
	return status;
}

enum prr_status prr_replay_is_at_place(
	struct prr_replay *s, const struct prr_place *place, bool *ret, struct prr_error *err)
{
	struct prr_search_target target = { .site = place->view.regs->rip, .place = place->view };
	struct prr_replay_task *t;

	*ret = false;
	PRR_TRY(check_place(s, place, err));
	PRR_TRY(task_of(s, &t, err));
	if (!t || s->arrived.kept)
		return PRR_OK;
	return prr_replay_stands_at(s, t, &target, ret, err);
}
