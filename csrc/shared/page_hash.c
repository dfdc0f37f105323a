/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page_hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "layout.h"
#include "mem.h"

enum { LANES = 8,
	WORDS = PRR_PAGE_SIZE / sizeof(uint64_t),
	/* Copied at once: small enough to stay in the L2 cache until it is hashed. */
	PAGES_AT_ONCE = 32,
	RUNS_AT_ONCE = 64 };

#define MULTIPLIER 0x9e3779b97f4a7c15ull
#define ROTATION 27
/* The System V ABI lets functions use that much below rsp. */
#define RED_ZONE 128
/* A stack inside of other memory (coroutines, Go, an alternate signal stack):
 * how much below rsp may be dead. */
#define SMALL_STACK (256ull << 10)

void prr_page_hashes_deinit(struct prr_page_hashes *hashes)
{
	free(hashes->items);
	memset(hashes, 0, sizeof(*hashes));
}

/* ---------------------------------------------------------------- the hash */

static inline uint64_t mix(uint64_t state, uint64_t word)
{
	uint64_t x = state ^ word;

	return (x << ROTATION | x >> (64 - ROTATION)) * MULTIPLIER;
}

/* Each step is one-to-one in the word and in the state, so pages that differ in
 * one word never collide. Eight lanes keep the multiplier busy. */
uint64_t prr_page_hash(const void *page)
{
	const uint8_t *bytes = page;
	uint64_t lanes[LANES], hash = 0;

	for (unsigned i = 0; i < LANES; i++)
		lanes[i] = (i + 1) * MULTIPLIER;
	for (unsigned at = 0; at < WORDS; at += LANES) {
		uint64_t words[LANES];

		memcpy(words, bytes + at * sizeof(uint64_t), sizeof(words));
		for (unsigned i = 0; i < LANES; i++)
			lanes[i] = mix(lanes[i], words[i]);
	}
	for (unsigned i = 0; i < LANES; i++)
		hash = mix(hash, lanes[i]);
	hash ^= hash >> 32;
	hash *= MULTIPLIER;
	return hash ^ hash >> 29;
}

uint64_t prr_page_hash_of_zeros(void)
{
	static const uint8_t zeros[PRR_PAGE_SIZE];

	return prr_page_hash(zeros);
}

/* -------------------------------------------------------------- dead stack */

static bool is_stack(const struct prr_field_mapping *m)
{
	return m->kind == PRR_MAPPING_STACK ||
		(!prr_mapping_is_shared(m) && (m->flags & (MAP_STACK | MAP_GROWSDOWN)));
}

/* Stacks grow by faults, of which the model is not told: its lowest address may
 * have moved down, as far as the mapping below. */
static uint64_t grown_start(const struct prr_memory_view *view, const struct prr_field_mapping *m)
{
	const struct prr_mappings *all = view->mappings;
	uint64_t lowest = m->start, floor = 0;

	if (m->kind != PRR_MAPPING_STACK && !(m->flags & MAP_GROWSDOWN))
		return lowest;
	if (m != all->items)
		floor = m[-1].start + m[-1].len;
	for (size_t i = 0; i < view->stack_pointer_count; i++) {
		uint64_t page = prr_page_down(view->stack_pointers[i] - RED_ZONE);

		if (page >= floor && page < lowest)
			lowest = page;
	}
	return lowest;
}

/* The first live address of a stack; its end when no task is on it. */
static uint64_t live_from(const struct prr_memory_view *view, const struct prr_field_mapping *m,
	uint64_t start)
{
	uint64_t end = m->start + m->len, lowest = end;

	for (size_t i = 0; i < view->stack_pointer_count; i++) {
		uint64_t sp = view->stack_pointers[i];

		if (sp > start && sp <= end && sp - RED_ZONE < lowest)
			lowest = sp - RED_ZONE;
	}
	return lowest < start ? start : lowest;
}

static void clear(uint8_t *page, uint64_t addr, uint64_t from, uint64_t to)
{
	if (from < addr)
		from = addr;
	if (to > addr + PRR_PAGE_SIZE)
		to = addr + PRR_PAGE_SIZE;
	if (from < to)
		memset(page + (from - addr), 0, to - from);
}

/* Zeros what is dead in a copy of the page at addr. */
static void clear_dead(const struct prr_memory_view *view, const struct prr_field_mapping *m,
	uint64_t addr, uint8_t *page)
{
	if (is_stack(m)) {
		clear(page, addr, 0, live_from(view, m, grown_start(view, m)));
		return;
	}
	for (size_t i = 0; i < view->stack_pointer_count; i++) {
		uint64_t sp = view->stack_pointers[i];

		if (sp > m->start && sp <= m->start + m->len)
			clear(page, addr, sp > SMALL_STACK ? sp - SMALL_STACK : 0, sp - RED_ZONE);
	}
}

/* ------------------------------------------------------------------ taking */

struct taking {
	const struct prr_memory_view *view;
	struct prr_pagemap pagemap;
	struct prr_page_hashes *hashes;
	size_t limit; /* pages that may still be hashed */
	uint64_t zeros;
	uint8_t pages[PAGES_AT_ONCE * PRR_PAGE_SIZE];
};

static enum prr_status add(struct prr_page_hashes *hashes, uint64_t addr, uint64_t hash,
	struct prr_error *err)
{
	if (hashes->count == hashes->capacity) {
		size_t capacity = hashes->capacity ? 2 * hashes->capacity : 256;
		struct prr_field_page_hash *grown =
			reallocarray(hashes->items, capacity, sizeof(*grown));

		if (!grown)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL,
				"no memory for the hashes of %zu pages", capacity);
		hashes->items = grown;
		hashes->capacity = capacity;
	}
	hashes->items[hashes->count++] = (struct prr_field_page_hash){ addr, hash };
	return PRR_OK;
}

static enum prr_status take_run(struct taking *taking, const struct prr_field_mapping *m,
	struct prr_page_run run, struct prr_error *err)
{
	while (run.start < run.end && taking->limit) {
		uint64_t left = run.end - run.start;
		size_t want = left < sizeof(taking->pages) ? left : sizeof(taking->pages);
		size_t pages = prr_mem_read_some(taking->view->tid, prr_remote(run.start),
				       taking->pages, want) /
			PRR_PAGE_SIZE;

		for (size_t i = 0; i < pages && taking->limit; i++) {
			uint64_t addr = run.start + i * PRR_PAGE_SIZE;
			uint8_t *page = taking->pages + i * PRR_PAGE_SIZE;

			clear_dead(taking->view, m, addr, page);
			uint64_t hash = prr_page_hash(page);

			taking->limit--;
			if (hash != taking->zeros)
				PRR_TRY(add(taking->hashes, addr, hash, err));
		}
		/* A page that cannot be read (beyond a file's end) is passed over. */
		run.start += (pages < want / PRR_PAGE_SIZE ? pages + 1 : pages) * PRR_PAGE_SIZE;
	}
	return PRR_OK;
}

/* Is the object behind `m` one that an earlier mapping shows as well? */
static bool is_shown_before(const struct prr_mappings *mappings,
	const struct prr_field_mapping *m)
{
	if (!prr_mapping_is_shared(m) || m->ino == 0)
		return false;
	for (const struct prr_field_mapping *o = mappings->items; o != m; o++)
		if (o->dev == m->dev && o->ino == m->ino && prr_mapping_is_shared(o) &&
			(o->prot & PROT_WRITE) && o->offset <= m->offset &&
			o->offset + o->len >= m->offset + m->len)
			return true;
	return false;
}

static enum prr_status take_mapping(struct taking *taking, const struct prr_field_mapping *m,
	struct prr_error *err)
{
	struct prr_page_run runs[RUNS_AT_ONCE];
	uint64_t at = grown_start(taking->view, m), end = m->start + m->len;
	size_t count;

	if (is_stack(m))
		at = prr_page_down(live_from(taking->view, m, at));
	while (at < end && taking->limit) {
		PRR_TRY(prr_pagemap_touched(&taking->pagemap, at, end, prr_mapping_is_shared(m),
			runs, RUNS_AT_ONCE, &count, &at, err));
		for (size_t i = 0; i < count; i++)
			PRR_TRY(take_run(taking, m, runs[i], err));
	}
	return PRR_OK;
}

enum prr_status prr_page_hashes_take(const struct prr_memory_view *view, size_t limit,
	struct prr_page_hashes *ret, struct prr_error *err)
{
	struct taking *taking = malloc(sizeof(*taking));
	enum prr_status status;

	if (!taking)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory to hash pages");
	ret->count = 0;
	taking->view = view;
	taking->hashes = ret;
	taking->limit = limit;
	taking->zeros = prr_page_hash_of_zeros();
	status = prr_pagemap_open(&taking->pagemap, view->tid, err);
	for (size_t i = 0; i < view->mappings->count && status == PRR_OK && taking->limit; i++) {
		const struct prr_field_mapping *m = &view->mappings->items[i];

		if ((m->prot & PROT_WRITE) && !is_shown_before(view->mappings, m))
			status = take_mapping(taking, m, err);
	}
	prr_pagemap_close(&taking->pagemap);
	free(taking);
	return status;
}

const struct prr_field_mapping *prr_page_hash_mapping(const struct prr_memory_view *view,
	uint64_t addr)
{
	for (size_t i = 0; i < view->mappings->count; i++) {
		const struct prr_field_mapping *m = &view->mappings->items[i];

		if (addr < m->start + m->len)
			return addr >= grown_start(view, m) ? m : NULL;
	}
	return NULL;
}

bool prr_page_hash_one(const struct prr_memory_view *view, uint64_t addr, uint64_t *hash)
{
	const struct prr_field_mapping *m = prr_page_hash_mapping(view, addr);
	uint8_t page[PRR_PAGE_SIZE];

	if (!prr_mem_read(view->tid, prr_remote(addr), page, sizeof(page)))
		return false;
	if (m)
		clear_dead(view, m, addr, page);
	*hash = prr_page_hash(page);
	return true;
}
