/* SPDX-License-Identifier: GPL-2.0-or-later
 * Which pages of a tracee hold memory of their own (/proc/PID/pagemap).
 *
 * A page is *touched* when it has contents that neither the file behind it nor
 * "nothing yet" (zeros) explains: an anonymous page, in memory or swapped out,
 * the zero page excepted. Of a shared mapping every page that the tracee's page
 * tables hold counts; looking at any other would bring it into being. */
#ifndef PRR_PAGES_H
#define PRR_PAGES_H

#include <sys/types.h>

#include "error.h"

/* [start, end), whole pages. */
struct prr_page_run {
	uint64_t start, end;
};

/* Without PAGEMAP_SCAN (Linux v6.7) a pagemap costs 8 bytes a page, present or
 * not: mappings above this size (reserved address space) are passed over. */
#define PRR_PAGES_SPARSE_MAX (64ull << 30)

struct prr_pagemap {
	int fd;
	bool no_scan; /* this kernel has no PAGEMAP_SCAN */
};

PRR_MUST_USE enum prr_status prr_pagemap_open(
	struct prr_pagemap *pagemap, pid_t tid, struct prr_error *err);
void prr_pagemap_close(struct prr_pagemap *pagemap);

/* Finds touched pages of [start, end), in order: `runs` has room for `room`, *count
 * are filled, everything below *next has been looked at. Call again from *next
 * until it is `end`. */
PRR_MUST_USE enum prr_status prr_pagemap_touched(struct prr_pagemap *pagemap, uint64_t start,
	uint64_t end, bool shared, struct prr_page_run *runs, size_t room, size_t *count,
	uint64_t *next, struct prr_error *err);

#endif
