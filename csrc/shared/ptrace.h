/* SPDX-License-Identifier: GPL-2.0-or-later
 * ptrace and wait as the sessions use them. ESRCH from any request means that
 * the task is going to exit (PITFALLS A9), never a program error: such calls
 * return false and the caller goes on to wait for the task's end. */
#ifndef PRR_PTRACE_H
#define PRR_PTRACE_H

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/types.h>

#include "pyrr_core.h"

/* Resume requests by what the task shall do next. */
enum prr_resume {
	PRR_RESUME_CONT = PTRACE_CONT,       /* to the next seccomp stop or signal */
	PRR_RESUME_SYSCALL = PTRACE_SYSCALL, /* to the next syscall stop */
	PRR_RESUME_STEP = PTRACE_SINGLESTEP,
	PRR_RESUME_SYSEMU = PTRACE_SYSEMU
};

bool prr_ptrace_resume(pid_t tid, enum prr_resume how, int signo);
bool prr_ptrace_get_regs(pid_t tid, struct prr_regs *regs);
bool prr_ptrace_set_regs(pid_t tid, const struct prr_regs *regs);
/* XSTATE: *data is a caller's buffer of `capacity` bytes; *len gets its size. */
bool prr_ptrace_get_xstate(pid_t tid, void *data, size_t capacity, size_t *len);
bool prr_ptrace_set_xstate(pid_t tid, const void *data, size_t len);
bool prr_ptrace_get_siginfo(pid_t tid, siginfo_t *info);
bool prr_ptrace_set_siginfo(pid_t tid, const siginfo_t *info);
bool prr_ptrace_get_sigmask(pid_t tid, uint64_t *mask);
bool prr_ptrace_set_sigmask(pid_t tid, uint64_t mask);
bool prr_ptrace_event_message(pid_t tid, unsigned long *message);
/* Under PTRACE_SEIZE: keeps a group-stopped task stopped, visible to its parent. */
bool prr_ptrace_listen(pid_t tid);

/* What a wait status says. */
static inline bool prr_status_is_syscall(int status)
{
	return (status >> 8) == (SIGTRAP | 0x80);
}
static inline int prr_status_event(int status)
{
	return (unsigned)status >> 16;
}

#endif
