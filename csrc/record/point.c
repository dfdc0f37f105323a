/* SPDX-License-Identifier: GPL-2.0-or-later
 * Naming a place inside user code: the PREEMPT event, by fingerprint or by a count. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "../shared/page_history.h"
#include "counting.h"
#include "session.h"

enum { SPINNING_RATIO = 4 };
/* After an attempt that came to nothing. */
#define RETRY_NS 1000000ull

/* A stop that is no step's: signals are held, all else ends the attempt. */
static enum prr_status other_stop(void *context, int status, bool *go_on, struct prr_error *err)
{
	struct prr_record_task *t = context;
	siginfo_t info;

	*go_on = false;
	if (WIFSTOPPED(status) && prr_status_event(status) == PTRACE_EVENT_STOP &&
		WSTOPSIG(status) == SIGTRAP) {
		*go_on = true;
		return PRR_OK;
	}
	if (WIFSTOPPED(status) && prr_status_event(status) == 0 &&
		prr_ptrace_get_siginfo(t->uid.tid, &info) &&
		!prr_record_is_fault(WSTOPSIG(status), &info)) {
		*go_on = true;
		return prr_record_hold(t, &info, err);
	}
	t->status = status;
	t->has_status = true;
	return PRR_OK;
}

static enum prr_status append_pages(struct prr_record *s, struct prr_record_task *t,
	struct prr_fingerprint *place, struct prr_error *err)
{
	uint64_t busy[PRR_FINGERPRINT_BUSY_PAGES];
	struct prr_memory_view view;
	size_t count = prr_page_history_busy(t->as->history, busy, PRR_FINGERPRINT_BUSY_PAGES);

	PRR_TRY(prr_record_memory_view(s, t, &view, err));
	enum prr_status status = prr_fingerprint_pages(&view, busy, count, place, err);

	free((void *)(uintptr_t)view.stack_pointers);
	for (size_t i = 0; i < place->page_count && status == PRR_OK; i++)
		status = prr_event_field(
			s, PRR_FIELD_PAGE, &place->pages[i], sizeof(place->pages[i]), err);
	return status;
}

static enum prr_status append(struct prr_record *s, struct prr_record_task *t,
	struct prr_fingerprint *place, struct prr_error *err)
{
	struct prr_position position = { .site = t->regs.rip };

	prr_event_begin_at(s, t, PRR_EVENT_PREEMPT, PRR_ORIGIN_POLICY, &t->regs, &position);
	PRR_TRY(prr_event_field(s, PRR_FIELD_POINT, &place->point, sizeof(place->point), err));
	if (place->word_count)
		PRR_TRY(prr_event_field(s, PRR_FIELD_WORDS, place->words,
			place->word_count * sizeof(place->words[0]), err));
	if (place->xstate_len)
		PRR_TRY(prr_event_field(
			s, PRR_FIELD_XSTATE_AFTER, place->xstate, place->xstate_len, err));
	PRR_TRY(prr_record_point_hashes(s, t, err));
	PRR_TRY(append_pages(s, t, place, err));
	return prr_event_commit(s, err);
}

/* What the stop itself has left in the registers is no business of the program. */
static void normalise(struct prr_record_task *t)
{
	t->regs.orig_rax = (uint64_t)-1;
	t->regs.rflags &= ~PRR_FLAG_RF;
	t->regs_dirty = true;
}

/* What finding places may take of the time: at most 1/ratio. */
static void account(struct prr_record *s, uint64_t began_ns)
{
	uint64_t now = prr_now();

	s->points.stats.points++;
	s->points.stats.hashed++;
	s->points.stats.spent_ns += now - began_ns;
	if (!s->options->point_ratio)
		return;
	s->points.next_ns = now + (now - began_ns) * (s->options->point_ratio - 1);
	/* Spinning is lost time anyway. */
	s->points.next_spinning_ns = now + (now - began_ns) * SPINNING_RATIO;
}

static enum prr_status name_place(struct prr_record *s, struct prr_record_task *t,
	struct prr_fingerprint *place, bool *made, struct prr_error *err)
{
	struct prr_fingerprint_walk walk = { .tid = t->uid.tid,
		.regs = &t->regs,
		.mappings = &t->as->mappings,
		.brief = t->spinning,
		.other_stop = other_stop,
		.context = t };

	PRR_TRY(prr_fingerprint_walk(&walk, place, made, err));
	if (!*made)
		return PRR_OK;
	normalise(t);
	PRR_TRY(prr_fingerprint_take(&walk, place, err));
	PRR_TRY(append(s, t, place, err));
	t->vague_place = true;
	t->state = PRR_TASK_READY;
	if (t->spinning)
		return PRR_OK;
	return prr_counting_plant(t, place->executed, (size_t)place->steps, err);
}

enum prr_status prr_record_point(
	struct prr_record *s, struct prr_record_task *t, bool *made, struct prr_error *err)
{
	uint64_t began_ns = prr_now();

	t->moved = true;
	*made = false;
	/* Steps start from what the kernel has. ESRCH: killed, the next stop tells. */
	if (t->regs_dirty && prr_ptrace_set_regs(t->uid.tid, &t->regs))
		t->regs_dirty = false;
	if (prr_record_trap_is_pending(t))
		PRR_TRY(prr_record_take_traps(t, err));
	prr_fingerprint_reset(&s->place);
	t->traps_unsettled = true;
	PRR_TRY(name_place(s, t, &s->place, made, err));
	if (*made) {
		if (t->spinning && s->place.word_count && s->place.words[0].varying)
			t->busy_rip = t->regs.rip;
		account(s, began_ns);
	} else { /* not at once again */
		s->points.next_ns = s->points.next_spinning_ns = prr_now() + RETRY_NS;
	}
	/* The frame of a handler that comes now shows the mask. */
	prr_record_restore_mask(t, SIGTRAP);
	if (t->has_status)
		return PRR_OK; /* what came instead is treated next, the rest is settled after it */
	PRR_TRY(prr_record_settle_traps(s, t, err));
	if (!*made)
		prr_slice_go_on(s, t);
	return PRR_OK;
}

enum prr_status prr_record_counted_point(
	struct prr_record *s, struct prr_record_task *t, uint64_t hits, struct prr_error *err)
{
	struct prr_position position = { .site = t->regs.rip, .hits = hits };
	struct prr_field_point point = { .method = PRR_POINT_COUNT };
	uint64_t began_ns = prr_now();
	size_t len;

	normalise(t);
	prr_event_begin_at(s, t, PRR_EVENT_PREEMPT, PRR_ORIGIN_POLICY, &t->regs, &position);
	PRR_TRY(prr_event_field(s, PRR_FIELD_POINT, &point, sizeof(point), err));
	if (prr_ptrace_get_xstate(t->uid.tid, s->xstate, sizeof(s->xstate), &len))
		PRR_TRY(prr_event_field(s, PRR_FIELD_XSTATE_AFTER, s->xstate, len, err));
	PRR_TRY(prr_record_hashes(s, t, PRR_HASH_IF_DUE, err));
	PRR_TRY(prr_event_commit(s, err));
	t->vague_place = true;
	t->state = PRR_TASK_READY;
	s->points.stats.points++;
	s->points.stats.counted++;
	s->points.stats.spent_ns += prr_now() - began_ns;
	PRR_TRY(prr_record_restore_after_trap(s, t, SIGTRAP, err));
	return prr_record_after_point(s, t, err);
}
