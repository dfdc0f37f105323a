/* SPDX-License-Identifier: GPL-2.0-or-later
 * A growable byte buffer that is reused, so that hot paths do not allocate. */
#ifndef PRR_BUFFER_H
#define PRR_BUFFER_H

#include <string.h>

#include "error.h"

struct prr_buffer { /* zero-initialised is empty */
	uint8_t *bytes; /* owned; aligned for any type */
	size_t size, capacity;
};

void prr_buffer_deinit(struct prr_buffer *buffer);
/* Out of line part of prr_buffer_reserve. */
PRR_MUST_USE enum prr_status prr_buffer_grow(
	struct prr_buffer *buffer, size_t more, struct prr_error *err);
/* Gives memory back when one unusually large use left more than `keep`. The
 * contents are dropped. */
void prr_buffer_trim(struct prr_buffer *buffer, size_t keep);

/* Makes room for `more` bytes after the present ones. */
PRR_MUST_USE static inline enum prr_status prr_buffer_reserve(
	struct prr_buffer *buffer, size_t more, struct prr_error *err)
{
	if (more <= buffer->capacity - buffer->size)
		return PRR_OK;
	return prr_buffer_grow(buffer, more, err);
}

/* Appends; the room must have been reserved. */
static inline void prr_buffer_put(struct prr_buffer *buffer, const void *bytes, size_t len)
{
	if (!len)
		return; /* bytes may be NULL then */
	memcpy(buffer->bytes + buffer->size, bytes, len);
	buffer->size += len;
}

#endif
