/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session.h"

const void *prr_field_find(const struct prr_event *event, uint16_t tag, size_t size,
	const uint8_t **rest, size_t *rest_len)
{
	for (size_t i = 0; i < event->field_count; i++) {
		const struct prr_field *field = &event->fields[i];

		if (field->tag != tag || field->len < size)
			continue;
		if (rest)
			*rest = field->data + size;
		if (rest_len)
			*rest_len = field->len - size;
		return field->data;
	}
	return NULL;
}
