/* SPDX-License-Identifier: GPL-2.0-or-later
 * What outputs.c and scratch.c share; nobody else includes this.
 *
 * A *place* of a call is one stretch of memory that the kernel may write: a
 * buffer, one iovec's buffer, the name, control data or header of a message. It
 * is named by the argument's index and a key that is unique within it. outputs.c
 * walks the places of a finished call and says how much of each was written;
 * scratch.c lays the same places out in scratch memory beforehand. */
#ifndef PRR_OUTPUTS_WALK_H
#define PRR_OUTPUTS_WALK_H

#include "outputs.h"

/* Keys. Message m of an array, part p: m << 32 | p. An iovec's buffers, alone
 * or in a message, are PRR_PLACE_DATA + their index. */
enum {
	PRR_PLACE_WHOLE = 0, /* what the argument points to */
	PRR_PLACE_NAME = 1,
	PRR_PLACE_CONTROL = 2,
	PRR_PLACE_DATA = 3
};

enum {
	PRR_IOV_MAX = 1024, /* UIO_MAXIOV: more is EINVAL or EMSGSIZE */
	/* recvmmsg has no limit of its own; more are not looked at. */
	PRR_MESSAGES_MAX = 65536,
	PRR_RW_MAX = 0x7ffff000 /* MAX_RW_COUNT: no read or write moves more */
};

struct iovec_copy {
	size_t count;
	uint64_t total;           /* of all lengths, at most PRR_RW_MAX */
	struct prr_range items[]; /* the struct iovecs as they were at entry */
};

/* struct msghdr (socket(7)) with addresses of the tracee. */
struct prr_remote_msghdr {
	uint64_t name;
	uint32_t name_len, pad1;
	uint64_t iov, iov_count;
	uint64_t control, control_len;
	uint32_t flags, pad2;
};

struct prr_message {
	struct prr_remote_msghdr header;
	struct iovec_copy *data; /* owned; NULL: unreadable or too many */
};

/* prr_outputs_entry.state */
struct prr_outputs_state {
	size_t message_count;
	struct prr_message *messages; /* owned */
	uint32_t counted;             /* PRR_SIZE_COUNTED */
	uint32_t ifconf_len;          /* PRR_SIZE_IFCONF */
	uint64_t ifconf_buf;
};

struct prr_scratch_plan; /* scratch.c */

struct prr_walk {
	const struct prr_syscall_view *view;
	const struct prr_outputs_entry *entry;
	pid_t tid;
	int64_t result;
	struct prr_scratch_plan *plan; /* NULL: nothing was redirected */
	struct prr_ranges *ranges;
	struct prr_error *err;
};

static inline uint64_t prr_place_key(size_t message, uint64_t part)
{
	return (uint64_t)message << 32 | part;
}

static inline bool prr_is_output(const struct prr_arg_spec *spec)
{
	return spec->direction >= PRR_DIR_OUT;
}

/* The bytes that argument i may take, by what was known at entry; for kinds of
 * one flat buffer. */
uint64_t prr_outputs_room(
	const struct prr_syscall_view *view, const struct prr_outputs_entry *entry, unsigned i);

/* Walks all places of the finished call. */
PRR_MUST_USE enum prr_status prr_outputs_walk(struct prr_walk *walk);

/* scratch.c: what the walk does with places when there is a plan. */

/* Gives `len` bytes that the kernel wrote at `addr` back and adds their range. */
PRR_MUST_USE enum prr_status prr_scratch_give_back(
	struct prr_walk *walk, unsigned arg, uint64_t key, uint64_t addr, uint64_t len);
/* The same for a pollfd array: only revents go back. */
PRR_MUST_USE enum prr_status prr_scratch_give_back_revents(
	struct prr_walk *walk, unsigned arg, uint64_t addr, uint64_t len);
/* Where the kernel really wrote what belongs at `addr`. */
uint64_t prr_scratch_where(const struct prr_walk *walk, unsigned arg, uint64_t key, uint64_t addr);

#endif
