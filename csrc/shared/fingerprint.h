/* SPDX-License-Identifier: GPL-2.0-or-later
 * Naming a place inside user code by what is the case there.
 *
 * A few instructions are stepped, to learn which registers and words of memory change
 * here; where that ends is the place. It is the first one since the task's last event
 * at which all registers, XSTATE and all writable memory are what they are now: a
 * state that has all of this in common goes on in the same way, so any such place is
 * as good. The changing registers and words, and what stands in some pages, let whoever
 * looks for it sift the many passes through the place. */
#ifndef PRR_FINGERPRINT_H
#define PRR_FINGERPRINT_H

#include "layout.h"
#include "page_hash.h"

enum {
	PRR_FINGERPRINT_WORDS_MAX = 48,
	PRR_FINGERPRINT_BUSY_PAGES = 12,
	PRR_FINGERPRINT_PAGES_MAX = 24,
	PRR_FINGERPRINT_STEPS_MAX = 56
};

struct prr_page_image { /* the payload of a PAGE field */
	struct prr_field_page head;
	uint8_t bytes[PRR_PAGE_SIZE];
};

struct prr_fingerprint { /* owned; zero-initialised is empty */
	struct prr_regs regs;
	struct prr_field_point point;
	struct prr_field_word words[PRR_FINGERPRINT_WORDS_MAX];
	size_t word_count;
	uint8_t *xstate; /* owned */
	size_t xstate_len; /* 0: not known */
	struct prr_page_hashes hashes;
	bool has_hashes;
	struct prr_page_image *pages; /* owned; PRR_FINGERPRINT_PAGES_MAX have room */
	size_t page_count;
	/* The trajectory to the place: rip of each step. */
	uint64_t executed[PRR_FINGERPRINT_STEPS_MAX];
	int steps;
};
void prr_fingerprint_deinit(struct prr_fingerprint *fingerprint);
/* Makes it empty, keeping the room it has for the next one. */
void prr_fingerprint_reset(struct prr_fingerprint *fingerprint);

/* The same for whoever looks for the place. All borrowed. */
struct prr_fingerprint_view {
	const struct prr_regs *regs;
	const struct prr_field_point *point;
	const struct prr_field_word *words;
	size_t word_count;
	const uint8_t *xstate; /* NULL: not known */
	size_t xstate_len;
	const struct prr_field_page_hash *hashes; /* sorted by addr */
	size_t hash_count;
	bool has_hashes;
	const struct prr_page_image *pages[PRR_FINGERPRINT_PAGES_MAX];
	size_t page_count;
};
void prr_fingerprint_look(
	const struct prr_fingerprint *fingerprint, struct prr_fingerprint_view *ret);

struct prr_fingerprint_walk {
	pid_t tid; /* stopped, with *regs in the kernel */
	struct prr_regs *regs;
	const struct prr_mappings *mappings;
	bool brief; /* a small loop: once around it will do */
	uint64_t avoid; /* another probe's site: no place is so near that both cannot stand; 0 */
	/* May be NULL. Does the slice end here, before the next instruction? */
	bool (*is_end)(void *context, const struct prr_fingerprint *so_far);
	/* A stop came that is no step's. *go_on: step on from there. */
	enum prr_status (*other_stop)(
		void *context, int status, bool *go_on, struct prr_error *err);
	void *context;
};
/* Steps to the place. *there: the task stands at it, *regs read; else at one that none
 * can be (before an event, near `avoid`), or where other_stop or is_end said so. */
PRR_MUST_USE enum prr_status prr_fingerprint_walk(const struct prr_fingerprint_walk *walk,
	struct prr_fingerprint *ret, bool *there, struct prr_error *err);
/* Takes down what a walk has ended at, apart from hashes and pages. */
PRR_MUST_USE enum prr_status prr_fingerprint_take(const struct prr_fingerprint_walk *walk,
	struct prr_fingerprint *ret, struct prr_error *err);
/* What stands in the pages that the trajectory touched, the stack's first, and in `busy`
 * ones (at most PRR_FINGERPRINT_BUSY_PAGES). */
PRR_MUST_USE enum prr_status prr_fingerprint_pages(const struct prr_memory_view *view,
	const uint64_t *busy, size_t busy_count, struct prr_fingerprint *ret,
	struct prr_error *err);

#endif
