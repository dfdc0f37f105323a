/* sources: shared/page*.c shared/mapp*.c shared/mem.c shared/error.c */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * Page hashes, taken of this very process. */
#define _GNU_SOURCE
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layout.h"
#include "page_hash.h"

#define PAGES 64

static struct prr_error err;

static void ok(enum prr_status status)
{
	if (status == PRR_OK)
		return;
	fprintf(stderr, "failed: %s\n", err.message);
	exit(1);
}

static uint8_t *map(size_t pages, int flags)
{
	void *at = mmap(
		NULL, pages * PRR_PAGE_SIZE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	assert(at != MAP_FAILED);
	return at;
}

/* A model with the one mapping, as mmap(2) would be recorded. */
static struct prr_mappings model_of(const uint8_t *at, size_t pages, uint32_t kind, uint32_t flags)
{
	struct prr_mappings mappings = { 0 };
	struct prr_field_mapping m = {
		.start = (uint64_t)(uintptr_t)at,
		.len = pages * PRR_PAGE_SIZE,
		.prot = PROT_READ | PROT_WRITE,
		.flags = flags,
		.kind = kind,
	};

	ok(prr_mappings_add(&mappings, &m, &err));
	return mappings;
}

static struct prr_page_hashes take(const struct prr_mappings *mappings, uint64_t sp, size_t limit)
{
	struct prr_page_hashes hashes = { 0 };
	struct prr_memory_view view = { getpid(), mappings, &sp, 1 };

	ok(prr_page_hashes_take(&view, limit, &hashes, &err));
	return hashes;
}

static uint64_t one(const struct prr_mappings *mappings, uint64_t sp, const uint8_t *at)
{
	struct prr_memory_view view = { getpid(), mappings, &sp, 1 };
	uint64_t hash = 0;

	assert(prr_page_hash_one(&view, (uint64_t)(uintptr_t)at, &hash));
	return hash;
}

/* Computed by tests/unit/test_page_hash.py's independent implementation. */
static void known_values(void)
{
	uint8_t page[PRR_PAGE_SIZE] = { 0 };

	assert(prr_page_hash_of_zeros() == prr_page_hash(page));
	assert(prr_page_hash(page) == 0x437adfabb00e39a7ull);
	for (size_t i = 0; i < sizeof(page); i++)
		page[i] = (uint8_t)(i * 7 + i / 256);
	assert(prr_page_hash(page) == 0x2098fa39115cddacull);
}

static void every_bit_counts(void)
{
	uint8_t page[PRR_PAGE_SIZE] = { 0 };
	uint64_t base = prr_page_hash(page);

	for (size_t i = 0; i < sizeof(page); i++) {
		page[i] = (uint8_t)(1u << i % 8);
		assert(prr_page_hash(page) != base);
		page[i] = 0;
	}
}

static void touched_pages_only(void)
{
	uint8_t *at = map(PAGES, MAP_PRIVATE);
	struct prr_mappings mappings = model_of(at, PAGES, PRR_MAPPING_ANON, MAP_PRIVATE);

	at[3 * PRR_PAGE_SIZE + 5] = 1;
	at[4 * PRR_PAGE_SIZE] = 2;
	at[9 * PRR_PAGE_SIZE] = 0; /* touched, and zeros */
	assert(*(volatile uint8_t *)&at[12 * PRR_PAGE_SIZE] == 0); /* the zero page */
	at[63 * PRR_PAGE_SIZE + 4095] = 3;
	struct prr_page_hashes hashes = take(&mappings, 0, SIZE_MAX);

	assert(hashes.count == 3);
	assert(hashes.items[0].addr == (uint64_t)(uintptr_t)at + 3 * PRR_PAGE_SIZE);
	assert(hashes.items[1].addr == (uint64_t)(uintptr_t)at + 4 * PRR_PAGE_SIZE);
	assert(hashes.items[2].addr == (uint64_t)(uintptr_t)at + 63 * PRR_PAGE_SIZE);
	assert(hashes.items[0].hash == prr_page_hash(at + 3 * PRR_PAGE_SIZE));
	assert(hashes.items[0].hash == one(&mappings, 0, at + 3 * PRR_PAGE_SIZE));
	assert(one(&mappings, 0, at + 20 * PRR_PAGE_SIZE) == prr_page_hash_of_zeros());
	prr_page_hashes_deinit(&hashes);
	hashes = take(&mappings, 0, 2);
	assert(hashes.count == 2);
	prr_page_hashes_deinit(&hashes);
	prr_mappings_deinit(&mappings);
	munmap(at, PAGES * PRR_PAGE_SIZE);
}

/* The fallback for kernels without PAGEMAP_SCAN finds the same pages. */
static void both_ways_agree(void)
{
	uint8_t *at = map(PAGES, MAP_PRIVATE);
	uint64_t start = (uint64_t)(uintptr_t)at, end = start + PAGES * PRR_PAGE_SIZE;
	bool expected[PAGES] = { false };

	for (size_t i = 0; i < PAGES; i += 1 + i % 3) {
		at[i * PRR_PAGE_SIZE] = 1;
		expected[i] = true;
	}
	for (size_t room = 1; room < 32; room += 3) {
		for (int no_scan = 0; no_scan < 2; no_scan++) {
			bool found[PAGES] = { false };
			struct prr_pagemap pagemap;
			struct prr_page_run runs[32];
			uint64_t next = start;

			ok(prr_pagemap_open(&pagemap, getpid(), &err));
			pagemap.no_scan = no_scan;
			while (next < end) {
				size_t count;

				ok(prr_pagemap_touched(&pagemap, next, end, false, runs, room,
					&count, &next, &err));
				for (size_t i = 0; i < count; i++)
					for (uint64_t p = runs[i].start; p < runs[i].end;
						p += PRR_PAGE_SIZE)
						found[(p - start) / PRR_PAGE_SIZE] = true;
			}
			prr_pagemap_close(&pagemap);
			assert(memcmp(expected, found, sizeof(found)) == 0);
		}
	}
	munmap(at, PAGES * PRR_PAGE_SIZE);
}

static void dead_stack_is_left_out(void)
{
	uint8_t *at = map(PAGES, MAP_PRIVATE);
	struct prr_mappings mappings =
		model_of(at, PAGES, PRR_MAPPING_ANON, MAP_PRIVATE | MAP_STACK);
	uint64_t start = (uint64_t)(uintptr_t)at;
	uint64_t sp = start + 10 * PRR_PAGE_SIZE + 2000;

	memset(at, 1, PAGES * PRR_PAGE_SIZE);
	struct prr_page_hashes before = take(&mappings, sp, SIZE_MAX);

	assert(before.count == PAGES - 10);
	assert(before.items[0].addr == start + 10 * PRR_PAGE_SIZE);
	assert(before.items[0].hash == one(&mappings, sp, at + 10 * PRR_PAGE_SIZE));
	memset(at, 2, 10 * PRR_PAGE_SIZE + 2000 - 128); /* dead */
	struct prr_page_hashes after = take(&mappings, sp, SIZE_MAX);

	assert(after.count == before.count);
	assert(memcmp(after.items, before.items, after.count * sizeof(*after.items)) == 0);
	prr_page_hashes_deinit(&after);
	at[10 * PRR_PAGE_SIZE + 2000 - 128] = 2; /* the red zone lives */
	after = take(&mappings, sp, SIZE_MAX);
	assert(after.items[0].hash != before.items[0].hash);
	prr_page_hashes_deinit(&after);
	prr_page_hashes_deinit(&before);
	after = take(&mappings, 0, SIZE_MAX); /* nobody is on it */
	assert(after.count == 0);
	prr_page_hashes_deinit(&after);
	prr_mappings_deinit(&mappings);
	munmap(at, PAGES * PRR_PAGE_SIZE);
}

/* A stack that grew below what the model says. */
static void grown_stack(void)
{
	uint8_t *at = map(PAGES, MAP_PRIVATE);
	struct prr_mappings mappings = model_of(at + 32 * PRR_PAGE_SIZE, 32, PRR_MAPPING_STACK, 0);
	uint64_t sp = (uint64_t)(uintptr_t)at + 20 * PRR_PAGE_SIZE + 200;

	memset(at, 1, PAGES * PRR_PAGE_SIZE);
	struct prr_page_hashes hashes = take(&mappings, sp, SIZE_MAX);

	assert(hashes.count == 44);
	assert(hashes.items[0].hash == one(&mappings, sp, at + 20 * PRR_PAGE_SIZE));
	assert(hashes.items[0].hash != hashes.items[1].hash);
	prr_page_hashes_deinit(&hashes);
	prr_mappings_deinit(&mappings);
	munmap(at, PAGES * PRR_PAGE_SIZE);
}

static void shared_objects_once(void)
{
	uint8_t *at = map(4, MAP_SHARED);
	struct prr_mappings mappings = model_of(at, 4, PRR_MAPPING_ANON_SHARED, MAP_SHARED);

	at[PRR_PAGE_SIZE] = 1;
	mappings.items[0].dev = 1;
	mappings.items[0].ino = 2;
	void *again = mremap(at, 0, 4 * PRR_PAGE_SIZE, MREMAP_MAYMOVE);

	assert(again != MAP_FAILED);
	struct prr_field_mapping m = mappings.items[0];

	m.start = (uint64_t)(uintptr_t)again;
	ok(prr_mappings_add(&mappings, &m, &err));
	assert(*((volatile uint8_t *)again + PRR_PAGE_SIZE) == 1);
	struct prr_page_hashes hashes = take(&mappings, 0, SIZE_MAX);

	assert(hashes.count == 1);
	prr_page_hashes_deinit(&hashes);
	prr_mappings_deinit(&mappings);
	munmap(at, 4 * PRR_PAGE_SIZE);
	munmap(again, 4 * PRR_PAGE_SIZE);
}

int main(void)
{
	prr_error_init(&err);
	known_values();
	every_bit_counts();
	touched_pages_only();
	both_ways_agree();
	dead_stack_is_left_out();
	grown_stack();
	shared_objects_once();
	prr_error_deinit(&err);
	return 0;
}
