/* SPDX-License-Identifier: GPL-2.0-or-later
 * Walks the pointer arguments of a syscall: which tracee memory did it write,
 * and moving those places to scratch while it may block (PITFALLS A1). */
#ifndef PRR_OUTPUTS_H
#define PRR_OUTPUTS_H

#include "mappings.h"
#include "mem.h"
#include "syscall_table.h"

/* A stretch of tracee memory that a syscall may have written. */
struct prr_range {
	uint64_t addr;
	uint64_t len;
};
struct prr_ranges { /* growable; zero-initialised is empty */
	struct prr_range *items; /* owned */
	size_t count, capacity;
};
void prr_ranges_deinit(struct prr_ranges *ranges);
PRR_MUST_USE enum prr_status prr_ranges_add(
	struct prr_ranges *ranges, uint64_t addr, uint64_t len, struct prr_error *err);

/* Values that must be read at entry, since the call overwrites them (socklen,
 * msghdr lengths, iovecs). Filled by prr_outputs_enter, freed by _deinit. */
struct prr_outputs_entry {
	uint64_t args[6];
	uint32_t socklen[6]; /* per argument: the pointee at entry, FROM_POINTEE */
	bool socklen_valid[6];
	/* A socklen is negative: the call fails with EINVAL, but only after it has
	 * written its data (net/socket.c: move_addr_to_user). */
	bool socklen_negative;
	struct iovec_copy *iov[6]; /* owned */
	/* further private state may follow; zero-initialised is empty */
	void *state; /* owned by outputs.c */
};
/* Empties the entry (also before its reuse for the next call). */
void prr_outputs_entry_deinit(struct prr_outputs_entry *entry);

PRR_MUST_USE enum prr_status prr_outputs_enter(const struct prr_syscall_view *view, pid_t tid,
	const uint64_t args[6], struct prr_outputs_entry *entry, struct prr_error *err);
/* Adds every range that the call with `result` may have written, at the program's
 * own addresses, in-place arguments included. When result is -EFAULT all out
 * arguments are added at full capacity: the kernel may have written a part. Ranges
 * may cover more than was written; unreadable tails are the caller's to cut
 * (prr_mem_read_some). Where a hole in the buffer cut a result short, bytes behind
 * the result that were written before the hole are left out: the caller asks again
 * with -EFAULT if there may be one (record/holes.c). */
PRR_MUST_USE enum prr_status prr_outputs_collect(const struct prr_syscall_view *view, pid_t tid,
	const struct prr_outputs_entry *entry, int64_t result, struct prr_ranges *ranges,
	struct prr_error *err);

/* Pages of scratch that must not be writable while the call runs. */
struct prr_scratch_guard {
	uint64_t addr, len;
	uint32_t prot; /* PROT_NONE or PROT_READ */
};
enum { PRR_SCRATCH_GUARDS = 8 };

/* Scratch: a plan that replaces out pointers of one call. */
struct prr_scratch {
	uint64_t base, size; /* the task's scratch area, tracee addresses */
	/* Borrowed; says of memory that it is writable; NULL: ask memory itself. */
	const struct prr_mappings *mappings;
	uint64_t stack_refused; /* a stack that does not grow this far down; 0: none */

	/* Set by redirect. */
	uint64_t used;
	/* Then new_args are the program's own, the kernel writes directly, and the
	 * call must not be switched away from. But first, where these are not 0:
	 * redirect again with scratch of this size; or after the kernel, in a call
	 * of the task, has written there, so that its stack has grown. */
	bool left_in_place;
	uint64_t wanted_size, wanted_stack;
	/* Scratch must be made like this before the call runs. */
	struct prr_scratch_guard guards[PRR_SCRATCH_GUARDS];
	size_t guard_count;

	uint64_t moved;      /* by finish: bytes given back */
	void *state;         /* owned by scratch.c: what goes back where */
};
/* Frees the plan; what the caller set stays. Call it before the next redirect. */
void prr_scratch_deinit(struct prr_scratch *scratch);
/* Bytes of scratch the call needs; 0: nothing to redirect. */
uint64_t prr_scratch_need(
	const struct prr_syscall_view *view, pid_t tid, const struct prr_outputs_entry *entry);
/* Lays the call's out and inout pointers (iovecs and msghdrs deeply) out in
 * scratch: writes the copies into the tracee's scratch memory, fills new_args.
 * Requires prr_scratch_need() <= size. */
PRR_MUST_USE enum prr_status prr_scratch_redirect(const struct prr_syscall_view *view, pid_t tid,
	const struct prr_outputs_entry *entry, struct prr_scratch *scratch, uint64_t new_args[6],
	struct prr_error *err);
/* May be called again for the same plan: a call that ends with
 * -ERESTART_RESTARTBLOCK (-516) is resumed by restart_syscall(2) with the
 * pointers the kernel kept, scratch ones, so keep the plan until the task enters
 * any other call or a handler runs.
 * At the exit: copies what the kernel wrote from scratch to the program's own
 * places, exactly those bytes, and adds the ranges (own addresses). Places that
 * another thread made read-only meanwhile are written all the same: the order is
 * then as if the kernel had come first. *result is the call's. */
PRR_MUST_USE enum prr_status prr_scratch_finish(const struct prr_syscall_view *view, pid_t tid,
	const struct prr_outputs_entry *entry, struct prr_scratch *scratch, const int64_t *result,
	struct prr_ranges *ranges, struct prr_error *err);
/* After finish: the bytes of the range if they are at hand, else NULL. Borrowed. */
const void *prr_scratch_bytes(const struct prr_scratch *scratch, const struct prr_range *range);

#endif
