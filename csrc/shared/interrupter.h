/* SPDX-License-Identifier: GPL-2.0-or-later
 * Stopping a task that runs user code at a given time.
 *
 * A one-shot timer signals the ptrace thread itself, whose handler sends
 * PTRACE_INTERRUPT to the task that runs just then. So no request is lost between a stop
 * and the next wait, and nothing is polled. The task then stops with PTRACE_EVENT_STOP. A
 * request that finds it stopped already stays pending: the same stop comes as soon
 * as it is resumed.
 *
 * Belongs to the thread that made it, as everything that calls ptrace. */
#ifndef PRR_INTERRUPTER_H
#define PRR_INTERRUPTER_H

#include <signal.h>
#include <sys/types.h>

#include "error.h"

#define PRR_INTERRUPT_NEVER UINT64_MAX

struct prr_interrupter { /* zero-initialised: not made */
	bool made;
	int timer; /* kernel's timer_t */
	struct sigaction old_action;
	/* Shared with the handler. */
	volatile pid_t running; /* may be interrupted; 0 nobody */
	volatile sig_atomic_t sent; /* since _enter */
	volatile uint64_t deadline_ns, armed_for_ns; /* CLOCK_MONOTONIC */
};

PRR_MUST_USE enum prr_status prr_interrupter_init(
	struct prr_interrupter *interrupter, struct prr_error *err);
void prr_interrupter_deinit(struct prr_interrupter *interrupter);
/* Around waiting for a task that runs user code: only in between it is interrupted, once,
 * at the deadline (CLOCK_MONOTONIC, ns; PRR_INTERRUPT_NEVER). */
void prr_interrupter_enter(struct prr_interrupter *interrupter, pid_t tid, uint64_t deadline_ns);
/* Was a request sent? If the stop that ended the wait is another one, the request may
 * still be pending. */
bool prr_interrupter_leave(struct prr_interrupter *interrupter);
/* CLOCK_MONOTONIC in ns, without the vdso: its clock executes rdtsc, which faults while
 * TSD is on. */
uint64_t prr_now(void);

#endif
