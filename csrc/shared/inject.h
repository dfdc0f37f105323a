/* SPDX-License-Identifier: GPL-2.0-or-later
 * Runs a syscall in a stopped tracee from pyrr's own code page, leaving its
 * registers as they were. Two stops a call: entry and exit; no signal is used,
 * so the program's signal state stays untouched (PITFALLS A2). */
#ifndef PRR_INJECT_H
#define PRR_INJECT_H

#include <sys/types.h>

#include "pyrr_core.h"

/* Signals that come while injecting stay pending: all are blocked. SIGSTOP cannot
 * be; it is sent again afterwards. */
struct prr_inject {
	pid_t tid;
	uint64_t syscall_addr;    /* of a `syscall` instruction */
	struct prr_regs saved;
	uint64_t mask;
	bool stopped; /* SIGSTOP came */
};

/* Requires a ptrace stop whose current syscall (if any) has been finished or
 * skipped, or is a syscall-entry or seccomp stop, which _begin skips: the
 * caller's saved registers must then describe where to go on. */
PRR_MUST_USE enum prr_status prr_inject_begin(
	struct prr_inject *inject, pid_t tid, uint64_t syscall_addr, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_inject_syscall(struct prr_inject *inject, uint64_t nr,
	const uint64_t args[6], int64_t *result, struct prr_error *err);
/* Puts the saved registers back. */
PRR_MUST_USE enum prr_status prr_inject_end(struct prr_inject *inject, struct prr_error *err);

/* begin, one call, end, at pyrr's code page. */
PRR_MUST_USE enum prr_status prr_inject_one(
	pid_t tid, uint64_t nr, const uint64_t args[6], int64_t *result, struct prr_error *err);

#endif
