/* sources: shared/error.c shared/buffer.c shared/trace_*.c libs: -lzstd -lz */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * Fuzzes the trace reader: whatever the files hold, it gives events or an error, and
 * touches no memory that is not its own (run under ASan and UBSan).
 *
 *   test_trace_damage [ROUNDS [SEED]]
 *
 * Three kinds of damage: raw (bits, bytes, truncation: checksums catch it; every event
 * that is read must be as written), forged headers, and forged payloads with a right
 * checksum (these reach the decoder). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "error.h"
#include "trace_format.h"

#define CHECK(condition)                                                                         \
	do {                                                                                     \
		if (!(condition)) {                                                              \
			fprintf(stderr, "%s:%d: round %llu: not true: %s\n", __FILE__, __LINE__, \
				(unsigned long long)round_number, #condition);                   \
			abort();                                                                 \
		}                                                                                \
	} while (0)

enum { EVENTS = 60, BLOCK_EVENTS = 20, FILE_MAX = 1 << 20 };

struct file {
	uint8_t bytes[FILE_MAX];
	size_t size;
};

static uint64_t round_number, random_state;
static struct prr_error error;

static uint64_t random_below(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

/* ---------------------------------------------------------------- the trace */

static void fill(uint64_t i, struct prr_event *head, uint8_t bytes[64])
{
	*head = (struct prr_event){ .kind = i == EVENTS ? PRR_EVENT_TRACE_END : PRR_EVENT_SYSCALL,
		.arch = PRR_ARCH_X86_64,
		.task = { (int32_t)(7 + i % 2), 1 + i % 2 },
		.time_ns = i * 77,
		.regs = { .rax = i, .rip = 0x400000 + i % 3 } };
	if (i % 5 == 0)
		head->position.hits = i;
	memset(bytes, (int)i, 64);
}

static void write_trace(const char *dir)
{
	struct prr_trace_writer *writer;
	struct prr_output hole = { .kind = PRR_OUTPUT_HOLE, .addr = 1, .len = 9 };
	struct prr_output store = { .kind = PRR_OUTPUT_STORE, .addr = 1, .len = 9, .store_id = 1 };
	struct prr_event head;
	uint8_t bytes[64];

	CHECK(mkdir(dir, 0700) == 0);
	CHECK(prr_trace_writer_create(dir, &writer, &error) == PRR_OK);
	for (uint64_t i = 1; i <= EVENTS; i++) {
		fill(i, &head, bytes);
		prr_trace_writer_begin(writer, &head);
		for (uint64_t k = 0; k < i % 3; k++)
			CHECK(prr_trace_writer_output(
				      writer, 1, 4096 * k, bytes, 1 + i % 64, &error) == PRR_OK);
		if (i % 7 == 0) {
			CHECK(prr_trace_writer_output_ref(writer, &hole, &error) == PRR_OK);
			CHECK(prr_trace_writer_output_ref(writer, &store, &error) == PRR_OK);
		}
		CHECK(prr_trace_writer_field(writer, 1, i % 2, bytes, 16, &error) == PRR_OK);
		CHECK(prr_trace_writer_commit(writer, NULL, &error) == PRR_OK);
		if (i % BLOCK_EVENTS == 0)
			CHECK(prr_trace_writer_flush(writer, &error) == PRR_OK);
	}
	CHECK(prr_trace_writer_finish(writer, &error) == PRR_OK);
	prr_trace_writer_destroy(writer);
}

/* The event must be as written, its data too if it can be had. */
static void check_event(struct prr_trace_reader *reader, const struct prr_event *event, uint64_t i)
{
	struct prr_event head;
	uint8_t bytes[64];
	const uint8_t *data;

	CHECK(event->index == i && i >= 1 && i <= EVENTS);
	fill(i, &head, bytes);
	CHECK(event->kind == head.kind && event->task.tid == head.task.tid);
	CHECK(event->time_ns == head.time_ns && event->position.hits == head.position.hits);
	CHECK(!memcmp(&event->regs, &head.regs, sizeof(head.regs)));
	CHECK(event->output_count == i % 3 + (i % 7 ? 0 : 2));
	CHECK(event->field_count == 1 && !memcmp(event->fields[0].data, bytes, 16));
	for (size_t k = 0; k < i % 3; k++) {
		enum prr_status status = prr_trace_reader_output_data(reader, k, &data, &error);

		CHECK(status == PRR_OK || status == PRR_ERR_TRACE);
		CHECK(status != PRR_OK || !memcmp(data, bytes, event->outputs[k].len));
	}
}

/* Touches every byte the reader hands out. */
static uint64_t touch_event(struct prr_trace_reader *reader, const struct prr_event *event)
{
	uint64_t sum = event->index + event->regs.gs;
	const uint8_t *data;

	for (size_t i = 0; i < event->output_count; i++) {
		const struct prr_output *output = &event->outputs[i];

		sum += output->addr + output->len;
		if (output->kind == PRR_OUTPUT_BYTES &&
			prr_trace_reader_output_data(reader, i, &data, &error) == PRR_OK)
			sum += data[0] + data[output->len - 1];
	}
	for (size_t i = 0; i < event->field_count; i++)
		for (size_t k = 0; k < event->fields[i].len; k++)
			sum += event->fields[i].data[k];
	return sum;
}

static uint64_t read_trace(const char *dir, bool honest)
{
	struct prr_trace_reader *reader;
	const struct prr_event *event;
	enum prr_status status;
	uint64_t n = 0, sum = 0;

	status = prr_trace_reader_create(dir, &reader, &error);
	CHECK(status == PRR_OK || status == PRR_ERR_TRACE);
	if (status != PRR_OK)
		return 0;
	while ((status = prr_trace_reader_next(reader, &event, &error)) == PRR_OK) {
		n++;
		if (honest)
			check_event(reader, event, n);
		else
			sum += touch_event(reader, event);
		CHECK(n <= FILE_MAX);
	}
	CHECK(status == PRR_END || status == PRR_ERR_TRACE || status == PRR_ERR_SYSTEM);
	CHECK(status != PRR_END || n == EVENTS || !honest || prr_trace_reader_end_reason(reader));
	for (int k = 0; k < 3; k++) {
		uint64_t index = 1 + random_below(EVENTS + 3);

		status = prr_trace_reader_seek(reader, index, &error);
		if (status == PRR_OK)
			status = prr_trace_reader_next(reader, &event, &error);
		if (status == PRR_OK && honest)
			check_event(reader, event, index);
		else if (status == PRR_OK)
			sum += touch_event(reader, event);
	}
	prr_trace_reader_destroy(reader);
	return sum;
}

/* ---------------------------------------------------------------- the damage */

static void load(const char *path, struct file *file)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, file->bytes, FILE_MAX);

	CHECK(fd >= 0 && n > 0 && n < FILE_MAX);
	file->size = (size_t)n;
	close(fd);
}

static void save(const char *path, const struct file *file)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && write(fd, file->bytes, file->size) == (ssize_t)file->size);
	close(fd);
}

static void flip_bits(uint8_t *bytes, size_t size)
{
	for (uint64_t n = 1 + random_below(4); n; n--)
		bytes[random_below(size)] ^= (uint8_t)(1u << random_below(8));
}

static void damage_raw(struct file *file)
{
	size_t at = random_below(file->size);
	size_t len = random_below(file->size - at);

	switch (random_below(5)) {
	case 0:
		file->size = at;
		break;
	case 1:
		memset(file->bytes + at, random_below(2) ? 0xff : 0, len);
		break;
	case 2: /* a piece is lost */
		memmove(file->bytes + at, file->bytes + at + len, file->size - at - len);
		file->size -= len;
		break;
	default:
		flip_bits(file->bytes, file->size);
	}
}

/* Puts an interesting number into 1, 2, 4 or 8 bytes. */
static void poke_number(uint8_t *bytes, size_t size)
{
	static const uint64_t numbers[] = {
		0,
		1,
		7,
		8,
		48,
		1 << 20,
		(1 << 20) + 1,
		4 << 20,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		0x7fffffffffffffff,
		0x8000000000000000,
		0xfffffffffffffff8,
		UINT64_MAX,
	};
	uint64_t number = numbers[random_below(sizeof(numbers) / sizeof(numbers[0]))];
	size_t width = (size_t)1 << random_below(4);

	if (size >= width)
		memcpy(bytes + random_below(size / width) * width, &number, width);
}

/* Unpacks each block, damages some, and writes them with the right checksums. */
static void forge(const struct file *from, struct file *to)
{
	size_t at = sizeof(struct prr_file_header);
	static uint8_t raw[FILE_MAX];

	memcpy(to->bytes, from->bytes, at);
	to->size = at;
	while (at < from->size) {
		struct prr_block_header header;
		size_t n;

		memcpy(&header, from->bytes + at, sizeof(header));
		at += sizeof(header);
		n = header.stored_size;
		if (header.codec == PRR_CODEC_ZSTD)
			n = ZSTD_decompress(raw, sizeof(raw), from->bytes + at, n);
		else
			memcpy(raw, from->bytes + at, n);
		CHECK(n == header.raw_size);
		at += header.stored_size;
		header.codec = PRR_CODEC_STORED;
		header.stored_size = n;
		for (uint64_t k = random_below(4); k; k--) {
			if (random_below(2))
				poke_number(raw, n);
			else
				flip_bits(raw, n);
		}
		if (!random_below(8))
			header.event_count = (uint32_t)(1 + random_below(n / 48 + 1));
		if (!random_below(8))
			poke_number((uint8_t *)&header, sizeof(header));
		header.crc = header.stored_size == n ? prr_block_crc(&header, raw) : 0;
		memcpy(to->bytes + to->size, &header, sizeof(header));
		memcpy(to->bytes + to->size + sizeof(header), raw, n);
		to->size += sizeof(header) + n;
	}
}

int main(int argc, char **argv)
{
	static struct file events, data, damaged;
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : 6000;
	uint64_t sum = 0;

	random_state = argc > 2 ? strtoull(argv[2], NULL, 0) | 1 : 20240229;
	prr_error_init(&error);
	write_trace("whole");
	read_trace("whole", true);
	load("whole/events", &events);
	load("whole/data", &data);
	CHECK(mkdir("damaged", 0700) == 0);
	for (round_number = 0; round_number < rounds; round_number++) {
		bool in_events = random_below(3), honest = round_number % 2;

		if (honest) {
			damaged = in_events ? events : data;
			damage_raw(&damaged);
		} else {
			forge(in_events ? &events : &data, &damaged);
		}
		save("damaged/events", in_events ? &damaged : &events);
		save("damaged/data", in_events ? &data : &damaged);
		sum += read_trace("damaged", honest);
	}
	prr_error_deinit(&error);
	printf("%llu rounds, sum %llu\n", (unsigned long long)rounds, (unsigned long long)sum);
	return 0;
}
