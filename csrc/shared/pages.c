/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "layout.h"

/* Bits of a pagemap entry (Documentation/admin-guide/mm/pagemap.rst). */
#define ENTRY_FILE_OR_SHARED (1ull << 61)
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_PRESENT (1ull << 63)

/* PAGEMAP_SCAN as in <linux/fs.h> of Linux v6.7, which older headers lack. */
struct scan_region {
	uint64_t start, end, categories;
};
struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
_Static_assert(sizeof(struct scan_arg) == 96, "struct pm_scan_arg");
#define SCAN _IOWR('f', 16, struct scan_arg)
#define SCAN_IS_FILE (1ull << 2)
#define SCAN_IS_PRESENT (1ull << 3)
#define SCAN_IS_SWAPPED (1ull << 4)
#define SCAN_IS_ZERO_PAGE (1ull << 5)

enum { SCAN_ROOM = 128, ENTRIES_AT_ONCE = 1024 };

enum prr_status prr_pagemap_open(struct prr_pagemap *pagemap, pid_t tid, struct prr_error *err)
{
	char name[48];

	snprintf(name, sizeof(name), "/proc/%d/pagemap", tid);
	pagemap->no_scan = false;
	pagemap->fd = open(name, O_RDONLY | O_CLOEXEC);
	return pagemap->fd < 0 ? prr_fail_errno(err, "cannot read %s", name) : PRR_OK;
}

void prr_pagemap_close(struct prr_pagemap *pagemap)
{
	if (pagemap->fd >= 0)
		close(pagemap->fd);
	pagemap->fd = -1;
}

/* false: this kernel cannot. */
static bool scan(const struct prr_pagemap *pagemap, uint64_t start, uint64_t end, bool shared,
	struct prr_page_run *runs, size_t room, size_t *count, uint64_t *next)
{
	struct scan_region regions[SCAN_ROOM];
	uint64_t unwanted = shared ? 0 : SCAN_IS_FILE | SCAN_IS_ZERO_PAGE;
	struct scan_arg arg = {
		.size = sizeof(arg),
		.start = start,
		.end = end,
		.vec = (uint64_t)(uintptr_t)regions,
		.vec_len = room < SCAN_ROOM ? room : SCAN_ROOM,
		.category_inverted = unwanted,
		.category_mask = unwanted,
		.category_anyof_mask = SCAN_IS_PRESENT | SCAN_IS_SWAPPED,
		.return_mask = SCAN_IS_FILE, /* the same for all: neighbours merge */
	};
	long got = ioctl(pagemap->fd, SCAN, &arg);

	if (got < 0)
		return false;
	for (long i = 0; i < got; i++)
		runs[i] = (struct prr_page_run){ regions[i].start, regions[i].end };
	*count = (size_t)got;
	*next = arg.walk_end;
	return true;
}

static bool is_touched(uint64_t entry, bool shared)
{
	if (!(entry & (ENTRY_PRESENT | ENTRY_SWAPPED)))
		return false;
	return shared || (entry & ENTRY_SWAPPED) || !(entry & ENTRY_FILE_OR_SHARED);
}

/* Adds a page to the last run or as a new one; false: no room. */
static bool append(uint64_t page, struct prr_page_run *runs, size_t room, size_t *count)
{
	if (*count && runs[*count - 1].end == page) {
		runs[*count - 1].end = page + PRR_PAGE_SIZE;
		return true;
	}
	if (*count == room)
		return false;
	runs[(*count)++] = (struct prr_page_run){ page, page + PRR_PAGE_SIZE };
	return true;
}

static enum prr_status read_entries(const struct prr_pagemap *pagemap, uint64_t start, uint64_t end,
	bool shared, struct prr_page_run *runs, size_t room, size_t *count, uint64_t *next,
	struct prr_error *err)
{
	uint64_t entries[ENTRIES_AT_ONCE];
	uint64_t at = start;

	while (at < end) {
		uint64_t pages = (end - at) / PRR_PAGE_SIZE;
		size_t want = pages < ENTRIES_AT_ONCE ? pages : ENTRIES_AT_ONCE;
		ssize_t got = pread(pagemap->fd, entries, want * sizeof(entries[0]),
			(off_t)(at / PRR_PAGE_SIZE * sizeof(entries[0])));

		if (got < (ssize_t)sizeof(entries[0]))
			return prr_fail_errno(err, "cannot read a pagemap");
		for (size_t i = 0; i < (size_t)got / sizeof(entries[0]); i++) {
			if (is_touched(entries[i], shared) && !append(at, runs, room, count)) {
				*next = at;
				return PRR_OK;
			}
			at += PRR_PAGE_SIZE;
		}
	}
	*next = end;
	return PRR_OK;
}

enum prr_status prr_pagemap_touched(struct prr_pagemap *pagemap, uint64_t start, uint64_t end,
	bool shared, struct prr_page_run *runs, size_t room, size_t *count, uint64_t *next,
	struct prr_error *err)
{
	*count = 0;
	*next = end;
	if (start >= end || room == 0)
		return PRR_OK;
	if (!pagemap->no_scan && scan(pagemap, start, end, shared, runs, room, count, next))
		return PRR_OK;
	pagemap->no_scan = true;
	if (end - start > PRR_PAGES_SPARSE_MAX)
		return PRR_OK;
	return read_entries(pagemap, start, end, shared, runs, room, count, next, err);
}
