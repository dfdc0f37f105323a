/* SPDX-License-Identifier: GPL-2.0-or-later
 * The trace reader: a cursor over the events of one unpacked block at a time, and
 * one unpacked data block for their outputs.
 *
 * Invariants
 *  - A decoding step changes the cursor only when the whole event is valid, so a
 *    failing call can be repeated and fails the same way.
 *  - Counts and sizes are compared with the bytes at hand before anything is
 *    allocated or read by them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace_blocks.h"

enum { KEEP_BYTES = 2 << 20 };

struct prr_trace_reader {
	struct prr_blocks events, data;
	ZSTD_DCtx *zstd; /* owned */
	struct prr_buffer packed;

	/* The event block at hand, and where in it the next event begins. */
	struct prr_block block; /* header.magic 0: none; then next_at, next_first count */
	struct prr_buffer raw;
	size_t at;
	uint32_t left; /* events of the block not yet returned */
	uint64_t next_index;
	uint64_t last_time, next_data;
	struct prr_regs_memory memory;

	/* The data block at hand. */
	struct prr_block data_block; /* header.magic 0: none */
	struct prr_buffer data_raw;

	/* The event last returned. */
	bool has_event;
	uint16_t last_kind; /* of event next_index - 1; 0 unknown or none */
	struct prr_event event;
	struct prr_buffer outputs; /* of struct prr_output */
	struct prr_buffer offsets; /* of uint64_t: each output's data offset */
	struct prr_buffer fields;  /* of struct prr_field */

	char *end_reason; /* owned */
};

static enum prr_status open_trace(
	struct prr_trace_reader *reader, const char *dir, struct prr_error *err)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum prr_status status;

	if (dir_fd < 0)
		return prr_fail(err, PRR_ERR_TRACE, errno, "list the traces there are: pyrr ls",
			"opening the trace '%s'", dir);
	status = prr_blocks_init(&reader->events, dir_fd, dir, true, err);
	if (status == PRR_OK)
		status = prr_blocks_init(&reader->data, dir_fd, dir, false, err);
	close(dir_fd);
	return status;
}

enum prr_status prr_trace_reader_create(
	const char *dir, struct prr_trace_reader **ret, struct prr_error *err)
{
	struct prr_trace_reader *reader = calloc(1, sizeof(*reader));
	enum prr_status status;

	*ret = NULL;
	if (!reader)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "a trace reader");
	reader->events.fd = -1;
	reader->data.fd = -1;
	reader->next_index = 1;
	reader->block.next_at = sizeof(struct prr_file_header);
	reader->block.next_first = 1;
	reader->zstd = ZSTD_createDCtx();
	if (reader->zstd)
		status = open_trace(reader, dir, err);
	else
		status = prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "a zstd context");
	if (status != PRR_OK) {
		prr_trace_reader_destroy(reader);
		return status;
	}
	*ret = reader;
	return PRR_OK;
}

void prr_trace_reader_destroy(struct prr_trace_reader *reader)
{
	if (!reader)
		return;
	prr_blocks_deinit(&reader->events);
	prr_blocks_deinit(&reader->data);
	ZSTD_freeDCtx(reader->zstd);
	prr_buffer_deinit(&reader->packed);
	prr_buffer_deinit(&reader->raw);
	prr_buffer_deinit(&reader->data_raw);
	prr_buffer_deinit(&reader->outputs);
	prr_buffer_deinit(&reader->offsets);
	prr_buffer_deinit(&reader->fields);
	free(reader->end_reason);
	free(reader);
}

/* ----------------------------------------------------------- decoding an event */

struct cursor {
	const uint8_t *bytes;
	size_t left;
};

/* The next `len` bytes, 8-aligned; NULL when there are fewer. */
static const void *take(struct cursor *cursor, uint64_t len)
{
	const void *bytes = cursor->bytes;

	len = prr_align8(len);
	if (len > cursor->left)
		return NULL;
	cursor->bytes += len;
	cursor->left -= len;
	return bytes;
}

static enum prr_status damaged(
	const struct prr_trace_reader *reader, const char *what, struct prr_error *err)
{
	return prr_fail(err, PRR_ERR_TRACE, 0, NULL, "event %llu of the trace is malformed: %s",
		(unsigned long long)reader->next_index, what);
}

static enum prr_status check_record(const struct prr_trace_reader *reader,
	const struct prr_event_record *record, size_t left, struct prr_error *err)
{
	if (record->size < sizeof(*record) || record->size > left || record->size % 8)
		return damaged(reader, "its size is impossible", err);
	if (record->kind < 1 || record->kind > PRR_EVENT_KIND_LAST)
		return prr_fail(err, PRR_ERR_TRACE, 0, "use a newer pyrr",
			"event %llu of the trace is of a kind (%u) this pyrr does not know",
			(unsigned long long)reader->next_index, record->kind);
	if (record->arch != PRR_ARCH_X86_64)
		return damaged(reader, "its architecture is unknown", err);
	if (record->origin > PRR_ORIGIN_LAST)
		return damaged(reader, "its origin is unknown", err);
	if (record->flags & ~(uint32_t)PRR_RECORD_FLAGS_KNOWN)
		return damaged(reader, "it has unknown flags", err);
	if (record->regs_mask >> PRR_REG_COUNT)
		return damaged(reader, "it has unknown registers", err);
	return PRR_OK;
}

static enum prr_status decode_regs(struct prr_trace_reader *reader, uint32_t mask,
	struct cursor *cursor, struct prr_error *err)
{
	uint64_t words[PRR_REG_COUNT];
	const uint64_t *base = prr_regs_memory_find(&reader->memory, reader->event.task);
	const uint64_t *changed =
		take(cursor, (uint64_t)__builtin_popcount(mask) * sizeof(uint64_t));

	if (!base)
		return damaged(reader, "its block has too many tasks", err);
	if (!changed)
		return damaged(reader, "its registers do not fit in it", err);
	for (unsigned int i = 0; i < PRR_REG_COUNT; i++)
		words[i] = mask >> i & 1 ? *changed++ : base[i];
	memcpy(&reader->event.regs, words, sizeof(words));
	return PRR_OK;
}

static enum prr_status decode_output(struct prr_trace_reader *reader, struct cursor *cursor,
	uint64_t *offset, struct prr_error *err)
{
	const struct prr_output_record *record = take(cursor, sizeof(*record));
	const struct prr_output_store *store = NULL;
	struct prr_output output;

	if (!record)
		return damaged(reader, "its outputs do not fit in it", err);
	if (record->kind > PRR_OUTPUT_HOLE)
		return damaged(reader, "it has an output of an unknown kind", err);
	if (!record->len || record->len > PRR_OUTPUT_MAX ||
		record->addr + (record->len - 1) < record->addr)
		return damaged(reader, "it has an output of impossible size", err);
	output = (struct prr_output){ .as_uid = record->as_uid,
		.kind = record->kind,
		.addr = record->addr,
		.len = record->len };
	if (record->kind == PRR_OUTPUT_STORE) {
		store = take(cursor, sizeof(*store));
		if (!store || store->store_offset + record->len < record->len)
			return damaged(reader, "it has an impossible store output", err);
		output.store_id = store->store_id;
		output.store_offset = store->store_offset;
	}
	PRR_TRY(prr_buffer_reserve(&reader->outputs, sizeof(output), err));
	PRR_TRY(prr_buffer_reserve(&reader->offsets, sizeof(*offset), err));
	prr_buffer_put(&reader->outputs, &output, sizeof(output));
	prr_buffer_put(&reader->offsets, offset, sizeof(*offset));
	if (record->kind == PRR_OUTPUT_BYTES &&
		__builtin_add_overflow(*offset, record->len, offset))
		return damaged(reader, "its output data is out of range", err);
	return PRR_OK;
}

static enum prr_status decode_field(
	struct prr_trace_reader *reader, struct cursor *cursor, struct prr_error *err)
{
	const struct prr_field_record *record = take(cursor, sizeof(*record));
	struct prr_field field;

	if (!record)
		return damaged(reader, "its fields do not fit in it", err);
	field = (struct prr_field){
		.tag = (uint16_t)(record->tag & ~PRR_FIELD_TAG_REQUIRED),
		.required = record->tag & PRR_FIELD_TAG_REQUIRED,
		.len = record->len,
		.data = take(cursor, record->len),
	};
	if (!field.data)
		return damaged(reader, "a field does not fit in it", err);
	if (field.required && (!field.tag || field.tag > PRR_FIELD_TAG_LAST))
		return prr_fail(err, PRR_ERR_TRACE, 0, "use a newer pyrr",
			"event %llu of the trace needs a field (tag %u) that this pyrr "
			"does not know",
			(unsigned long long)reader->next_index, field.tag);
	PRR_TRY(prr_buffer_reserve(&reader->fields, sizeof(field), err));
	prr_buffer_put(&reader->fields, &field, sizeof(field));
	return PRR_OK;
}

/* Everything of the record behind its fixed part; *data gets the offset after
 * the event's output bytes. */
static enum prr_status decode_body(struct prr_trace_reader *reader,
	const struct prr_event_record *record, struct cursor *cursor, uint64_t *data,
	struct prr_error *err)
{
	const void *position = NULL;
	const uint64_t *skip = NULL;

	if (record->flags & PRR_RECORD_POSITION) {
		position = take(cursor, sizeof(struct prr_position));
		if (!position)
			return damaged(reader, "its position does not fit in it", err);
		memcpy(&reader->event.position, position, sizeof(struct prr_position));
	}
	if (record->flags & PRR_RECORD_DATA_SKIP) {
		skip = take(cursor, sizeof(*skip));
		if (!skip || __builtin_add_overflow(*data, *skip, data))
			return damaged(reader, "its place in the data is impossible", err);
	}
	PRR_TRY(decode_regs(reader, record->regs_mask, cursor, err));
	for (uint32_t i = 0; i < record->output_count; i++)
		PRR_TRY(decode_output(reader, cursor, data, err));
	for (uint32_t i = 0; i < record->field_count; i++)
		PRR_TRY(decode_field(reader, cursor, err));
	if (cursor->left)
		return damaged(reader, "it has bytes left over", err);
	return PRR_OK;
}

/* Notes in words why the events end here. */
static enum prr_status note_end(struct prr_trace_reader *reader, const char *why)
{
	unsigned long long last = reader->next_index - 1;
	int n;

	reader->has_event = false;
	free(reader->end_reason);
	reader->end_reason = NULL;
	if (reader->last_kind == PRR_EVENT_TRACE_END)
		return PRR_END;
	if (last)
		n = asprintf(&reader->end_reason, "the trace ends early, after event %llu: %s",
			last, why ? why : "?");
	else
		n = asprintf(&reader->end_reason, "the trace holds no event: %s", why ? why : "?");
	if (n < 0)
		reader->end_reason = NULL;
	return PRR_END;
}

/* Decodes the event at the cursor and moves past it. PRR_END: its data is not
 * there. */
static enum prr_status decode_event(struct prr_trace_reader *reader, struct prr_error *err)
{
	const struct prr_event_record *record = (const void *)(reader->raw.bytes + reader->at);
	struct prr_event *event = &reader->event;
	size_t left = reader->raw.size - reader->at;
	uint64_t data = reader->next_data;
	struct cursor cursor;
	enum prr_status status;

	prr_buffer_trim(&reader->outputs, KEEP_BYTES);
	prr_buffer_trim(&reader->offsets, KEEP_BYTES);
	prr_buffer_trim(&reader->fields, KEEP_BYTES);
	if (left < sizeof(*record))
		return damaged(reader, "its block is too short", err);
	PRR_TRY(check_record(reader, record, left, err));
	*event = (struct prr_event){ .index = reader->next_index,
		.kind = record->kind,
		.arch = record->arch,
		.origin = record->origin,
		.task = { record->tid, record->serial },
		.as_uid = record->as_uid,
		.time_ns = reader->last_time + record->time_delta };
	cursor = (struct cursor){ (const uint8_t *)(record + 1), record->size - sizeof(*record) };
	PRR_TRY(decode_body(reader, record, &cursor, &data, err));
	if (reader->left == 1 && record->size != left)
		return damaged(reader, "its block has bytes left over", err);
	status = prr_blocks_reach(&reader->data, data, err);
	if (status == PRR_END)
		return note_end(reader, reader->data.end);
	PRR_TRY(status);

	event->output_count = record->output_count;
	event->outputs = (const void *)reader->outputs.bytes;
	event->field_count = record->field_count;
	event->fields = (const void *)reader->fields.bytes;
	memcpy(prr_regs_memory_find(&reader->memory, event->task), &event->regs,
		sizeof(event->regs));
	reader->at += record->size;
	reader->left--;
	reader->next_index++;
	reader->last_time = event->time_ns;
	reader->next_data = data;
	reader->last_kind = event->kind;
	return PRR_OK;
}

/* ----------------------------------------------------------------- the blocks */

/* To the first event of the block at hand. */
static void rewind_block(struct prr_trace_reader *reader)
{
	reader->at = 0;
	reader->left = reader->block.header.event_count;
	reader->next_index = reader->block.header.first;
	reader->last_time = 0;
	reader->next_data = reader->block.header.data_offset;
	reader->last_kind = 0;
	prr_regs_memory_reset(&reader->memory);
}

/* Makes `block` the one at hand. When it cannot be read (PRR_END, errors) the
 * next call to load_next tries it again. */
static enum prr_status load(
	struct prr_trace_reader *reader, const struct prr_block *block, struct prr_error *err)
{
	uint16_t kind = block->header.first == reader->next_index ? reader->last_kind : 0;

	reader->block =
		(struct prr_block){ .next_at = block->at, .next_first = block->header.first };
	reader->left = 0;
	reader->next_index = block->header.first;
	reader->last_kind = kind;
	PRR_TRY(prr_blocks_load(
		&reader->events, block, reader->zstd, &reader->packed, &reader->raw, err));
	reader->block = *block;
	rewind_block(reader);
	reader->last_kind = kind;
	return PRR_OK;
}

static enum prr_status load_next(struct prr_trace_reader *reader, struct prr_error *err)
{
	struct prr_block block;

	PRR_TRY(prr_blocks_header(
		&reader->events, reader->block.next_at, reader->block.next_first, &block, err));
	return load(reader, &block, err);
}

enum prr_status prr_trace_reader_next(
	struct prr_trace_reader *reader, const struct prr_event **ret, struct prr_error *err)
{
	enum prr_status status;

	*ret = NULL;
	reader->has_event = false;
	if (!reader->left) {
		status = load_next(reader, err);
		if (status == PRR_END)
			return note_end(reader, reader->events.end);
		PRR_TRY(status);
	}
	PRR_TRY(decode_event(reader, err));
	reader->has_event = true;
	*ret = &reader->event;
	return PRR_OK;
}

/* Decodes on within the block until `index` is next. */
static enum prr_status skip_to(
	struct prr_trace_reader *reader, uint64_t index, struct prr_error *err)
{
	enum prr_status status = PRR_OK;

	while (status == PRR_OK && reader->left && reader->next_index < index)
		status = decode_event(reader, err);
	reader->has_event = false;
	return status == PRR_END ? PRR_OK : status; /* _next will say it again */
}

enum prr_status prr_trace_reader_seek(
	struct prr_trace_reader *reader, uint64_t index, struct prr_error *err)
{
	struct prr_block block;
	enum prr_status status;

	reader->has_event = false;
	if (!index)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL, "events are numbered from 1");
	if (reader->block.header.magic && index >= reader->block.header.first &&
		index < reader->block.next_first) {
		if (index < reader->next_index)
			rewind_block(reader);
		return skip_to(reader, index, err);
	}
	status = prr_blocks_find(&reader->events, index, &block, err);
	if (status != PRR_OK && status != PRR_END)
		return status;
	if (!block.header.magic)
		return PRR_OK; /* an empty stream: the cursor stands at its start */
	status = load(reader, &block, err);
	if (status != PRR_OK)
		return status == PRR_END ? PRR_OK : status;
	return skip_to(reader, index, err);
}

const char *prr_trace_reader_end_reason(const struct prr_trace_reader *reader)
{
	return reader->end_reason;
}

/* --------------------------------------------------------------- output bytes */

/* Makes the data block that holds `offset` the one at hand. */
static enum prr_status load_data(
	struct prr_trace_reader *reader, uint64_t offset, struct prr_error *err)
{
	struct prr_block block = reader->data_block;
	enum prr_status status;

	if (block.header.magic && block.next_first == offset)
		status = prr_blocks_header(&reader->data, block.next_at, offset, &block, err);
	else
		status = prr_blocks_find(&reader->data, offset, &block, err);
	reader->data_block.header.magic = 0;
	if (status == PRR_OK)
		status = prr_blocks_load(&reader->data, &block, reader->zstd, &reader->packed,
			&reader->data_raw, err);
	if (status == PRR_END)
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"the output bytes of event %llu cannot be read: %s",
			(unsigned long long)reader->event.index,
			reader->data.end ? reader->data.end : "?");
	PRR_TRY(status);
	reader->data_block = block;
	return PRR_OK;
}

enum prr_status prr_trace_reader_output_data(
	struct prr_trace_reader *reader, size_t i, const uint8_t **data, struct prr_error *err)
{
	const struct prr_block *block = &reader->data_block;
	const struct prr_output *output;
	uint64_t offset;

	*data = NULL;
	if (!reader->has_event || i >= reader->event.output_count)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL, "there is no output %zu", i);
	output = &reader->event.outputs[i];
	if (output->kind != PRR_OUTPUT_BYTES)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"output %zu of event %llu is not of bytes", i,
			(unsigned long long)reader->event.index);
	memcpy(&offset, reader->offsets.bytes + i * sizeof(offset), sizeof(offset));
	if (!block->header.magic || offset < block->header.first || offset >= block->next_first)
		PRR_TRY(load_data(reader, offset, err));
	if (offset < block->header.first || output->len > block->next_first - offset)
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"output %zu of event %llu crosses a data block", i,
			(unsigned long long)reader->event.index);
	*data = reader->data_raw.bytes + (offset - block->header.first);
	return PRR_OK;
}
