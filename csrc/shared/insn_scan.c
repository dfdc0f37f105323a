/* SPDX-License-Identifier: GPL-2.0-or-later
 * See insn.h. The file is hostile: every offset is checked by pread's result,
 * nothing is mapped, and the work is bounded.
 *
 * 1. Byte search in the executable segments gives candidates.
 * 2. Each gets the function around it: from .eh_frame_hdr's sorted table and the
 *    FDE (LSB "Exception Frames"), else from a sized function symbol.
 * 3. insn_sweep.c decides; code of no known function (OpenSSL's padlock code,
 *    stripped Go) by re-synchronisation, or by flow from the entry point. */
#include "insn.h"

#include <elf.h>
#include <emmintrin.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "insn_elf.h"
#include "insn_sweep.h"

enum {
	CHUNK = 256 * 1024,
	/* Beyond real programs: node's 28 MB of text have a few hundred. */
	MAX_CANDIDATES = 1 << 16,
	MAX_DECODED = 1 << 24,
	/* Flow from the entry point is followed this far. */
	ENTRY_REACH = 16384
};

struct scan {
	struct prr_elf elf;
	struct prr_elf_place *candidates; /* owned; by offset in each segment */
	size_t count, capacity, unexamined;
	struct prr_sweep sweep;
	uint8_t *code; /* owned; PRR_SWEEP_MAX bytes of the function last swept */
	uint64_t swept_start, swept_end; /* its addresses; 0, 0 none */
	size_t swept_len;
};

void prr_insn_sites_init(struct prr_insn_sites *sites)
{
	memset(sites, 0, sizeof *sites);
}

void prr_insn_sites_deinit(struct prr_insn_sites *sites)
{
	free(sites->items);
	memset(sites, 0, sizeof *sites);
}

static enum prr_status add_site(
	struct prr_insn_sites *sites, const struct prr_insn_site *site, struct prr_error *err)
{
	if (sites->count == sites->capacity) {
		size_t capacity = sites->capacity ? sites->capacity * 2 : 16;
		struct prr_insn_site *items = realloc(sites->items, capacity * sizeof *items);

		if (!items)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL,
				"cannot keep %zu instruction sites", capacity);
		sites->items = items;
		sites->capacity = capacity;
	}
	sites->items[sites->count++] = *site;
	return PRR_OK;
}

static int by_offset(const void *a, const void *b)
{
	uint64_t x = ((const struct prr_insn_site *)a)->file_offset;
	uint64_t y = ((const struct prr_insn_site *)b)->file_offset;

	return x < y ? -1 : x > y;
}

/* Sorted, and each place once: segments may overlap in the file. */
static void sort_sites(struct prr_insn_sites *sites)
{
	size_t kept = 0;

	if (sites->count == 0)
		return;
	qsort(sites->items, sites->count, sizeof *sites->items, by_offset);
	for (size_t i = 1; i < sites->count; ++i) {
		if (sites->items[i].file_offset != sites->items[kept].file_offset)
			sites->items[++kept] = sites->items[i];
	}
	sites->count = kept + 1;
}

/* ------------------------------------------------------------- byte search */

/* Whether cpuid, or rdrand, rdseed, rdpid with a register operand, may end in
 * these three bytes. */
static bool may_be_site(const uint8_t *p)
{
	return p[0] == 0x0f && (p[1] == 0xa2 || (p[1] == 0xc7 && p[2] >= 0xf0));
}

static enum prr_status add_candidate(
	struct scan *scan, const struct prr_elf_load *load, uint64_t offset, struct prr_error *err)
{
	uint64_t addr = load->vaddr + (offset - load->offset);

	if (!prr_elf_is_code(&scan->elf, addr))
		return PRR_OK;
	if (scan->count == MAX_CANDIDATES) {
		++scan->unexamined;
		return PRR_OK;
	}
	if (scan->count == scan->capacity) {
		size_t capacity = scan->capacity ? scan->capacity * 2 : 64;
		struct prr_elf_place *items = realloc(scan->candidates, capacity * sizeof *items);

		if (!items)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL,
				"cannot keep %zu candidates", capacity);
		scan->candidates = items;
		scan->capacity = capacity;
	}
	scan->candidates[scan->count++] = (struct prr_elf_place){ .addr = addr, .load = load };
	return PRR_OK;
}

/* Candidates among the first len bytes; two more bytes are readable. */
static enum prr_status search(struct scan *scan, const struct prr_elf_load *load,
	const uint8_t *bytes, size_t len, uint64_t offset, struct prr_error *err)
{
	const __m128i escape = _mm_set1_epi8(0x0f);
	const __m128i cpuid = _mm_set1_epi8((char)0xa2), group9 = _mm_set1_epi8((char)0xc7);
	size_t at = 0;

	for (; at + 16 <= len; at += 16) {
		__m128i first = _mm_loadu_si128((const __m128i *)(const void *)(bytes + at));
		__m128i second = _mm_loadu_si128((const __m128i *)(const void *)(bytes + at + 1));
		__m128i hit = _mm_and_si128(_mm_cmpeq_epi8(first, escape),
			_mm_or_si128(
				_mm_cmpeq_epi8(second, cpuid), _mm_cmpeq_epi8(second, group9)));
		unsigned int mask = (unsigned int)_mm_movemask_epi8(hit);

		for (; mask; mask &= mask - 1) {
			size_t i = at + (size_t)__builtin_ctz(mask);

			if (may_be_site(bytes + i))
				PRR_TRY(add_candidate(scan, load, offset + i, err));
		}
	}
	for (; at < len; ++at) {
		if (may_be_site(bytes + at))
			PRR_TRY(add_candidate(scan, load, offset + at, err));
	}
	return PRR_OK;
}

static enum prr_status search_load(
	struct scan *scan, const struct prr_elf_load *load, uint8_t *chunk, struct prr_error *err)
{
	uint64_t done = 0;

	while (done < load->filesz) {
		uint64_t left = load->filesz - done;
		size_t want = left > CHUNK ? CHUNK + 2 : (size_t)left;
		size_t got = prr_elf_read(&scan->elf, load->offset + done, chunk, want);

		if (got == 0)
			break;
		/* The byte after the last one matters, and is no part of a site
		 * beyond the segment's end. */
		if (got <= CHUNK)
			memset(chunk + got, 0, 2);
		PRR_TRY(search(
			scan, load, chunk, got <= CHUNK ? got : CHUNK, load->offset + done, err));
		if (got < want)
			break;
		done += CHUNK;
	}
	return PRR_OK;
}

/* ----------------------------------------------------------------- verdicts */

/* Sweeps the function [start, end) of load unless it is the last one swept. */
static enum prr_status sweep_range(struct scan *scan, const struct prr_elf_load *load,
	uint64_t start, uint64_t end, bool entry_only, struct prr_error *err)
{
	size_t want = (size_t)(end - start);

	if (scan->swept_start == start && scan->swept_end == end && scan->sweep.len)
		return PRR_OK;
	scan->swept_start = start;
	scan->swept_end = end;
	scan->swept_len =
		prr_elf_read(&scan->elf, load->offset + (start - load->vaddr), scan->code, want);
	return prr_sweep_function(&scan->sweep, scan->code, scan->swept_len, entry_only, err);
}

/* Looks at code of no known function. */
static enum prr_status examine_uncovered(struct scan *scan, const struct prr_elf_place *place,
	struct prr_insn_site *site, bool *found, struct prr_error *err)
{
	const struct prr_elf_load *load = place->load;
	uint64_t end = load->vaddr + load->filesz, entry = scan->elf.entry;
	uint64_t start;
	uint8_t window[PRR_SWEEP_BEFORE + 4 + PRR_SWEEP_AFTER];
	size_t len;

	if (entry >= load->vaddr && entry <= place->addr && place->addr - entry < ENTRY_REACH) {
		if (end - entry > ENTRY_REACH + 16)
			end = entry + ENTRY_REACH + 16;
		PRR_TRY(sweep_range(scan, load, entry, end, true, err));
		if (prr_sweep_verdict(&scan->sweep, (size_t)(place->addr - entry), site)) {
			site->file_offset += load->offset + (entry - load->vaddr);
			*found = true;
			return PRR_OK;
		}
	}
	start = load->vaddr;
	if (place->addr - start > PRR_SWEEP_BEFORE + 4)
		start = place->addr - PRR_SWEEP_BEFORE - 4;
	end = load->vaddr + load->filesz;
	len = end - start < sizeof window ? (size_t)(end - start) : sizeof window;
	len = prr_elf_read(&scan->elf, load->offset + (start - load->vaddr), window, len);
	*found = prr_sweep_resync(&scan->sweep, window, len, (size_t)(place->addr - start), site);
	site->file_offset += load->offset + (start - load->vaddr);
	return PRR_OK;
}

static enum prr_status examine(struct scan *scan, const struct prr_elf_place *place,
	struct prr_insn_site *site, bool *found, struct prr_error *err)
{
	const struct prr_elf_load *load = place->load;

	*found = false;
	if (place->end <= place->start || place->end - place->start > PRR_SWEEP_MAX)
		return examine_uncovered(scan, place, site, found, err);
	PRR_TRY(sweep_range(scan, load, place->start, place->end, false, err));
	*found = prr_sweep_verdict(&scan->sweep, (size_t)(place->addr - place->start), site);
	site->file_offset += load->offset + (place->start - load->vaddr);
	return PRR_OK;
}

static enum prr_status scan_elf(
	struct scan *scan, struct prr_insn_sites *sites, struct prr_error *err)
{
	scan->code = malloc(PRR_SWEEP_MAX > CHUNK + 2 ? PRR_SWEEP_MAX : CHUNK + 2);
	if (!scan->code)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "cannot allocate %d bytes",
			PRR_SWEEP_MAX);
	for (size_t i = 0; i < scan->elf.load_count; ++i) {
		if (scan->elf.loads[i].executable)
			PRR_TRY(search_load(scan, &scan->elf.loads[i], scan->code, err));
	}
	if (scan->count == 0)
		return PRR_OK;
	PRR_TRY(prr_elf_find_functions(&scan->elf, scan->candidates, scan->count, err));
	for (size_t i = 0; i < scan->count; ++i) {
		struct prr_insn_site site = { 0 };
		bool found;

		if (scan->sweep.budget == 0) {
			scan->unexamined += scan->count - i;
			break;
		}
		PRR_TRY(examine(scan, &scan->candidates[i], &site, &found, err));
		if (found)
			PRR_TRY(add_site(sites, &site, err));
	}
	return PRR_OK;
}

enum prr_status prr_insn_scan(int fd, struct prr_insn_sites *sites, struct prr_error *err)
{
	struct scan scan = { 0 };
	enum prr_status status;

	sites->count = 0;
	sites->unexamined = 0;
	prr_sweep_init(&scan.sweep, MAX_DECODED);
	status = prr_elf_open(&scan.elf, fd, err);
	if (status == PRR_OK && scan.elf.load_count)
		status = scan_elf(&scan, sites, err);
	sites->unexamined = scan.unexamined;
	sort_sites(sites);
	prr_sweep_deinit(&scan.sweep);
	prr_elf_close(&scan.elf);
	free(scan.candidates);
	free(scan.code);
	return status;
}
