/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file_hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

#define BLOCK 4096u
#define CHUNK (64u * BLOCK)
/* Odd constants with about half their bits set; any such would do. */
#define MIX_A 0x9fb21c651e98df25ull
#define MIX_B 0xd6e8feb86659fd93ull

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= MIX_A;
	x ^= x >> 29;
	x *= MIX_B;
	return x ^ x >> 32;
}

/* Four independent lanes, so that one multiplication need not wait for another. */
static uint64_t hash_block(const uint8_t *block, uint64_t number)
{
	uint64_t lanes[4] = { number, MIX_A, MIX_B, ~number };
	uint64_t any = 0;

	for (size_t at = 0; at < BLOCK; at += 32) {
		for (size_t i = 0; i < 4; i++) {
			uint64_t word;

			memcpy(&word, block + at + 8 * i, sizeof(word));
			any |= word;
			lanes[i] = (lanes[i] ^ word) * MIX_A;
			lanes[i] ^= lanes[i] >> 31;
		}
	}
	/* Zeros add nothing, wherever they are. */
	return any ? mix(lanes[0] + mix(lanes[1] + mix(lanes[2] + mix(lanes[3])))) : 0;
}

/* Adds the blocks of [offset, end), which start at block borders. */
static enum prr_status add_data(
	int fd, off_t offset, off_t end, uint8_t *buffer, uint64_t *sum, struct prr_error *err)
{
	while (offset < end) {
		size_t want = end - offset < (off_t)CHUNK ? (size_t)(end - offset) : CHUNK;
		ssize_t got = pread(fd, buffer, want, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return prr_fail_errno(err, "cannot read a stored file");
		if (got == 0) /* it was cut meanwhile: its size says so */
			return PRR_OK;
		size_t padded = ((size_t)got + BLOCK - 1) / BLOCK * BLOCK;

		memset(buffer + got, 0, padded - (size_t)got);
		for (size_t at = 0; at < padded; at += BLOCK)
			*sum += hash_block(buffer + at, (uint64_t)offset / BLOCK + at / BLOCK);
		offset += (off_t)padded;
	}
	return PRR_OK;
}

enum prr_status prr_file_hash(int fd, uint64_t *size, uint64_t *hash, struct prr_error *err)
{
	struct stat st;
	enum prr_status status = PRR_OK;
	uint64_t sum = 0;
	off_t offset = 0;
	uint8_t *buffer = malloc(CHUNK);

	if (!buffer || fstat(fd, &st) != 0) {
		free(buffer);
		return prr_fail_errno(err, "cannot hash a stored file");
	}
	while (status == PRR_OK && offset < st.st_size) {
		off_t data = lseek(fd, offset, SEEK_DATA);

		if (data < 0 && errno == ENXIO)
			break; /* a hole up to the end */
		off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

		if (hole < 0) { /* a file system without holes */
			data = offset;
			hole = st.st_size;
		}
		data -= data % BLOCK;
		hole += (BLOCK - hole % BLOCK) % BLOCK;
		status = add_data(fd, data < offset ? offset : data, hole, buffer, &sum, err);
		offset = hole;
	}
	free(buffer);
	*size = (uint64_t)st.st_size;
	*hash = mix(sum ^ *size);
	return status;
}
