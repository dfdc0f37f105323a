/* SPDX-License-Identifier: GPL-2.0-or-later
 * Addresses that pyrr claims in every tracee, recording and replaying alike.
 *
 * Invariant: nothing of the program ever lies here. The range is below 2 GiB
 * (reachable by punned jumps), above where static non-PIE programs end, below
 * ASan's and MSan's shadow; munmap and MAP_FIXED over it are refused. */
#ifndef PRR_LAYOUT_H
#define PRR_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define PRR_PAGE_SIZE 4096ull
/* One r-x page: `syscall` at its start, the only address the recording's
 * seccomp filter lets through without a stop. */
#define PRR_CODE_ADDR 0x70000000ull
/* rip after that instruction, as seccomp's instruction_pointer shows it. */
#define PRR_CODE_AFTER_SYSCALL (PRR_CODE_ADDR + 2)
/* rw- pages: arguments of injected syscalls (paths, siginfo). */
#define PRR_DATA_ADDR (PRR_CODE_ADDR + PRR_PAGE_SIZE)
#define PRR_DATA_SIZE (4 * PRR_PAGE_SIZE)
#define PRR_LAYOUT_END (PRR_DATA_ADDR + PRR_DATA_SIZE)
/* x86-64 user addresses end here (4-level paging, one guard page off). */
#define PRR_TASK_SIZE 0x7ffffffff000ull

/* Does [start, start+len) touch pyrr's pages? Any values. */
static inline bool prr_hits_layout(uint64_t start, uint64_t len)
{
	if (start >= PRR_LAYOUT_END || len == 0)
		return false;
	return start >= PRR_CODE_ADDR || len > PRR_CODE_ADDR - start;
}

static inline uint64_t prr_page_down(uint64_t addr)
{
	return addr & ~(PRR_PAGE_SIZE - 1);
}

static inline uint64_t prr_page_up(uint64_t addr)
{
	return (addr + PRR_PAGE_SIZE - 1) & ~(PRR_PAGE_SIZE - 1);
}

#endif
