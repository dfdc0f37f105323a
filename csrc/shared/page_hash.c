/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page_hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "layout.h"
#include "mem.h"

/* Pages copied at once: they stay in the L2 cache until they are hashed. */
enum { PAGES_AT_ONCE = 32, RUNS_AT_ONCE = 64 };

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
 * one word never collide. Eight lanes, in registers, keep the multiplier busy. */
uint64_t prr_page_hash(const void *page)
{
	const uint8_t *bytes = page;
	uint64_t a = 1 * MULTIPLIER, b = 2 * MULTIPLIER, c = 3 * MULTIPLIER, d = 4 * MULTIPLIER;
	uint64_t e = 5 * MULTIPLIER, f = 6 * MULTIPLIER, g = 7 * MULTIPLIER, h = 8 * MULTIPLIER;
	uint64_t hash = 0;

	for (const uint8_t *at = bytes; at < bytes + PRR_PAGE_SIZE; at += 64) {
		uint64_t words[8];

		memcpy(words, at, sizeof(words));
		a = mix(a, words[0]);
		b = mix(b, words[1]);
		c = mix(c, words[2]);
		d = mix(d, words[3]);
		e = mix(e, words[4]);
		f = mix(f, words[5]);
		g = mix(g, words[6]);
		h = mix(h, words[7]);
	}
	hash = mix(mix(mix(mix(hash, a), b), c), d);
	hash = mix(mix(mix(mix(hash, e), f), g), h);
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
static uint64_t live_from(
	const struct prr_memory_view *view, const struct prr_field_mapping *m, uint64_t start)
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
	struct prr_page_hashes *hashes; /* NULL: only count */
	size_t limit; /* pages that may still be hashed */
	size_t counted;
	uint64_t zeros;
	uint8_t *pages; /* owned; PAGES_AT_ONCE of them */
};

static enum prr_status add(
	struct prr_page_hashes *hashes, uint64_t addr, uint64_t hash, struct prr_error *err)
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
		size_t want =
			left < PAGES_AT_ONCE * PRR_PAGE_SIZE ? left : PAGES_AT_ONCE * PRR_PAGE_SIZE;
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
static bool is_shown_before(const struct prr_mappings *mappings, const struct prr_field_mapping *m)
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

/* Calls take_run for the touched and live pages of a mapping, or counts them. */
static enum prr_status take_mapping(
	struct taking *taking, const struct prr_field_mapping *m, struct prr_error *err)
{
	struct prr_page_run runs[RUNS_AT_ONCE];
	uint64_t at = grown_start(taking->view, m), end = m->start + m->len;
	size_t count;

	if (is_stack(m))
		at = prr_page_down(live_from(taking->view, m, at));
	while (at < end && taking->limit) {
		PRR_TRY(prr_pagemap_touched(&taking->pagemap, at, end, prr_mapping_is_shared(m),
			runs, RUNS_AT_ONCE, &count, &at, err));
		for (size_t i = 0; i < count; i++) {
			taking->counted += (runs[i].end - runs[i].start) / PRR_PAGE_SIZE;
			if (taking->hashes)
				PRR_TRY(take_run(taking, m, runs[i], err));
		}
	}
	return PRR_OK;
}

static enum prr_status take_all(struct taking *taking, struct prr_error *err)
{
	const struct prr_mappings *mappings = taking->view->mappings;
	enum prr_status status = prr_pagemap_open(&taking->pagemap, taking->view->tid, err);

	for (size_t i = 0; i < mappings->count && status == PRR_OK && taking->limit; i++) {
		const struct prr_field_mapping *m = &mappings->items[i];

		if ((m->prot & PROT_WRITE) && !is_shown_before(mappings, m))
			status = take_mapping(taking, m, err);
	}
	prr_pagemap_close(&taking->pagemap);
	return status;
}

enum prr_status prr_page_hashes_take(const struct prr_memory_view *view, size_t limit,
	struct prr_page_hashes *ret, struct prr_error *err)
{
	struct taking taking = { .view = view, .hashes = ret, .limit = limit };

	ret->count = 0;
	taking.zeros = prr_page_hash_of_zeros();
	taking.pages = malloc(PAGES_AT_ONCE * PRR_PAGE_SIZE);
	if (!taking.pages)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory to hash pages");
	enum prr_status status = take_all(&taking, err);

	free(taking.pages);
	return status;
}

enum prr_status prr_page_hashes_count(
	const struct prr_memory_view *view, size_t *pages, struct prr_error *err)
{
	struct taking taking = { .view = view, .limit = SIZE_MAX };
	enum prr_status status = take_all(&taking, err);

	*pages = taking.counted;
	return status;
}

const struct prr_field_mapping *prr_page_hash_mapping(
	const struct prr_memory_view *view, uint64_t addr)
{
	for (size_t i = 0; i < view->mappings->count; i++) {
		const struct prr_field_mapping *m = &view->mappings->items[i];

		if (addr < m->start + m->len)
			return addr >= grown_start(view, m) ? m : NULL;
	}
	return NULL;
}

bool prr_page_read(const struct prr_memory_view *view, uint64_t addr, void *page)
{
	const struct prr_field_mapping *m = prr_page_hash_mapping(view, addr);

	if (!prr_mem_read(view->tid, prr_remote(addr), page, PRR_PAGE_SIZE))
		return false;
	if (m)
		clear_dead(view, m, addr, page);
	return true;
}

bool prr_page_hash_one(const struct prr_memory_view *view, uint64_t addr, uint64_t *hash)
{
	uint8_t page[PRR_PAGE_SIZE];

	if (!prr_page_read(view, addr, page))
		return false;
	*hash = prr_page_hash(page);
	return true;
}
