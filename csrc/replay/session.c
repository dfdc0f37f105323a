/* SPDX-License-Identifier: GPL-2.0-or-later
 * The replay session: life cycle and the loop over events. */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct prr_replay_task *prr_replay_find(struct prr_replay *s, uint32_t serial)
{
	for (struct prr_replay_task *t = s->tasks; t; t = t->next)
		if (t->uid.serial == serial)
			return t;
	return NULL;
}

struct prr_replay_task *prr_replay_find_as(struct prr_replay *s, uint32_t as_uid)
{
	for (struct prr_replay_task *t = s->tasks; t; t = t->next)
		if (t->as && t->as->uid == as_uid && !t->zombie)
			return t;
	return NULL;
}

enum prr_status prr_replay_new_task(struct prr_replay *s, struct prr_task_uid uid, pid_t tid,
	struct prr_replay_task **ret, struct prr_error *err)
{
	struct prr_replay_task *t = calloc(1, sizeof(*t));

	if (!t)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory for a task");
	t->uid = uid;
	t->tid = tid;
	t->tgid = tid;
	t->next = s->tasks;
	s->tasks = t;
	*ret = t;
	return PRR_OK;
}

static void unuse_as(struct prr_replay_as *as)
{
	if (!as || --as->task_count > 0)
		return;
	prr_mappings_deinit(&as->mappings);
	free(as);
}

void prr_replay_drop_task(struct prr_replay *s, struct prr_replay_task *t)
{
	struct prr_replay_task **link = &s->tasks;

	while (*link && *link != t)
		link = &(*link)->next;
	if (*link)
		*link = t->next;
	unuse_as(t->as);
	prr_files_unuse(t->files);
	free(t);
}

enum prr_status prr_replay_create(const struct prr_replay_options *options,
	struct prr_trace_reader *reader, struct prr_replay **ret, struct prr_error *err)
{
	struct prr_replay *s = calloc(1, sizeof(*s));

	if (!s)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory for a session");
	s->options = options;
	s->reader = reader;
	s->stub_fd = -1;
	s->buffer = malloc(PRR_OUTPUT_MAX);
	if (!s->buffer || sched_getaffinity(0, sizeof(s->old_affinity), &s->old_affinity) != 0) {
		prr_replay_destroy(s);
		return prr_fail_errno(err, "cannot set up a replay session");
	}
	s->deadline_ns = PRR_INTERRUPT_NEVER;
	enum prr_status status = prr_interrupter_init(&s->interrupter, err);

	if (status == PRR_OK)
		status = prr_replay_spawn(s, err);

	if (status != PRR_OK) {
		prr_replay_destroy(s);
		return status;
	}
	*ret = s;
	return PRR_OK;
}

static void reap(pid_t tid)
{
	int status;

	while (waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status))
		prr_ptrace_resume(tid, PRR_RESUME_CONT, 0);
}

void prr_replay_destroy(struct prr_replay *s)
{
	if (!s)
		return;
	for (struct prr_replay_task *t = s->tasks; t; t = t->next)
		kill(t->tid, SIGKILL);
	/* Leaders report their end only after their siblings': threads first. */
	for (struct prr_replay_task *t = s->tasks; t; t = t->next)
		if (t->tid != t->tgid)
			reap(t->tid);
	while (s->tasks) {
		if (s->tasks->tid == s->tasks->tgid)
			reap(s->tasks->tid);
		prr_replay_drop_task(s, s->tasks);
	}
	prr_interrupter_deinit(&s->interrupter);
	if (CPU_COUNT(&s->old_affinity) > 0)
		sched_setaffinity(0, sizeof(s->old_affinity), &s->old_affinity);
	prr_replay_objects_deinit(s);
	prr_mapped_deinit(&s->mapped);
	prr_page_history_free(s->history);
	prr_replay_names_deinit(s);
	if (s->stub_fd >= 0)
		close(s->stub_fd);
	free(s->stored);
	free(s->buffer);
	free(s);
}

uint64_t prr_replay_missed(const struct prr_replay *s)
{
	return s->missed;
}

void prr_replay_point_stats(const struct prr_replay *s, struct prr_point_stats *ret)
{
	*ret = s->points;
}

uint64_t prr_replay_event(const struct prr_replay *s)
{
	return s->last_index;
}

/* ---------------------------------------------------------- one event each */

static enum prr_status instruction_event(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	PRR_TRY(prr_replay_to_fault(s, t, err));
	PRR_TRY(prr_replay_check_regs(s, t, err));
	PRR_TRY(prr_replay_outputs(s, err));
	return prr_replay_regs_after(s, t, err);
}

static enum prr_status signal_event(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	const struct prr_field_signal *signal =
		prr_field_find(s->event, PRR_FIELD_SIGNAL, sizeof(*signal), NULL, NULL);

	if (!signal)
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"event %llu is a signal without its field",
			(unsigned long long)s->event->index);
	switch (signal->place) {
	case PRR_SIGNAL_AT_ENTRY:
		PRR_TRY(prr_replay_to_entry(s, t, err));
		PRR_TRY(prr_replay_check_regs(s, t, err));
		break;
	case PRR_SIGNAL_AT_FAULT:
		PRR_TRY(prr_replay_to_fault(s, t, err));
		PRR_TRY(prr_replay_check_regs(s, t, err));
		break;
	default: /* no instruction ran since the last event */
		break;
	}
	PRR_TRY(prr_replay_outputs(s, err));
	return prr_replay_regs_after(s, t, err);
}

static enum prr_status end_event(struct prr_replay *s)
{
	const struct prr_field_exit *field =
		prr_field_find(s->event, PRR_FIELD_EXIT, sizeof(*field), NULL, NULL);

	s->status = field ? field->status : 0;
	s->ended = true;
	return PRR_OK;
}

static enum prr_status replay_event(struct prr_replay *s, struct prr_error *err)
{
	struct prr_replay_task *t;

	if (s->event->kind == PRR_EVENT_TRACE_END)
		return end_event(s);
	if (s->event->kind == PRR_EVENT_NOTE)
		return PRR_OK;
	t = prr_replay_find(s, s->event->task.serial);
	if (!t)
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"event %llu names task %d (serial %u), which does not exist there",
			(unsigned long long)s->event->index, s->event->task.tid,
			s->event->task.serial);
	switch (s->event->kind) {
	case PRR_EVENT_SYSCALL:
	case PRR_EVENT_SYSCALL_BLOCKED:
	case PRR_EVENT_SYSCALL_EXIT:
		return prr_replay_syscall_event(s, t, err);
	case PRR_EVENT_SIGNAL:
		return signal_event(s, t, err);
	case PRR_EVENT_INSTRUCTION:
		return instruction_event(s, t, err);
	case PRR_EVENT_PREEMPT:
		return prr_replay_preempt_event(s, t, err);
	case PRR_EVENT_EXIT:
		return prr_replay_exit(s, t, err);
	default:
		return prr_fail(err, PRR_ERR_TRACE, 0,
			"replay it with the version of pyrr that recorded it",
			"event %llu is of unknown kind %u", (unsigned long long)s->event->index,
			s->event->kind);
	}
}

/* Reads on unless the next event has been read already. PRR_END: the trace ends early. */
static enum prr_status read_event(struct prr_replay *s, struct prr_error *err)
{
	if (s->has_event)
		return PRR_OK;
	enum prr_status status = prr_trace_reader_next(s->reader, &s->event, err);

	s->has_event = status == PRR_OK;
	s->at_preemption = false;
	s->arrivals = 0;
	return status;
}

static enum prr_status replay_read(struct prr_replay *s, struct prr_error *err)
{
	s->has_event = false;
	s->last_index = s->event->index;
	s->written_as_uid = 0;
	PRR_TRY(prr_replay_note_stored(s, err));
	PRR_TRY(replay_event(s, err));
	s->last_time_ns = s->event->time_ns;
	return PRR_OK;
}

static enum prr_status loop(
	struct prr_replay *s, struct prr_replay_stop *stop, struct prr_error *err)
{
	while (!s->ended) {
		enum prr_status status = read_event(s, err);

		if (status == PRR_END) {
			stop->kind = PRR_REPLAY_STOP_TRUNCATED;
			return PRR_OK;
		}
		PRR_TRY(status);
		PRR_TRY(replay_read(s, err));
	}
	stop->kind = PRR_REPLAY_STOP_ENDED;
	stop->status = s->status;
	return PRR_OK;
}

static enum prr_status check_usable(const struct prr_replay *s, struct prr_error *err)
{
	if (!s->is_beyond)
		return PRR_OK;
	return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
		"the session has run beyond event %llu without replaying it",
		(unsigned long long)s->event->index);
}

static enum prr_status loop_to(struct prr_replay *s, uint64_t event, struct prr_error *err)
{
	for (;;) {
		PRR_TRY(read_event(s, err));
		if (s->event->index >= event)
			return PRR_OK;
		PRR_TRY(replay_read(s, err));
	}
}

enum prr_status prr_replay_run_to(struct prr_replay *s, uint64_t event, struct prr_error *err)
{
	PRR_TRY(check_usable(s, err));
	if (event <= s->last_index)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"event %llu has been replayed already", (unsigned long long)event);
	prr_page_history_free(s->history);
	s->history = NULL;
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	enum prr_status status = loop_to(s, event, err);

	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	return status;
}

enum prr_status prr_replay_run(
	struct prr_replay *s, struct prr_replay_stop *stop, struct prr_error *err)
{
	memset(stop, 0, sizeof(*stop));
	PRR_TRY(check_usable(s, err));
	/* As in recording: the same TSC mode on both sides of a context switch. */
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	enum prr_status status = loop(s, stop, err);

	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	stop->event = s->last_index;
	return status;
}
