/* SPDX-License-Identifier: GPL-2.0-or-later
 * The model of an AddressSpace: which Mapping lies where, and what stands
 * behind it. Kept in step with the tracee at each memory syscall, so that no
 * decision has to parse /proc/PID/maps on a hot path.
 *
 * Invariant: items are sorted by start, do not overlap, and cover whole pages. */
#ifndef PRR_MAPPINGS_H
#define PRR_MAPPINGS_H

#include "mapped.h"
#include "pyrr_core.h"

/* Flags of mappings beside MAP_*, in the place of MAP_HUGE_*, which none has.
 * A shared mapping made by a descriptor for reading only: it cannot change the
 * object, nor ever be made writable (mprotect(2)). */
#define PRR_MAPPING_READ_ONLY (1u << 29)
/* Of models only: what fork does with it (madvise(2)). */
#define PRR_MAPPING_DONTFORK (1u << 30)
#define PRR_MAPPING_WIPEONFORK (1u << 31)
/* Set in the dev of System V segments: memfds, which live on the same unnamed
 * device, may have their numbers. */
#define PRR_DEV_SYSV (1ull << 63)
/* The MAP_* flags that a mapping may have, and all flags that a trace may have. */
#define PRR_MAPPING_MAP_FLAGS ((1u << 26) - 1)
#define PRR_MAPPING_TRACE_FLAGS (PRR_MAPPING_MAP_FLAGS | PRR_MAPPING_READ_ONLY)

struct prr_mappings {
	struct prr_field_mapping *items; /* owned */
	size_t count, capacity;
	/* Number of writable MAP_SHARED mappings: what is written there others see. */
	size_t shared_count;
	struct prr_mapped *mapped; /* borrowed; the session's counts; may be NULL */
};

void prr_mappings_deinit(struct prr_mappings *mappings);
/* What a fork's child has: all but the PRR_MAPPING_DONTFORK ones. */
PRR_MUST_USE enum prr_status prr_mappings_fork(
	struct prr_mappings *to, const struct prr_mappings *from, struct prr_error *err);
/* Replaces whatever lay in the new mapping's range. */
PRR_MUST_USE enum prr_status prr_mappings_add(struct prr_mappings *mappings,
	const struct prr_field_mapping *mapping, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_mappings_remove(
	struct prr_mappings *mappings, uint64_t start, uint64_t len, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_mappings_protect(struct prr_mappings *mappings, uint64_t start,
	uint64_t len, uint32_t prot, struct prr_error *err);
/* madvise(MADV_DONTFORK, _DOFORK, _WIPEONFORK, _KEEPONFORK) with this result, which
 * may have changed a part. */
PRR_MUST_USE enum prr_status prr_mappings_advise(struct prr_mappings *mappings, uint64_t start,
	uint64_t len, int advice, int64_t result, struct prr_error *err);
/* mremap: what lay at [from, from+old_len) now lies at [to, to+new_len). With
 * keep_old (MREMAP_DONTUNMAP) the old range stays, empty. */
PRR_MUST_USE enum prr_status prr_mappings_move(struct prr_mappings *mappings, uint64_t from,
	uint64_t old_len, uint64_t to, uint64_t new_len, bool keep_old, struct prr_error *err);
/* The mapping that holds addr, or NULL. Borrowed until the next change. */
const struct prr_field_mapping *prr_mappings_find(
	const struct prr_mappings *mappings, uint64_t addr);
/* The first address in [start, start+len) that nothing is mapped at, else its end. */
uint64_t prr_mappings_hole(const struct prr_mappings *mappings, uint64_t start, uint64_t len);
/* The first mapping that overlaps [start, start+len), or NULL. */
const struct prr_field_mapping *prr_mappings_overlap(
	const struct prr_mappings *mappings, uint64_t start, uint64_t len);
static inline bool prr_mapping_is_shared(const struct prr_field_mapping *mapping)
{
	return mapping->kind == PRR_MAPPING_FILE_SHARED || mapping->kind == PRR_MAPPING_ANON_SHARED;
}

/* Can stores through it change the object? */
static inline bool prr_mapping_changes_object(const struct prr_field_mapping *mapping)
{
	return prr_mapping_is_shared(mapping) && !(mapping->flags & PRR_MAPPING_READ_ONLY);
}

/* One line of /proc/PID/maps. */
struct prr_maps_line {
	uint64_t start, end, offset, ino, dev;
	uint32_t prot;   /* PROT_* */
	bool shared;
	const char *path; /* borrowed; "" for none */
};
/* Calls `each` for every line. A nonzero return of `each` stops the walk and is
 * returned as PRR_ERR_* status. */
PRR_MUST_USE enum prr_status prr_maps_each(int tid,
	enum prr_status (*each)(
		void *context, const struct prr_maps_line *line, struct prr_error *err),
	void *context, struct prr_error *err);

#endif
