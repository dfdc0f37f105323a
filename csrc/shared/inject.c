/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.h"
#include "layout.h"
#include "ptrace.h"
#include "regs.h"

static enum prr_status gone(pid_t tid, struct prr_error *err)
{
	return prr_fail(err, PRR_ERR_TRACEE_GONE, 0, NULL,
		"task %d ended while pyrr ran a syscall in it", tid);
}

/* Waits for the task's next stop; EINTR is retried: an injected call is short. */
static enum prr_status next_stop(pid_t tid, int *status, struct prr_error *err)
{
	for (;;) {
		pid_t got = waitpid(tid, status, __WALL);

		if (got == tid)
			return WIFSTOPPED(*status) ? PRR_OK : gone(tid, err);
		if (got < 0 && errno != EINTR)
			return gone(tid, err);
	}
}

/* Resumes until a syscall-entry or -exit stop, passing over seccomp stops. */
static enum prr_status to_syscall_stop(struct prr_inject *inject, struct prr_error *err)
{
	for (;;) {
		int status;

		if (!prr_ptrace_resume(inject->tid, PRR_RESUME_SYSCALL, 0))
			return gone(inject->tid, err);
		PRR_TRY(next_stop(inject->tid, &status, err));
		if (prr_status_is_syscall(status))
			return PRR_OK;
		if (prr_status_event(status) == PTRACE_EVENT_EXIT)
			return gone(inject->tid, err);
		if (prr_status_event(status) == 0 && WSTOPSIG(status) == SIGSTOP)
			inject->stopped = true;
	}
}

enum prr_status prr_inject_begin(
	struct prr_inject *inject, pid_t tid, uint64_t syscall_addr, struct prr_error *err)
{
	inject->tid = tid;
	inject->syscall_addr = syscall_addr;
	inject->stopped = false;
	if (!prr_ptrace_get_regs(tid, &inject->saved) ||
		!prr_ptrace_get_sigmask(tid, &inject->mask) || !prr_ptrace_set_sigmask(tid, ~0ull))
		return gone(tid, err);
	return PRR_OK;
}

enum prr_status prr_inject_syscall(struct prr_inject *inject, uint64_t nr, const uint64_t args[6],
	int64_t *result, struct prr_error *err)
{
	struct prr_regs regs = inject->saved;

	regs.rip = inject->syscall_addr;
	regs.rax = nr;
	/* No syscall is pending as far as restart logic is concerned. */
	regs.orig_rax = (uint64_t)-1;
	regs.rflags &= ~PRR_FLAG_TF;
	prr_regs_set_syscall_args(&regs, args);
	if (!prr_ptrace_set_regs(inject->tid, &regs))
		return gone(inject->tid, err);
	PRR_TRY(to_syscall_stop(inject, err));
	if (!prr_ptrace_get_regs(inject->tid, &regs))
		return gone(inject->tid, err);
	if (regs.rip != inject->syscall_addr + 2)
		/* The stop was the exit of a skipped call: our own comes now. */
		PRR_TRY(to_syscall_stop(inject, err));
	PRR_TRY(to_syscall_stop(inject, err));
	if (!prr_ptrace_get_regs(inject->tid, &regs))
		return gone(inject->tid, err);
	*result = (int64_t)regs.rax;
	return PRR_OK;
}

enum prr_status prr_inject_end(struct prr_inject *inject, struct prr_error *err)
{
	if (!prr_ptrace_set_regs(inject->tid, &inject->saved) ||
		!prr_ptrace_set_sigmask(inject->tid, inject->mask))
		return gone(inject->tid, err);
	if (inject->stopped)
		syscall(SYS_tkill, inject->tid, SIGSTOP);
	return PRR_OK;
}

enum prr_status prr_inject_one(
	pid_t tid, uint64_t nr, const uint64_t args[6], int64_t *result, struct prr_error *err)
{
	struct prr_inject inject;

	PRR_TRY(prr_inject_begin(&inject, tid, PRR_CODE_ADDR, err));
	PRR_TRY(prr_inject_syscall(&inject, nr, args, result, err));
	return prr_inject_end(&inject, err);
}
