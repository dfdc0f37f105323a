/* SPDX-License-Identifier: GPL-2.0-or-later
 * Hashes of an AddressSpace's memory: what recording writes down now and then,
 * and replay compares.
 *
 * Both sides must come to the same hashes although their page tables differ, so
 * it is contents that count: a private page that is all zeros is the same as
 * none. Left out is what may differ without anybody being the wiser (PITFALLS
 * C3): pyrr's own pages and scratch, which the mapping model does not have, and
 * the dead stack below each task's rsp (ld.so's lazy resolver leaves bytes there
 * that depend on the CPU's XINUSE). Read-only memory cannot have changed. */
#ifndef PRR_PAGE_HASH_H
#define PRR_PAGE_HASH_H

#include "mappings.h"
#include "pages.h"

struct prr_page_hashes { /* zero-initialised is empty; sorted by addr */
	struct prr_field_page_hash *items; /* owned */
	size_t count, capacity;
};
void prr_page_hashes_deinit(struct prr_page_hashes *hashes);

/* The memory to look at: all that `mappings` says is writable. */
struct prr_memory_view {
	pid_t tid; /* a stopped task in it */
	const struct prr_mappings *mappings;    /* borrowed */
	const uint64_t *stack_pointers;         /* borrowed; rsp of every task in it */
	size_t stack_pointer_count;
};

/* Hashes the touched pages, at most `limit` of them, in order of address. */
PRR_MUST_USE enum prr_status prr_page_hashes_take(const struct prr_memory_view *view, size_t limit,
	struct prr_page_hashes *ret, struct prr_error *err);
/* How many pages that would be without a limit; hashing takes by far longer. */
PRR_MUST_USE enum prr_status prr_page_hashes_count(
	const struct prr_memory_view *view, size_t *pages, struct prr_error *err);
/* The mapping that holds addr, counting a stack's growth; NULL: none. Borrowed. */
const struct prr_field_mapping *prr_page_hash_mapping(
	const struct prr_memory_view *view, uint64_t addr);
/* Reads a page of 4096 bytes as it is hashed: dead stack as zeros. */
bool prr_page_read(const struct prr_memory_view *view, uint64_t addr, void *page);
/* Hashes the one page at `addr`, touched or not; false: it cannot be read. */
bool prr_page_hash_one(const struct prr_memory_view *view, uint64_t addr, uint64_t *hash);
/* The hash of a page of zeros. */
uint64_t prr_page_hash_of_zeros(void);

#endif
