/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ptrace.h"

#include <elf.h>
#include <errno.h>
#include <sys/uio.h>
#include <sys/user.h>

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

_Static_assert(sizeof(struct prr_regs) == sizeof(struct user_regs_struct),
	"prr_regs mirrors user_regs_struct");
#define SAME_PLACE(ours, theirs)                                                              \
	_Static_assert(                                                                       \
		offsetof(struct prr_regs, ours) == offsetof(struct user_regs_struct, theirs), \
		"prr_regs mirrors user_regs_struct")
SAME_PLACE(r15, r15);
SAME_PLACE(rax, rax);
SAME_PLACE(orig_rax, orig_rax);
SAME_PLACE(rip, rip);
SAME_PLACE(rflags, eflags);
SAME_PLACE(rsp, rsp);
SAME_PLACE(fs_base, fs_base);
SAME_PLACE(gs, gs);

bool prr_ptrace_resume(pid_t tid, enum prr_resume how, int signo)
{
	return ptrace((enum __ptrace_request)how, tid, 0, (long)signo) == 0;
}

bool prr_ptrace_get_regs(pid_t tid, struct prr_regs *regs)
{
	return ptrace(PTRACE_GETREGS, tid, 0, regs) == 0;
}

bool prr_ptrace_set_regs(pid_t tid, const struct prr_regs *regs)
{
	return ptrace(PTRACE_SETREGS, tid, 0, regs) == 0;
}

bool prr_ptrace_get_xstate(pid_t tid, void *data, size_t capacity, size_t *len)
{
	struct iovec iov = { data, capacity };

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &iov) != 0)
		return false;
	*len = iov.iov_len;
	return true;
}

bool prr_ptrace_set_xstate(pid_t tid, const void *data, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)data, len };

	return ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &iov) == 0;
}

bool prr_ptrace_get_siginfo(pid_t tid, siginfo_t *info)
{
	return ptrace(PTRACE_GETSIGINFO, tid, 0, info) == 0;
}

bool prr_ptrace_set_siginfo(pid_t tid, const siginfo_t *info)
{
	return ptrace(PTRACE_SETSIGINFO, tid, 0, info) == 0;
}

bool prr_ptrace_get_sigmask(pid_t tid, uint64_t *mask)
{
	return ptrace(PTRACE_GETSIGMASK, tid, sizeof(*mask), mask) == 0;
}

bool prr_ptrace_set_sigmask(pid_t tid, uint64_t mask)
{
	return ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) == 0;
}

bool prr_ptrace_event_message(pid_t tid, unsigned long *message)
{
	return ptrace(PTRACE_GETEVENTMSG, tid, 0, message) == 0;
}

bool prr_ptrace_listen(pid_t tid)
{
	return ptrace(PTRACE_LISTEN, tid, 0, 0) == 0;
}
