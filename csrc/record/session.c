/* SPDX-License-Identifier: GPL-2.0-or-later
 * The record session: creation, task table, the run loop. */
#include "../shared/page_history.h"
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "counting.h"
#include "spawn.h"

struct prr_record_task *prr_record_find(struct prr_record *s, pid_t tid)
{
	for (struct prr_record_task *t = s->tasks; t; t = t->next)
		if (t->uid.tid == tid)
			return t;
	return NULL;
}

struct prr_record_task *prr_record_find_serial(struct prr_record *s, uint32_t serial)
{
	for (struct prr_record_task *t = s->tasks; t; t = t->next)
		if (t->uid.serial == serial)
			return t;
	return NULL;
}

enum prr_status prr_record_new_task(
	struct prr_record *s, pid_t tid, struct prr_record_task **ret, struct prr_error *err)
{
	struct prr_record_task *t = calloc(1, sizeof(*t));
	struct prr_record_task **end = &s->tasks;

	if (!t)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory for task %d", tid);
	t->uid.tid = tid;
	t->uid.serial = s->next_serial++;
	t->ns_tid = tid;
	t->stat_fd = -1;
	t->tsc_mode = PR_TSC_ENABLE;
	t->affinity = s->program_affinity;
	while (*end)
		end = &(*end)->next;
	*end = t;
	s->task_count++;
	*ret = t;
	return PRR_OK;
}

void prr_address_space_unuse(struct prr_address_space *as)
{
	if (!as || --as->task_count > 0)
		return;
	prr_mappings_deinit(&as->mappings);
	free(as->patches.items);
	prr_page_history_free(as->history);
	prr_counting_free(as->counting);
	free(as);
}

void prr_sighand_unuse(struct prr_sighand *sighand)
{
	if (sighand && --sighand->ref_count == 0)
		free(sighand);
}

void prr_record_drop_task(struct prr_record *s, struct prr_record_task *t)
{
	struct prr_record_task **link = &s->tasks;

	while (*link && *link != t)
		link = &(*link)->next;
	if (*link) {
		*link = t->next;
		s->task_count--;
	}
	if (s->current == t)
		s->current = NULL;
	if (s->pending_blocked == t)
		s->pending_blocked = NULL;
	if (t->group && t->state != PRR_TASK_EXITING && t->group->task_count > 0)
		t->group->task_count--;
	if (t->group && --t->group->ref_count == 0)
		free(t->group);
	if (t->as)
		prr_address_space_unuse(t->as);
	prr_sighand_unuse(t->sighand);
	prr_seccomp_filters_deinit(&t->filters);
	prr_outputs_entry_deinit(&t->outputs);
	prr_scratch_deinit(&t->scratch);
	free(t->exec_path);
	free(t->exec_argv);
	free(t->transfer.bytes);
	free(t->held);
	if (t->stat_fd >= 0)
		close(t->stat_fd);
	free(t);
}

enum prr_status prr_record_want_warning(struct prr_record *s, char *text, struct prr_error *err)
{
	if (!text)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory for a warning");
	if (s->stop_wanted) { /* one Stop at a time; the NOTE event holds it anyway */
		free(text);
		return PRR_OK;
	}
	free(s->stop_text);
	s->stop_text = text;
	s->stop.kind = PRR_RECORD_STOP_WARNING;
	s->stop.text = text;
	s->stop_wanted = true;
	return PRR_OK;
}

/* ------------------------------------------------------------- life cycle */

enum prr_status prr_record_create(const struct prr_record_options *options,
	struct prr_trace_writer *writer, struct prr_record **ret, struct prr_error *err)
{
	struct prr_record *s = calloc(1, sizeof(*s));

	if (!s)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory for a session");
	s->options = options;
	s->writer = writer;
	s->next_serial = 1;
	s->next_as_uid = 1;
	s->exec_error_fd = -1;
	s->outer_filters = prr_record_has_outer_filters();
	s->start_ns = prr_now();
	s->buffer_size = PRR_OUTPUT_MAX;
	s->buffer = malloc(s->buffer_size);
	if (!s->buffer || sched_getaffinity(0, sizeof(s->old_affinity), &s->old_affinity) != 0) {
		prr_record_destroy(s);
		return prr_fail_errno(err, "cannot set up a record session");
	}
	s->program_affinity = s->old_affinity;
	enum prr_status status = prr_interrupter_init(&s->interrupter, err);

	if (status == PRR_OK)
		status = prr_record_spawn(s, err);

	if (status != PRR_OK) {
		prr_record_destroy(s);
		return status;
	}
	*ret = s;
	return PRR_OK;
}

void prr_record_destroy(struct prr_record *s)
{
	if (!s)
		return;
	for (struct prr_record_task *t = s->tasks; t; t = t->next)
		kill(t->uid.tid, SIGKILL);
	while (s->tasks) {
		int status;
		pid_t tid = s->tasks->uid.tid;

		/* A killed tracee may still report its exit stop first. */
		while (waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status))
			prr_ptrace_resume(tid, PRR_RESUME_CONT, 0);
		prr_record_drop_task(s, s->tasks);
	}
	prr_interrupter_deinit(&s->interrupter);
	if (CPU_COUNT(&s->old_affinity) > 0)
		sched_setaffinity(0, sizeof(s->old_affinity), &s->old_affinity);
	if (s->exec_error_fd >= 0)
		close(s->exec_error_fd);
	for (size_t i = 0; i < s->file_count; i++) {
		prr_insn_sites_deinit(&s->files[i].sites);
		free(s->files[i].name);
	}
	free(s->files);
	prr_mapped_deinit(&s->mapped);
	free(s->local_mounts.ids);
	free(s->orphans);
	prr_fingerprint_deinit(&s->place);
	free(s->stop_path);
	free(s->stop_name);
	free(s->stop_text);
	prr_ranges_deinit(&s->room);
	free(s->buffer);
	free(s);
}

void prr_record_point_stats(const struct prr_record *s, struct prr_point_stats *ret)
{
	*ret = s->points.stats;
}

void prr_record_signal_all(struct prr_record *s, int signo)
{
	for (struct prr_record_task *t = s->tasks; t; t = t->next)
		if (t->group && t->group->tgid == t->uid.tid)
			kill(t->uid.tid, signo);
}

/* --------------------------------------------------------------- run loop */

static enum prr_status event_stop(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	int signo = WSTOPSIG(t->status);

	if (signo == SIGTRAP && t->state == PRR_TASK_RUNNING)
		return prr_record_time_up(s, t, err);
	if (signo == SIGTRAP) { /* SIGCONT ended the stop, or a stray interrupt */
		t->state = PRR_TASK_RUNNING; /* where it is, the slice goes on */
		prr_record_go(s, t, 0);
		return PRR_OK;
	}
	/* Others may run through the stub that it stands in. */
	if (prr_ptrace_get_regs(t->uid.tid, &t->regs)) {
		t->regs_dirty = false;
		prr_counting_leave(t);
		if (t->regs_dirty && prr_ptrace_set_regs(t->uid.tid, &t->regs))
			t->regs_dirty = false;
	}
	/* LISTEN keeps it stopped and lets its real parent see the stop. */
	prr_ptrace_listen(t->uid.tid);
	t->state = PRR_TASK_STOPPED;
	if (s->current == t)
		s->current = NULL;
	return PRR_OK;
}

static enum prr_status treat_event(
	struct prr_record *s, struct prr_record_task *t, int event, struct prr_error *err)
{
	switch (event) {
	case PTRACE_EVENT_SECCOMP:
		return prr_record_entry(s, t, err);
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		return prr_record_clone_event(s, t, event, err);
	case PTRACE_EVENT_EXEC:
		return prr_record_exec_event(s, t, err);
	case PTRACE_EVENT_EXIT:
		return prr_record_exit_event(s, t, err);
	case PTRACE_EVENT_STOP:
		return event_stop(s, t, err);
	default:
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"task %d reported unknown ptrace event %d", t->uid.tid, event);
	}
}

static enum prr_status treat(struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	int status = t->status;

	t->has_status = false;
	if (!WIFSTOPPED(status))
		return prr_record_died(s, t, status, err);
	if (prr_status_is_syscall(status))
		return t->state == PRR_TASK_RUNNING ? prr_record_outer_stop(s, t, err)
						    : prr_record_exit(s, t, err);
	if (prr_status_event(status))
		return treat_event(s, t, prr_status_event(status), err);
	return prr_record_signal(s, t, WSTOPSIG(status), err);
}

/* One step of the current task: resume it if need be, wait, treat its stop. */
static enum prr_status turn(struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	if (!t->has_status) {
		bool stopped;

		if (t->state == PRR_TASK_READY) {
			/* A failed resume (ESRCH): killed; the wait tells. */
			t->moved = t->backed_up || (t->vague_place && !prr_record_signal_is_due(t));
			if (t->traps_unsettled)
				PRR_TRY(prr_record_settle_traps(s, t, err));
			if (t->as)
				prr_counting_start(s, t);
			prr_record_go(s, t, 0);
			t->state = PRR_TASK_RUNNING;
		}
		bool in_user = t->state == PRR_TASK_RUNNING;

		if (in_user)
			prr_slice_enter(s, t);
		enum prr_status status = prr_record_wait_task(s, t, &stopped, err);

		if (in_user)
			prr_slice_leave(s, t);
		PRR_TRY(status);
		if (!stopped) {
			s->stop.kind = PRR_RECORD_STOP_INTERRUPTED;
			s->stop_wanted = true;
			return PRR_OK;
		}
	}
	return treat(s, t, err);
}

static enum prr_status end(struct prr_record *s, struct prr_error *err)
{
	struct prr_field_exit field = { .status = s->root_status, .group_exit = 1 };

	prr_event_begin(s, NULL, PRR_EVENT_TRACE_END, PRR_ORIGIN_KERNEL, NULL);
	PRR_TRY(prr_event_field(s, PRR_FIELD_EXIT, &field, sizeof(field), err));
	PRR_TRY(prr_event_commit(s, err));
	s->stop.kind = PRR_RECORD_STOP_ENDED;
	s->stop.status = s->root_status;
	s->stop_wanted = true;
	return PRR_OK;
}

static enum prr_status loop(struct prr_record *s, struct prr_error *err)
{
	while (!s->stop_wanted) {
		if (s->task_count == 0)
			return s->started ? end(s, err) : prr_record_spawn_failed(s, err);
		if (!s->current)
			PRR_TRY(prr_record_pick(s, err));
		else
			PRR_TRY(turn(s, s->current, err));
	}
	return PRR_OK;
}

enum prr_status prr_record_run(
	struct prr_record *s, struct prr_record_stop *stop, struct prr_error *err)
{
	memset(&s->stop, 0, sizeof(s->stop));
	s->stop_wanted = false;
	/* With TSD in the tracees alone, each context switch between them and this
	 * thread rewrites CR4 (about 10 us in a VM): have it here too. */
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	enum prr_status status = loop(s, err);

	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	*stop = s->stop;
	return status;
}
