/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "buffer.h"

#include <errno.h>
#include <stdlib.h>

void prr_buffer_deinit(struct prr_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct prr_buffer){ 0 };
}

enum prr_status prr_buffer_grow(struct prr_buffer *buffer, size_t more, struct prr_error *err)
{
	size_t need, capacity = buffer->capacity ? buffer->capacity : 256;
	uint8_t *bytes;

	if (__builtin_add_overflow(buffer->size, more, &need) || need > PTRDIFF_MAX)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "a buffer of %zu + %zu bytes",
			buffer->size, more);
	while (capacity < need)
		capacity = capacity > PTRDIFF_MAX / 2 ? need : capacity * 2;
	bytes = realloc(buffer->bytes, capacity);
	if (!bytes)
		return prr_fail(
			err, PRR_ERR_SYSTEM, ENOMEM, NULL, "a buffer of %zu bytes", capacity);
	buffer->bytes = bytes;
	buffer->capacity = capacity;
	return PRR_OK;
}

void prr_buffer_trim(struct prr_buffer *buffer, size_t keep)
{
	if (buffer->capacity > keep)
		prr_buffer_deinit(buffer);
	else
		buffer->size = 0;
}
