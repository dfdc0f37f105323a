/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "error.h"
#include "layout.h"

void prr_mappings_deinit(struct prr_mappings *mappings)
{
	for (size_t i = 0; mappings->mapped && i < mappings->count; i++)
		prr_mapped_remove(mappings->mapped, &mappings->items[i]);
	free(mappings->items);
	memset(mappings, 0, sizeof(*mappings));
}

static enum prr_status reserve(struct prr_mappings *mappings, size_t count, struct prr_error *err)
{
	if (count <= mappings->capacity)
		return PRR_OK;
	size_t capacity = mappings->capacity ? mappings->capacity : 64;
	while (capacity < count)
		capacity *= 2;
	struct prr_field_mapping *items = reallocarray(mappings->items, capacity, sizeof(*items));
	if (!items)
		return prr_fail(
			err, PRR_ERR_SYSTEM, 12, NULL, "no memory for %zu mappings", capacity);
	mappings->items = items;
	mappings->capacity = capacity;
	return PRR_OK;
}

/* Index of the first mapping that ends after addr. */
static size_t lower_bound(const struct prr_mappings *mappings, uint64_t addr)
{
	size_t low = 0, high = mappings->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct prr_field_mapping *m = &mappings->items[middle];

		if (m->start + m->len <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_seen_by_others(const struct prr_field_mapping *mapping)
{
	return prr_mapping_is_shared(mapping) && (mapping->prot & PROT_WRITE);
}

/* Counts a mapping that comes. */
static enum prr_status note(struct prr_mappings *mappings, const struct prr_field_mapping *mapping,
	struct prr_error *err)
{
	if (mappings->mapped)
		PRR_TRY(prr_mapped_add(mappings->mapped, mapping, err));
	mappings->shared_count += is_seen_by_others(mapping);
	return PRR_OK;
}

static void forget(struct prr_mappings *mappings, const struct prr_field_mapping *mapping)
{
	if (mappings->mapped)
		prr_mapped_remove(mappings->mapped, mapping);
	mappings->shared_count -= is_seen_by_others(mapping);
}

/* The mapping has been noted already. */
static enum prr_status insert_at(struct prr_mappings *mappings, size_t i,
	const struct prr_field_mapping *mapping, struct prr_error *err)
{
	PRR_TRY(reserve(mappings, mappings->count + 1, err));
	memmove(&mappings->items[i + 1], &mappings->items[i],
		(mappings->count - i) * sizeof(*mappings->items));
	mappings->items[i] = *mapping;
	mappings->count++;
	return PRR_OK;
}

static bool has_offset(const struct prr_field_mapping *m)
{
	return m->kind == PRR_MAPPING_FILE_PRIVATE || m->kind == PRR_MAPPING_FILE_SHARED ||
		m->kind == PRR_MAPPING_ANON_SHARED;
}

/* Makes `addr` a border: a mapping that spans it is split in two. */
static enum prr_status split_at(struct prr_mappings *mappings, uint64_t addr, struct prr_error *err)
{
	size_t i = lower_bound(mappings, addr);

	if (i == mappings->count || mappings->items[i].start >= addr)
		return PRR_OK;
	struct prr_field_mapping upper = mappings->items[i];
	uint64_t below = addr - upper.start;

	mappings->items[i].len = below;
	upper.start = addr;
	upper.len -= below;
	if (has_offset(&upper))
		upper.offset += below;
	PRR_TRY(note(mappings, &upper, err));
	return insert_at(mappings, i + 1, &upper, err);
}

enum prr_status prr_mappings_remove(
	struct prr_mappings *mappings, uint64_t start, uint64_t len, struct prr_error *err)
{
	uint64_t end = start + prr_page_up(len);

	PRR_TRY(split_at(mappings, start, err));
	PRR_TRY(split_at(mappings, end, err));
	size_t first = lower_bound(mappings, start), last = first;

	while (last < mappings->count && mappings->items[last].start < end) {
		forget(mappings, &mappings->items[last]);
		last++;
	}
	if (first == last)
		return PRR_OK;
	memmove(&mappings->items[first], &mappings->items[last],
		(mappings->count - last) * sizeof(*mappings->items));
	mappings->count -= last - first;
	return PRR_OK;
}

enum prr_status prr_mappings_add(struct prr_mappings *mappings,
	const struct prr_field_mapping *mapping, struct prr_error *err)
{
	struct prr_field_mapping added = *mapping;

	added.len = prr_page_up(added.len);
	/* Before the old one goes: an object that both name stays what it is. */
	PRR_TRY(note(mappings, &added, err));
	PRR_TRY(prr_mappings_remove(mappings, added.start, added.len, err));
	return insert_at(mappings, lower_bound(mappings, added.start), &added, err);
}

enum prr_status prr_mappings_protect(struct prr_mappings *mappings, uint64_t start, uint64_t len,
	uint32_t prot, struct prr_error *err)
{
	uint64_t end = start + prr_page_up(len);

	PRR_TRY(split_at(mappings, start, err));
	PRR_TRY(split_at(mappings, end, err));
	for (size_t i = lower_bound(mappings, start);
		i < mappings->count && mappings->items[i].start < end; i++) {
		mappings->shared_count -= is_seen_by_others(&mappings->items[i]);
		mappings->items[i].prot = prot;
		mappings->shared_count += is_seen_by_others(&mappings->items[i]);
	}
	return PRR_OK;
}

/* ------------------------------------------------------------------- mremap */

/* Puts `count` mappings, kept noted meanwhile, where they belong. */
static enum prr_status put_all(struct prr_mappings *mappings, uint64_t from, uint64_t len,
	bool keep_old, const struct prr_field_mapping *items, size_t count, struct prr_error *err)
{
	const struct prr_field_mapping *last = &items[count - 1];

	if (!keep_old)
		PRR_TRY(prr_mappings_remove(mappings, from, len, err));
	PRR_TRY(prr_mappings_remove(
		mappings, items->start, last->start + last->len - items->start, err));
	for (size_t i = 0; i < count; i++)
		PRR_TRY(prr_mappings_add(mappings, &items[i], err));
	return PRR_OK;
}

/* Moves all that lies in [from, from+len); the last mapping grows by `growth`. */
static enum prr_status move_all(struct prr_mappings *mappings, uint64_t from, uint64_t len,
	uint64_t to, uint64_t growth, bool keep_old, struct prr_error *err)
{
	size_t first = lower_bound(mappings, from), end = first, noted = 0;
	enum prr_status status = PRR_OK;

	while (end < mappings->count && mappings->items[end].start < from + len)
		end++;
	if (first == end)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL, "mremap of unmapped address 0x%llx",
			(unsigned long long)from);
	size_t count = end - first;
	struct prr_field_mapping *moved = malloc(count * sizeof(*moved));

	if (!moved)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	memcpy(moved, &mappings->items[first], count * sizeof(*moved));
	for (size_t i = 0; i < count; i++)
		moved[i].start += to - from;
	moved[count - 1].len += growth;
	for (; noted < count && status == PRR_OK; noted++)
		status = note(mappings, &moved[noted], err);
	if (status == PRR_OK)
		status = put_all(mappings, from, len, keep_old, moved, count, err);
	for (size_t i = 0; i < noted; i++)
		forget(mappings, &moved[i]);
	free(moved);
	return status;
}

enum prr_status prr_mappings_move(struct prr_mappings *mappings, uint64_t from, uint64_t old_len,
	uint64_t to, uint64_t new_len, bool keep_old, struct prr_error *err)
{
	old_len = prr_page_up(old_len);
	new_len = prr_page_up(new_len);
	PRR_TRY(split_at(mappings, from, err));
	if (old_len == 0) { /* a further mapping of shared memory (mremap(2)) */
		const struct prr_field_mapping *found = prr_mappings_find(mappings, from);

		if (!found)
			return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
				"mremap of unmapped address 0x%llx", (unsigned long long)from);
		struct prr_field_mapping copy = *found;

		copy.start = to;
		copy.len = new_len;
		return prr_mappings_add(mappings, &copy, err);
	}
	PRR_TRY(split_at(mappings, from + old_len, err));
	if (new_len < old_len) {
		PRR_TRY(prr_mappings_remove(mappings, from + new_len, old_len - new_len, err));
		old_len = new_len;
	}
	if (from == to && new_len == old_len)
		return PRR_OK;
	return move_all(mappings, from, old_len, to, new_len - old_len, keep_old, err);
}

/* --------------------------------------------------------------------- fork */

/* What MADV_WIPEONFORK accepts (mm/madvise.c: no file, not shared). */
static bool can_wipe(const struct prr_field_mapping *m)
{
	return m->kind == PRR_MAPPING_ANON || m->kind == PRR_MAPPING_STACK ||
		m->kind == PRR_MAPPING_HEAP;
}

enum prr_status prr_mappings_advise(struct prr_mappings *mappings, uint64_t start, uint64_t len,
	int advice, int64_t result, struct prr_error *err)
{
	uint64_t end = start + prr_page_up(len);
	uint32_t flag = PRR_MAPPING_DONTFORK;

	if (advice == MADV_WIPEONFORK || advice == MADV_KEEPONFORK)
		flag = PRR_MAPPING_WIPEONFORK;
	/* ENOMEM: there are holes, and all else was changed. */
	if ((result != 0 && result != -ENOMEM && result != -EINVAL) || start % PRR_PAGE_SIZE ||
		end <= start)
		return PRR_OK;
	PRR_TRY(split_at(mappings, start, err));
	PRR_TRY(split_at(mappings, end, err));
	for (size_t i = lower_bound(mappings, start);
		i < mappings->count && mappings->items[i].start < end; i++) {
		struct prr_field_mapping *m = &mappings->items[i];

		if (advice == MADV_WIPEONFORK && !can_wipe(m))
			break; /* EINVAL: what came before was changed */
		if (advice == MADV_WIPEONFORK || advice == MADV_DONTFORK)
			m->flags |= flag;
		else
			m->flags &= ~flag;
	}
	return PRR_OK;
}

enum prr_status prr_mappings_fork(
	struct prr_mappings *to, const struct prr_mappings *from, struct prr_error *err)
{
	memset(to, 0, sizeof(*to));
	to->mapped = from->mapped;
	PRR_TRY(reserve(to, from->count, err));
	for (size_t i = 0; i < from->count; i++) {
		if (from->items[i].flags & PRR_MAPPING_DONTFORK)
			continue;
		PRR_TRY(note(to, &from->items[i], err));
		to->items[to->count++] = from->items[i];
	}
	return PRR_OK;
}

const struct prr_field_mapping *prr_mappings_find(
	const struct prr_mappings *mappings, uint64_t addr)
{
	size_t i = lower_bound(mappings, addr);

	if (i == mappings->count || mappings->items[i].start > addr)
		return NULL;
	return &mappings->items[i];
}

const struct prr_field_mapping *prr_mappings_overlap(
	const struct prr_mappings *mappings, uint64_t start, uint64_t len)
{
	size_t i = lower_bound(mappings, start);

	if (i == mappings->count || mappings->items[i].start >= start + len)
		return NULL;
	return &mappings->items[i];
}

uint64_t prr_mappings_hole(const struct prr_mappings *mappings, uint64_t start, uint64_t len)
{
	uint64_t at = start, end = start + len;

	for (size_t i = lower_bound(mappings, start);
		i < mappings->count && at < end && mappings->items[i].start <= at; i++)
		at = mappings->items[i].start + mappings->items[i].len;
	return at < end ? at : end;
}
