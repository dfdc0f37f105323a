/* SPDX-License-Identifier: GPL-2.0-or-later
 * Syscall events. */
#include <linux/sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "../shared/vsyscall.h"
#include "session.h"

/* The state in which the program goes on after a syscall. */
static void set_result(struct prr_replay_task *t, int64_t result, uint64_t nr)
{
	if (prr_is_restart(result)) {
		prr_regs_restart(&t->regs, result, nr);
	} else {
		t->regs.rax = (uint64_t)result;
		t->regs.orig_rax = (uint64_t)-1;
	}
	t->regs_dirty = true;
}

static enum prr_status effects(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_syscall *call, struct prr_error *err)
{
	uint64_t args[6];
	struct prr_syscall_view view;

	prr_regs_syscall_args(&s->event->regs, args);
	view = prr_syscall_view(call->nr, args);
	switch (view.replay_handler) {
	case PRR_REPLAY_NONE:
		break;
	case PRR_REPLAY_CLONE:
		PRR_TRY(prr_replay_clone(s, t, err));
		break;
	case PRR_REPLAY_EXECVE:
		PRR_TRY(prr_replay_exec(s, t, err));
		break;
	default:
		PRR_TRY(prr_replay_memory_call(s, t, &view, args, call->result, err));
		break;
	}
	PRR_TRY(prr_replay_outputs(s, err));
	PRR_TRY(prr_replay_file_changes(s, err));
	return prr_replay_echo(s, t, call->nr, args, call->result, err);
}

static enum prr_status finish(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_syscall *call, struct prr_error *err)
{
	PRR_TRY(effects(s, t, call, err));
	PRR_TRY(prr_replay_patches(s, t, err));
	if (prr_is_vsyscall(t->regs.rip))
		PRR_TRY(prr_vsyscall_leave(t->tid, call->result, &t->regs, err));
	set_result(t, call->result, s->event->regs.orig_rax);
	PRR_TRY(prr_replay_regs_after(s, t, err));
	return prr_replay_check_memory(s, t, err);
}

static enum prr_status blocked(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	t->blocked_regs = t->regs;
	/* vfork: the child exists and runs while its parent sleeps. */
	if (prr_field_find(
		    s->event, PRR_FIELD_NEW_TASK, sizeof(struct prr_field_new_task), NULL, NULL))
		PRR_TRY(prr_replay_clone(s, t, err));
	return prr_replay_outputs(s, err);
}

enum prr_status prr_replay_syscall_event(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	const struct prr_field_syscall *call =
		prr_field_find(s->event, PRR_FIELD_SYSCALL, sizeof(*call), NULL, NULL);

	if (!call)
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"event %llu is a syscall without its field",
			(unsigned long long)s->event->index);
	/* The first event of all is the exec of the program, made by pyrr. */
	if (s->event->kind != PRR_EVENT_SYSCALL_EXIT && t->as) {
		PRR_TRY(prr_replay_to_entry(s, t, err));
		PRR_TRY(prr_replay_check_regs(s, t, err));
	}
	if (s->event->kind == PRR_EVENT_SYSCALL_BLOCKED)
		return blocked(s, t, err);
	if (s->event->kind == PRR_EVENT_SYSCALL_EXIT)
		t->regs = t->blocked_regs;
	return finish(s, t, call, err);
}
