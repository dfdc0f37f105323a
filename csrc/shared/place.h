/* SPDX-License-Identifier: GPL-2.0-or-later
 * A place inside a slice as a value of its own: which slice, and a fingerprint. Kept as
 * the bytes that docs/TRACE_FORMAT.md describes. */
#ifndef PRR_PLACE_H
#define PRR_PLACE_H

#include "fingerprint.h"

struct prr_place {
	uint8_t *bytes; /* owned */
	size_t len;
	uint64_t event;  /* EventIndex that the slice runs into */
	uint32_t serial; /* of its task */
	struct prr_fingerprint_view view; /* of `bytes` */
};

PRR_MUST_USE enum prr_status prr_place_make(uint64_t event, uint32_t serial,
	const struct prr_fingerprint *fingerprint, struct prr_place **ret, struct prr_error *err);

#endif
