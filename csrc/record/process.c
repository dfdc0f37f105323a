/* SPDX-License-Identifier: GPL-2.0-or-later
 * New tasks: fork, vfork, clone, clone3. */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "counting.h"
#include "session.h"

static enum prr_status read_clone3(struct prr_record_task *t)
{
	struct clone_args args = { 0 };
	size_t len = t->args[1] < sizeof(args) ? (size_t)t->args[1] : sizeof(args);

	if (!prr_mem_read(t->uid.tid, prr_remote(t->args[0]), &args, len))
		return PRR_OK; /* the kernel answers EFAULT */
	t->clone_flags = args.flags | args.exit_signal;
	t->clone_stack = args.stack ? args.stack + args.stack_size : 0;
	t->clone_parent_tid = args.parent_tid;
	t->clone_child_tid = args.child_tid;
	t->clone_tls = args.tls;
	t->clone_pidfd = args.pidfd;
	return PRR_OK;
}

static void read_clone(struct prr_record_task *t)
{
	t->clone_flags = t->args[0];
	t->clone_stack = t->args[1];
	t->clone_parent_tid = t->clone_pidfd = t->args[2];
	t->clone_child_tid = t->args[3];
	t->clone_tls = t->args[4];
}

/* A child that nobody traces would run unrecorded. */
static void strip_untraced(struct prr_record_task *t)
{
	t->stripped_untraced = false;
	if (!(t->clone_flags & CLONE_UNTRACED))
		return;
	t->clone_flags &= ~(uint64_t)CLONE_UNTRACED;
	t->stripped_untraced = true;
	if (t->nr == SYS_clone) {
		t->regs = t->entry_regs;
		t->regs.rdi &= ~(uint64_t)CLONE_UNTRACED;
		t->regs_dirty = true;
		return;
	}
	uint64_t flags = t->clone_flags & ~0xffull;

	prr_mem_write(t->uid.tid, prr_remote(t->args[0]), &flags, sizeof(flags));
}

static void unstrip_untraced(struct prr_record_task *t)
{
	uint64_t flags = (t->clone_flags & ~0xffull) | CLONE_UNTRACED;

	if (!t->stripped_untraced)
		return;
	if (t->nr == SYS_clone) {
		t->regs.rdi = t->args[0];
		t->regs_dirty = true;
	} else {
		prr_mem_write(t->uid.tid, prr_remote(t->args[0]), &flags, sizeof(flags));
	}
	t->stripped_untraced = false;
}

enum prr_status prr_record_clone_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	(void)s;
	(void)handled;
	(void)err;
	t->new_child_uid.serial = 0;
	t->in_vfork = false;
	t->clone_flags = t->clone_stack = t->clone_parent_tid = t->clone_child_tid = 0;
	t->clone_tls = t->clone_pidfd = 0;
	switch (t->nr) {
	case SYS_clone:
		read_clone(t);
		break;
	case SYS_clone3:
		PRR_TRY(read_clone3(t));
		break;
	case SYS_vfork:
		t->clone_flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
		break;
	default:
		t->clone_flags = SIGCHLD;
		break;
	}
	/* A fork copies memory somewhere between its entry and its exit: nobody may
	 * change that memory meanwhile, however long the kernel takes. */
	t->no_switch = true;
	strip_untraced(t);
	if (!(t->clone_flags & CLONE_VM))
		prr_counting_disarm(t); /* the child has none */
	return PRR_OK;
}

/* ----------------------------------------------------------------- the child */

static enum prr_status share_or_copy(struct prr_record *s, struct prr_record_task *t,
	struct prr_record_task *c, struct prr_error *err)
{
	if (t->clone_flags & CLONE_VM) {
		c->as = t->as;
		c->as->task_count++;
	} else {
		c->as = calloc(1, sizeof(*c->as));
		if (!c->as)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
		c->as->uid = s->next_as_uid++;
		c->as->task_count = 1;
		c->as->brk = t->as->brk;
		PRR_TRY(prr_mappings_fork(&c->as->mappings, &t->as->mappings, err));
		PRR_TRY(prr_patches_copy(&c->as->patches, &t->as->patches, err));
	}
	if (t->clone_flags & CLONE_SIGHAND) {
		c->sighand = t->sighand;
		c->sighand->ref_count++;
		return PRR_OK;
	}
	c->sighand = malloc(sizeof(*c->sighand));
	if (!c->sighand)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	*c->sighand = *t->sighand;
	c->sighand->ref_count = 1;
	if (t->clone_flags & CLONE_CLEAR_SIGHAND)
		for (int i = 1; i < PRR_SIGNAL_COUNT; i++)
			if (c->sighand->actions[i].handler > 1)
				c->sighand->actions[i].handler = 0;
	return PRR_OK;
}

static enum prr_status join_group(
	struct prr_record_task *t, struct prr_record_task *c, struct prr_error *err)
{
	if (t->clone_flags & CLONE_THREAD) {
		c->group = t->group;
	} else {
		c->group = calloc(1, sizeof(*c->group));
		if (!c->group)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
		c->group->tgid = c->uid.tid;
		c->group->leader_serial = c->uid.serial;
	}
	c->group->ref_count++;
	c->group->task_count++;
	return PRR_OK;
}

static void inherit(struct prr_record_task *t, struct prr_record_task *c)
{
	c->parent_serial = t->uid.serial;
	c->sigmask = t->sigmask;
	c->affinity = t->affinity;
	c->policy = t->policy;
	c->priority = t->priority;
	c->nice = t->nice;
	c->tsc_mode = t->tsc_mode;
	c->no_new_privs = t->no_new_privs;
	c->undumpable = t->undumpable;
	prr_seccomp_filters_share(&c->filters, &t->filters);
	c->seccomp_strict = t->seccomp_strict;
	/* A thread starts without an alternate stack, a fork keeps it; vfork's
	 * child too (clone(2), sigaltstack(2)). */
	if (!(t->clone_flags & CLONE_VM) || (t->clone_flags & CLONE_VFORK)) {
		c->altstack_sp = t->altstack_sp;
		c->altstack_size = t->altstack_size;
		c->altstack_flags = t->altstack_flags;
	}
	if (t->clone_flags & CLONE_CHILD_CLEARTID)
		c->clear_child_tid = t->clone_child_tid;
	if (!(t->clone_flags & CLONE_VM)) {
		c->scratch_base = t->scratch_base; /* the fork copied it too */
		c->scratch_size = t->scratch_size;
		memcpy(c->guards, t->guards, sizeof(c->guards));
		c->guard_count = t->guard_count;
	}
}

/* The child's first stop: its registers are valid from here on. */
static enum prr_status first_stop(struct prr_record *s, struct prr_record_task *t,
	struct prr_record_task *c, struct prr_error *err)
{
	int status;

	if (!prr_record_take_orphan(s, c->uid.tid, &status)) {
		pid_t got;

		do
			got = waitpid(c->uid.tid, &status, __WALL);
		while (got < 0 && errno == EINTR);
		if (got != c->uid.tid)
			return prr_fail_errno(err, "cannot wait for the new task %d", c->uid.tid);
	}
	if (WIFSTOPPED(status) && prr_status_event(status) == PTRACE_EVENT_STOP) {
		c->state = PRR_TASK_READY;
		prr_ptrace_get_regs(c->uid.tid, &c->regs);
		if (t->stripped_untraced && t->nr == SYS_clone) {
			c->regs.rdi = t->args[0]; /* as the program passed it */
			c->regs_dirty = true;
		}
		prr_ptrace_get_sigmask(c->uid.tid, &c->sigmask);
		return PRR_OK;
	}
	/* Killed before it could start: its end is an event like any other. */
	c->state = PRR_TASK_RUNNING;
	c->status = status;
	c->has_status = true;
	return PRR_OK;
}

enum prr_status prr_record_clone_event(
	struct prr_record *s, struct prr_record_task *t, int event, struct prr_error *err)
{
	unsigned long tid;
	struct prr_record_task *c;

	(void)event;
	if (!prr_ptrace_event_message(t->uid.tid, &tid))
		return PRR_OK;
	PRR_TRY(prr_record_new_task(s, (pid_t)tid, &c, err));
	inherit(t, c);
	PRR_TRY(share_or_copy(s, t, c, err));
	PRR_TRY(join_group(t, c, err));
	PRR_TRY(first_stop(s, t, c, err));
	t->new_child_uid = c->uid;
	t->in_vfork = t->clone_flags & CLONE_VFORK;
	prr_record_resume(t, PRR_RESUME_SYSCALL, 0);
	t->state = PRR_TASK_IN_SYSCALL;
	if (t->in_vfork) { /* asleep until the child execs or ends */
		s->pending_blocked = t;
		s->current = NULL;
	}
	return PRR_OK;
}

enum prr_status prr_record_new_task_field(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	if (!t->new_child_uid.serial)
		return PRR_OK; /* told of when the parent went to sleep (vfork) */
	struct prr_record_task *c = prr_record_find_serial(s, t->new_child_uid.serial);

	if (!c)
		return PRR_OK;
	struct prr_field_new_task field = {
		.tid = c->uid.tid,
		.serial = c->uid.serial,
		.ns_tid = c->ns_tid,
		.as_uid = c->as->uid,
		.group = c->group->leader_serial,
		.parent = t->uid.serial,
		.flags = t->clone_flags,
		.stack = t->clone_stack,
		.tls = t->clone_tls,
	};

	PRR_TRY(prr_event_field(s, PRR_FIELD_NEW_TASK, &field, sizeof(field), err));
	if (t->clone_flags & CLONE_PARENT_SETTID)
		PRR_TRY(prr_event_memory(s, t, t->clone_parent_tid, sizeof(int), err));
	if (t->clone_flags & CLONE_PIDFD)
		PRR_TRY(prr_event_memory(s, t, t->clone_pidfd, sizeof(int), err));
	if (t->clone_flags & CLONE_CHILD_SETTID)
		PRR_TRY(prr_event_memory(s, c, t->clone_child_tid, sizeof(int), err));
	t->new_child_uid.serial = 0;
	return PRR_OK;
}

enum prr_status prr_record_clone_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	int64_t result = (int64_t)t->regs.rax;

	(void)handled;
	unstrip_untraced(t);
	if (result <= 0 || !t->new_child_uid.serial)
		return PRR_OK;
	struct prr_record_task *c = prr_record_find_serial(s, t->new_child_uid.serial);

	if (c)
		c->ns_tid = (pid_t)result;
	PRR_TRY(prr_record_new_task_field(s, t, err));
	t->new_child_uid.serial = 0;
	t->in_vfork = false;
	return PRR_OK;
}

enum prr_status prr_record_exit_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	prr_event_begin(s, t, PRR_EVENT_SYSCALL, PRR_ORIGIN_KERNEL, &t->entry_regs);
	PRR_TRY(prr_event_syscall_field(s, t, 0, PRR_SYSCALL_EVENT_NO_RETURN, err));
	PRR_TRY(prr_record_hashes(
		s, t, t->nr == SYS_exit_group ? PRR_HASH_LAST_CHANCE : PRR_HASH_IF_DUE, err));
	PRR_TRY(prr_event_commit(s, err));
	*handled = PRR_HANDLED_DONE;
	if (t->nr == SYS_exit_group)
		t->group->dying = true;
	/* Now at the end of its slice: what follows is its EXIT event. */
	t->state = PRR_TASK_EXITING_SOON;
	prr_record_resume(t, PRR_RESUME_CONT, 0);
	return PRR_OK;
}
