/* SPDX-License-Identifier: GPL-2.0-or-later
 * The trace writer: events collect in a block buffer, output bytes in a data
 * buffer; a full block is compressed and written by one pwrite.
 *
 * Invariants
 *  - A stream's `end` is the file offset after its last complete block. Nothing
 *    before it is ever touched again; a failed write is cut off there.
 *  - Data is flushed before the event block that refers to it.
 *  - No clock, no TSC, no allocation on the path of an ordinary event: the
 *    supervisor runs with the TSC disabled (PITFALLS A6).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "buffer.h"
#include "trace_format.h"

enum {
	ZSTD_LEVEL = 1,
	KEEP_BYTES = 2 << 20, /* buffers larger than this are given back after use */
	RECORD_FIXED_MAX = sizeof(struct prr_event_record) + sizeof(struct prr_position) +
		sizeof(uint64_t) + sizeof(struct prr_regs)
};

struct stream {
	const char *name; /* of the file */
	int fd;
	uint64_t end;
};

struct prr_trace_writer {
	struct stream events, data;
	ZSTD_CCtx *zstd; /* owned */
	int broken;      /* errno of the write that failed; 0 none */
	bool finished;

	/* The event being filled. */
	bool begun;
	struct prr_event head;
	struct prr_buffer outputs, fields; /* encoded */
	uint32_t output_count, field_count;
	uint64_t event_data; /* data offset at its begin */

	/* The event block being filled. */
	struct prr_buffer block;
	uint32_t block_count;
	uint64_t block_data; /* data offset of its first event */
	uint64_t next_data;  /* data offset after its last event */
	uint64_t last_time;
	uint64_t last_index;
	struct prr_regs_memory memory;

	/* The data block being filled; its first byte has offset data_base. */
	struct prr_buffer data_block;
	uint64_t data_base;

	struct prr_buffer packed; /* header and payload on their way to a file */
};

static enum prr_status write_failed(const struct stream *stream, size_t len, struct prr_error *err)
{
	const char *remedy = NULL;

	if (errno == ENOSPC || errno == EDQUOT)
		remedy = "free disk space, or record to another disk: pyrr record -o DIR";
	else if (errno == EFBIG)
		remedy = "raise the limit on file sizes: ulimit -f unlimited";
	return prr_fail(err, PRR_ERR_SYSTEM, errno, remedy,
		"writing %zu bytes to the trace's file '%s'", len, stream->name);
}

static enum prr_status stream_pwrite(
	struct stream *stream, const void *bytes, size_t len, struct prr_error *err)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pwrite(stream->fd, (const uint8_t *)bytes + done, len - done,
			(off_t)(stream->end + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return write_failed(stream, len, err);
		done += (size_t)n;
	}
	stream->end += len;
	return PRR_OK;
}

static enum prr_status stream_open(struct stream *stream, int dir_fd, const char *dir,
	const char *magic, struct prr_error *err)
{
	struct prr_file_header header = {
		.version = PRR_TRACE_VERSION, .arch = PRR_ARCH_X86_64, .size = sizeof(header)
	};

	stream->fd = openat(
		dir_fd, stream->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (stream->fd < 0)
		return prr_fail_errno(err, "creating '%s/%s'", dir, stream->name);
	memcpy(header.magic, magic, sizeof(header.magic));
	header.crc = prr_file_header_crc(&header);
	return stream_pwrite(stream, &header, sizeof(header), err);
}

static enum prr_status open_streams(
	struct prr_trace_writer *writer, const char *dir, struct prr_error *err)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum prr_status status;

	if (dir_fd < 0)
		return prr_fail_errno(err, "opening the trace directory '%s'", dir);
	status = stream_open(&writer->data, dir_fd, dir, PRR_TRACE_DATA_MAGIC, err);
	if (status == PRR_OK)
		status = stream_open(&writer->events, dir_fd, dir, PRR_TRACE_EVENTS_MAGIC, err);
	if (status != PRR_OK) { /* remove only what this call created */
		if (writer->data.fd >= 0)
			unlinkat(dir_fd, writer->data.name, 0);
		if (writer->events.fd >= 0)
			unlinkat(dir_fd, writer->events.name, 0);
	}
	close(dir_fd);
	return status;
}

static enum prr_status allocate(struct prr_trace_writer *writer, struct prr_error *err)
{
	writer->zstd = ZSTD_createCCtx();
	if (!writer->zstd)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "a zstd context");
	PRR_TRY(prr_buffer_reserve(&writer->block, PRR_EVENT_BLOCK_CUT, err));
	PRR_TRY(prr_buffer_reserve(&writer->data_block, PRR_DATA_BLOCK_MAX, err));
	PRR_TRY(prr_buffer_reserve(&writer->outputs, 4096, err));
	return prr_buffer_reserve(&writer->fields, 16384, err);
}

enum prr_status prr_trace_writer_create(
	const char *dir, struct prr_trace_writer **ret, struct prr_error *err)
{
	struct prr_trace_writer *writer = calloc(1, sizeof(*writer));
	enum prr_status status;

	*ret = NULL;
	if (!writer)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "a trace writer");
	writer->events = (struct stream){ .name = PRR_TRACE_EVENTS_NAME, .fd = -1 };
	writer->data = (struct stream){ .name = PRR_TRACE_DATA_NAME, .fd = -1 };
	prr_regs_memory_reset(&writer->memory);
	status = allocate(writer, err);
	if (status == PRR_OK)
		status = open_streams(writer, dir, err);
	if (status != PRR_OK) {
		prr_trace_writer_destroy(writer);
		return status;
	}
	*ret = writer;
	return PRR_OK;
}

void prr_trace_writer_destroy(struct prr_trace_writer *writer)
{
	if (!writer)
		return;
	if (writer->events.fd >= 0)
		close(writer->events.fd);
	if (writer->data.fd >= 0)
		close(writer->data.fd);
	ZSTD_freeCCtx(writer->zstd);
	prr_buffer_deinit(&writer->outputs);
	prr_buffer_deinit(&writer->fields);
	prr_buffer_deinit(&writer->block);
	prr_buffer_deinit(&writer->data_block);
	prr_buffer_deinit(&writer->packed);
	free(writer);
}

/* ------------------------------------------------------------------- blocks */

static enum prr_status refuse_if_closed(
	const struct prr_trace_writer *writer, struct prr_error *err)
{
	if (writer->broken)
		return prr_fail(err, PRR_ERR_SYSTEM, writer->broken, NULL,
			"the trace ends at event %llu: an earlier write failed",
			(unsigned long long)writer->last_index);
	if (writer->finished)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL, "the trace is already finished");
	return PRR_OK;
}

/* A write failed: cut the streams back to their last complete blocks, forget
 * what is not in one, and refuse everything from here on. */
static void break_off(struct prr_trace_writer *writer, int errnum)
{
	writer->broken = errnum ? errnum : EIO;
	/* A torn tail that cannot be cut off is recognised by the reader. */
	if (ftruncate(writer->data.fd, (off_t)writer->data.end) < 0 ||
		ftruncate(writer->events.fd, (off_t)writer->events.end) < 0)
		errno = writer->broken;
	writer->last_index -= writer->block_count;
	writer->block_count = 0;
	writer->block.size = 0;
	writer->data_block.size = 0;
	writer->begun = false;
}

/* Compresses `raw` behind the header in writer->packed. */
static enum prr_status pack(struct prr_trace_writer *writer, struct prr_block_header *header,
	const struct prr_buffer *raw, struct prr_error *err)
{
	struct prr_buffer *packed = &writer->packed;
	size_t bound = ZSTD_compressBound(raw->size);
	size_t n;

	packed->size = 0;
	PRR_TRY(prr_buffer_reserve(packed, sizeof(*header) + bound, err));
	n = ZSTD_compressCCtx(writer->zstd, packed->bytes + sizeof(*header), bound, raw->bytes,
		raw->size, ZSTD_LEVEL);
	if (ZSTD_isError(n))
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL, "zstd could not compress: %s",
			ZSTD_getErrorName(n));
	header->raw_size = raw->size;
	header->codec = PRR_CODEC_ZSTD;
	if (n >= raw->size || (raw->size > PRR_RAW_FREE && n < raw->size / PRR_RAW_RATIO + 1)) {
		header->codec = PRR_CODEC_STORED;
		n = raw->size;
		memcpy(packed->bytes + sizeof(*header), raw->bytes, n);
	}
	header->version = PRR_BLOCK_VERSION;
	header->stored_size = n;
	header->crc = prr_block_crc(header, packed->bytes + sizeof(*header));
	memcpy(packed->bytes, header, sizeof(*header));
	packed->size = sizeof(*header) + n;
	return PRR_OK;
}

static enum prr_status write_block(struct prr_trace_writer *writer, struct stream *stream,
	struct prr_block_header *header, struct prr_buffer *raw, struct prr_error *err)
{
	enum prr_status status = pack(writer, header, raw, err);

	if (status == PRR_OK)
		status = stream_pwrite(stream, writer->packed.bytes, writer->packed.size, err);
	if (status != PRR_OK)
		break_off(writer, err->errnum);
	prr_buffer_trim(&writer->packed, KEEP_BYTES);
	return status;
}

static enum prr_status flush_data(struct prr_trace_writer *writer, struct prr_error *err)
{
	struct prr_buffer *raw = &writer->data_block;
	struct prr_block_header header = { .magic = PRR_DATA_BLOCK_MAGIC,
		.first = writer->data_base };

	if (!raw->size)
		return PRR_OK;
	PRR_TRY(write_block(writer, &writer->data, &header, raw, err));
	writer->data_base += raw->size;
	raw->size = 0;
	return PRR_OK;
}

static enum prr_status flush_events(struct prr_trace_writer *writer, struct prr_error *err)
{
	struct prr_block_header header = { .magic = PRR_EVENT_BLOCK_MAGIC,
		.first = writer->last_index - writer->block_count + 1,
		.data_offset = writer->block_data,
		.event_count = writer->block_count };

	PRR_TRY(flush_data(writer, err));
	if (!writer->block_count)
		return PRR_OK;
	PRR_TRY(write_block(writer, &writer->events, &header, &writer->block, err));
	writer->block_count = 0;
	writer->last_time = 0;
	prr_regs_memory_reset(&writer->memory);
	prr_buffer_trim(&writer->block, KEEP_BYTES);
	return prr_buffer_reserve(&writer->block, PRR_EVENT_BLOCK_CUT, err);
}

/* -------------------------------------------------------------------- events */

static uint64_t data_end(const struct prr_trace_writer *writer)
{
	return writer->data_base + writer->data_block.size;
}

void prr_trace_writer_begin(struct prr_trace_writer *writer, const struct prr_event *head)
{
	prr_trace_writer_abandon(writer);
	writer->head = *head;
	writer->event_data = data_end(writer);
	writer->begun = true;
}

void prr_trace_writer_abandon(struct prr_trace_writer *writer)
{
	/* Bytes already written stay as a gap that the next event skips. */
	if (writer->begun && writer->event_data > writer->data_base)
		writer->data_block.size = writer->event_data - writer->data_base;
	else if (writer->begun)
		writer->data_block.size = 0;
	writer->begun = false;
	prr_buffer_trim(&writer->outputs, KEEP_BYTES);
	prr_buffer_trim(&writer->fields, KEEP_BYTES);
	writer->output_count = 0;
	writer->field_count = 0;
}

static enum prr_status expect_begun(const struct prr_trace_writer *writer, struct prr_error *err)
{
	PRR_TRY(refuse_if_closed(writer, err));
	if (!writer->begun)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL, "no event has been begun");
	return PRR_OK;
}

static enum prr_status expect_output(
	const struct prr_trace_writer *writer, uint64_t addr, uint64_t len, struct prr_error *err)
{
	PRR_TRY(expect_begun(writer, err));
	if (len && addr + (len - 1) < addr)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"an output of %llu bytes at 0x%llx leaves the address space",
			(unsigned long long)len, (unsigned long long)addr);
	return PRR_OK;
}

static enum prr_status put_output(
	struct prr_trace_writer *writer, const struct prr_output *output, struct prr_error *err)
{
	const struct prr_output_record record = { .as_uid = output->as_uid,
		.kind = output->kind,
		.addr = output->addr,
		.len = output->len };
	const struct prr_output_store store = { .store_offset = output->store_offset,
		.store_id = output->store_id };

	if (writer->output_count == UINT32_MAX)
		return prr_fail(err, PRR_ERR_UNSUPPORTED, 0, NULL,
			"an event with more than %u outputs", UINT32_MAX);
	PRR_TRY(prr_buffer_reserve(&writer->outputs, sizeof(record) + sizeof(store), err));
	prr_buffer_put(&writer->outputs, &record, sizeof(record));
	if (output->kind == PRR_OUTPUT_STORE)
		prr_buffer_put(&writer->outputs, &store, sizeof(store));
	writer->output_count++;
	return PRR_OK;
}

enum prr_status prr_trace_writer_output(struct prr_trace_writer *writer, uint32_t as_uid,
	uint64_t addr, const void *data, size_t len, struct prr_error *err)
{
	const uint8_t *bytes = data;

	PRR_TRY(expect_output(writer, addr, len, err));
	while (len) {
		size_t n = len < PRR_OUTPUT_MAX ? len : PRR_OUTPUT_MAX;
		const struct prr_output output = {
			.as_uid = as_uid, .kind = PRR_OUTPUT_BYTES, .addr = addr, .len = n
		};

		if (writer->data_block.size + n > PRR_DATA_BLOCK_MAX)
			PRR_TRY(flush_data(writer, err));
		PRR_TRY(put_output(writer, &output, err));
		prr_buffer_put(&writer->data_block, bytes, n);
		bytes += n;
		addr += n;
		len -= n;
	}
	return PRR_OK;
}

enum prr_status prr_trace_writer_output_ref(
	struct prr_trace_writer *writer, const struct prr_output *output, struct prr_error *err)
{
	struct prr_output part = *output;
	uint64_t left = output->len;

	PRR_TRY(expect_output(writer, output->addr, output->len, err));
	if (output->kind != PRR_OUTPUT_STORE && output->kind != PRR_OUTPUT_HOLE)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL, "an output reference of kind %u",
			output->kind);
	if (output->kind == PRR_OUTPUT_STORE && output->store_offset + left < left)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"an output reference past the end of any file");
	while (left) {
		part.len = left < PRR_OUTPUT_MAX ? left : PRR_OUTPUT_MAX;
		PRR_TRY(put_output(writer, &part, err));
		part.addr += part.len;
		part.store_offset += part.len;
		left -= part.len;
	}
	return PRR_OK;
}

enum prr_status prr_trace_writer_field(struct prr_trace_writer *writer, uint16_t tag, bool required,
	const void *data, size_t len, struct prr_error *err)
{
	static const uint8_t zeros[8];
	const struct prr_field_record record = {
		.tag = (uint16_t)(tag | (required ? PRR_FIELD_TAG_REQUIRED : 0)),
		.len = (uint32_t)len,
	};

	PRR_TRY(expect_begun(writer, err));
	if (tag & PRR_FIELD_TAG_REQUIRED)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL, "a field with tag %u", tag);
	if (len > UINT32_MAX || writer->field_count == UINT32_MAX)
		return prr_fail(err, PRR_ERR_UNSUPPORTED, 0, NULL,
			"a field of %zu bytes as number %u of its event", len, writer->field_count);
	PRR_TRY(prr_buffer_reserve(&writer->fields, sizeof(record) + len + 7, err));
	prr_buffer_put(&writer->fields, &record, sizeof(record));
	prr_buffer_put(&writer->fields, data, len);
	prr_buffer_put(&writer->fields, zeros, prr_align8(len) - len);
	writer->field_count++;
	return PRR_OK;
}

/* Appends the registers that differ from `base`, updates it, returns the mask. */
static uint32_t put_regs(struct prr_buffer *block, const struct prr_regs *regs, uint64_t *base)
{
	uint64_t words[PRR_REG_COUNT];
	uint64_t *out = (uint64_t *)(void *)(block->bytes + block->size);
	size_t n = 0;
	uint32_t mask = 0;

	memcpy(words, regs, sizeof(words));
	for (unsigned int i = 0; i < PRR_REG_COUNT; i++) {
		uint32_t changed = words[i] != base[i];

		out[n] = words[i]; /* room for all has been reserved */
		n += changed;
		mask |= changed << i;
	}
	memcpy(base, words, sizeof(words));
	block->size += n * sizeof(uint64_t);
	return mask;
}

static bool has_position(const struct prr_position *position)
{
	return position->waypoint | position->site | position->hits | position->steps;
}

/* Appends the event's record; `base` is its task's, the room is reserved. */
static void put_record(struct prr_trace_writer *writer, uint64_t *base)
{
	const struct prr_event *head = &writer->head;
	struct prr_buffer *block = &writer->block;
	size_t start = block->size;
	uint64_t skip = writer->event_data - writer->next_data;
	struct prr_event_record record = {
		.kind = head->kind,
		.arch = head->arch,
		.origin = head->origin,
		.tid = head->task.tid,
		.serial = head->task.serial,
		.as_uid = head->as_uid,
		.output_count = writer->output_count,
		.field_count = writer->field_count,
		.time_delta = head->time_ns - writer->last_time,
	};

	block->size += sizeof(record);
	if (has_position(&head->position)) {
		record.flags |= PRR_RECORD_POSITION;
		prr_buffer_put(block, &head->position, sizeof(head->position));
	}
	if (skip) {
		record.flags |= PRR_RECORD_DATA_SKIP;
		prr_buffer_put(block, &skip, sizeof(skip));
	}
	record.regs_mask = put_regs(block, &head->regs, base);
	prr_buffer_put(block, writer->outputs.bytes, writer->outputs.size);
	prr_buffer_put(block, writer->fields.bytes, writer->fields.size);
	record.size = block->size - start;
	memcpy(block->bytes + start, &record, sizeof(record));
}

static enum prr_status check_head(const struct prr_event *head, struct prr_error *err)
{
	if (head->kind < 1 || head->kind > PRR_EVENT_KIND_LAST || head->arch != PRR_ARCH_X86_64 ||
		head->origin > PRR_ORIGIN_LAST)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"an event of kind %u, architecture %u, origin %u", head->kind, head->arch,
			head->origin);
	return PRR_OK;
}

/* Cuts the block where the event would not fit, and finds the event's base. */
static enum prr_status make_room(
	struct prr_trace_writer *writer, uint64_t **base, struct prr_error *err)
{
	size_t need = RECORD_FIXED_MAX + writer->outputs.size + writer->fields.size;

	if (need > PRR_RAW_MAX)
		return prr_fail(err, PRR_ERR_UNSUPPORTED, 0, NULL,
			"an event of %zu bytes; a trace holds events of up to %llu", need,
			(unsigned long long)PRR_RAW_MAX);
	if (writer->block_count && writer->block.size + need > PRR_EVENT_BLOCK_CUT)
		PRR_TRY(flush_events(writer, err));
	*base = prr_regs_memory_find(&writer->memory, writer->head.task);
	if (!*base) {
		PRR_TRY(flush_events(writer, err));
		*base = prr_regs_memory_find(&writer->memory, writer->head.task);
	}
	return prr_buffer_reserve(&writer->block, need, err);
}

enum prr_status prr_trace_writer_commit(
	struct prr_trace_writer *writer, uint64_t *index, struct prr_error *err)
{
	uint64_t *base = NULL;

	PRR_TRY(expect_begun(writer, err));
	PRR_TRY(check_head(&writer->head, err));
	PRR_TRY(make_room(writer, &base, err));
	if (!writer->block_count) {
		writer->block_data = writer->event_data;
		writer->next_data = writer->event_data;
	}
	put_record(writer, base);
	writer->block_count++;
	writer->last_index++;
	writer->last_time = writer->head.time_ns;
	writer->next_data = data_end(writer);
	if (index)
		*index = writer->last_index;
	/* Now the data is the event's for good: abandon must not take it back. */
	writer->begun = false;
	prr_trace_writer_abandon(writer);
	return PRR_OK;
}

enum prr_status prr_trace_writer_flush(struct prr_trace_writer *writer, struct prr_error *err)
{
	PRR_TRY(refuse_if_closed(writer, err));
	return flush_events(writer, err);
}

static enum prr_status close_stream(struct stream *stream, struct prr_error *err)
{
	int fd = stream->fd;

	stream->fd = -1;
	/* Since close(2) may report a late write error (NFS, quotas). */
	if (close(fd) < 0 && errno != EINTR)
		return prr_fail_errno(err, "closing the trace's file '%s'", stream->name);
	return PRR_OK;
}

enum prr_status prr_trace_writer_finish(struct prr_trace_writer *writer, struct prr_error *err)
{
	prr_trace_writer_abandon(writer);
	PRR_TRY(prr_trace_writer_flush(writer, err));
	writer->finished = true;
	PRR_TRY(close_stream(&writer->data, err));
	return close_stream(&writer->events, err);
}

uint64_t prr_trace_writer_last_index(const struct prr_trace_writer *writer)
{
	return writer->last_index;
}
