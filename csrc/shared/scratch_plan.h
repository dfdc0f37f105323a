/* SPDX-License-Identifier: GPL-2.0-or-later
 * What scratch.c and scratch_finish.c share; nobody else includes this. */
#ifndef PRR_SCRATCH_PLAN_H
#define PRR_SCRATCH_PLAN_H

#include "outputs_walk.h"

struct piece {
	uint64_t target, place, len;
	uint64_t key;
	uint8_t arg;
	bool filled; /* from the target: giving back all of it is harmless */
};

/* A place as it was when the call began. */
struct image {
	uint64_t target, place, len;
	uint8_t *bytes; /* owned */
};

struct prr_scratch_plan {
	size_t count, capacity;
	struct piece *pieces; /* owned */
	size_t cursor;        /* the last one found: the walk goes in their order */
	size_t image_count, image_capacity;
	struct image *images; /* owned; careful */
	uint64_t image_bytes;
	bool careful;

	/* What finish gave back, if it was one small piece. */
	size_t given;
	uint64_t moved;
	struct prr_range kept;
	uint8_t *kept_bytes; /* owned */
};

#endif
