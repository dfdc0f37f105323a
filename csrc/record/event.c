/* SPDX-License-Identifier: GPL-2.0-or-later
 * Building events: a thin layer over the trace writer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

/* What a kill -9 of the supervisor may lose at most, in recording time. */
#define FLUSH_NS 500000000ull

/* A full disk ends the trace, not the program: it goes on as it would, under
 * a supervisor that answers its stops and writes nothing more. */
static enum prr_status kept_going(
	struct prr_record *s, enum prr_status status, struct prr_error *err)
{
	char *text = NULL;

	if (status != PRR_ERR_SYSTEM)
		return status;
	s->trace_ended = true;
	if (asprintf(&text, "the trace ends at event %llu: %s%s%s",
		    (unsigned long long)prr_trace_writer_last_index(s->writer),
		    err->message ? err->message : "?", err->remedy ? "\nhint: " : "",
		    err->remedy ? err->remedy : "") < 0)
		text = NULL;
	prr_error_deinit(err);
	prr_error_init(err);
	return prr_record_want_warning(s, text, err);
}

void prr_record_end_trace(struct prr_record *s)
{
	s->trace_ended = true;
}

bool prr_record_trace_ended(const struct prr_record *s)
{
	return s->trace_ended;
}

void prr_event_begin(struct prr_record *s, struct prr_record_task *t, enum prr_event_kind kind,
	enum prr_origin origin, const struct prr_regs *regs)
{
	static const struct prr_position nowhere;

	prr_event_begin_at(s, t, kind, origin, regs, &nowhere);
}

void prr_event_begin_at(struct prr_record *s, struct prr_record_task *t, enum prr_event_kind kind,
	enum prr_origin origin, const struct prr_regs *regs, const struct prr_position *position)
{
	struct prr_event head = {
		.kind = (uint16_t)kind,
		.arch = PRR_ARCH_X86_64,
		.origin = (uint8_t)origin,
		.position = *position,
	};

	s->last_event_ns = prr_now();
	if (t) {
		t->event_count++;
		t->at_point = kind == PRR_EVENT_PREEMPT;
		t->spinning = t->spinning && t->at_point;
	}
	if (s->trace_ended)
		return;
	if (t) {
		head.task = t->uid;
		head.as_uid = t->as ? t->as->uid : 0;
		head.regs = *regs;
	}
	head.time_ns = s->last_event_ns - s->start_ns;
	prr_trace_writer_begin(s->writer, &head);
}

enum prr_status prr_event_bytes(struct prr_record *s, uint32_t as_uid, uint64_t addr,
	const void *data, size_t len, struct prr_error *err)
{
	if (s->trace_ended)
		return PRR_OK;
	return kept_going(s, prr_trace_writer_output(s->writer, as_uid, addr, data, len, err), err);
}

enum prr_status prr_event_memory(struct prr_record *s, struct prr_record_task *t, uint64_t addr,
	uint64_t len, struct prr_error *err)
{
	while (len > 0 && !s->trace_ended) {
		size_t chunk = len < s->buffer_size ? (size_t)len : s->buffer_size;
		size_t got = prr_mem_read_some(t->uid.tid, prr_remote(addr), s->buffer, chunk);

		if (got < chunk) /* no access for the task itself: PROT_NONE since */
			got += prr_mem_peek_some(
				t->uid.tid, prr_remote(addr + got), s->buffer + got, chunk - got);
		if (got)
			PRR_TRY(prr_event_bytes(s, t->as->uid, addr, s->buffer, got, err));
		if (got < chunk)
			break; /* what is not mapped was not written either */
		addr += got;
		len -= got;
	}
	return PRR_OK;
}

/* Fields that replay must understand are marked required. */
static bool is_required(uint16_t tag)
{
	return tag != PRR_FIELD_SIGINFO && tag != PRR_FIELD_TEXT && tag != PRR_FIELD_ARGV &&
		tag != PRR_FIELD_PAGE_HASHES && tag != PRR_FIELD_PAGE;
}

enum prr_status prr_event_field(
	struct prr_record *s, uint16_t tag, const void *data, size_t len, struct prr_error *err)
{
	if (s->trace_ended)
		return PRR_OK;
	return kept_going(
		s, prr_trace_writer_field(s->writer, tag, is_required(tag), data, len, err), err);
}

enum prr_status prr_event_syscall_field(struct prr_record *s, struct prr_record_task *t,
	int64_t result, uint32_t flags, struct prr_error *err)
{
	struct prr_field_syscall field = {
		.result = result,
		.nr = (int32_t)t->nr,
		.flags = flags,
	};

	return prr_event_field(s, PRR_FIELD_SYSCALL, &field, sizeof(field), err);
}

enum prr_status prr_event_mapping(struct prr_record *s, const struct prr_field_mapping *mapping,
	const char *path, struct prr_error *err)
{
	size_t path_len = strlen(path);
	uint8_t *bytes = malloc(sizeof(*mapping) + path_len);

	if (bytes && mapping->store_id) {
		enum prr_status announced = prr_record_announce_file(s, mapping->store_id, err);

		if (announced != PRR_OK) {
			free(bytes);
			return announced;
		}
	}
	if (!bytes)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	memcpy(bytes, mapping, sizeof(*mapping));
	memcpy(bytes + sizeof(*mapping), path, path_len);
	enum prr_status status =
		prr_event_field(s, PRR_FIELD_MAPPING, bytes, sizeof(*mapping) + path_len, err);

	free(bytes);
	return status;
}

enum prr_status prr_event_regs_after(
	struct prr_record *s, struct prr_record_task *t, bool xstate, struct prr_error *err)
{
	PRR_TRY(prr_event_field(s, PRR_FIELD_REGS_AFTER, &t->regs, sizeof(t->regs), err));
	if (!xstate)
		return PRR_OK;
	size_t len;

	if (!prr_ptrace_get_xstate(t->uid.tid, s->xstate, sizeof(s->xstate), &len))
		return PRR_OK; /* dying: its EXIT event follows */
	return prr_event_field(s, PRR_FIELD_XSTATE_AFTER, s->xstate, len, err);
}

enum prr_status prr_event_commit(struct prr_record *s, struct prr_error *err)
{
	if (s->trace_ended)
		return PRR_OK;
	PRR_TRY(kept_going(s, prr_trace_writer_commit(s->writer, NULL, err), err));
	if (s->trace_ended || s->last_event_ns - s->last_flush_ns < FLUSH_NS)
		return PRR_OK;
	s->last_flush_ns = s->last_event_ns;
	return kept_going(s, prr_trace_writer_flush(s->writer, err), err);
}

enum prr_status prr_event_note(
	struct prr_record *s, struct prr_record_task *t, const char *text, struct prr_error *err)
{
	prr_event_begin(s, t, PRR_EVENT_NOTE, PRR_ORIGIN_POLICY, &t->regs);
	PRR_TRY(prr_event_field(s, PRR_FIELD_TEXT, text, strlen(text), err));
	return prr_event_commit(s, err);
}
