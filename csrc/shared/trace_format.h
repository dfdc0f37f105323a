/* SPDX-License-Identifier: GPL-2.0-or-later
 * The layout of a trace's two streams, `events` and `data`, shared by writer and
 * reader. docs/TRACE_FORMAT.md describes it in words; keep both in step.
 *
 *   file   := prr_file_header block*
 *   block  := prr_block_header payload          (payload: stored or one zstd frame)
 *   events payload := record{event_count}       data payload := the output bytes
 *   record := prr_event_record [position] [data skip] register* output* field*
 *
 * Invariants
 *  - Everything is little-endian; every part of a record starts 8-aligned within
 *    the payload, so the reader can hand out aligned pointers into it.
 *  - A block decodes alone: registers and time are deltas whose bases are zero
 *    at the block's start.
 *  - The data block that holds an output is written before the event block that
 *    refers to it, and no output crosses a data block.
 *  - Blocks of a file are contiguous: each begins with the EventIndex (or data
 *    offset) at which the one before ended.
 */
#ifndef PRR_TRACE_FORMAT_H
#define PRR_TRACE_FORMAT_H

#include "pyrr_core.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the trace codec copies little-endian structs as they are"
#endif

#define PRR_TRACE_EVENTS_NAME "events"
#define PRR_TRACE_DATA_NAME "data"
#define PRR_TRACE_EVENTS_MAGIC "PYRREVT\n"
#define PRR_TRACE_DATA_MAGIC "PYRRDAT\n"

enum {
	PRR_TRACE_VERSION = 1,       /* of the whole trace; another one is refused */
	PRR_BLOCK_VERSION = 1,       /* of prr_block_header */
	PRR_EVENT_BLOCK_MAGIC = 0x42455250, /* "PREB" */
	PRR_DATA_BLOCK_MAGIC = 0x42445250,  /* "PRDB" */

	PRR_EVENT_BLOCK_CUT = 1 << 16, /* a block is cut before it grows past this... */
	PRR_EVENT_BLOCK_TASKS = 256,   /* ...or a further task; the reader's limit too */
	PRR_DATA_BLOCK_MAX = 1 << 20,  /* raw bytes of a data block */

	/* A reader allocates at most max(PRR_RAW_FREE, ratio * bytes in the file) for
	 * a block; the writer stores what compresses better. */
	PRR_RAW_FREE = 4 << 20,
	PRR_RAW_RATIO = 64,

	PRR_EVENT_KIND_LAST = PRR_EVENT_PREEMPT, /* known kinds: 1..this */
	PRR_ORIGIN_LAST = PRR_ORIGIN_INJECTED_FAULT,
	PRR_FIELD_TAG_LAST = PRR_FIELD_PAGE, /* known tags: 1..this */
	PRR_FIELD_TAG_REQUIRED = 0x8000,     /* bit of a stored tag */

	PRR_REG_COUNT = sizeof(struct prr_regs) / sizeof(uint64_t)
};
/* Raw bytes of any block, so of an event's record. A larger event is refused. */
#define PRR_RAW_MAX ((uint64_t)1 << 32)

_Static_assert((int)PRR_DATA_BLOCK_MAX >= (int)PRR_OUTPUT_MAX, "an output fits in a data block");
_Static_assert(PRR_REG_COUNT == 27, "bits of prr_event_record.regs_mask");

struct prr_file_header {
	char magic[8];
	uint32_t version; /* PRR_TRACE_VERSION */
	uint32_t arch;    /* enum prr_arch of the recording */
	uint32_t size;    /* of this header */
	uint32_t reserved[2]; /* 0 */
	uint32_t crc; /* of all bytes before it */
};
_Static_assert(sizeof(struct prr_file_header) == 32, "packed");

enum prr_codec { PRR_CODEC_STORED = 0, PRR_CODEC_ZSTD = 1 };

struct prr_block_header {
	uint32_t magic;
	uint16_t version; /* PRR_BLOCK_VERSION */
	uint16_t codec;   /* enum prr_codec */
	uint64_t first;   /* EventIndex, or data offset, of the block's first item */
	uint64_t data_offset; /* event blocks: where their output bytes begin; else 0 */
	uint64_t raw_size;
	uint64_t stored_size; /* bytes of payload that follow */
	uint32_t event_count; /* data blocks: 0 */
	uint32_t crc;         /* crc32 of all bytes before it, then of the payload */
};
_Static_assert(sizeof(struct prr_block_header) == 48, "packed");

enum prr_record_flags {
	PRR_RECORD_POSITION = 1,  /* a prr_position follows the record; else all zero */
	PRR_RECORD_DATA_SKIP = 2, /* a u64 follows: unused bytes of the data stream */
	PRR_RECORD_FLAGS_KNOWN = 3
};

struct prr_event_record {
	uint64_t size; /* of the whole record, this struct included; multiple of 8 */
	uint16_t kind;
	uint8_t arch;
	uint8_t origin;
	uint32_t flags;     /* enum prr_record_flags */
	uint32_t regs_mask; /* bit i: word i of prr_regs follows, else it is as before */
	int32_t tid;
	uint32_t serial;
	uint32_t as_uid;
	uint32_t output_count;
	uint32_t field_count;
	uint64_t time_delta; /* since the event before in this block, modulo 2^64 */
};
_Static_assert(sizeof(struct prr_event_record) == 48, "packed");

struct prr_output_record {
	uint32_t as_uid;
	uint32_t kind; /* PRR_OUTPUT_STORE: a prr_output_store follows */
	uint64_t addr;
	uint64_t len; /* 1..PRR_OUTPUT_MAX */
};
_Static_assert(sizeof(struct prr_output_record) == 24, "packed");

struct prr_output_store {
	uint64_t store_offset;
	uint32_t store_id;
	uint32_t reserved; /* 0 */
};
_Static_assert(sizeof(struct prr_output_store) == 16, "packed");

/* Followed by `len` bytes and zeros up to a multiple of 8. */
struct prr_field_record {
	uint16_t tag; /* enum prr_field_tag, with PRR_FIELD_TAG_REQUIRED */
	uint16_t reserved; /* 0 */
	uint32_t len;
};
_Static_assert(sizeof(struct prr_field_record) == 8, "packed");

static inline uint64_t prr_align8(uint64_t size)
{
	return (size + 7) & ~(uint64_t)7;
}

/* header->crc as it must be. */
uint32_t prr_file_header_crc(const struct prr_file_header *header);
uint32_t prr_block_crc(const struct prr_block_header *header, const void *payload);

/* The registers each task had at its last event in the block: the bases of the
 * deltas. One per block being written or read. */
struct prr_regs_memory {
	uint32_t count;
	uint32_t last; /* entry found last: the next event is mostly the same task's */
	uint16_t slots[2 * PRR_EVENT_BLOCK_TASKS]; /* open addressing; entry + 1 */
	struct prr_regs_base {
		struct prr_task_uid task;
		uint64_t words[PRR_REG_COUNT];
	} entries[PRR_EVENT_BLOCK_TASKS];
};
void prr_regs_memory_reset(struct prr_regs_memory *memory);
/* The task's words, zeros for a task new to the block; NULL: one task too many. */
uint64_t *prr_regs_memory_find(struct prr_regs_memory *memory, struct prr_task_uid task);

#endif
