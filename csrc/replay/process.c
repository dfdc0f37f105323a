/* SPDX-License-Identifier: GPL-2.0-or-later
 * The task tree: clones, execs and exits really happen, in pyrr's own terms. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "session.h"

/* Flags that shape what parent and child share; all others (tid writes,
 * namespaces, vfork's wait) are replayed from the trace. */
#define KEPT_FLAGS                                                                          \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
		CLONE_SETTLS | CLONE_IO)

static enum prr_status failed(
	struct prr_replay *s, const char *what, int error, struct prr_error *err)
{
	return prr_fail(err, PRR_ERR_SYSTEM, error, NULL, "%s failed at event %llu", what,
		(unsigned long long)s->event->index);
}

static enum prr_status wait_stop(pid_t tid, int *status, struct prr_error *err)
{
	pid_t got;

	do
		got = waitpid(tid, status, __WALL);
	while (got < 0 && errno == EINTR);
	if (got != tid || !WIFSTOPPED(*status))
		return prr_fail(err, PRR_ERR_TRACEE_GONE, got < 0 ? errno : 0, "replay again",
			"replaying process %d ended", tid);
	return PRR_OK;
}

/* ------------------------------------------------------------------- clone */

static enum prr_status adopt(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_new_task *field, pid_t tid, struct prr_error *err)
{
	struct prr_task_uid uid = { field->tid, field->serial };
	struct prr_replay_task *c;
	int status;

	PRR_TRY(wait_stop(tid, &status, err));
	PRR_TRY(prr_replay_new_task(s, uid, tid, &c, err));
	c->group = field->group;
	c->tgid = field->flags & CLONE_THREAD ? t->tgid : tid;
	PRR_TRY(prr_files_clone(t->files, field->flags & CLONE_FILES, &c->files, err));
	if (field->flags & CLONE_VM) {
		c->as = t->as;
		c->as->task_count++;
	} else {
		c->as = calloc(1, sizeof(*c->as));
		if (!c->as)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
		c->as->uid = field->as_uid;
		c->as->task_count = 1;
		PRR_TRY(prr_mappings_fork(&c->as->mappings, &t->as->mappings, err));
	}
	c->regs = s->event->regs;
	c->regs.rax = 0;
	c->regs.orig_rax = (uint64_t)-1;
	if (field->stack)
		c->regs.rsp = field->stack;
	if (field->flags & CLONE_SETTLS)
		c->regs.fs_base = field->tls;
	c->regs_dirty = true;
	return field->flags & CLONE_VM ? PRR_OK : prr_replay_forked(s, t, c, err);
}

enum prr_status prr_replay_clone(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	struct prr_field_new_task field;
	const void *data = prr_field_find(s->event, PRR_FIELD_NEW_TASK, sizeof(field), NULL, NULL);
	unsigned long tid = 0;
	int status;

	if (!data)
		return PRR_OK; /* it failed, or its child is there since it blocked */
	memcpy(&field, data, sizeof(field));
	struct prr_regs regs = s->event->regs;
	/* Children of the supervisor itself, so that none waits for another. */
	uint64_t flags = (field.flags & KEPT_FLAGS) | CLONE_PARENT;
	uint64_t args[6] = { flags | (field.flags & CLONE_THREAD ? 0 : SIGCHLD), field.stack, 0, 0,
		field.tls };

	regs.rip = PRR_CODE_ADDR;
	regs.rax = SYS_clone;
	regs.orig_rax = (uint64_t)-1;
	prr_regs_set_syscall_args(&regs, args);
	if (!prr_ptrace_set_regs(t->tid, &regs))
		return failed(s, "clone", ESRCH, err);
	for (;;) { /* PTRACE_CONT: only the clone event stops it */
		prr_ptrace_resume(t->tid, PRR_RESUME_CONT, 0);
		PRR_TRY(wait_stop(t->tid, &status, err));
		int event = prr_status_event(status);

		if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
			event == PTRACE_EVENT_VFORK)
			break;
		if (event == 0 && WSTOPSIG(status) == SIGTRAP) /* int3 after a failed call */
			return failed(s, "clone", EAGAIN, err);
	}
	if (!prr_ptrace_event_message(t->tid, &tid))
		return failed(s, "clone", errno, err);
	PRR_TRY(adopt(s, t, &field, (pid_t)tid, err));
	/* Past the clone: to its exit stop, then its registers are ours again. */
	do {
		prr_ptrace_resume(t->tid, PRR_RESUME_SYSCALL, 0);
		PRR_TRY(wait_stop(t->tid, &status, err));
	} while (!prr_status_is_syscall(status));
	t->regs_dirty = true;
	return PRR_OK;
}

/* -------------------------------------------------------------------- exec */

/* Runs the stub in the task: its old memory and its siblings' claim go. */
static enum prr_status exec_stub(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	struct {
		uint64_t argv[2], envp[1];
		char empty[8];
	} block = { { PRR_DATA_ADDR + offsetof(typeof(block), empty), 0 }, { 0 }, "" };
	uint64_t args[6] = { (uint64_t)s->stub_fd, block.argv[0], PRR_DATA_ADDR,
		PRR_DATA_ADDR + offsetof(typeof(block), envp), AT_EMPTY_PATH };
	struct prr_regs regs = t->regs;
	pid_t wait_for = t->tid;
	int status;

	if (!prr_mem_write(t->tid, prr_remote(PRR_DATA_ADDR), &block, sizeof(block)))
		return failed(s, "exec", EFAULT, err);
	regs.rip = PRR_CODE_ADDR;
	regs.rax = SYS_execveat;
	regs.orig_rax = (uint64_t)-1;
	prr_regs_set_syscall_args(&regs, args);
	if (!prr_ptrace_set_regs(t->tid, &regs))
		return failed(s, "exec", ESRCH, err);
	for (;;) {
		prr_ptrace_resume(t->tid, PRR_RESUME_CONT, 0);
		/* A thread takes its dead leader's tid (ptrace(2)). */
		wait_for = t->tgid;
		PRR_TRY(wait_stop(wait_for, &status, err));
		if (prr_status_event(status) == PTRACE_EVENT_EXEC)
			break;
		if (prr_status_event(status) == 0 && WSTOPSIG(status) == SIGTRAP)
			return failed(s, "exec", ENOEXEC, err);
	}
	t->tid = t->tgid;
	do {
		prr_ptrace_resume(t->tid, PRR_RESUME_SYSCALL, 0);
		PRR_TRY(wait_stop(t->tid, &status, err));
	} while (!prr_status_is_syscall(status));
	t->regs_dirty = true;
	return PRR_OK;
}

static enum prr_status new_address_space(
	struct prr_replay *s, struct prr_replay_task *t, uint32_t uid, struct prr_error *err)
{
	struct prr_replay_as *as = calloc(1, sizeof(*as));

	if (!as)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	as->uid = uid;
	as->task_count = 1;
	as->mappings.mapped = &s->mapped;
	if (t->as && --t->as->task_count == 0) {
		prr_mappings_deinit(&t->as->mappings);
		free(t->as);
	}
	t->as = as;
	return PRR_OK;
}

/* A dead leader whose tid the exec took over. */
static void drop_zombie_leader(struct prr_replay *s, struct prr_replay_task *t)
{
	for (struct prr_replay_task *o = s->tasks; o; o = o->next)
		if (o != t && o->zombie && o->tid == t->tid) {
			prr_replay_drop_task(s, o);
			return;
		}
}

static enum prr_status map_image(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	for (size_t i = 0; i < s->event->field_count; i++) {
		const struct prr_field *field = &s->event->fields[i];
		struct prr_field_mapping m;

		if (field->tag != PRR_FIELD_MAPPING || field->len < sizeof(m))
			continue;
		memcpy(&m, field->data, sizeof(m));
		PRR_TRY(prr_replay_map(s, t, &m, err));
	}
	return PRR_OK;
}

enum prr_status prr_replay_exec(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	struct prr_field_exec field;
	const void *data = prr_field_find(s->event, PRR_FIELD_EXEC, sizeof(field), NULL, NULL);

	if (!data)
		return PRR_OK; /* it failed */
	memcpy(&field, data, sizeof(field));
	if (t->as) { /* the very first one was made by prr_replay_spawn */
		PRR_TRY(prr_replay_outputs_of(s, t->as->uid, err));
		PRR_TRY(exec_stub(s, t, err));
	}
	drop_zombie_leader(s, t);
	t->uid.tid = s->event->task.tid;
	t->group = t->uid.serial;
	PRR_TRY(new_address_space(s, t, field.as_uid, err));
	prr_files_exec(t->files);
	struct rlimit limit = { field.stack_limit, RLIM_INFINITY };

	/* The hard limit may not be raised by an ordinary user: keep it. */
	struct rlimit old;

	if (prlimit(t->tid, RLIMIT_STACK, NULL, &old) == 0)
		limit.rlim_max = old.rlim_max;
	prlimit(t->tid, RLIMIT_STACK, &limit, NULL);
	PRR_TRY(prr_replay_unmap_all(s, t, err));
	return map_image(s, t, err);
}

/* -------------------------------------------------------------------- exit */

static struct prr_replay_task *zombie_of(struct prr_replay *s, const struct prr_replay_task *t)
{
	for (struct prr_replay_task *o = s->tasks; o; o = o->next)
		if (o != t && o->zombie && o->tgid == t->tgid)
			return o;
	return NULL;
}

static bool has_live_sibling(struct prr_replay *s, const struct prr_replay_task *t)
{
	for (struct prr_replay_task *o = s->tasks; o; o = o->next)
		if (o != t && !o->zombie && o->tgid == t->tgid)
			return true;
	return false;
}

/* Ends a task: one stop-free exit(2) of its own. */
static enum prr_status end_task(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	struct prr_regs regs = t->regs;
	int status;

	regs.rip = PRR_CODE_ADDR;
	regs.rax = SYS_exit;
	regs.orig_rax = (uint64_t)-1;
	regs.rdi = 0;
	if (!prr_ptrace_set_regs(t->tid, &regs))
		return failed(s, "exit", ESRCH, err);
	prr_ptrace_resume(t->tid, PRR_RESUME_CONT, 0);
	if (t->tid == t->tgid && has_live_sibling(s, t)) {
		t->zombie = true; /* its end is reported with its last sibling's */
		return PRR_OK;
	}
	for (;;) {
		pid_t got = waitpid(t->tid, &status, __WALL);

		if (got == t->tid && WIFSTOPPED(status))
			prr_ptrace_resume(t->tid, PRR_RESUME_CONT, 0);
		else if (got == t->tid || errno != EINTR)
			break;
	}
	struct prr_replay_task *leader = has_live_sibling(s, t) ? NULL : zombie_of(s, t);

	if (leader) {
		while (waitpid(leader->tid, &status, __WALL) < 0 && errno == EINTR)
			;
		prr_replay_drop_task(s, leader);
	}
	prr_replay_drop_task(s, t);
	return PRR_OK;
}

enum prr_status prr_replay_exit(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	PRR_TRY(prr_replay_outputs(s, err));
	return end_task(s, t, err);
}
