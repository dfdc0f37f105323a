/* SPDX-License-Identifier: GPL-2.0-or-later
 * Counted places. Probes that stay planted count arrivals at a few sites of an
 * AddressSpace; a task whose time is up then runs on to the next arrival, which
 * (site, arrivals since its last event) names exactly and cheaply.
 *
 * Invariants
 *  - The counters speak of one slice, that of task `serial` since its event number
 *    `event`: reset when it began, and nobody else of the AddressSpace has run since.
 *    Resetting costs a microsecond, so slices that begin soon after the last reset go
 *    without (serial 0): they end at their next event anyway, or by fingerprint.
 *  - Nothing but rips shows stubs: a task that is stopped for others to run, or whose
 *    registers the program gets to see, is moved out of them first.
 *  - Sites lie in code of private file mappings that cannot be written. */
#ifndef PRR_RECORD_COUNTING_H
#define PRR_RECORD_COUNTING_H

#include "../shared/probe.h"
#include "session.h"

enum { PRR_COUNTED_SITES = 8 };
/* What counters start from: more arrivals than any slice has. */
#define PRR_COUNT_START (1ull << 62)

struct prr_counting { /* of an AddressSpace */
	struct prr_probe *probes[PRR_COUNTED_SITES]; /* owned */
	size_t count;
	bool measuring;       /* not yet known which of them are worth their cost */
	uint32_t serial;      /* of the task whose slice is counted; 0 none */
	uint64_t event;       /* its event_count when the slice began */
	uint64_t reset_ns;    /* CLOCK_MONOTONIC */
	bool waiting;         /* for the next arrival at probes[wanted] */
	size_t wanted;
	uint64_t wanted_hits; /* that arrival's number */
	uint64_t give_up_ns;
	uint64_t retry_ns;    /* nothing is planted before */
	unsigned failures;    /* in a row, at finding sites */
};

void prr_counting_free(struct prr_counting *counting);
/* t is about to run on from its last event. */
void prr_counting_start(struct prr_record *s, struct prr_record_task *t);
/* Is t's slice counted by a site that was found good? */
bool prr_counting_is_ready(const struct prr_record_task *t);
/* When it has to be looked at again; UINT64_MAX: no need. */
uint64_t prr_counting_deadline(const struct prr_record *s, const struct prr_record_task *t);
/* t's registers, read at a stop in user code, become the program's. */
void prr_counting_leave(struct prr_record_task *t);
/* Looks at sites on trial when their time has come. */
PRR_MUST_USE enum prr_status prr_counting_measure(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);
/* t's time is up: from now on its next arrival traps. *waiting is false when no site
 * serves, or none was reached for too long. */
PRR_MUST_USE enum prr_status prr_counting_aim(
	struct prr_record_task *t, bool *waiting, struct prr_error *err);
/* t stands at a SIGTRAP: of a probe? Then it is treated. */
PRR_MUST_USE enum prr_status prr_counting_trap(
	struct prr_record *s, struct prr_record_task *t, bool *treated, struct prr_error *err);
/* t stands at a place that was named by fingerprint: plants probes near it if none serve.
 * `executed`: where it came along, oldest first. */
PRR_MUST_USE enum prr_status prr_counting_plant(struct prr_record_task *t, const uint64_t *executed,
	size_t executed_count, struct prr_error *err);
/* The program's bytes are back, until the next prr_counting_start; the slice is not
 * counted any more. */
void prr_counting_disarm(struct prr_record_task *t);
/* The memory syscall at whose entry t stands: probes that it touches are dropped. */
void prr_counting_memory_call(struct prr_record_task *t);

/* sites.c: instructions near t's that may be reached now and then: ends and heads of the
 * loops around it, some of those that it executed. Returns how many, at most `room`. */
size_t prr_record_sites(const struct prr_record_task *t, const uint64_t *executed,
	size_t executed_count, uint64_t *sites, size_t room);

#endif
