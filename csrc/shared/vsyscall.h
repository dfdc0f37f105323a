/* SPDX-License-Identifier: GPL-2.0-or-later
 * The vsyscall page: three functions at fixed addresses in the kernel's half,
 * which the kernel emulates when they are called (PITFALLS A13). They make a
 * seccomp stop, but no syscall-exit stop, and none at all under PTRACE_SYSEMU. */
#ifndef PRR_VSYSCALL_H
#define PRR_VSYSCALL_H

#include <sys/types.h>

#include "pyrr_core.h"

#define PRR_VSYSCALL_PAGE 0xffffffffff600000ull

static inline bool prr_is_vsyscall(uint64_t rip)
{
	return (rip & ~0xfffull) == PRR_VSYSCALL_PAGE;
}

/* Leaves the seccomp stop of a vsyscall: the call is skipped, rax gets `result`,
 * and the task stops again where the function returned to, before the next
 * instruction. *regs then holds its registers. rip itself must not be changed
 * at the stop: the kernel kills the task for that (emulate_vsyscall). */
PRR_MUST_USE enum prr_status prr_vsyscall_leave(
	pid_t tid, int64_t result, struct prr_regs *regs, struct prr_error *err);

#endif
