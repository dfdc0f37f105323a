/* SPDX-License-Identifier: GPL-2.0-or-later
 * The death of tasks (PITFALLS A9). The kernel writes clear_child_tid and the
 * robust list's words after the exit stop; so nobody else runs until the task
 * is gone, or is a zombie leader with live siblings. */
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "session.h"

/* The kernel's own limit on the walk (kernel/futex/core.c: ROBUST_LIST_LIMIT). */
#define ROBUST_LIST_LIMIT 2048

static enum prr_status add_robust_word(
	struct prr_record_task *t, uint64_t addr, struct prr_ranges *words, struct prr_error *err)
{
	uint32_t value;

	if (!prr_mem_read(t->uid.tid, prr_remote(addr), &value, sizeof(value)) ||
		(value & FUTEX_TID_MASK) != (uint32_t)t->ns_tid)
		return PRR_OK;
	return prr_ranges_add(words, addr, sizeof(value), err);
}

/* The futex words that t owns by its robust list (get_robust_list(2)). */
static enum prr_status robust_words(
	struct prr_record_task *t, struct prr_ranges *words, struct prr_error *err)
{
	struct {
		uint64_t next, offset, pending;
	} head;
	uint64_t entry;

	if (!t->robust_list ||
		!prr_mem_read(t->uid.tid, prr_remote(t->robust_list), &head, sizeof(head)))
		return PRR_OK;
	entry = head.next & ~1ull;
	for (int i = 0; i < ROBUST_LIST_LIMIT && entry != t->robust_list; i++) {
		uint64_t next;

		if (!prr_mem_read(t->uid.tid, prr_remote(entry), &next, sizeof(next)))
			break;
		if (entry != (head.pending & ~1ull))
			PRR_TRY(add_robust_word(t, entry + head.offset, words, err));
		entry = next & ~1ull;
	}
	if (head.pending & ~1ull)
		PRR_TRY(add_robust_word(t, (head.pending & ~1ull) + head.offset, words, err));
	return PRR_OK;
}

void prr_death_deinit(struct prr_death *death)
{
	prr_ranges_deinit(&death->words);
	free(death->values);
	memset(death, 0, sizeof(*death));
}

/* What the kernel leaves in a word of the robust list (futex(2): OWNER_DIED,
 * waiters kept) matters beyond the task only in shared memory; elsewhere the
 * value 0 says that nobody is left to see it. */
static uint32_t foreseen(const struct prr_record_task *t, uint64_t addr)
{
	const struct prr_field_mapping *m = prr_mappings_find(&t->as->mappings, addr);
	uint32_t value;

	if (!m || !prr_mapping_is_shared(m) ||
		!prr_mem_read(t->uid.tid, prr_remote(addr), &value, sizeof(value)))
		return 0;
	return (value & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
}

enum prr_status prr_death_foresee(
	struct prr_record_task *t, struct prr_death *death, struct prr_error *err)
{
	memset(death, 0, sizeof(*death));
	death->as_uid = t->as->uid;
	death->clear_child_tid = t->clear_child_tid;
	PRR_TRY(robust_words(t, &death->words, err));
	if (death->words.count == 0)
		return PRR_OK;
	death->values = calloc(death->words.count, sizeof(*death->values));
	if (!death->values)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	for (size_t i = 0; i < death->words.count; i++)
		death->values[i] = foreseen(t, death->words.items[i].addr);
	return PRR_OK;
}

/* A live task that sees the dead one's AddressSpace, or NULL. */
static struct prr_record_task *survivor(
	struct prr_record *s, const struct prr_record_task *t, uint32_t as_uid)
{
	for (struct prr_record_task *o = s->tasks; o; o = o->next)
		if (o != t && o->as && o->as->uid == as_uid && o->state != PRR_TASK_EXITING)
			return o;
	return NULL;
}

enum prr_status prr_death_append(struct prr_record *s, struct prr_record_task *t,
	const struct prr_death *death, struct prr_error *err)
{
	struct prr_record_task *other = survivor(s, t, death->as_uid);

	for (size_t i = 0; i < death->words.count; i++) {
		uint64_t addr = death->words.items[i].addr;

		if (other)
			PRR_TRY(prr_event_memory(s, other, addr, sizeof(uint32_t), err));
		else if (death->values[i])
			PRR_TRY(prr_event_bytes(
				s, death->as_uid, addr, &death->values[i], sizeof(uint32_t), err));
	}
	if (death->clear_child_tid && other)
		PRR_TRY(prr_event_memory(s, other, death->clear_child_tid, sizeof(int), err));
	return PRR_OK;
}

/* Waits until the leader, whose siblings live on, is a zombie; or until an exec
 * by one of them has taken its tid. */
static void await_zombie(struct prr_record *s, struct prr_record_task *t)
{
	for (;;) {
		char state = prr_proc_state(t);

		if (state == 'Z' || state == 'X')
			return;
		if (prr_record_exec_took(s, t))
			return;
		sched_yield();
	}
}

static enum prr_status await_status(pid_t tid, int *status, struct prr_error *err)
{
	for (;;) {
		pid_t got = waitpid(tid, status, __WALL);

		if (got == tid && !WIFSTOPPED(*status))
			return PRR_OK;
		if (got == tid) /* its exit stop, or a last stop on the way */
			prr_ptrace_resume(tid, PRR_RESUME_CONT, 0);
		else if (errno != EINTR)
			return prr_fail_errno(err, "cannot wait for the end of task %d", tid);
	}
}

/* A task that is being killed while another's end is awaited. */
static enum prr_status treat_one_end(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	for (struct prr_record_task *o = s->tasks; o; o = o->next) {
		if (o == t || !o->has_status || !WIFSTOPPED(o->status) ||
			prr_status_event(o->status) != PTRACE_EVENT_EXIT)
			continue;
		o->has_status = false;
		return prr_record_exit_event(s, o, err);
	}
	return PRR_OK;
}

/* The end of t. Process 1 of a pid namespace sleeps on its way there until all
 * others in it, which the kernel has killed, are gone: so their ends come first. */
static enum prr_status await_end(
	struct prr_record *s, struct prr_record_task *t, int *status, struct prr_error *err)
{
	char state = 'R';

	while (s->task_count > 1 && (state == 'R' || state == 'S' || state == 'D')) {
		sched_yield();
		state = prr_proc_state(t);
		if (state != 'S')
			continue;
		PRR_TRY(prr_record_collect(s, false, err));
		if (t->has_status && !WIFSTOPPED(t->status)) {
			t->has_status = false;
			*status = t->status;
			return PRR_OK;
		}
		PRR_TRY(treat_one_end(s, t, err));
	}
	return await_status(t->uid.tid, status, err);
}

static void note_group_status(struct prr_record *s, struct prr_group *group, int status)
{
	group->exit_status = status;
	if (group->tgid == s->root_tid) {
		s->root_status = status;
		s->root_status_known = true;
	}
}

/* Appends EXIT for t, which no longer runs. `gone`: its wait status is in
 * `status`; else it is a zombie leader. */
static enum prr_status append_exit(struct prr_record *s, struct prr_record_task *t,
	const struct prr_death *death, bool gone, int status, struct prr_error *err)
{
	struct prr_group *group = t->group;
	struct prr_field_exit field = { .status = status };

	t->state = PRR_TASK_EXITING;
	group->task_count--;
	if (gone && group->zombie_leader && group->task_count == 0) {
		struct prr_record_task *leader = group->zombie_leader;

		PRR_TRY(await_status(leader->uid.tid, &field.status, err));
		group->zombie_leader = NULL;
		prr_record_drop_task(s, leader);
	}
	field.group_exit = group->task_count == 0;
	if (field.group_exit)
		note_group_status(s, group, field.status);
	if (!gone)
		group->zombie_leader = t;
	prr_event_begin(s, t, PRR_EVENT_EXIT, PRR_ORIGIN_KERNEL, &t->regs);
	PRR_TRY(prr_event_field(s, PRR_FIELD_EXIT, &field, sizeof(field), err));
	if (death)
		PRR_TRY(prr_death_append(s, t, death, err));
	return prr_event_commit(s, err);
}

enum prr_status prr_record_exit_event(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	struct prr_death death;
	unsigned long code = 0;
	int status = 0;
	bool leader = t->uid.tid == t->group->tgid;
	bool siblings = t->group->task_count > 1;

	/* Asleep in a call that will not come back: replay must reach its entry,
	 * since what the slice before did may be seen by others. */
	if (t->state == PRR_TASK_IN_SYSCALL && !t->blocked_recorded) {
		if (s->pending_blocked == t)
			s->pending_blocked = NULL;
		PRR_TRY(prr_record_blocked(s, t, err));
	}
	if (prr_ptrace_event_message(t->uid.tid, &code))
		status = (int)code;
	enum prr_status result = prr_death_foresee(t, &death, err);

	prr_ptrace_resume(t->uid.tid, PRR_RESUME_CONT, 0);
	t->state = PRR_TASK_EXITING;
	if (result == PRR_OK && leader && siblings)
		await_zombie(s, t);
	else if (result == PRR_OK)
		result = await_end(s, t, &status, err);
	if (result == PRR_OK)
		result = append_exit(s, t, &death, !(leader && siblings), status, err);
	prr_death_deinit(&death);
	if (s->current == t)
		s->current = NULL;
	if (result == PRR_OK && !(leader && siblings))
		prr_record_drop_task(s, t);
	return result;
}

enum prr_status prr_record_died(
	struct prr_record *s, struct prr_record_task *t, int status, struct prr_error *err)
{
	enum prr_status result = PRR_OK;

	if (!s->started) {
		s->root_status = status;
	} else if (t->state != PRR_TASK_EXITING) {
		/* No exit stop: killed while it was already being killed. */
		result = append_exit(s, t, NULL, true, status, err);
	} else {
		note_group_status(s, t->group, status);
		if (t->group->zombie_leader == t)
			t->group->zombie_leader = NULL;
	}
	prr_record_drop_task(s, t);
	return result;
}
