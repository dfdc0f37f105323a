/* SPDX-License-Identifier: GPL-2.0-or-later
 * Page hashes: at some events the recorder writes down what all of an
 * AddressSpace's writable memory hashes to, for `pyrr replay --check=memory`.
 *
 * When. A sample is spaced by its cost: the next one comes not before
 * hash_ratio times what the last one took has passed, so that hashing takes at
 * most 1/hash_ratio of the time. The spacing also grows with the recording, to
 * keep the trace small. The first event after the program's first exec has one;
 * a process's exit_group has one too, out of turn but small, so that programs
 * are covered that live shorter than the spacing.
 *
 * Where. At the end of a SYSCALL or SYSCALL_EXIT event, where all it wrote is in
 * place and the task has run nothing since. Other tasks that share the memory
 * stand still, or sleep in the kernel, which then writes for them only to
 * scratch (PITFALLS A1) and to futex words that the events of others mention. */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "../shared/page_hash.h"
#include "session.h"

/* Of an out-of-turn sample: about 0.1 ms. */
#define SMALL_SAMPLE_PAGES 256
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

static enum prr_status append(struct prr_record *s, struct prr_record_task *t, size_t limit,
	struct prr_error *err)
{
	struct prr_page_hashes hashes = { 0 };
	uint64_t *pointers;
	struct prr_memory_view view = { .tid = t->uid.tid, .mappings = &t->as->mappings };

	PRR_TRY(stack_pointers(s, t->as, &pointers, &view.stack_pointer_count, err));
	view.stack_pointers = pointers;
	enum prr_status status = prr_page_hashes_take(&view, limit, &hashes, err);

	if (status == PRR_OK)
		status = prr_event_field(s, PRR_FIELD_PAGE_HASHES, hashes.items,
			hashes.count * sizeof(*hashes.items), err);
	prr_page_hashes_deinit(&hashes);
	free(pointers);
	return status;
}

static void plan_next(struct prr_record *s, uint64_t began_ns)
{
	uint64_t now = prr_record_now();
	uint64_t cost = now - began_ns;
	uint64_t age = (now - s->start_ns) / AGE_SHARE;

	if (age > AGE_SPACING_MAX_NS)
		age = AGE_SPACING_MAX_NS;
	s->next_hash_ns = now + s->options->hash_ratio * (cost > age ? cost : age);
}

enum prr_status prr_record_hashes(struct prr_record *s, struct prr_record_task *t,
	enum prr_hash_occasion occasion, struct prr_error *err)
{
	bool due = s->last_event_ns >= s->next_hash_ns;

	if (s->options->hash_ratio == 0 || s->trace_ended ||
		(!due && occasion != PRR_HASH_LAST_CHANCE))
		return PRR_OK;
	if (t->nr == SYS_execve || t->nr == SYS_execveat)
		return PRR_OK; /* the event has all of the new memory anyway */
	uint64_t began_ns = prr_record_now();

	PRR_TRY(append(s, t, due ? SIZE_MAX : SMALL_SAMPLE_PAGES, err));
	plan_next(s, began_ns);
	return PRR_OK;
}
