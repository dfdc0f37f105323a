/* sources: shared/error.c shared/buffer.c shared/trace_*.c libs: -lzstd -lz */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * The trace codec: what is written is read, damage and full disks cut, never lie. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace_format.h"
#include "error.h"

#define CHECK(condition)                                                                      \
	do {                                                                                  \
		if (!(condition)) {                                                           \
			fprintf(stderr, "%s:%d: %s: not true: %s (%s)\n", __FILE__, __LINE__, \
				__func__, #condition, error.message ? error.message : "-");   \
			exit(1);                                                              \
		}                                                                             \
	} while (0)
#define OK(call) CHECK((call) == PRR_OK)

static struct prr_error error;

static struct prr_event head_for(uint64_t i)
{
	struct prr_event head = { .kind = PRR_EVENT_SYSCALL,
		.arch = PRR_ARCH_X86_64,
		.task = { (int32_t)(100 + i % 3), (uint32_t)(1 + i % 3) },
		.as_uid = 7,
		.time_ns = i * 1000,
		.regs = { .rax = i, .rip = 0x401000 + i % 5, .gs = ~i } };

	if (i % 4 == 0)
		head.position = (struct prr_position){ .waypoint = i, .steps = 2 };
	return head;
}

/* Event i has i % 3 outputs of a pattern, and a syscall field. */
static void write_event(struct prr_trace_writer *writer, uint64_t i)
{
	struct prr_event head = head_for(i);
	struct prr_field_syscall field = { .result = (int64_t)i, .nr = 1 };
	uint8_t bytes[300];
	uint64_t index;

	if (i % 7 == 0) { /* begun and abandoned: leaves no trace */
		prr_trace_writer_begin(writer, &head);
		OK(prr_trace_writer_output(writer, 9, 0x1000, bytes, 0, &error));
		OK(prr_trace_writer_output(writer, 9, 0x1000, "dropped", 7, &error));
		prr_trace_writer_abandon(writer);
	}
	memset(bytes, (int)(i % 251), sizeof(bytes));
	prr_trace_writer_begin(writer, &head);
	for (uint64_t k = 0; k < i % 3; k++)
		OK(prr_trace_writer_output(writer, 7, 0x7000 + k * 4096, bytes,
			1 + (i + k) % sizeof(bytes), &error));
	OK(prr_trace_writer_field(writer, PRR_FIELD_SYSCALL, true, &field, sizeof(field), &error));
	OK(prr_trace_writer_field(writer, 999, false, "unknown", 7, &error));
	OK(prr_trace_writer_commit(writer, &index, &error));
	CHECK(index == i);
	CHECK(prr_trace_writer_last_index(writer) == i);
}

static void check_event(struct prr_trace_reader *reader, const struct prr_event *event, uint64_t i)
{
	struct prr_event head = head_for(i);
	struct prr_field_syscall field;

	CHECK(event->index == i);
	CHECK(event->kind == head.kind && event->arch == head.arch && event->origin == 0);
	CHECK(event->task.tid == head.task.tid && event->task.serial == head.task.serial);
	CHECK(event->as_uid == 7 && event->time_ns == head.time_ns);
	CHECK(!memcmp(&event->position, &head.position, sizeof(head.position)));
	CHECK(!memcmp(&event->regs, &head.regs, sizeof(head.regs)));
	CHECK(event->output_count == i % 3);
	for (size_t k = 0; k < event->output_count; k++) {
		const struct prr_output *output = &event->outputs[k];
		const uint8_t *data;

		CHECK(output->kind == PRR_OUTPUT_BYTES && output->as_uid == 7);
		CHECK(output->addr == 0x7000 + k * 4096 && output->len == 1 + (i + k) % 300);
		OK(prr_trace_reader_output_data(reader, k, &data, &error));
		for (size_t b = 0; b < output->len; b++)
			CHECK(data[b] == i % 251);
	}
	CHECK(event->field_count == 2);
	CHECK(event->fields[0].tag == PRR_FIELD_SYSCALL && event->fields[0].required);
	CHECK(event->fields[0].len == sizeof(field) && (uintptr_t)event->fields[0].data % 8 == 0);
	memcpy(&field, event->fields[0].data, sizeof(field));
	CHECK(field.result == (int64_t)i);
	CHECK(event->fields[1].tag == 999 && !event->fields[1].required);
	CHECK(!memcmp(event->fields[1].data, "unknown", event->fields[1].len));
}

static void expect_next(struct prr_trace_reader *reader, uint64_t i)
{
	const struct prr_event *event;

	OK(prr_trace_reader_next(reader, &event, &error));
	check_event(reader, event, i);
}

static void expect_end(struct prr_trace_reader *reader, const char *why)
{
	const struct prr_event *event;
	const char *reason;

	CHECK(prr_trace_reader_next(reader, &event, &error) == PRR_END);
	CHECK(!event);
	reason = prr_trace_reader_end_reason(reader);
	if (!why)
		CHECK(!reason);
	else if (!reason || !strstr(reason, why)) {
		fprintf(stderr, "reason '%s' lacks '%s'\n", reason ? reason : "(null)", why);
		exit(1);
	}
}

static struct prr_trace_writer *new_writer(const char *dir)
{
	struct prr_trace_writer *writer;

	CHECK(mkdir(dir, 0700) == 0);
	OK(prr_trace_writer_create(dir, &writer, &error));
	return writer;
}

static struct prr_trace_reader *open_reader(const char *dir)
{
	struct prr_trace_reader *reader;

	OK(prr_trace_reader_create(dir, &reader, &error));
	return reader;
}

static void write_end(struct prr_trace_writer *writer)
{
	struct prr_event head = { .kind = PRR_EVENT_TRACE_END, .arch = PRR_ARCH_X86_64 };

	prr_trace_writer_begin(writer, &head);
	OK(prr_trace_writer_commit(writer, NULL, &error));
	OK(prr_trace_writer_finish(writer, &error));
}

static void test_round_trip(void)
{
	enum { N = 20000 };
	struct prr_trace_writer *writer = new_writer("round");
	struct prr_trace_reader *reader;
	const struct prr_event *event;
	uint64_t state = 1;

	for (uint64_t i = 1; i <= N; i++)
		write_event(writer, i);
	write_end(writer);
	CHECK(prr_trace_writer_commit(writer, NULL, &error) == PRR_ERR_INTERNAL);
	prr_trace_writer_destroy(writer);

	reader = open_reader("round");
	for (uint64_t i = 1; i <= N; i++)
		expect_next(reader, i);
	OK(prr_trace_reader_next(reader, &event, &error));
	CHECK(event->kind == PRR_EVENT_TRACE_END && event->index == N + 1);
	expect_end(reader, NULL);
	expect_end(reader, NULL);
	for (int k = 0; k < 2000; k++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		OK(prr_trace_reader_seek(reader, 1 + (state >> 33) % N, &error));
		expect_next(reader, 1 + (state >> 33) % N);
	}
	OK(prr_trace_reader_seek(reader, N + 2, &error));
	expect_end(reader, NULL);
	OK(prr_trace_reader_seek(reader, UINT64_MAX, &error));
	expect_end(reader, NULL);
	CHECK(prr_trace_reader_seek(reader, 0, &error) == PRR_ERR_INTERNAL);
	prr_trace_reader_destroy(reader);
}

int main(void)
{
	prr_error_init(&error);
	test_round_trip();
	prr_error_deinit(&error);
	return 0;
}
