/* SPDX-License-Identifier: GPL-2.0-or-later
 * The reader's view of one stream of a trace: a file of blocks, each found by the
 * key (EventIndex or data offset) that it holds.
 *
 * The file is hostile or torn: nothing in it is believed before it is checked, and
 * a block that is incomplete or damaged ends the stream there (PRR_END) with a
 * reason in words. Only I/O trouble is an error. Headers are walked lazily, each
 * once, into an index of bounded size; payloads are read by pread (a mapping would
 * raise SIGBUS when the file is truncated meanwhile).
 */
#ifndef PRR_TRACE_BLOCKS_H
#define PRR_TRACE_BLOCKS_H

#include <zstd.h>

#include "buffer.h"
#include "trace_format.h"

/* A block whose header is plausible. */
struct prr_block {
	struct prr_block_header header;
	uint64_t at;      /* file offset of the header */
	uint64_t next_at; /* file offset after the payload */
	uint64_t next_first; /* key after the block's last one */
};

struct prr_blocks {
	const char *name; /* of the file, borrowed from a literal */
	bool events;      /* kind of the stream: keys are EventIndexes */
	int fd;           /* owned; -1 closed */

	/* The walk's front: the block after the last one walked. */
	uint64_t front_at, front_first;
	uint64_t walked; /* blocks walked */

	/* Every stride-th block walked, in order. */
	struct prr_block_mark {
		uint64_t first, at;
	} *marks; /* owned */
	uint32_t mark_count;
	uint64_t stride;

	char *end; /* owned; why the stream ends, after a PRR_END */
};

/* Opens `name` in dir_fd and checks its file header. `dir` is for messages. Call
 * _deinit whatever the result. */
PRR_MUST_USE enum prr_status prr_blocks_init(
	struct prr_blocks *blocks, int dir_fd, const char *dir, bool events, struct prr_error *err);
void prr_blocks_deinit(struct prr_blocks *blocks);

/* Reads and checks the header at a place of the file, where the key `first` must
 * begin. PRR_END: no plausible complete block there. */
PRR_MUST_USE enum prr_status prr_blocks_header(struct prr_blocks *blocks, uint64_t at,
	uint64_t first, struct prr_block *ret, struct prr_error *err);
/* Finds the block that holds `key`. PRR_END: the stream ends before it; *ret is
 * then the last block, its header.magic 0 when there is none. */
PRR_MUST_USE enum prr_status prr_blocks_find(
	struct prr_blocks *blocks, uint64_t key, struct prr_block *ret, struct prr_error *err);
/* Walks until the front has passed `key` - 1. PRR_END: the stream ends before. */
PRR_MUST_USE enum prr_status prr_blocks_reach(
	struct prr_blocks *blocks, uint64_t key, struct prr_error *err);
/* Reads, verifies and unpacks the payload into *raw; `packed` is working space.
 * PRR_END: the block is damaged. */
PRR_MUST_USE enum prr_status prr_blocks_load(struct prr_blocks *blocks,
	const struct prr_block *block, ZSTD_DCtx *zstd, struct prr_buffer *packed,
	struct prr_buffer *raw, struct prr_error *err);

#endif
