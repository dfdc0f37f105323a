/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"

enum { HAS_HASHES = 1 << 0, COUNT_MAX = 1 << 28 };
static const char magic[8] = { 'P', 'R', 'R', 'P', 'L', 'A', 'C', '1' };

/* What the bytes begin with; words, hashes, pages and XSTATE follow. */
struct head {
	char magic[8];
	uint64_t event;
	uint32_t serial;
	uint32_t flags;
	uint32_t word_count, hash_count, page_count, xstate_len;
	struct prr_regs regs;
	struct prr_field_point point;
};
_Static_assert(sizeof(struct head) == 40 + 27 * 8 + 32, "as in docs/TRACE_FORMAT.md");
_Static_assert(sizeof(struct head) % 8 == 0 && sizeof(struct prr_field_word) % 8 == 0 &&
		sizeof(struct prr_field_page_hash) % 8 == 0 &&
		sizeof(struct prr_page_image) % 8 == 0,
	"all that follows is aligned");

static size_t length_of(const struct head *head)
{
	return sizeof(*head) + head->word_count * sizeof(struct prr_field_word) +
		head->hash_count * sizeof(struct prr_field_page_hash) +
		head->page_count * sizeof(struct prr_page_image) + head->xstate_len;
}

static bool is_sound(const struct head *head, size_t len)
{
	return memcmp(head->magic, magic, sizeof(magic)) == 0 &&
		head->word_count <= PRR_FINGERPRINT_WORDS_MAX &&
		head->page_count <= PRR_FINGERPRINT_PAGES_MAX && head->hash_count <= COUNT_MAX &&
		head->xstate_len <= COUNT_MAX && head->point.method == PRR_POINT_FINGERPRINT &&
		head->point.code_len <= sizeof(head->point.code) && length_of(head) == len;
}

/* Takes the bytes over, which are sound. */
static enum prr_status adopt(
	struct prr_buffer *buffer, struct prr_place **ret, struct prr_error *err)
{
	const struct head *head = (const struct head *)(const void *)buffer->bytes;
	struct prr_place *place = calloc(1, sizeof(*place));
	const uint8_t *at = buffer->bytes + sizeof(*head);

	if (!place) {
		prr_buffer_deinit(buffer);
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory for a place");
	}
	place->bytes = buffer->bytes;
	place->len = buffer->size;
	place->event = head->event;
	place->serial = head->serial;
	place->view = (struct prr_fingerprint_view){ .regs = &head->regs,
		.point = &head->point,
		.words = (const struct prr_field_word *)(const void *)at,
		.word_count = head->word_count,
		.hash_count = head->hash_count,
		.has_hashes = head->flags & HAS_HASHES,
		.page_count = head->page_count,
		.xstate_len = head->xstate_len };
	at += head->word_count * sizeof(struct prr_field_word);
	place->view.hashes = (const struct prr_field_page_hash *)(const void *)at;
	at += head->hash_count * sizeof(struct prr_field_page_hash);
	for (size_t i = 0; i < head->page_count; i++, at += sizeof(struct prr_page_image))
		place->view.pages[i] = (const struct prr_page_image *)(const void *)at;
	place->view.xstate = head->xstate_len ? at : NULL;
	*ret = place;
	return PRR_OK;
}

enum prr_status prr_place_make(uint64_t event, uint32_t serial,
	const struct prr_fingerprint *fingerprint, struct prr_place **ret, struct prr_error *err)
{
	struct prr_buffer buffer = { 0 };
	struct head head = { .event = event,
		.serial = serial,
		.flags = fingerprint->has_hashes ? HAS_HASHES : 0,
		.word_count = (uint32_t)fingerprint->word_count,
		.hash_count = (uint32_t)fingerprint->hashes.count,
		.page_count = (uint32_t)fingerprint->page_count,
		.xstate_len = (uint32_t)fingerprint->xstate_len,
		.regs = fingerprint->regs,
		.point = fingerprint->point };

	memcpy(head.magic, magic, sizeof(magic));
	PRR_TRY(prr_buffer_reserve(&buffer, length_of(&head), err));
	prr_buffer_put(&buffer, &head, sizeof(head));
	prr_buffer_put(&buffer, fingerprint->words,
		fingerprint->word_count * sizeof(fingerprint->words[0]));
	prr_buffer_put(&buffer, fingerprint->hashes.items,
		fingerprint->hashes.count * sizeof(fingerprint->hashes.items[0]));
	prr_buffer_put(&buffer, fingerprint->pages,
		fingerprint->page_count * sizeof(fingerprint->pages[0]));
	prr_buffer_put(&buffer, fingerprint->xstate, fingerprint->xstate_len);
	return adopt(&buffer, ret, err);
}

enum prr_status prr_place_create(
	const uint8_t *bytes, size_t len, struct prr_place **ret, struct prr_error *err)
{
	struct prr_buffer buffer = { 0 };
	struct head head;

	if (len >= sizeof(head))
		memcpy(&head, bytes, sizeof(head));
	if (len < sizeof(head) || !is_sound(&head, len))
		return prr_fail(err, PRR_ERR_TRACE, 0, "name the place anew",
			"%zu bytes that are no place", len);
	PRR_TRY(prr_buffer_reserve(&buffer, len, err));
	prr_buffer_put(&buffer, bytes, len);
	return adopt(&buffer, ret, err);
}

void prr_place_destroy(struct prr_place *place)
{
	if (!place)
		return;
	free(place->bytes);
	free(place);
}

void prr_place_bytes(const struct prr_place *place, const uint8_t **bytes, size_t *len)
{
	*bytes = place->bytes;
	*len = place->len;
}

uint64_t prr_place_event(const struct prr_place *place)
{
	return place->event;
}

void prr_place_position(const struct prr_place *place, struct prr_position *ret)
{
	*ret = (struct prr_position){ .site = place->view.regs->rip };
}
