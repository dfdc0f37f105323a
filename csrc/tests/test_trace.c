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
		OK(prr_trace_writer_output(
			writer, 7, 0x7000 + k * 4096, bytes, 1 + (i + k) % sizeof(bytes), &error));
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

/* Reads to the end, whatever it is; returns the last event's index. */
static uint64_t read_all(struct prr_trace_reader *reader)
{
	uint64_t i = 0;
	const struct prr_event *event;

	prr_error_deinit(&error);
	while (prr_trace_reader_next(reader, &event, &error) == PRR_OK) {
		if (event->kind == PRR_EVENT_SYSCALL)
			check_event(reader, event, ++i);
		else
			CHECK(event->index == ++i && event->kind == PRR_EVENT_TRACE_END);
	}
	CHECK(error.status == PRR_OK);
	return i;
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	CHECK(stat(path, &st) == 0);
	return (uint64_t)st.st_size;
}

/* Whatever is cut off a file, what is left of complete blocks can be read. */
static void test_truncation(void)
{
	struct prr_trace_writer *writer = new_writer("cut");
	uint64_t ends[8], full;

	for (uint64_t i = 1; i <= 80; i++) {
		write_event(writer, i);
		if (i % 10)
			continue;
		OK(prr_trace_writer_flush(writer, &error));
		ends[i / 10 - 1] = size_of("cut/events");
	}
	write_end(writer);
	prr_trace_writer_destroy(writer);
	full = size_of("cut/events");
	for (uint64_t cut = full - 1; cut >= sizeof(struct prr_file_header); cut--) {
		uint64_t expect = 0;
		struct prr_trace_reader *reader;

		CHECK(truncate("cut/events", (off_t)cut) == 0);
		while (expect < 8 && ends[expect] <= cut)
			expect++;
		reader = open_reader("cut");
		CHECK(read_all(reader) == expect * 10);
		expect_end(reader, expect ? "ends early, after event " : "holds no event");
		OK(prr_trace_reader_seek(reader, 1000, &error));
		expect_end(reader, "'events' ends at byte ");
		prr_trace_reader_destroy(reader);
	}
	CHECK(truncate("cut/events", 31) == 0);
	{
		struct prr_trace_reader *reader;

		CHECK(prr_trace_reader_create("cut", &reader, &error) == PRR_ERR_TRACE);
		CHECK(!reader && strstr(error.message, "'cut/events' is not a stream"));
		prr_error_deinit(&error);
	}
}

/* Events whose data is missing are not returned. */
static void test_data_truncation(void)
{
	struct prr_trace_writer *writer = new_writer("data-cut");
	struct prr_trace_reader *reader;
	uint64_t half;

	for (uint64_t i = 1; i <= 40; i++)
		write_event(writer, i);
	OK(prr_trace_writer_flush(writer, &error));
	half = size_of("data-cut/data");
	for (uint64_t i = 41; i <= 80; i++)
		write_event(writer, i);
	write_end(writer);
	prr_trace_writer_destroy(writer);
	CHECK(truncate("data-cut/data", (off_t)half + 20) == 0);
	reader = open_reader("data-cut");
	CHECK(read_all(reader) == 40); /* 41 has outputs */
	expect_end(reader, "after event 40: 'data' ends at byte ");
	OK(prr_trace_reader_seek(reader, 60, &error));
	expect_end(reader, "'data' ends at byte ");
	OK(prr_trace_reader_seek(reader, 40, &error));
	expect_next(reader, 40);
	prr_trace_reader_destroy(reader);
}

/* A write that fails half way (here by RLIMIT_FSIZE) leaves complete blocks. */
static void test_full_disk(void)
{
	struct rlimit old, small;
	struct prr_trace_writer *writer = new_writer("full");
	struct prr_event head = head_for(1);
	struct prr_trace_reader *reader;
	uint64_t i = 1, state = 1, noise[512];
	enum prr_status status;

	CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
	small = old;
	small.rlim_cur = 200000;
	CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
	for (;; i++) {
		for (size_t k = 0; k < 512; k++)
			noise[k] = state = state * 6364136223846793005u + 1442695040888963407u;
		prr_trace_writer_begin(writer, &head);
		status = prr_trace_writer_field(writer, 999, false, noise, sizeof(noise), &error);
		if (status == PRR_OK)
			status = prr_trace_writer_commit(writer, NULL, &error);
		if (status != PRR_OK)
			break;
	}
	CHECK(status == PRR_ERR_SYSTEM && error.errnum == EFBIG);
	CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
	CHECK(prr_trace_writer_flush(writer, &error) == PRR_ERR_SYSTEM && error.errnum == EFBIG);
	CHECK(prr_trace_writer_commit(writer, NULL, &error) == PRR_ERR_SYSTEM);
	CHECK(prr_trace_writer_output(writer, 1, 0, "x", 1, &error) == PRR_ERR_SYSTEM);
	CHECK(prr_trace_writer_finish(writer, &error) == PRR_ERR_SYSTEM);
	i = prr_trace_writer_last_index(writer);
	CHECK(i >= 30 && i <= 48);
	prr_trace_writer_destroy(writer);
	prr_error_deinit(&error);
	reader = open_reader("full");
	OK(prr_trace_reader_seek(reader, i + 1, &error));
	expect_end(reader, "the file ends"); /* on a block boundary: it was cut back */
	prr_trace_reader_destroy(reader);
}

/* A reader at the end goes on when the trace has grown. */
static void test_growth(void)
{
	struct prr_trace_writer *writer = new_writer("grow");
	struct prr_trace_reader *reader = open_reader("grow");
	uint64_t i = 1;

	expect_end(reader, "the trace holds no event");
	OK(prr_trace_reader_seek(reader, 5, &error));
	expect_end(reader, "the trace holds no event");
	for (int round = 0; round < 5; round++) {
		for (int k = 0; k < 20; k++)
			write_event(writer, i + (uint64_t)k);
		expect_end(reader, "the file ends");
		OK(prr_trace_writer_flush(writer, &error));
		OK(prr_trace_writer_flush(writer, &error)); /* nothing to do */
		for (int k = 0; k < 20; k++)
			expect_next(reader, i++);
	}
	write_end(writer);
	prr_trace_writer_destroy(writer);
	OK(prr_trace_reader_seek(reader, i + 1, &error));
	expect_end(reader, NULL);
	prr_trace_reader_destroy(reader);
}

static void test_large(void)
{
	enum { FIELD = 10 << 20, OUTPUT = 3500000 };
	struct prr_trace_writer *writer = new_writer("large");
	struct prr_event head = head_for(4);
	struct prr_output hole = {
		.kind = PRR_OUTPUT_HOLE,
		.as_uid = 3,
		.addr = 1 << 30,
		.len = 2 * PRR_OUTPUT_MAX + 5,
	};
	struct prr_output store = {
		.kind = PRR_OUTPUT_STORE,
		.as_uid = 3,
		.len = 7,
		.store_id = 9,
		.store_offset = 1,
	};
	uint8_t *bytes = calloc(1, FIELD);
	struct prr_trace_reader *reader;
	const struct prr_event *event;
	const uint8_t *data;
	size_t seen = 0;

	CHECK(bytes);
	for (int round = 0; round < 3; round++) {
		prr_trace_writer_begin(writer, &head);
		if (round == 1) { /* dropped, though a part is written already */
			OK(prr_trace_writer_output(writer, 1, 0, bytes, OUTPUT, &error));
			prr_trace_writer_abandon(writer);
			prr_trace_writer_begin(writer, &head);
		}
		for (size_t i = 0; i < FIELD; i++)
			bytes[i] = (uint8_t)(i % 249 * (size_t)round);
		OK(prr_trace_writer_field(writer, 500, false, bytes, FIELD, &error));
		OK(prr_trace_writer_output(writer, 1, 4096, bytes, OUTPUT, &error));
		OK(prr_trace_writer_output_ref(writer, &hole, &error));
		OK(prr_trace_writer_output_ref(writer, &store, &error));
		OK(prr_trace_writer_commit(writer, NULL, &error));
	}
	write_end(writer);
	prr_trace_writer_destroy(writer);

	reader = open_reader("large");
	for (size_t round = 0; round < 3; round++) {
		OK(prr_trace_reader_next(reader, &event, &error));
		CHECK(event->field_count == 1 && event->fields[0].len == FIELD);
		for (size_t i = 0; i < FIELD; i++)
			CHECK(event->fields[0].data[i] == (uint8_t)(i % 249 * round));
		CHECK(event->output_count == 4 + 3 + 1);
		for (size_t k = seen = 0; k < 4; k++) {
			CHECK(event->outputs[k].addr == 4096 + seen);
			OK(prr_trace_reader_output_data(reader, k, &data, &error));
			for (size_t i = 0; i < event->outputs[k].len; i++)
				CHECK(data[i] == (uint8_t)((seen + i) % 249 * round));
			seen += event->outputs[k].len;
		}
		CHECK(seen == OUTPUT);
		CHECK(event->outputs[6].kind == PRR_OUTPUT_HOLE && event->outputs[6].len == 5);
		CHECK(event->outputs[6].addr == (1 << 30) + 2 * PRR_OUTPUT_MAX);
		CHECK(event->outputs[7].kind == PRR_OUTPUT_STORE && event->outputs[7].len == 7);
		CHECK(event->outputs[7].store_id == 9 && event->outputs[7].store_offset == 1);
		CHECK(prr_trace_reader_output_data(reader, 4, &data, &error) == PRR_ERR_INTERNAL);
		CHECK(prr_trace_reader_output_data(reader, 8, &data, &error) == PRR_ERR_INTERNAL);
	}
	prr_trace_reader_destroy(reader);
	free(bytes);
}

static void test_many_tasks(void)
{
	struct prr_trace_writer *writer = new_writer("tasks");
	struct prr_trace_reader *reader;
	const struct prr_event *event;

	for (uint32_t i = 0; i < 3000; i++) {
		struct prr_event head = head_for(i);

		head.task = (struct prr_task_uid){ (int32_t)(i % 700), i % 700 + 1 };
		prr_trace_writer_begin(writer, &head);
		OK(prr_trace_writer_commit(writer, NULL, &error));
	}
	write_end(writer);
	prr_trace_writer_destroy(writer);
	reader = open_reader("tasks");
	for (uint32_t i = 0; i < 3000; i++) {
		struct prr_event head = head_for(i);

		OK(prr_trace_reader_next(reader, &event, &error));
		CHECK(event->task.serial == i % 700 + 1);
		CHECK(!memcmp(&event->regs, &head.regs, sizeof(head.regs)));
	}
	prr_trace_reader_destroy(reader);
}

static void test_required(void)
{
	struct prr_trace_writer *writer = new_writer("required");
	struct prr_event head = head_for(1);
	struct prr_trace_reader *reader;
	const struct prr_event *event;

	write_event(writer, 1);
	prr_trace_writer_begin(writer, &head);
	OK(prr_trace_writer_field(writer, 4321, true, NULL, 0, &error));
	OK(prr_trace_writer_commit(writer, NULL, &error));
	CHECK(prr_trace_writer_field(writer, 4321, true, NULL, 0, &error) == PRR_ERR_INTERNAL);
	head.kind = 99;
	prr_trace_writer_begin(writer, &head);
	CHECK(prr_trace_writer_field(writer, 0x8001, true, NULL, 0, &error) == PRR_ERR_INTERNAL);
	CHECK(prr_trace_writer_commit(writer, NULL, &error) == PRR_ERR_INTERNAL);
	write_end(writer);
	prr_trace_writer_destroy(writer);
	reader = open_reader("required");
	expect_next(reader, 1);
	for (int again = 0; again < 2; again++) {
		CHECK(prr_trace_reader_next(reader, &event, &error) == PRR_ERR_TRACE);
		CHECK(strstr(error.message, "tag 4321"));
	}
	CHECK(prr_trace_reader_seek(reader, 3, &error) == PRR_ERR_TRACE);
	prr_error_deinit(&error);
	OK(prr_trace_reader_seek(reader, 1, &error));
	expect_next(reader, 1);
	prr_trace_reader_destroy(reader);
}

static void test_refusals(void)
{
	struct prr_trace_writer *writer;
	struct prr_trace_reader *reader;

	CHECK(prr_trace_writer_create("absent", &writer, &error) == PRR_ERR_SYSTEM);
	CHECK(error.errnum == ENOENT && !writer);
	CHECK(prr_trace_writer_create("round", &writer, &error) == PRR_ERR_SYSTEM);
	CHECK(error.errnum == EEXIST && !writer);
	CHECK(size_of("round/events") > 32); /* what is there stays */
	CHECK(prr_trace_reader_create("absent", &reader, &error) == PRR_ERR_TRACE);
	CHECK(error.errnum == ENOENT && !reader && error.remedy);
	CHECK(mkdir("fifo", 0700) == 0 && mkfifo("fifo/events", 0600) == 0);
	CHECK(prr_trace_reader_create("fifo", &reader, &error) == PRR_ERR_TRACE);
	prr_trace_reader_destroy(NULL);
	prr_trace_writer_destroy(NULL);
	prr_error_deinit(&error);
}

static void test_error(void)
{
	struct prr_error err;

	prr_error_init(&err);
	CHECK(prr_fail(&err, PRR_ERR_TRACE, ENOENT, "try %s", "file %d", 7) == PRR_ERR_TRACE);
	CHECK(!strcmp(err.message, "file 7: No such file or directory"));
	CHECK(!strcmp(err.remedy, "try %s") && err.errnum == ENOENT);
	CHECK(prr_fail(&err, PRR_ERR_INTERNAL, 0, NULL, "again: %s", err.message) ==
		PRR_ERR_INTERNAL);
	CHECK(!strcmp(err.message, "again: file 7: No such file or directory") && !err.remedy);
	errno = EIO;
	CHECK(prr_fail_errno(&err, "reading") == PRR_ERR_SYSTEM && err.errnum == EIO);
	prr_error_deinit(&err);
	CHECK(err.status == PRR_OK && !err.message);
}

int main(void)
{
	prr_error_init(&error);
	test_error();
	test_round_trip();
	test_truncation();
	test_data_truncation();
	test_full_disk();
	test_growth();
	test_large();
	test_many_tasks();
	test_required();
	test_refusals();
	prr_error_deinit(&error);
	return 0;
}
