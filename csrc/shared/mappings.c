/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mappings.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "layout.h"

void prr_mappings_deinit(struct prr_mappings *mappings)
{
	free(mappings->items);
	memset(mappings, 0, sizeof(*mappings));
}

static enum prr_status reserve(struct prr_mappings *mappings, size_t count,
	struct prr_error *err)
{
	if (count <= mappings->capacity)
		return PRR_OK;
	size_t capacity = mappings->capacity ? mappings->capacity : 64;
	while (capacity < count)
		capacity *= 2;
	struct prr_field_mapping *items =
		reallocarray(mappings->items, capacity, sizeof(*items));
	if (!items)
		return prr_fail(err, PRR_ERR_SYSTEM, 12, NULL, "no memory for %zu mappings",
			capacity);
	mappings->items = items;
	mappings->capacity = capacity;
	return PRR_OK;
}

enum prr_status prr_mappings_copy(struct prr_mappings *to, const struct prr_mappings *from,
	struct prr_error *err)
{
	memset(to, 0, sizeof(*to));
	PRR_TRY(reserve(to, from->count, err));
	if (from->count)
		memcpy(to->items, from->items, from->count * sizeof(*from->items));
	to->count = from->count;
	to->shared_count = from->shared_count;
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

static void note_shared(struct prr_mappings *mappings, const struct prr_field_mapping *m,
	int change)
{
	if (prr_mapping_is_shared(m))
		mappings->shared_count += (size_t)change;
}

static enum prr_status insert_at(struct prr_mappings *mappings, size_t i,
	const struct prr_field_mapping *mapping, struct prr_error *err)
{
	PRR_TRY(reserve(mappings, mappings->count + 1, err));
	memmove(&mappings->items[i + 1], &mappings->items[i],
		(mappings->count - i) * sizeof(*mappings->items));
	mappings->items[i] = *mapping;
	mappings->count++;
	note_shared(mappings, mapping, 1);
	return PRR_OK;
}

static bool has_offset(const struct prr_field_mapping *m)
{
	return m->kind == PRR_MAPPING_FILE_PRIVATE || m->kind == PRR_MAPPING_FILE_SHARED ||
		m->kind == PRR_MAPPING_ANON_SHARED;
}

/* Makes `addr` a border: a mapping that spans it is split in two. */
static enum prr_status split_at(struct prr_mappings *mappings, uint64_t addr,
	struct prr_error *err)
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
	return insert_at(mappings, i + 1, &upper, err);
}

enum prr_status prr_mappings_remove(struct prr_mappings *mappings, uint64_t start,
	uint64_t len, struct prr_error *err)
{
	uint64_t end = start + prr_page_up(len);

	PRR_TRY(split_at(mappings, start, err));
	PRR_TRY(split_at(mappings, end, err));
	size_t first = lower_bound(mappings, start), last = first;

	while (last < mappings->count && mappings->items[last].start < end) {
		note_shared(mappings, &mappings->items[last], -1);
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
	PRR_TRY(prr_mappings_remove(mappings, added.start, added.len, err));
	return insert_at(mappings, lower_bound(mappings, added.start), &added, err);
}

enum prr_status prr_mappings_protect(struct prr_mappings *mappings, uint64_t start,
	uint64_t len, uint32_t prot, struct prr_error *err)
{
	uint64_t end = start + prr_page_up(len);

	PRR_TRY(split_at(mappings, start, err));
	PRR_TRY(split_at(mappings, end, err));
	for (size_t i = lower_bound(mappings, start);
		i < mappings->count && mappings->items[i].start < end; i++)
		mappings->items[i].prot = prot;
	return PRR_OK;
}

enum prr_status prr_mappings_move(struct prr_mappings *mappings, uint64_t from,
	uint64_t old_len, uint64_t to, uint64_t new_len, bool keep_old, struct prr_error *err)
{
	old_len = prr_page_up(old_len);
	new_len = prr_page_up(new_len);
	PRR_TRY(split_at(mappings, from, err));
	const struct prr_field_mapping *found = prr_mappings_find(mappings, from);

	if (!found)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"mremap of unmapped address 0x%llx", (unsigned long long)from);
	struct prr_field_mapping moved = *found;

	moved.start = to;
	moved.len = new_len;
	/* old_len 0 duplicates a shared mapping (mremap(2)); the old one stays. */
	if (old_len && !keep_old)
		PRR_TRY(prr_mappings_remove(mappings, from, old_len, err));
	return prr_mappings_add(mappings, &moved, err);
}

const struct prr_field_mapping *prr_mappings_find(const struct prr_mappings *mappings,
	uint64_t addr)
{
	size_t i = lower_bound(mappings, addr);

	if (i == mappings->count || mappings->items[i].start > addr)
		return NULL;
	return &mappings->items[i];
}

const struct prr_field_mapping *prr_mappings_overlap(const struct prr_mappings *mappings,
	uint64_t start, uint64_t len)
{
	size_t i = lower_bound(mappings, start);

	if (i == mappings->count || mappings->items[i].start >= start + len)
		return NULL;
	return &mappings->items[i];
}
