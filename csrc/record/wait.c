/* SPDX-License-Identifier: GPL-2.0-or-later
 * Resuming tasks and collecting their stops. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session.h"

bool prr_record_resume(struct prr_record_task *t, enum prr_resume how, int signo)
{
	if (t->regs_dirty) {
		if (!prr_ptrace_set_regs(t->uid.tid, &t->regs))
			return false;
		t->regs_dirty = false;
	}
	return prr_ptrace_resume(t->uid.tid, how, signo);
}

bool prr_record_go(const struct prr_record *s, struct prr_record_task *t, int signo)
{
	return prr_record_resume(t, s->outer_filters ? PRR_RESUME_SYSCALL : PRR_RESUME_CONT, signo);
}

static enum prr_status keep_orphan(
	struct prr_record *s, pid_t tid, int status, struct prr_error *err)
{
	if (s->orphan_count == s->orphan_capacity) {
		size_t capacity = s->orphan_capacity ? 2 * s->orphan_capacity : 16;
		struct prr_orphan_status *grown =
			reallocarray(s->orphans, capacity, sizeof(*grown));

		if (!grown)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
		s->orphans = grown;
		s->orphan_capacity = capacity;
	}
	s->orphans[s->orphan_count++] = (struct prr_orphan_status){ tid, status };
	return PRR_OK;
}

bool prr_record_take_orphan(struct prr_record *s, pid_t tid, int *status)
{
	for (size_t i = 0; i < s->orphan_count; i++) {
		if (s->orphans[i].tid != tid)
			continue;
		*status = s->orphans[i].status;
		memmove(&s->orphans[i], &s->orphans[i + 1],
			(s->orphan_count - i - 1) * sizeof(*s->orphans));
		s->orphan_count--;
		return true;
	}
	return false;
}

/* An exec from a thread: the kernel gave it the dead leader's tid, whose death
 * nobody is told of (ptrace(2), "execve(2) under ptrace"). */
static struct prr_record_task *exec_identity(struct prr_record *s, pid_t tid)
{
	unsigned long old_tid;

	if (!prr_ptrace_event_message(tid, &old_tid) || (pid_t)old_tid == tid)
		return prr_record_find(s, tid);
	struct prr_record_task *leader = prr_record_find(s, tid);
	struct prr_record_task *t = prr_record_find(s, (pid_t)old_tid);

	if (!t)
		return leader;
	if (leader) {
		if (leader->group)
			leader->group->zombie_leader = NULL;
		prr_record_drop_task(s, leader);
	}
	t->exec_old_tid = (pid_t)old_tid;
	t->uid.tid = tid;
	t->ns_tid = tid;
	if (t->stat_fd >= 0)
		close(t->stat_fd);
	t->stat_fd = -1;
	return t;
}

static enum prr_status dispatch(struct prr_record *s, pid_t tid, int status, struct prr_error *err)
{
	struct prr_record_task *t;

	if (WIFSTOPPED(status) && prr_status_event(status) == PTRACE_EVENT_EXEC)
		t = exec_identity(s, tid);
	else
		t = prr_record_find(s, tid);
	if (!t)
		return keep_orphan(s, tid, status, err);
	t->status = status;
	t->has_status = true;
	return PRR_OK;
}

enum prr_status prr_record_collect(struct prr_record *s, bool block, struct prr_error *err)
{
	for (;;) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL | (block ? 0 : WNOHANG));

		if (tid == 0)
			return PRR_OK;
		if (tid < 0 && errno == EINTR) {
			if (!block)
				continue;
			s->stop.kind = PRR_RECORD_STOP_INTERRUPTED;
			s->stop_wanted = true;
			return PRR_OK;
		}
		if (tid < 0)
			return prr_fail_errno(err, "no tracee left to wait for");
		PRR_TRY(dispatch(s, tid, status, err));
		block = false;
	}
}

enum prr_status prr_record_wait_task(
	struct prr_record *s, struct prr_record_task *t, bool *stopped, struct prr_error *err)
{
	int status;
	pid_t tid = waitpid(t->uid.tid, &status, __WALL);

	*stopped = false;
	if (tid < 0 && errno == EINTR)
		return PRR_OK;
	if (tid < 0) {
		/* Reaped elsewhere: cannot happen while we are its only tracer. */
		return prr_fail(
			err, PRR_ERR_TRACEE_GONE, errno, NULL, "task %d vanished", t->uid.tid);
	}
	*stopped = true;
	return dispatch(s, tid, status, err);
}

char prr_proc_state(struct prr_record_task *t)
{
	char text[512];

	if (t->stat_fd < 0) {
		snprintf(text, sizeof(text), "/proc/%d/stat", t->uid.tid);
		t->stat_fd = open(text, O_RDONLY | O_CLOEXEC);
		if (t->stat_fd < 0)
			return 'X';
	}
	ssize_t len = pread(t->stat_fd, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return 'X';
	text[len] = '\0';
	/* The name may hold any character; the state follows the last ')'. */
	const char *paren = strrchr(text, ')');

	return paren && paren[1] ? paren[2] : 'X';
}

enum prr_status prr_record_is_asleep(
	struct prr_record *s, struct prr_record_task *t, bool *asleep, struct prr_error *err)
{
	*asleep = false;
	for (;;) {
		int status;
		/* Same core: yielding lets the tracee run until it stops or sleeps. */
		sched_yield();
		pid_t tid = waitpid(t->uid.tid, &status, __WALL | WNOHANG);

		if (tid == t->uid.tid)
			return dispatch(s, tid, status, err);
		switch (prr_proc_state(t)) {
		case 'S': /* interruptible sleep */
		case 'D': /* vfork's parent, de_thread, disk */
			/* It may have stopped in between: then wait has it. */
			tid = waitpid(t->uid.tid, &status, __WALL | WNOHANG);
			if (tid == t->uid.tid)
				return dispatch(s, tid, status, err);
			*asleep = true;
			return PRR_OK;
		case 'R':
			continue;
		default: { /* stopped, dying: its report is on the way */
			bool stopped;

			PRR_TRY(prr_record_wait_task(s, t, &stopped, err));
			if (stopped)
				return PRR_OK;
		}
		}
	}
}

bool prr_record_exec_took(struct prr_record *s, struct prr_record_task *t)
{
	siginfo_t info;

	(void)s;
	memset(&info, 0, sizeof(info));
	if (waitid(P_PID, (id_t)t->uid.tid, &info,
		    WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) != 0)
		return false;
	return info.si_pid == t->uid.tid && info.si_code == CLD_TRAPPED &&
		info.si_status == (SIGTRAP | PTRACE_EVENT_EXEC << 8);
}
