/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vsyscall.h"

#include <errno.h>
#include <sys/wait.h>

#include "error.h"
#include "ptrace.h"

enum prr_status prr_vsyscall_leave(
	pid_t tid, int64_t result, struct prr_regs *regs, struct prr_error *err)
{
	int status;

	if (!prr_ptrace_get_regs(tid, regs))
		return prr_fail_errno(err, "task %d vanished in a vsyscall", tid);
	regs->rax = (uint64_t)result;
	regs->orig_rax = (uint64_t)-1;
	/* The interrupt takes effect on the way back to user mode. */
	if (!prr_ptrace_set_regs(tid, regs) || ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0 ||
		!prr_ptrace_resume(tid, PRR_RESUME_CONT, 0))
		return prr_fail_errno(err, "task %d vanished in a vsyscall", tid);
	for (;;) {
		pid_t got = waitpid(tid, &status, __WALL);

		if (got < 0 && errno == EINTR)
			continue;
		if (got != tid || !WIFSTOPPED(status))
			return prr_fail(err, PRR_ERR_TRACEE_GONE, 0, NULL,
				"task %d ended in a vsyscall", tid);
		/* The interrupt's trap comes before any signal (get_signal). */
		if (prr_status_event(status) == PTRACE_EVENT_STOP)
			break;
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"task %d stopped with status 0x%x on its way out of a vsyscall", tid,
			(unsigned)status);
	}
	if (!prr_ptrace_get_regs(tid, regs))
		return prr_fail_errno(err, "task %d vanished in a vsyscall", tid);
	return PRR_OK;
}
