/* SPDX-License-Identifier: GPL-2.0-or-later
 * The check of memory: pages as the recording hashed them against pages here.
 *
 * A page in one list only is as good as different, since lists leave out zeros
 * alone; save in private file mappings, where an untouched page is the file's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "session.h"

/* -------------------------------------------------------- names of mapped files */

static struct prr_file_name *find_name(const struct prr_replay *s, uint64_t dev, uint64_t ino)
{
	for (size_t i = 0; i < s->name_count; i++)
		if (s->names[i].dev == dev && s->names[i].ino == ino)
			return &s->names[i];
	return NULL;
}

static enum prr_status set_name(struct prr_replay *s, const struct prr_field_mapping *m,
	const uint8_t *path, size_t len, struct prr_error *err)
{
	struct prr_file_name *name = find_name(s, m->dev, m->ino);

	if (name && strlen(name->path) == len && memcmp(name->path, path, len) == 0)
		return PRR_OK;
	if (!name && s->name_count == s->name_capacity) {
		size_t capacity = s->name_capacity ? 2 * s->name_capacity : 32;
		struct prr_file_name *grown = reallocarray(s->names, capacity, sizeof(*grown));

		if (!grown)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
		s->names = grown;
		s->name_capacity = capacity;
	}
	char *copy = strndup((const char *)path, len);

	if (!copy)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	if (name)
		free(name->path); /* the inode number is another file's by now */
	else
		name = &s->names[s->name_count++];
	*name = (struct prr_file_name){ m->dev, m->ino, copy };
	return PRR_OK;
}

static enum prr_status note_names(struct prr_replay *s, struct prr_error *err)
{
	for (size_t i = 0; i < s->event->field_count; i++) {
		const struct prr_field *field = &s->event->fields[i];
		struct prr_field_mapping m;

		if (field->tag != PRR_FIELD_MAPPING || field->len <= sizeof(m))
			continue;
		memcpy(&m, field->data, sizeof(m));
		PRR_TRY(set_name(s, &m, field->data + sizeof(m), field->len - sizeof(m), err));
	}
	return PRR_OK;
}

void prr_replay_names_deinit(struct prr_replay *s)
{
	for (size_t i = 0; i < s->name_count; i++)
		free(s->names[i].path);
	free(s->names);
}

static const char *describe(const struct prr_replay *s, const struct prr_field_mapping *m)
{
	const struct prr_file_name *name = m && m->ino ? find_name(s, m->dev, m->ino) : NULL;

	if (!m)
		return "unmapped";
	if (name)
		return name->path;
	switch ((enum prr_mapping_kind)m->kind) {
	case PRR_MAPPING_STACK:
		return "stack";
	case PRR_MAPPING_HEAP:
		return "heap";
	case PRR_MAPPING_ANON_SHARED:
		return "shared anonymous memory";
	case PRR_MAPPING_FILE_PRIVATE:
	case PRR_MAPPING_FILE_SHARED:
		return "mapped file";
	case PRR_MAPPING_ANON:
		break;
	}
	return m->flags & MAP_STACK ? "stack of a thread" : "anonymous memory";
}

/* --------------------------------------------------------------- comparing */

struct difference {
	uint64_t addr, expected, actual; /* of the first one */
	size_t count;
};

static void note(struct difference *d, uint64_t addr, uint64_t expected, uint64_t actual)
{
	if (expected == actual)
		return;
	if (d->count++ == 0) {
		d->addr = addr;
		d->expected = expected;
		d->actual = actual;
	}
}

/* A page that only the recording's list has: what is there now? */
static void compare_missing(const struct prr_memory_view *view,
	const struct prr_field_page_hash *expected, struct difference *d)
{
	uint64_t actual;

	if (!prr_page_hash_one(view, expected->addr, &actual))
		actual = ~expected->hash;
	note(d, expected->addr, expected->hash, actual);
}

/* A page that only replay's list has: zeros in the recording, if it looked. */
static void compare_extra(const struct prr_memory_view *view,
	const struct prr_field_page_hash *actual, struct difference *d)
{
	const struct prr_field_mapping *m = prr_page_hash_mapping(view, actual->addr);

	if (m && !prr_mapping_is_shared(m) && m->kind != PRR_MAPPING_FILE_PRIVATE &&
		m->len <= PRR_PAGES_SPARSE_MAX)
		note(d, actual->addr, prr_page_hash_of_zeros(), actual->hash);
}

static void compare(const struct prr_memory_view *view, const struct prr_field_page_hash *expected,
	size_t expected_count, const struct prr_page_hashes *here, struct difference *d)
{
	const struct prr_field_page_hash *actual = here->items;
	const struct prr_field_page_hash *actual_end = actual + here->count;

	for (size_t i = 0; i < expected_count; i++) {
		for (; actual != actual_end && actual->addr < expected[i].addr; actual++)
			compare_extra(view, actual, d);
		if (actual != actual_end && actual->addr == expected[i].addr)
			note(d, expected[i].addr, expected[i].hash, (actual++)->hash);
		else
			compare_missing(view, &expected[i], d);
	}
	/* A small sample ends somewhere: what lies beyond was not looked at. */
}

static enum prr_status report(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_memory_view *view, const struct difference *d, struct prr_error *err)
{
	const struct prr_field_mapping *m = prr_page_hash_mapping(view, d->addr);
	char since[64] = "never compared before";

	if (t->as->memory_checked)
		snprintf(since, sizeof(since), "all as recorded at event %llu",
			(unsigned long long)t->as->memory_checked);
	return prr_replay_diverged(s, t, err,
		"the page at 0x%llx (%s) has hash 0x%llx, recorded 0x%llx\n"
		"            pages that differ: %zu; this memory was %s",
		(unsigned long long)d->addr, describe(s, m), (unsigned long long)d->actual,
		(unsigned long long)d->expected, d->count, since);
}

static enum prr_status stack_pointers(const struct prr_replay *s, const struct prr_replay_as *as,
	uint64_t **ret, size_t *count, struct prr_error *err)
{
	size_t room = 0;

	for (const struct prr_replay_task *t = s->tasks; t; t = t->next)
		room += t->as == as;
	*count = 0;
	*ret = calloc(room ? room : 1, sizeof(**ret));
	if (!*ret)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	for (const struct prr_replay_task *t = s->tasks; t; t = t->next)
		if (t->as == as && !t->zombie)
			(*ret)[(*count)++] = t->regs.rsp;
	return PRR_OK;
}

enum prr_status prr_replay_memory_view(struct prr_replay *s, struct prr_replay_task *t,
	struct prr_memory_view *view, struct prr_error *err)
{
	uint64_t *pointers;

	*view = (struct prr_memory_view){ .tid = t->tid, .mappings = &t->as->mappings };
	PRR_TRY(stack_pointers(s, t->as, &pointers, &view->stack_pointer_count, err));
	view->stack_pointers = pointers;
	return PRR_OK;
}

bool prr_replay_hashes_of(
	const struct prr_event *event, const struct prr_field_page_hash **hashes, size_t *count)
{
	for (size_t i = 0; i < event->field_count; i++) {
		const struct prr_field *field = &event->fields[i];

		if (field->tag != PRR_FIELD_PAGE_HASHES)
			continue;
		/* Fields are 8-aligned in the reader's block: docs/TRACE_FORMAT.md. */
		*hashes = (const struct prr_field_page_hash *)(const void *)field->data;
		*count = field->len / sizeof(**hashes);
		return true;
	}
	return false;
}

/* view->stack_pointers is the caller's to free. */
static enum prr_status look(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_page_hash *hashes, size_t count, struct prr_memory_view *view,
	struct difference *d, struct prr_error *err)
{
	struct prr_page_hashes here = { 0 };

	PRR_TRY(prr_replay_memory_view(s, t, view, err));
	enum prr_status status = prr_page_hashes_take(view, SIZE_MAX, &here, err);

	if (status == PRR_OK)
		compare(view, hashes, count, &here, d);
	prr_page_hashes_deinit(&here);
	return status;
}

enum prr_status prr_replay_memory_differs(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_fingerprint_view *place, uint64_t *page, struct prr_error *err)
{
	struct prr_memory_view view = { 0 };
	struct difference d = { 0 };
	enum prr_status status = look(s, t, place->hashes, place->hash_count, &view, &d, err);

	free((void *)(uintptr_t)view.stack_pointers);
	*page = d.count ? d.addr : 0;
	return status;
}

enum prr_status prr_replay_page_differs(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_fingerprint_view *place, uint64_t page, bool *differs,
	struct prr_error *err)
{
	const struct prr_field_page_hash *expected = place->hashes;
	size_t low = 0, high = place->hash_count;
	struct prr_memory_view view;
	uint64_t actual;

	while (low < high && expected[low + (high - low) / 2].addr != page) {
		size_t middle = low + (high - low) / 2;

		if (expected[middle].addr < page)
			low = middle + 1;
		else
			high = middle;
	}
	*differs = false;
	if (low >= high)
		return PRR_OK;
	PRR_TRY(prr_replay_memory_view(s, t, &view, err));
	*differs = prr_page_hash_one(&view, page, &actual) &&
		actual != expected[low + (high - low) / 2].hash;
	free((void *)(uintptr_t)view.stack_pointers);
	return PRR_OK;
}

/* A few words of a page that differ, spread over it. */
static void compare_page(const struct prr_page_image *there, const uint8_t *here,
	struct prr_field_word *words, size_t room, size_t *count)
{
	enum { EACH = 2, WORD = 4 };
	size_t taken = 0;

	for (size_t at = 0; at < PRR_PAGE_SIZE && taken < EACH && *count < room; at += WORD) {
		struct prr_field_word *word = &words[*count];

		if (memcmp(here + at, there->bytes + at, WORD) == 0)
			continue;
		word->addr = there->head.addr + at;
		memcpy(&word->value, there->bytes + at, WORD);
		word->varying = 1;
		++*count;
		taken++;
	}
}

enum prr_status prr_replay_words_differ(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_fingerprint_view *place, struct prr_field_word *words, size_t room,
	size_t *count, struct prr_error *err)
{
	struct prr_memory_view view;
	uint8_t page[PRR_PAGE_SIZE];

	*count = 0;
	PRR_TRY(prr_replay_memory_view(s, t, &view, err));
	for (size_t i = 0; i < place->page_count && *count < room; i++)
		if (prr_page_read(&view, place->pages[i]->head.addr, page))
			compare_page(place->pages[i], page, words, room, count);
	free((void *)(uintptr_t)view.stack_pointers);
	return PRR_OK;
}

static enum prr_status check(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_page_hash *hashes, size_t count, struct prr_error *err)
{
	struct prr_memory_view view = { 0 };
	struct difference d = { 0 };
	enum prr_status status = look(s, t, hashes, count, &view, &d, err);

	if (status == PRR_OK && d.count)
		status = report(s, t, &view, &d, err);
	t->as->memory_checked = s->event->index;
	free((void *)(uintptr_t)view.stack_pointers);
	return status;
}

enum prr_status prr_replay_check_memory(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	const struct prr_field_page_hash *hashes;
	size_t count;

	if (!s->options->check_memory)
		return PRR_OK;
	PRR_TRY(note_names(s, err));
	return prr_replay_hashes_of(s->event, &hashes, &count) ? check(s, t, hashes, count, err)
							       : PRR_OK;
}
