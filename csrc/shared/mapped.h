/* SPDX-License-Identifier: GPL-2.0-or-later
 * Which objects (files, memfds, shared memory segments) are mapped, over all
 * AddressSpaces of a session: prr_mappings keeps the counts.
 *
 * An object is *live* when its contents may no longer be those of a store entry:
 * it is mapped shared, not for reading only, or was changed by a syscall while
 * mapped otherwise. It stays so until nobody maps it. Recorder and replayer agree on that, event by
 * event: the recorder stores no contents of a live object anew, replay holds
 * them in a memfd.
 *
 * Invariant: an object is in the table if and only if a mapping names it. */
#ifndef PRR_MAPPED_H
#define PRR_MAPPED_H

#include "pyrr_core.h"

struct prr_mapped_object {
	uint64_t dev, ino;
	size_t count; /* mappings; 0: a free slot */
	bool live;
};

struct prr_mapped { /* zero-initialised is empty */
	struct prr_mapped_object *slots; /* owned; open addressing */
	size_t capacity, count;          /* capacity: 0 or a power of two */
	uint64_t additions;              /* objects that ever came in */
};

void prr_mapped_deinit(struct prr_mapped *mapped);
/* NULL: nobody maps it. Borrowed until the next change. */
struct prr_mapped_object *prr_mapped_find(
	const struct prr_mapped *mapped, uint64_t dev, uint64_t ino);
/* A mapping that names an object came (also by a split) or went. */
PRR_MUST_USE enum prr_status prr_mapped_add(
	struct prr_mapped *mapped, const struct prr_field_mapping *mapping, struct prr_error *err);
void prr_mapped_remove(struct prr_mapped *mapped, const struct prr_field_mapping *mapping);

#endif
