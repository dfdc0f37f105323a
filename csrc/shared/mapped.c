/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mapped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mappings.h"

void prr_mapped_deinit(struct prr_mapped *mapped)
{
	free(mapped->slots);
	memset(mapped, 0, sizeof(*mapped));
}

static size_t home(const struct prr_mapped *mapped, uint64_t dev, uint64_t ino)
{
	uint64_t hash = (ino ^ dev << 32 ^ dev >> 32) * 0x9e3779b97f4a7c15ull;

	return (size_t)(hash >> 32) & (mapped->capacity - 1);
}

/* The object's slot, or the free one where it belongs. */
static struct prr_mapped_object *slot_of(
	const struct prr_mapped *mapped, uint64_t dev, uint64_t ino)
{
	for (size_t i = home(mapped, dev, ino);; i = (i + 1) & (mapped->capacity - 1)) {
		struct prr_mapped_object *slot = &mapped->slots[i];

		if (slot->count == 0 || (slot->dev == dev && slot->ino == ino))
			return slot;
	}
}

struct prr_mapped_object *prr_mapped_find(
	const struct prr_mapped *mapped, uint64_t dev, uint64_t ino)
{
	if (mapped->count == 0)
		return NULL;
	struct prr_mapped_object *slot = slot_of(mapped, dev, ino);

	return slot->count ? slot : NULL;
}

static enum prr_status grow(struct prr_mapped *mapped, struct prr_error *err)
{
	struct prr_mapped larger = {
		.capacity = mapped->capacity ? 2 * mapped->capacity : 64,
		.count = mapped->count,
		.additions = mapped->additions,
	};

	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL,
			"no memory for a table of %zu mapped objects", larger.capacity);
	for (size_t i = 0; i < mapped->capacity; i++) {
		const struct prr_mapped_object *old = &mapped->slots[i];

		if (old->count)
			*slot_of(&larger, old->dev, old->ino) = *old;
	}
	free(mapped->slots);
	*mapped = larger;
	return PRR_OK;
}

static bool names_object(const struct prr_field_mapping *mapping)
{
	return mapping->dev || mapping->ino;
}

enum prr_status prr_mapped_add(
	struct prr_mapped *mapped, const struct prr_field_mapping *mapping, struct prr_error *err)
{
	if (!names_object(mapping))
		return PRR_OK;
	if (4 * (mapped->count + 1) > 3 * mapped->capacity)
		PRR_TRY(grow(mapped, err));
	struct prr_mapped_object *slot = slot_of(mapped, mapping->dev, mapping->ino);

	if (slot->count == 0) {
		*slot = (struct prr_mapped_object){ .dev = mapping->dev, .ino = mapping->ino };
		mapped->count++;
		mapped->additions++;
	}
	slot->count++;
	if (prr_mapping_changes_object(mapping))
		slot->live = true;
	return PRR_OK;
}

/* Empties a slot; what was pushed further by it moves up. */
static void vacate(struct prr_mapped *mapped, size_t free_slot)
{
	size_t mask = mapped->capacity - 1;

	mapped->count--;
	for (size_t i = (free_slot + 1) & mask; mapped->slots[i].count; i = (i + 1) & mask) {
		size_t wanted = home(mapped, mapped->slots[i].dev, mapped->slots[i].ino);

		if (((i - wanted) & mask) < ((i - free_slot) & mask))
			continue; /* its home lies behind the free slot */
		mapped->slots[free_slot] = mapped->slots[i];
		free_slot = i;
	}
	memset(&mapped->slots[free_slot], 0, sizeof(mapped->slots[free_slot]));
}

void prr_mapped_remove(struct prr_mapped *mapped, const struct prr_field_mapping *mapping)
{
	if (!names_object(mapping) || mapped->count == 0)
		return;
	struct prr_mapped_object *slot = slot_of(mapped, mapping->dev, mapping->ino);

	if (slot->count && --slot->count == 0)
		vacate(mapped, (size_t)(slot - mapped->slots));
}
