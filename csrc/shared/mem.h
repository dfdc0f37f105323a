/* SPDX-License-Identifier: GPL-2.0-or-later
 * Reading and writing tracee memory: process_vm_readv/writev where allowed,
 * else /proc/PID/mem (older container profiles forbid the former, and only the
 * latter writes read-only pages: ptrace access overrides page protection). */
#ifndef PRR_MEM_H
#define PRR_MEM_H

#include <sys/types.h>

#include "pyrr_core.h"

/* A tracee address. Never dereferenced, never mixed with supervisor pointers. */
typedef struct {
	uint64_t value;
} prr_remote_addr;

static inline prr_remote_addr prr_remote(uint64_t value)
{
	return (prr_remote_addr){ value };
}

/* Reads up to len bytes; returns how many from the start were readable
 * (0..len). Stops at the first unreadable page; never an error. */
size_t prr_mem_read_some(pid_t tid, prr_remote_addr addr, void *buf, size_t len);
/* The same through /proc/PID/mem: regardless of page protection. */
size_t prr_mem_peek_some(pid_t tid, prr_remote_addr addr, void *buf, size_t len);
/* true when all len bytes were read / written. prr_mem_write respects the page
 * protection of the tracee (as the kernel's own copy_to_user does). */
bool prr_mem_read(pid_t tid, prr_remote_addr addr, void *buf, size_t len);
/* Could the kernel write all len bytes for the task? Rewrites one byte a page. */
bool prr_mem_is_writable(pid_t tid, prr_remote_addr addr, size_t len);
/* How many of them, from the first on. */
size_t prr_mem_writable_len(pid_t tid, prr_remote_addr addr, size_t len);
/* Copies `len` bytes from `from`, which must be writable as well, to `to`. */
bool prr_mem_copy_writable(pid_t tid, prr_remote_addr from, prr_remote_addr to, size_t len);
size_t prr_mem_write_some(pid_t tid, prr_remote_addr addr, const void *buf, size_t len);
bool prr_mem_write(pid_t tid, prr_remote_addr addr, const void *buf, size_t len);
/* Writes regardless of page protection (patches, replayed outputs). */
bool prr_mem_poke(pid_t tid, prr_remote_addr addr, const void *buf, size_t len);
/* Reads a NUL-terminated string of any length; *ret is owned (free). NULL in
 * *ret when unreadable. */
bool prr_mem_read_string(pid_t tid, prr_remote_addr addr, char **ret);

#endif
