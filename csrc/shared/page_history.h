/* SPDX-License-Identifier: GPL-2.0-or-later
 * Which pages change often, learned from the page hashes of successive places: what
 * stands in them tells the many passes through a place apart. */
#ifndef PRR_PAGE_HISTORY_H
#define PRR_PAGE_HISTORY_H

#include "error.h"

struct prr_page_history; /* of one AddressSpace; NULL: no hashes were taken yet */
void prr_page_history_free(struct prr_page_history *history);
/* Takes in all hashes of now. */
PRR_MUST_USE enum prr_status prr_page_history_update(struct prr_page_history **history,
	const struct prr_field_page_hash *hashes, size_t count, struct prr_error *err);
/* Up to `room` of the pages that changed most often; returns how many. */
size_t prr_page_history_busy(const struct prr_page_history *history, uint64_t *pages, size_t room);

#endif
