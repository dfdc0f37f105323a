/* SPDX-License-Identifier: GPL-2.0-or-later
 * Syscall entry (a seccomp stop) and exit. The common path is by table; what
 * data cannot express is in the handlers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../shared/vsyscall.h"
#include "counting.h"
#include "session.h"

/* What a call has left in scratch beyond this is given back to the kernel. */
#define SCRATCH_BLOAT (16ull << 20)

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

/* Turns the call at whose entry t stands into one of ours; its exit puts the
 * program's own call back (scratch_step_done). */
static void step(
	struct prr_record_task *t, enum prr_scratch_step kind, int64_t nr, const uint64_t args[6])
{
	t->regs = t->entry_regs;
	t->regs.orig_rax = (uint64_t)nr;
	prr_regs_set_syscall_args(&t->regs, args);
	t->regs_dirty = true;
	t->scratch_step = kind;
}

static void map_scratch(struct prr_record_task *t, uint64_t size)
{
	bool renewed = size == t->scratch_size;
	uint64_t flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (renewed ? MAP_FIXED : 0);
	uint64_t args[6] = { renewed ? t->scratch_base : 0, size, PROT_READ | PROT_WRITE, flags,
		(uint64_t)-1, 0 };

	step(t, PRR_SCRATCH_MAP, SYS_mmap, args);
	t->scratch_size = size;
	t->guard_count = 0;
	t->scratch_bloated = false;
}

/* Makes scratch as t->scratch.guards say, one step at a time. */
static void guard_scratch(struct prr_record_task *t)
{
	const struct prr_scratch *scratch = &t->scratch;
	size_t count = t->guard_count;
	uint64_t args[6] = { t->scratch_base, t->scratch_size, PROT_READ | PROT_WRITE };

	for (size_t i = 0; i < count; i++) {
		const struct prr_scratch_guard *has = &t->guards[i], *wants = &scratch->guards[i];

		if (scratch->left_in_place || i >= scratch->guard_count ||
			has->addr != wants->addr || has->len != wants->len ||
			has->prot != wants->prot) {
			step(t, PRR_SCRATCH_UNGUARD, SYS_mprotect, args);
			return;
		}
	}
	if (scratch->left_in_place || count == scratch->guard_count)
		return;
	t->guards[count] = scratch->guards[count];
	args[0] = t->guards[count].addr;
	args[1] = t->guards[count].len;
	args[2] = t->guards[count].prot;
	step(t, PRR_SCRATCH_GUARD, SYS_mprotect, args);
}

/* The step that scratch needs before the call can be redirected as planned. */
static void next_step(struct prr_record_task *t)
{
	const struct prr_scratch *scratch = &t->scratch;
	/* Writes the signal mask to its third argument. */
	uint64_t to_stack[6] = { 0, 0, scratch->wanted_stack, sizeof(uint64_t) };

	guard_scratch(t);
	if (t->scratch_step || !scratch->left_in_place)
		return;
	if (scratch->wanted_stack)
		step(t, PRR_SCRATCH_STACK, SYS_rt_sigprocmask, to_stack);
	else if (scratch->wanted_size)
		map_scratch(t, prr_page_up(scratch->wanted_size));
}

/* Moves what the call writes to scratch, or begins a step towards that, or leaves it
 * in place: then nobody else runs before its exit (PITFALLS A1). */
static enum prr_status redirect(struct prr_record_task *t, struct prr_error *err)
{
	uint64_t args[6];
	uint64_t need = prr_scratch_need(&t->view, t->uid.tid, &t->outputs);

	t->no_switch = need && t->leave_in_place;
	if (need == 0 || t->leave_in_place)
		return PRR_OK;
	if (need > t->scratch_size || t->scratch_bloated) {
		map_scratch(t, need > t->scratch_size ? prr_page_up(need) : t->scratch_size);
		return PRR_OK;
	}
	prr_scratch_deinit(&t->scratch);
	memset(&t->scratch, 0, sizeof(t->scratch));
	t->scratch.base = t->scratch_base;
	t->scratch.size = t->scratch_size;
	t->scratch.mappings = &t->as->mappings;
	t->scratch.stack_refused = t->stack_refused;
	PRR_TRY(prr_scratch_redirect(&t->view, t->uid.tid, &t->outputs, &t->scratch, args, err));
	next_step(t);
	if (t->scratch_step)
		return PRR_OK;
	t->no_switch = t->scratch.left_in_place;
	if (t->no_switch)
		return PRR_OK;
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
	if (t->scratch_step || s->task_count < 2 || !(t->view.flags & PRR_SYSCALL_MAY_BLOCK) ||
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

	t->no_switch = false;
	prr_counting_memory_call(t);
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
		PRR_TRY(redirect(t, err));
	return run_call(s, t, err);
}

/* A finite timeout goes on from where it was. */
static void shorten_timeout(struct prr_record_task *t)
{
	bool in_ms = t->nr == SYS_epoll_wait || t->nr == SYS_epoll_pwait;
	int64_t left = (int32_t)t->args[3];

	if (!in_ms || left <= 0)
		return;
	left -= (int64_t)((prr_now() - t->call_start_ns) / 1000000);
	t->regs.r10 = (uint64_t)(left > 0 ? left : 0);
	t->regs_dirty = true;
}

static enum prr_status enter_again(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	if (wants_scratch(s, t))
		PRR_TRY(redirect(t, err));
	t->redo = t->scratch_step != PRR_SCRATCH_NO_STEP;
	if (!t->redo)
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

/* Back to before the instruction: a PTRACE_INTERRUPT that is still pending stops t
 * there, in a syscall it would look like a signal. Then the call is entered again. */
static void drain_interrupt(struct prr_record_task *t)
{
	t->interrupt_sent = false;
	t->regs.rip -= 2;
	t->regs.rax = t->regs.orig_rax;
	t->regs.orig_rax = (uint64_t)-1;
	t->regs_dirty = true;
	t->backed_up = true;
	t->state = PRR_TASK_READY;
}

enum prr_status prr_record_before_call(
	struct prr_record *s, struct prr_record_task *t, bool *done, struct prr_error *err)
{
	t->vague_place = t->backed_up = t->redo = false;
	t->call_start_ns = 0;
	t->entry_regs = t->regs;
	t->nr = (int64_t)t->regs.orig_rax;
	prr_regs_syscall_args(&t->regs, t->args);
	if (!t->transfer.waiting)
		t->blocked_recorded = false;
	*done = false;
	if (t->held_count)
		PRR_TRY(prr_record_deliver_at_entry(s, t, done, err));
	return *done ? PRR_OK : prr_record_seccomp(s, t, done, err);
}

enum prr_status prr_record_entry(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	bool done;

	t->before_filters = false;
	if (!prr_ptrace_get_regs(t->uid.tid, &t->regs))
		return PRR_OK; /* killed: its exit is reported next */
	if (prr_is_vsyscall(t->regs.rip))
		return prr_record_vsyscall(s, t, err);
	prr_regs_canonical_syscall(&t->regs);
	if (t->interrupt_sent) {
		drain_interrupt(t);
		return PRR_OK;
	}
	if (t->redo) {
		t->vague_place = t->backed_up = false;
		return prr_record_has_held(t) ? interrupted(s, t, err) : enter_again(s, t, err);
	}
	PRR_TRY(prr_record_before_call(s, t, &done, err));
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

static void scratch_mapped(struct prr_record_task *t, int64_t result)
{
	t->scratch_base = (uint64_t)result;
	if (result < 0 && result > -4096) {
		t->scratch_base = t->scratch_size = 0;
		t->leave_in_place = true;
	}
}

static void stack_grown(struct prr_record_task *t, bool failed)
{
	const uint64_t zero = 0; /* what a new page holds */

	if (failed)
		t->stack_refused = t->regs.rdx;
	else if (!prr_mem_write(t->uid.tid, prr_remote(t->regs.rdx), &zero, sizeof(zero)))
		t->leave_in_place = true;
}

/* Puts t back to before the program's own call, which stops at its entry again. */
static void scratch_step_done(struct prr_record_task *t)
{
	int64_t result = (int64_t)t->regs.rax;
	bool failed = result < 0 && result > -4096;

	switch (t->scratch_step) {
	case PRR_SCRATCH_MAP:
		scratch_mapped(t, result);
		break;
	case PRR_SCRATCH_GUARD:
		t->guard_count += failed ? 0 : 1;
		t->leave_in_place |= failed;
		break;
	case PRR_SCRATCH_UNGUARD:
		t->guard_count = 0;
		if (failed) /* the program has unmapped a part of it: take another */
			t->scratch_base = t->scratch_size = 0;
		break;
	case PRR_SCRATCH_STACK:
		stack_grown(t, failed);
		break;
	case PRR_SCRATCH_NO_STEP:
		break;
	}
	t->scratch_step = PRR_SCRATCH_NO_STEP;
	t->regs = t->entry_regs;
	t->regs.rip -= 2;
	t->regs.rax = t->entry_regs.orig_rax;
	t->regs.orig_rax = (uint64_t)-1;
	t->regs_dirty = true;
	t->backed_up = true;
	t->state = PRR_TASK_READY;
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
	t->scratch_bloated = t->scratch.moved > SCRATCH_BLOAT;
	return PRR_OK;
}

/* The output from scratch is at hand: that saves reading it from the tracee again. */
static enum prr_status append_output(struct prr_record *s, struct prr_record_task *t,
	const struct prr_range *range, bool alone, struct prr_error *err)
{
	const void *bytes = alone ? prr_scratch_bytes(&t->scratch, range) : NULL;

	if (bytes)
		return prr_event_bytes(s, t->as->uid, range->addr, bytes, range->len, err);
	return prr_event_memory(s, t, range->addr, range->len, err);
}

static enum prr_status append_exit(struct prr_record *s, struct prr_record_task *t, int64_t result,
	const struct prr_ranges *ranges, prr_record_handler_fn handler, struct prr_error *err)
{
	enum prr_handled handled;

	prr_event_begin(s, t, t->blocked_recorded ? PRR_EVENT_SYSCALL_EXIT : PRR_EVENT_SYSCALL,
		PRR_ORIGIN_KERNEL, &t->entry_regs);
	PRR_TRY(prr_event_syscall_field(s, t, result, 0, err));
	for (size_t i = 0; i < ranges->count; i++)
		PRR_TRY(append_output(s, t, &ranges->items[i], ranges->count == 1, err));
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
	prr_scratch_deinit(&t->scratch);
	t->stack_refused = 0;
	t->leave_in_place = false;
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
	if (t->scratch_step) {
		scratch_step_done(t);
		return PRR_OK;
	}
	return finish_call(s, t, err);
}
