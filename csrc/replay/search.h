/* SPDX-License-Identifier: GPL-2.0-or-later
 * Looking for a named place in a task's slice. */
#ifndef PRR_REPLAY_SEARCH_H
#define PRR_REPLAY_SEARCH_H

#include "session.h"

struct prr_search_target {
	uint64_t site;
	uint64_t hits; /* of a counted place: arrivals from here */
	struct prr_fingerprint_view place;
	/* Where a count ends the slice: that arrival, from here, ends the search; hits 0: none. */
	uint64_t end_site, end_hits;
	bool careful; /* the program must not notice anything: no code is changed */
};

enum prr_search_end {
	PRR_SEARCH_GOES_ON = 0,
	PRR_SEARCH_FOUND = 1,
	PRR_SEARCH_ARRIVED = 2, /* at what may be the end of the slice: `arrival`, `signo` */
	PRR_SEARCH_LATE = 3, /* s->deadline_ns came: the task stands in the program's code */
	PRR_SEARCH_LOST = 4 /* no probe can stand there (any more): `why` */
};

struct prr_search_result {
	enum prr_search_end end;
	enum prr_arrival arrival;
	int signo;
	const char *why; /* static */
	bool at_end; /* ARRIVED: where the count ends the slice */
	uint64_t hits_left; /* of the counted place, or else of the count that ends the slice */
	bool hardware; /* no code was changed */
	uint64_t candidates, hashed; /* stops, and how many needed a full hash */
};

/* Runs t on, from where it stands, until it is at the place or something else ends it. No
 * probe is left behind. Differences that cannot be (a counted place with another XSTATE)
 * are a Divergence. */
PRR_MUST_USE enum prr_status prr_replay_search(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_search_target *target, struct prr_search_result *ret,
	struct prr_error *err);
/* Is t at the place as it stands? */
PRR_MUST_USE enum prr_status prr_replay_stands_at(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_search_target *target, bool *ret, struct prr_error *err);

/* point.c: the place of the PREEMPT event at hand */
PRR_MUST_USE enum prr_status prr_replay_preemption(
	struct prr_replay *s, struct prr_search_target *ret, struct prr_error *err);
bool prr_replay_is_careful(const struct prr_replay_options *options, uint64_t index);

#endif
