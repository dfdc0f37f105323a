/* SPDX-License-Identifier: GPL-2.0-or-later
 * Syscall entry (a seccomp stop) and exit. The common path is by table; what
 * data cannot express is in the handlers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../shared/vsyscall.h"
#include "session.h"

void prr_record_skip(struct prr_record *s, struct prr_record_task *t, int64_t result)
{
	/* With number -1 the kernel skips the call and leaves rax alone. */
	t->regs = t->entry_regs;
	t->regs.orig_rax = (uint64_t)-1;
	t->regs.rax = (uint64_t)result;
	t->regs_dirty = true;
	t->state = PRR_TASK_READY;
	prr_record_after_event(s, false);
}

enum prr_status prr_record_answer(struct prr_record *s, struct prr_record_task *t, int64_t result,
	const void *output, uint64_t output_addr, size_t output_len, struct prr_error *err)
{
	if (output_len && !prr_mem_write(t->uid.tid, prr_remote(output_addr), output, output_len))
		result = -EFAULT;
	prr_event_begin(s, t, t->blocked_recorded ? PRR_EVENT_SYSCALL_EXIT : PRR_EVENT_SYSCALL,
		PRR_ORIGIN_POLICY, &t->entry_regs);
	PRR_TRY(prr_event_syscall_field(s, t, result, 0, err));
	if (output_len && result != -EFAULT)
		PRR_TRY(prr_event_memory(s, t, output_addr, output_len, err));
	PRR_TRY(prr_event_commit(s, err));
	t->blocked_recorded = false;
	prr_record_skip(s, t, result);
	return PRR_OK;
}

enum prr_status prr_record_blocked(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	enum prr_status status = PRR_OK;

	prr_event_begin(s, t, PRR_EVENT_SYSCALL_BLOCKED, PRR_ORIGIN_KERNEL, &t->entry_regs);
	PRR_TRY(prr_event_syscall_field(s, t, 0, 0, err));
	/* In-place words that the kernel has marked already (FUTEX_LOCK_PI). */
	for (int i = 0; i < 6 && status == PRR_OK; i++)
		if (t->view.args && t->view.args[i].direction == PRR_DIR_INOUT_IN_PLACE &&
			t->args[i])
			status = prr_event_memory(s, t, t->args[i], t->view.args[i].n, err);
	if (status == PRR_OK)
		status = prr_record_new_task_field(s, t, err);
	PRR_TRY(status);
	PRR_TRY(prr_event_commit(s, err));
	t->blocked_recorded = true;
	return PRR_OK;
}

/* ------------------------------------------------------------------- entry */

/* Scratch matters where another task could see the memory early: not where nobody
 * runs before the exit. */
static bool wants_scratch(const struct prr_record *s, const struct prr_record_task *t)
{
	return (t->view.flags & PRR_SYSCALL_MAY_BLOCK) && s->task_count > 1 && !t->no_switch &&
		(t->as->task_count > 1 || t->as->mappings.shared_count > 0);
}

/* Turns the call at whose entry t stands into an mmap of scratch memory; its
 * exit puts the program's own call back (prr_record_exit). */
static void grow_scratch(struct prr_record_task *t, uint64_t need)
{
	uint64_t args[6] = { 0, prr_page_up(need), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1, 0 };

	t->regs = t->entry_regs;
	t->regs.orig_rax = SYS_mmap;
	prr_regs_set_syscall_args(&t->regs, args);
	t->regs_dirty = true;
	t->growing_scratch = true;
	t->scratch_size = prr_page_up(need);
}

static enum prr_status redirect(struct prr_record_task *t, bool *growing, struct prr_error *err)
{
	uint64_t args[6];
	uint64_t need = prr_scratch_need(&t->view, t->uid.tid, &t->outputs);

	*growing = false;
	if (need == 0)
		return PRR_OK;
	if (need > t->scratch_size) {
		grow_scratch(t, need);
		*growing = true;
		return PRR_OK;
	}
	prr_scratch_deinit(&t->scratch);
	memset(&t->scratch, 0, sizeof(t->scratch));
	t->scratch.base = t->scratch_base;
	t->scratch.size = t->scratch_size;
	PRR_TRY(prr_scratch_redirect(&t->view, t->uid.tid, &t->outputs, &t->scratch, args, err));
	t->regs = t->entry_regs;
	prr_regs_set_syscall_args(&t->regs, args);
	t->regs_dirty = true;
	t->scratch_active = true;
	return PRR_OK;
}

/* Resumes into the call; finds out whether it sleeps when others could run. */
static enum prr_status run_call(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	bool asleep;

	if (t->view.flags & PRR_SYSCALL_MAY_BLOCK)
		prr_record_shield(t);
	t->entered_ns = s->last_event_ns;
	t->state = PRR_TASK_IN_SYSCALL;
	prr_record_resume(t, PRR_RESUME_SYSCALL, 0);
	if (t->growing_scratch || s->task_count < 2 || !(t->view.flags & PRR_SYSCALL_MAY_BLOCK) ||
		t->no_switch)
		return PRR_OK;
	PRR_TRY(prr_record_is_asleep(s, t, &asleep, err));
	if (asleep) {
		s->pending_blocked = t->blocked_recorded ? NULL : t;
		s->current = NULL;
	}
	return PRR_OK;
}

/* Calls that are not simply run: refused, unknown, ending the recording. */
static enum prr_status policy(
	struct prr_record *s, struct prr_record_task *t, bool *done, struct prr_error *err)
{
	const struct prr_syscall_view *view = &t->view;

	*done = true;
	if (view->flags & PRR_SYSCALL_REFUSED)
		return prr_record_answer(s, t, -view->refuse_errno, NULL, 0, 0, err);
	if (view->flags & PRR_SYSCALL_ENDS_RECORDING)
		return prr_fail(err, PRR_ERR_UNSUPPORTED, 0,
			"docs/syscalls.md lists what is recorded",
			"task %d called %s(0x%llx, 0x%llx, ...), which pyrr does not record",
			t->uid.tid, view->name, (unsigned long long)t->args[0],
			(unsigned long long)t->args[1]);
	*done = false;
	return PRR_OK;
}

static enum prr_status enter_call(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	enum prr_handled handled = PRR_HANDLED_NORMAL;
	struct prr_record_handlers handlers = prr_record_handlers(t->view.record_handler);
	bool growing = false;

	t->no_switch = false;
	if (handlers.entry)
		PRR_TRY(handlers.entry(s, t, &handled, err));
	if (handled == PRR_HANDLED_STOP)
		t->has_status = true;
	if (handled != PRR_HANDLED_NORMAL)
		return PRR_OK;
	PRR_TRY(prr_outputs_enter(&t->view, t->uid.tid, t->args, &t->outputs, err));
	t->scratch_active = false;
	if (wants_scratch(s, t) && prr_record_reads_at_once(s, t))
		t->no_switch = true;
	if (wants_scratch(s, t))
		PRR_TRY(redirect(t, &growing, err));
	return run_call(s, t, err);
}

/* A finite timeout goes on from where it was. */
static void shorten_timeout(struct prr_record_task *t)
{
	bool in_ms = t->nr == SYS_epoll_wait || t->nr == SYS_epoll_pwait;
	int64_t left = (int32_t)t->args[3];

	if (!in_ms || left <= 0)
		return;
	left -= (int64_t)((prr_record_now() - t->call_start_ns) / 1000000);
	t->regs.r10 = (uint64_t)(left > 0 ? left : 0);
	t->regs_dirty = true;
}

static enum prr_status enter_again(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	bool growing;

	t->redo = false;
	if (wants_scratch(s, t))
		PRR_TRY(redirect(t, &growing, err));
	shorten_timeout(t);
	return run_call(s, t, err);
}

/* A signal came while the call was between two of its entries, so while it slept
 * as far as the program can know. */
static enum prr_status interrupted(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	prr_event_begin(s, t, t->blocked_recorded ? PRR_EVENT_SYSCALL_EXIT : PRR_EVENT_SYSCALL,
		PRR_ORIGIN_POLICY, &t->entry_regs);
	PRR_TRY(prr_event_syscall_field(s, t, -EINTR, 0, err));
	PRR_TRY(prr_event_commit(s, err));
	prr_outputs_entry_deinit(&t->outputs);
	memset(&t->outputs, 0, sizeof(t->outputs));
	t->redo = t->blocked_recorded = false;
	prr_record_skip(s, t, -EINTR);
	return prr_record_deliver_after_answer(s, t, err);
}

/* Puts t back to before its syscall instruction, no event in between. */
static void redo_call(struct prr_record_task *t)
{
	if (t->call_start_ns == 0)
		t->call_start_ns = t->entered_ns;
	t->regs = t->entry_regs;
	t->regs.rip -= 2;
	t->regs.rax = t->entry_regs.orig_rax;
	t->regs.orig_rax = (uint64_t)-1;
	t->regs_dirty = true;
	t->scratch_active = false;
	t->state = PRR_TASK_READY;
	t->redo = t->backed_up = true;
}

enum prr_status prr_record_entry(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	bool done;

	if (!prr_ptrace_get_regs(t->uid.tid, &t->regs))
		return PRR_OK; /* killed: its exit is reported next */
	if (prr_is_vsyscall(t->regs.rip))
		return prr_record_vsyscall(s, t, err);
	prr_regs_canonical_syscall(&t->regs);
	t->vague_place = t->backed_up = false;
	if (t->redo)
		return prr_record_has_held(t) ? interrupted(s, t, err) : enter_again(s, t, err);
	t->call_start_ns = 0;
	t->entry_regs = t->regs;
	t->nr = (int64_t)t->regs.orig_rax;
	prr_regs_syscall_args(&t->regs, t->args);
	if (!t->transfer.waiting)
		t->blocked_recorded = false;
	if (t->held_count) {
		PRR_TRY(prr_record_deliver_at_entry(s, t, &done, err));
		if (done)
			return PRR_OK;
	}
	PRR_TRY(prr_record_seccomp(s, t, &done, err));
	if (done)
		return PRR_OK;
	if (t->nr == SYS_restart_syscall)
		t->nr = t->restart_nr;
	else
		t->restart_nr = t->nr;
	t->view = prr_syscall_view(t->nr, t->args);
	PRR_TRY(policy(s, t, &done, err));
	return done ? PRR_OK : enter_call(s, t, err);
}

/* -------------------------------------------------------------------- exit */

static enum prr_status scratch_grown(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	int64_t result = (int64_t)t->regs.rax;

	t->growing_scratch = false;
	if (result < 0 && result > -4096)
		return prr_fail(err, PRR_ERR_SYSTEM, (int)-result, NULL,
			"no memory for %llu bytes of scratch in task %d",
			(unsigned long long)t->scratch_size, t->uid.tid);
	t->scratch_base = (uint64_t)result;
	/* Back to before the program's own call, which stops at its entry again. */
	t->regs = t->entry_regs;
	t->regs.rip -= 2;
	t->regs.rax = t->entry_regs.orig_rax;
	t->regs.orig_rax = (uint64_t)-1;
	t->regs_dirty = true;
	t->backed_up = true;
	t->state = PRR_TASK_READY;
	(void)s;
	return PRR_OK;
}

static enum prr_status collect_ranges(struct prr_record_task *t, int64_t *result,
	struct prr_ranges *ranges, struct prr_error *err)
{
	if (t->call_start_ns) { /* entered again with a shortened timeout */
		prr_regs_set_syscall_args(&t->regs, t->args);
		t->regs_dirty = true;
	}
	if (!t->scratch_active)
		return prr_outputs_collect(&t->view, t->uid.tid, &t->outputs, *result, ranges, err);
	PRR_TRY(prr_scratch_finish(
		&t->view, t->uid.tid, &t->outputs, &t->scratch, result, ranges, err));
	prr_regs_set_syscall_args(&t->regs, t->args);
	t->regs.rax = (uint64_t)*result;
	t->regs_dirty = true;
	t->scratch_active = false;
	return PRR_OK;
}

static enum prr_status append_exit(struct prr_record *s, struct prr_record_task *t, int64_t result,
	const struct prr_ranges *ranges, prr_record_handler_fn handler, struct prr_error *err)
{
	enum prr_handled handled;

	prr_event_begin(s, t, t->blocked_recorded ? PRR_EVENT_SYSCALL_EXIT : PRR_EVENT_SYSCALL,
		PRR_ORIGIN_KERNEL, &t->entry_regs);
	PRR_TRY(prr_event_syscall_field(s, t, result, 0, err));
	for (size_t i = 0; i < ranges->count; i++)
		PRR_TRY(prr_event_memory(s, t, ranges->items[i].addr, ranges->items[i].len, err));
	if (handler)
		PRR_TRY(handler(s, t, &handled, err));
	PRR_TRY(prr_record_echo_fds(s, t, result, err));
	PRR_TRY(prr_record_hashes(s, t, PRR_HASH_IF_DUE, err));
	return prr_event_commit(s, err);
}

static enum prr_status finish_call(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	struct prr_ranges ranges = { 0 };
	enum prr_handled handled = PRR_HANDLED_NORMAL;
	struct prr_record_handlers handlers = prr_record_handlers(t->view.record_handler);
	int64_t result = (int64_t)t->regs.rax;

	if (prr_record_woken_for_nothing(t, result)) {
		redo_call(t);
		return PRR_OK;
	}
	if (handlers.prepare)
		PRR_TRY(handlers.prepare(s, t, &handled, err));
	if (handled == PRR_HANDLED_STOP)
		t->has_status = true;
	if (handled != PRR_HANDLED_NORMAL)
		return PRR_OK;
	enum prr_status status = collect_ranges(t, &result, &ranges, err);

	if (status == PRR_OK)
		status = prr_record_cut_short(s, t, result, &ranges, err);
	if (status == PRR_OK)
		status = append_exit(s, t, result, &ranges, handlers.exit, err);
	prr_ranges_deinit(&ranges);
	PRR_TRY(status);
	prr_outputs_entry_deinit(&t->outputs);
	memset(&t->outputs, 0, sizeof(t->outputs));
	t->state = PRR_TASK_READY;
	t->blocked_recorded = false;
	prr_record_after_event(s, t->nr == SYS_sched_yield);
	return PRR_OK;
}

enum prr_status prr_record_exit(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	if (s->pending_blocked == t)
		s->pending_blocked = NULL;
	if (!prr_ptrace_get_regs(t->uid.tid, &t->regs))
		return PRR_OK;
	t->regs_dirty = false;
	prr_record_unshield(t);
	if (t->growing_scratch)
		return scratch_grown(s, t, err);
	return finish_call(s, t, err);
}
