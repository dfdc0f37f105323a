/* SPDX-License-Identifier: GPL-2.0-or-later
 * Which pages change often, learned from the page hashes of successive places: what
 * stands in them tells the many passes through a place apart. */
#include <errno.h>
#include <stdlib.h>

#include "page_history.h"

/* Of a page that changed every time so far; half of it is lost each time it did not. */
#define SCORE_MAX 254

struct entry {
	uint64_t addr, hash;
	uint8_t score;
};
struct prr_page_history { /* sorted by addr */
	size_t count;
	struct entry entries[];
};

void prr_page_history_free(struct prr_page_history *history)
{
	free(history);
}

enum prr_status prr_page_history_update(struct prr_page_history **history,
	const struct prr_field_page_hash *hashes, size_t count, struct prr_error *err)
{
	struct prr_page_history *old = *history;
	struct prr_page_history *now =
		malloc(sizeof(*now) + (count ? count : 1) * sizeof(now->entries[0]));
	size_t at = 0;

	if (!now)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	now->count = count;
	for (size_t i = 0; i < count; i++) {
		struct entry entry = { hashes[i].addr, hashes[i].hash, 0 };

		while (old && at < old->count && old->entries[at].addr < entry.addr)
			at++;
		/* A page that is new was all zeros, or not there: changed. */
		if (old && at < old->count && old->entries[at].addr == entry.addr) {
			entry.score = old->entries[at].score / 2;
			if (old->entries[at].hash != entry.hash)
				entry.score += SCORE_MAX / 2;
		} else if (old) {
			entry.score = SCORE_MAX / 2;
		}
		now->entries[i] = entry;
	}
	free(old);
	*history = now;
	return PRR_OK;
}

size_t prr_page_history_busy(const struct prr_page_history *history, uint64_t *pages, size_t room)
{
	uint8_t scores[64];
	size_t found = 0;

	if (room > sizeof(scores))
		room = sizeof(scores);
	for (size_t i = 0; history && i < history->count; i++) {
		const struct entry *entry = &history->entries[i];
		size_t at = found;

		if (entry->score < SCORE_MAX / 4)
			continue;
		while (at > 0 && scores[at - 1] < entry->score)
			at--;
		if (at == room)
			continue;
		if (found < room)
			found++;
		for (size_t k = found - 1; k > at; k--) {
			pages[k] = pages[k - 1];
			scores[k] = scores[k - 1];
		}
		pages[at] = entry->addr;
		scores[at] = entry->score;
	}
	return found;
}
