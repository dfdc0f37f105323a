/* SPDX-License-Identifier: GPL-2.0-or-later
 * Moving a task to the place where its next event begins. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "../shared/vsyscall.h"
#include "session.h"

static enum prr_status gone(struct prr_replay_task *t, struct prr_error *err)
{
	return prr_fail(err, PRR_ERR_TRACEE_GONE, 0, "replay again",
		"the replaying process of task %d ended (killed from outside?)", t->uid.tid);
}

enum prr_status prr_replay_flush_regs(struct prr_replay_task *t, struct prr_error *err)
{
	if (!t->regs_dirty)
		return PRR_OK;
	if (!prr_ptrace_set_regs(t->tid, &t->regs))
		return gone(t, err);
	t->regs_dirty = false;
	return PRR_OK;
}

bool prr_replay_is_from_outside(struct prr_replay_task *t, int signo)
{
	siginfo_t info;

	if (signo != SIGSEGV && signo != SIGBUS && signo != SIGFPE && signo != SIGILL &&
		signo != SIGTRAP)
		return true;
	return prr_ptrace_get_siginfo(t->tid, &info) && info.si_code <= 0;
}

enum prr_status prr_replay_advance(struct prr_replay *s, struct prr_replay_task *t,
	enum prr_arrival *arrival, int *signo, struct prr_error *err)
{
	if (s->arrived.kept) {
		s->arrived.kept = false;
		*arrival = s->arrived.arrival;
		*signo = s->arrived.signo;
		return PRR_OK;
	}
	PRR_TRY(prr_replay_flush_regs(t, err));
	for (;;) {
		int status;

		if (!prr_ptrace_resume(t->tid, PRR_RESUME_SYSEMU, 0))
			return gone(t, err);
		prr_interrupter_enter(&s->interrupter, t->tid, s->deadline_ns);
		pid_t got = waitpid(t->tid, &status, __WALL);

		while (got < 0 && errno == EINTR)
			got = waitpid(t->tid, &status, __WALL);
		bool late = prr_interrupter_leave(&s->interrupter);

		if (got != t->tid || !WIFSTOPPED(status))
			return gone(t, err);
		if (prr_status_is_syscall(status) ||
			prr_status_event(status) == PTRACE_EVENT_SECCOMP) {
			*arrival = PRR_ARRIVAL_SYSCALL;
			break;
		}
		if (late && prr_status_event(status) == PTRACE_EVENT_STOP) {
			*arrival = PRR_ARRIVAL_LATE;
			break;
		}
		if (prr_status_event(status) == 0 &&
			!prr_replay_is_from_outside(t, WSTOPSIG(status))) {
			*arrival = PRR_ARRIVAL_SIGNAL;
			*signo = WSTOPSIG(status);
			break;
		}
	}
	if (!prr_ptrace_get_regs(t->tid, &t->regs))
		return gone(t, err);
	if (*arrival == PRR_ARRIVAL_SYSCALL && !prr_is_vsyscall(t->regs.rip))
		prr_regs_canonical_syscall(&t->regs);
	return PRR_OK;
}

/* int 0x80, which the recording's seccomp filter answered without a stop. */
static bool is_int80(const struct prr_replay *s, const struct prr_replay_task *t)
{
	static const uint8_t int80[2] = { 0xcd, 0x80 };
	uint8_t bytes[2];

	return t->regs.rip != s->event->regs.rip &&
		prr_mem_read(t->tid, prr_remote(t->regs.rip - 2), bytes, sizeof(bytes)) &&
		memcmp(bytes, int80, sizeof(bytes)) == 0;
}

enum prr_status prr_replay_advance_past_int80(struct prr_replay *s, struct prr_replay_task *t,
	enum prr_arrival *arrival, int *signo, struct prr_error *err)
{
	for (;;) {
		PRR_TRY(prr_replay_advance(s, t, arrival, signo, err));
		if (*arrival != PRR_ARRIVAL_SYSCALL || !is_int80(s, t))
			return PRR_OK;
		if (!prr_ptrace_get_regs(t->tid, &t->regs))
			return gone(t, err);
		t->regs.rax = (uint64_t)-ENOSYS;
		t->regs.orig_rax = (uint64_t)-1;
		t->regs_dirty = true;
	}
}

enum prr_status prr_replay_to_entry(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	enum prr_arrival arrival;
	int signo;

	PRR_TRY(prr_replay_advance_past_int80(s, t, &arrival, &signo, err));
	if (arrival == PRR_ARRIVAL_SYSCALL)
		return PRR_OK;
	return prr_replay_diverged(s, t, err, "signal %d (%s) was raised at rip 0x%llx", signo,
		strsignal(signo), (unsigned long long)t->regs.rip);
}

enum prr_status prr_replay_to_fault(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	enum prr_arrival arrival;
	int signo;

	PRR_TRY(prr_replay_advance_past_int80(s, t, &arrival, &signo, err));
	if (arrival == PRR_ARRIVAL_SIGNAL)
		return PRR_OK;
	return prr_replay_diverged(s, t, err, "syscall %lld was entered at rip 0x%llx",
		(long long)t->regs.orig_rax, (unsigned long long)t->regs.rip);
}

enum prr_status prr_replay_syscall(struct prr_replay *s, struct prr_replay_task *t, uint64_t nr,
	const uint64_t args[6], int64_t *result, struct prr_error *err)
{
	(void)s;
	PRR_TRY(prr_inject_one(t->tid, nr, args, result, err));
	t->regs_dirty = true; /* the task's real registers are older than t->regs */
	return PRR_OK;
}
