/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "trace_blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MARKS_MAX = 1 << 14, /* 256 KiB; then every other mark is dropped */
	KEEP_BYTES = 2 << 20,
};

/* ------------------------------------------------------------------- the file */

static enum prr_status read_failed(const struct prr_blocks *blocks, struct prr_error *err)
{
	return prr_fail(
		err, PRR_ERR_TRACE, errno, NULL, "reading the trace's file '%s'", blocks->name);
}

/* Reads up to len bytes; *got is less only at the end of the file. */
static enum prr_status read_at(const struct prr_blocks *blocks, uint64_t at, void *bytes,
	size_t len, size_t *got, struct prr_error *err)
{
	*got = 0;
	while (*got < len) {
		ssize_t n =
			pread(blocks->fd, (uint8_t *)bytes + *got, len - *got, (off_t)(at + *got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return read_failed(blocks, err);
		if (n == 0)
			break;
		*got += (size_t)n;
	}
	return PRR_OK;
}

static enum prr_status file_size(
	const struct prr_blocks *blocks, uint64_t *ret, struct prr_error *err)
{
	struct stat st;

	if (fstat(blocks->fd, &st) < 0)
		return read_failed(blocks, err);
	*ret = (uint64_t)st.st_size;
	return PRR_OK;
}

static enum prr_status check_file_header(
	const struct prr_blocks *blocks, const char *dir, struct prr_error *err)
{
	const char *magic = blocks->events ? PRR_TRACE_EVENTS_MAGIC : PRR_TRACE_DATA_MAGIC;
	const char *remedy = "record the program again: pyrr record PROGRAM";
	struct prr_file_header header;
	size_t got;

	PRR_TRY(read_at(blocks, 0, &header, sizeof(header), &got, err));
	if (got < sizeof(header) || memcmp(header.magic, magic, sizeof(header.magic)))
		return prr_fail(err, PRR_ERR_TRACE, 0, remedy,
			"'%s/%s' is not a stream of a pyrr trace", dir, blocks->name);
	if (header.version != PRR_TRACE_VERSION)
		return prr_fail(err, PRR_ERR_TRACE, 0, remedy,
			"'%s/%s' has trace format version %u; this pyrr reads version %d", dir,
			blocks->name, header.version, PRR_TRACE_VERSION);
	if (header.crc != prr_file_header_crc(&header) || header.size != sizeof(header))
		return prr_fail(err, PRR_ERR_TRACE, 0, remedy, "the header of '%s/%s' is damaged",
			dir, blocks->name);
	if (header.arch != PRR_ARCH_X86_64)
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"'%s/%s' was recorded on architecture %u; pyrr knows x86-64 (%d)", dir,
			blocks->name, header.arch, PRR_ARCH_X86_64);
	return PRR_OK;
}

enum prr_status prr_blocks_init(
	struct prr_blocks *blocks, int dir_fd, const char *dir, bool events, struct prr_error *err)
{
	struct stat st;

	*blocks = (struct prr_blocks){ .name = events ? PRR_TRACE_EVENTS_NAME : PRR_TRACE_DATA_NAME,
		.events = events,
		.front_at = sizeof(struct prr_file_header),
		.front_first = events ? 1 : 0,
		.stride = 1 };
	/* O_NONBLOCK: a FIFO put in the file's place must not hang the open. */
	blocks->fd = openat(dir_fd, blocks->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (blocks->fd < 0)
		return prr_fail(
			err, PRR_ERR_TRACE, errno, NULL, "opening '%s/%s'", dir, blocks->name);
	if (fstat(blocks->fd, &st) < 0)
		return read_failed(blocks, err);
	if (!S_ISREG(st.st_mode))
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL, "'%s/%s' is not a regular file", dir,
			blocks->name);
	PRR_TRY(check_file_header(blocks, dir, err));
	blocks->marks = malloc(MARKS_MAX * sizeof(*blocks->marks));
	if (!blocks->marks)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "the block index of a trace");
	return PRR_OK;
}

void prr_blocks_deinit(struct prr_blocks *blocks)
{
	if (blocks->fd >= 0)
		close(blocks->fd);
	free(blocks->marks);
	free(blocks->end);
	*blocks = (struct prr_blocks){ .fd = -1 };
}

/* ----------------------------------------------------------------- one block */

/* Notes why the stream ends at file offset `at`. */
__attribute__((format(printf, 3, 4))) static enum prr_status ends(
	struct prr_blocks *blocks, uint64_t at, const char *format, ...)
{
	char *why = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&why, format, ap) < 0)
		why = NULL;
	va_end(ap);
	free(blocks->end);
	if (asprintf(&blocks->end, "'%s' ends at byte %llu: %s", blocks->name,
		    (unsigned long long)at, why ? why : "?") < 0)
		blocks->end = NULL;
	free(why);
	return PRR_END;
}

/* What is wrong with a header on its own, whatever surrounds it; NULL: nothing. */
static const char *header_fault(const struct prr_block_header *h, bool events)
{
	const uint64_t most = h->raw_size / sizeof(struct prr_event_record);

	if (h->magic != (events ? PRR_EVENT_BLOCK_MAGIC : PRR_DATA_BLOCK_MAGIC))
		return "no block begins here";
	if (h->version != PRR_BLOCK_VERSION)
		return "a block of an unknown version";
	if (h->codec != PRR_CODEC_STORED && h->codec != PRR_CODEC_ZSTD)
		return "a block of an unknown codec";
	if (!h->raw_size || !h->stored_size || h->raw_size > PRR_RAW_MAX)
		return "a block of impossible size";
	if (h->stored_size > h->raw_size ||
		(h->codec == PRR_CODEC_STORED && h->stored_size != h->raw_size))
		return "a block that is larger than what it holds";
	if (h->raw_size > PRR_RAW_FREE && h->raw_size / PRR_RAW_RATIO > h->stored_size)
		return "a block that claims to unpack to far more than it holds";
	if (events && (!h->event_count || h->event_count > most))
		return "a block with an impossible number of events";
	if (!events && (h->event_count || h->data_offset || h->raw_size > PRR_DATA_BLOCK_MAX))
		return "a data block with an impossible header";
	return NULL;
}

enum prr_status prr_blocks_header(struct prr_blocks *blocks, uint64_t at, uint64_t first,
	struct prr_block *ret, struct prr_error *err)
{
	struct prr_block_header *h = &ret->header;
	const char *fault;
	uint64_t size = 0;
	size_t got;

	PRR_TRY(read_at(blocks, at, h, sizeof(*h), &got, err));
	if (!got)
		return ends(blocks, at, "the file ends");
	if (got < sizeof(*h))
		return ends(blocks, at, "the file ends within a block's header");
	fault = header_fault(h, blocks->events);
	if (fault)
		return ends(blocks, at, "%s", fault);
	if (h->first != first)
		return ends(blocks, at, "a block begins with %s %llu instead of %llu",
			blocks->events ? "event" : "data byte", (unsigned long long)h->first,
			(unsigned long long)first);
	PRR_TRY(file_size(blocks, &size, err));
	ret->at = at;
	if (at + sizeof(*h) > size || h->stored_size > size - at - sizeof(*h))
		return ends(blocks, at, "the file ends within a block");
	ret->next_at = at + sizeof(*h) + h->stored_size;
	if (__builtin_add_overflow(
		    first, blocks->events ? h->event_count : h->raw_size, &ret->next_first))
		return ends(blocks, at, "a block past the largest number");
	return PRR_OK;
}

static enum prr_status unpack(struct prr_blocks *blocks, const struct prr_block *block,
	ZSTD_DCtx *zstd, const struct prr_buffer *packed, struct prr_buffer *raw,
	struct prr_error *err)
{
	const struct prr_block_header *h = &block->header;
	size_t n;

	if (ZSTD_getFrameContentSize(packed->bytes, packed->size) != h->raw_size)
		return ends(blocks, block->at, "a damaged block (sizes disagree)");
	/* header_fault() has bounded raw_size by the bytes the file holds. */
	PRR_TRY(prr_buffer_reserve(raw, h->raw_size, err));
	n = ZSTD_decompressDCtx(zstd, raw->bytes, h->raw_size, packed->bytes, packed->size);
	if (ZSTD_isError(n) || n != h->raw_size)
		return ends(blocks, block->at, "a damaged block (zstd: %s)",
			ZSTD_isError(n) ? ZSTD_getErrorName(n) : "short");
	raw->size = n;
	return PRR_OK;
}

enum prr_status prr_blocks_load(struct prr_blocks *blocks, const struct prr_block *block,
	ZSTD_DCtx *zstd, struct prr_buffer *packed, struct prr_buffer *raw, struct prr_error *err)
{
	const struct prr_block_header *h = &block->header;
	struct prr_buffer *stored = h->codec == PRR_CODEC_STORED ? raw : packed;
	enum prr_status status;
	size_t got;

	prr_buffer_trim(raw, KEEP_BYTES);
	packed->size = 0;
	PRR_TRY(prr_buffer_reserve(stored, h->stored_size, err));
	PRR_TRY(read_at(blocks, block->at + sizeof(*h), stored->bytes, h->stored_size, &got, err));
	stored->size = got;
	if (got < h->stored_size)
		return ends(blocks, block->at, "the file ends within a block");
	if (prr_block_crc(h, stored->bytes) != h->crc)
		return ends(blocks, block->at, "a damaged block (its checksum does not match)");
	if (stored == raw)
		return PRR_OK;
	status = unpack(blocks, block, zstd, packed, raw, err);
	prr_buffer_trim(packed, KEEP_BYTES);
	return status;
}

/* ------------------------------------------------------------------- the index */

static void add_mark(struct prr_blocks *blocks, uint64_t first, uint64_t at)
{
	if (blocks->walked++ % blocks->stride)
		return;
	if (blocks->mark_count == MARKS_MAX) { /* keep the even ones; this one is even */
		for (uint32_t i = 0; i < MARKS_MAX / 2; i++)
			blocks->marks[i] = blocks->marks[2 * i];
		blocks->mark_count = MARKS_MAX / 2;
		blocks->stride *= 2;
	}
	blocks->marks[blocks->mark_count++] = (struct prr_block_mark){ first, at };
}

/* Walks one block on. */
static enum prr_status walk(struct prr_blocks *blocks, struct prr_block *ret, struct prr_error *err)
{
	PRR_TRY(prr_blocks_header(blocks, blocks->front_at, blocks->front_first, ret, err));
	add_mark(blocks, ret->header.first, ret->at);
	blocks->front_at = ret->next_at;
	blocks->front_first = ret->next_first;
	return PRR_OK;
}

enum prr_status prr_blocks_reach(struct prr_blocks *blocks, uint64_t key, struct prr_error *err)
{
	struct prr_block block;

	while (blocks->front_first < key)
		PRR_TRY(walk(blocks, &block, err));
	return PRR_OK;
}

/* The last mark whose key is at most `key`; there is at least one mark. */
static const struct prr_block_mark *mark_before(const struct prr_blocks *blocks, uint64_t key)
{
	uint32_t low = 0, high = blocks->mark_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (blocks->marks[middle].first <= key)
			low = middle;
		else
			high = middle;
	}
	return &blocks->marks[low];
}

enum prr_status prr_blocks_find(
	struct prr_blocks *blocks, uint64_t key, struct prr_block *ret, struct prr_error *err)
{
	const struct prr_block_mark *mark;
	enum prr_status status, reached;

	ret->header.magic = 0;
	reached = prr_blocks_reach(blocks, key < UINT64_MAX ? key + 1 : key, err);
	if (reached != PRR_OK && reached != PRR_END)
		return reached;
	if (!blocks->mark_count)
		return reached;
	mark = mark_before(blocks, key);
	ret->next_at = mark->at;
	ret->next_first = mark->first;
	do {
		status = prr_blocks_header(blocks, ret->next_at, ret->next_first, ret, err);
		if (status != PRR_OK) { /* the file was changed meanwhile */
			ret->header.magic = 0;
			return status;
		}
	} while (ret->next_first <= key && ret->next_at < blocks->front_at);
	return reached;
}
