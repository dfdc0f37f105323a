/* SPDX-License-Identifier: GPL-2.0-or-later
 * Finding the place of a PREEMPT event again, from the task's last event on. */
#include <string.h>

#include "search.h"

/* A loop without events that never comes to the place would be run for ever: it has this
 * many times as long as when it was recorded, and some. */
#define PATIENCE 100
#define PATIENCE_NS 30000000000ull

bool prr_replay_is_careful(const struct prr_replay_options *options, uint64_t index)
{
	for (size_t i = 0; i < options->careful_count; i++)
		if (options->careful[i] == index)
			return true;
	return false;
}

static void look_at_pages(const struct prr_event *event, struct prr_fingerprint_view *place)
{
	for (size_t i = 0; i < event->field_count; i++) {
		const struct prr_field *field = &event->fields[i];

		/* Fields are 8-aligned in the reader's block: docs/TRACE_FORMAT.md. */
		if (field->tag == PRR_FIELD_PAGE && field->len == sizeof(struct prr_page_image) &&
			place->page_count < PRR_FINGERPRINT_PAGES_MAX)
			place->pages[place->page_count++] =
				(const struct prr_page_image *)(const void *)field->data;
	}
}

enum prr_status prr_replay_preemption(
	struct prr_replay *s, struct prr_search_target *ret, struct prr_error *err)
{
	const struct prr_event *event = s->event;
	struct prr_fingerprint_view *place = &ret->place;
	const uint8_t *words = NULL;
	size_t words_len = 0;

	*ret = (struct prr_search_target){ .site = event->position.site,
		.hits = event->position.hits - s->arrivals,
		.careful = prr_replay_is_careful(s->options, event->index) };
	place->regs = &event->regs;
	place->point = prr_field_find(event, PRR_FIELD_POINT, sizeof(*place->point), NULL, NULL);
	if (!place->point)
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"event %llu is a preemption without its place",
			(unsigned long long)event->index);
	if (prr_field_find(event, PRR_FIELD_WORDS, 0, &words, &words_len)) {
		place->words = (const struct prr_field_word *)(const void *)words;
		place->word_count = words_len / sizeof(*place->words);
	}
	if (!prr_field_find(event, PRR_FIELD_XSTATE_AFTER, 0, &place->xstate, &place->xstate_len))
		place->xstate = NULL;
	place->has_hashes = prr_replay_hashes_of(event, &place->hashes, &place->hash_count);
	look_at_pages(event, place);
	return PRR_OK;
}

static const char *instead(const struct prr_search_result *result)
{
	if (result->end == PRR_SEARCH_LOST)
		return result->why;
	if (result->end == PRR_SEARCH_LATE)
		return "its time was long over";
	return result->arrival == PRR_ARRIVAL_SYSCALL ? "a system call came"
						      : strsignal(result->signo);
}

static enum prr_status not_found(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_search_result *result, struct prr_error *err)
{
	if (!result->hardware)
		s->missed = s->event->index;
	return prr_replay_diverged(s, t, err,
		"%s (rip 0x%llx) before the place was found; %llu of the arrivals there "
		"were looked at, the memory of %llu was compared",
		instead(result), (unsigned long long)t->regs.rip,
		(unsigned long long)result->candidates, (unsigned long long)result->hashed);
}

enum prr_status prr_replay_preempt_event(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	struct prr_search_target target;
	struct prr_search_result result;
	uint64_t began_ns = prr_now();

	PRR_TRY(prr_replay_preemption(s, &target, err));
	s->deadline_ns = began_ns + PATIENCE_NS * (target.careful ? 20 : 1) +
		PATIENCE * (s->event->time_ns - s->last_time_ns);
	enum prr_status status = prr_replay_search(s, t, &target, &result, err);

	s->deadline_ns = PRR_INTERRUPT_NEVER;
	s->points.points++;
	s->points.counted += target.place.point->method == PRR_POINT_COUNT;
	s->points.candidates += result.candidates;
	s->points.hashed += result.hashed;
	s->points.spent_ns += prr_now() - began_ns;
	PRR_TRY(status);
	if (result.end != PRR_SEARCH_FOUND)
		return not_found(s, t, &result, err);
	PRR_TRY(prr_replay_check_regs(s, t, err));
	return prr_replay_check_memory(s, t, err);
}
