/* SPDX-License-Identifier: GPL-2.0-or-later
 * Page hashes: at some events the recorder writes down what all of an
 * AddressSpace's writable memory hashes to, for `pyrr replay --check=memory`.
 *
 * When. All samples together take at most 1/hash_ratio of the time: one whose
 * expected cost is not yet covered by the recording's age waits until it is. The
 * spacing also grows with the age, to keep the trace small. So the first event
 * after the program's first exec has a sample. A process's exit_group has one,
 * out of turn but small, so that programs are covered that live shorter than
 * the spacing.
 *
 * Where. At the end of a SYSCALL or SYSCALL_EXIT event, where all it wrote is in
 * place and the task has run nothing since. Other tasks that share the memory
 * stand still, or sleep in the kernel, which then writes for them only to
 * scratch (PITFALLS A1) and to futex words that the events of others mention. */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "../shared/page_hash.h"
#include "../shared/page_history.h"
#include "session.h"

/* Of an out-of-turn sample: about 0.1 ms. */
#define SMALL_SAMPLE_PAGES 256
/* What a page is taken to cost before one was hashed. */
#define FIRST_PAGE_NS 1000
/* Spacing that the age of the recording asks for, before hash_ratio: with a
 * ratio of 50 a 1/82 of the age, at most every 10 s. */
#define AGE_SHARE 4096
#define AGE_SPACING_MAX_NS 200000000ull

static enum prr_status stack_pointers(const struct prr_record *s,
	const struct prr_address_space *as, uint64_t **ret, size_t *count, struct prr_error *err)
{
	*count = 0;
	*ret = calloc(s->task_count, sizeof(**ret));
	if (!*ret)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	for (const struct prr_record_task *t = s->tasks; t; t = t->next)
		if (t->as == as && t->state != PRR_TASK_EXITING)
			(*ret)[(*count)++] = t->regs.rsp;
	return PRR_OK;
}

/* Memory that cannot be looked at belongs to a task that was killed meanwhile. */
static enum prr_status unless_gone(enum prr_status status, struct prr_error *err)
{
	if (status != PRR_ERR_SYSTEM)
		return status;
	prr_error_deinit(err);
	prr_error_init(err);
	return PRR_OK;
}

static enum prr_status append(struct prr_record *s, const struct prr_memory_view *view,
	size_t limit, struct prr_error *err)
{
	struct prr_page_hashes hashes = { 0 };
	enum prr_status status = prr_page_hashes_take(view, limit, &hashes, err);

	if (status == PRR_OK)
		status = prr_event_field(s, PRR_FIELD_PAGE_HASHES, hashes.items,
			hashes.count * sizeof(*hashes.items), err);
	else
		status = unless_gone(status, err);
	prr_page_hashes_deinit(&hashes);
	return status;
}

/* Is there time by now for hashing `pages`? If not, says when there will be. */
static bool is_covered(struct prr_record *s, size_t pages)
{
	struct prr_hashing *h = &s->hashing;
	uint64_t page_ns = h->page_ns ? h->page_ns : FIRST_PAGE_NS;
	uint64_t needed = (h->spent_ns + pages * page_ns) * s->options->hash_ratio;

	if (needed <= s->last_event_ns - s->start_ns)
		return true;
	h->next_ns = s->start_ns + needed;
	return false;
}

static void account(struct prr_record *s, uint64_t began_ns, size_t pages)
{
	struct prr_hashing *h = &s->hashing;
	uint64_t now = prr_now();
	uint64_t spacing = (now - s->start_ns) / AGE_SHARE;

	if (spacing > AGE_SPACING_MAX_NS)
		spacing = AGE_SPACING_MAX_NS;
	h->spent_ns += now - began_ns;
	h->next_ns = now + s->options->hash_ratio * spacing;
	if (pages)
		h->page_ns = (now - began_ns) / pages;
}

static enum prr_status sample(struct prr_record *s, const struct prr_memory_view *view,
	enum prr_hash_occasion occasion, struct prr_error *err)
{
	uint64_t began_ns = prr_now();
	size_t pages, limit = SIZE_MAX;
	enum prr_status status = prr_page_hashes_count(view, &pages, err);

	if (status != PRR_OK)
		return unless_gone(status, err);
	if (s->last_event_ns < s->hashing.next_ns || !is_covered(s, pages)) {
		if (occasion != PRR_HASH_LAST_CHANCE)
			return PRR_OK;
		limit = SMALL_SAMPLE_PAGES;
	}
	PRR_TRY(append(s, view, limit, err));
	account(s, began_ns, pages < limit ? pages : limit);
	return PRR_OK;
}

enum prr_status prr_record_point_hashes(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	struct prr_page_hashes hashes = { 0 };
	struct prr_memory_view view;

	if (s->trace_ended)
		return PRR_OK;
	PRR_TRY(prr_record_memory_view(s, t, &view, err));
	enum prr_status status = prr_page_hashes_take(&view, SIZE_MAX, &hashes, err);

	if (status == PRR_OK)
		status = prr_event_field(s, PRR_FIELD_PAGE_HASHES, hashes.items,
			hashes.count * sizeof(*hashes.items), err);
	if (status == PRR_OK)
		status = prr_page_history_update(&t->as->history, hashes.items, hashes.count, err);
	prr_page_hashes_deinit(&hashes);
	free((void *)(uintptr_t)view.stack_pointers);
	return unless_gone(status, err);
}

enum prr_status prr_record_memory_view(struct prr_record *s, struct prr_record_task *t,
	struct prr_memory_view *view, struct prr_error *err)
{
	uint64_t *pointers;

	*view = (struct prr_memory_view){ .tid = t->uid.tid, .mappings = &t->as->mappings };
	PRR_TRY(stack_pointers(s, t->as, &pointers, &view->stack_pointer_count, err));
	view->stack_pointers = pointers;
	return PRR_OK;
}

enum prr_status prr_record_hashes(struct prr_record *s, struct prr_record_task *t,
	enum prr_hash_occasion occasion, struct prr_error *err)
{
	struct prr_memory_view view = { .tid = t->uid.tid };
	uint64_t *pointers;

	if (s->options->hash_ratio == 0 || s->trace_ended ||
		(s->last_event_ns < s->hashing.next_ns && occasion != PRR_HASH_LAST_CHANCE))
		return PRR_OK;
	if (t->nr == SYS_execve || t->nr == SYS_execveat)
		return PRR_OK; /* the event has all of the new memory anyway */
	PRR_TRY(stack_pointers(s, t->as, &pointers, &view.stack_pointer_count, err));
	view.mappings = &t->as->mappings;
	view.stack_pointers = pointers;
	enum prr_status status = sample(s, &view, occasion, err);

	free(pointers);
	return status;
}
