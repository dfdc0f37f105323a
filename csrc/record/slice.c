/* SPDX-License-Identifier: GPL-2.0-or-later
 * Time slices: stopping a task inside user code when its time is up or a signal
 * has waited for long enough.
 *
 * A one-shot timer signals the ptrace thread itself, whose handler sends
 * PTRACE_INTERRUPT to the task that runs user code just then. So no request is
 * lost between a stop and the next wait. A request that reaches the task after another
 * stop has come stays pending in the kernel (ptrace_stop() clears those that come
 * before); in a syscall it would look like a signal, so prr_slice_settle drains it
 * first.
 *
 * The handler runs with TSD on: no vdso, no rdtsc. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "counting.h"
#include "session.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Nobody else's: glibc takes the first two real-time signals, Python none. */
#define SLICE_SIGNAL (SIGRTMAX - 3)
/* A signal waits that long for a syscall, where it costs nothing. */
#define SIGNAL_GRACE_NS 1000000ull
#define SIGNAL_GRACE_COUNTED_NS 200000ull
#define NEVER UINT64_MAX

static void arm(struct prr_slicing *slicing, uint64_t now, uint64_t when)
{
	uint64_t left = when > now ? when - now : 1;
	struct itimerspec spec = { .it_value = { (time_t)(left / 1000000000ull),
					   (long)(left % 1000000000ull) } };

	slicing->armed_for_ns = when;
	syscall(SYS_timer_settime, slicing->timer, 0, &spec, NULL);
}

static void on_timer(int signo, siginfo_t *info, void *context)
{
	struct prr_slicing *slicing = info->si_value.sival_ptr;
	int saved = errno;
	uint64_t now = prr_record_now();

	(void)signo;
	(void)context;
	slicing->armed_for_ns = NEVER;
	if (slicing->running != 0 && now < slicing->deadline_ns) {
		if (slicing->deadline_ns != NEVER)
			arm(slicing, now, slicing->deadline_ns);
	} else if (slicing->running != 0) {
		slicing->sent = 1;
		ptrace(PTRACE_INTERRUPT, slicing->running, 0, 0);
	}
	errno = saved;
}

enum prr_status prr_slice_init(struct prr_slicing *slicing, struct prr_error *err)
{
	struct sigaction action = { .sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SLICE_SIGNAL };

	slicing->armed_for_ns = slicing->deadline_ns = NEVER;
	event.sigev_value.sival_ptr = slicing;
	event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
	if (sigaction(SLICE_SIGNAL, &action, &slicing->old_action) != 0 ||
		syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &slicing->timer) != 0)
		return prr_fail_errno(err, "cannot make a timer for time slices");
	slicing->made = true;
	return PRR_OK;
}

void prr_slice_deinit(struct prr_slicing *slicing)
{
	if (!slicing->made)
		return;
	slicing->running = 0;
	syscall(SYS_timer_delete, slicing->timer);
	/* One that is under way finds running 0: it came before this call returned. */
	sigaction(SLICE_SIGNAL, &slicing->old_action, NULL);
	slicing->made = false;
}

static uint64_t grace(bool counted)
{
	return counted ? SIGNAL_GRACE_COUNTED_NS : SIGNAL_GRACE_NS;
}

/* When is t to be stopped, if no event comes before? */
static uint64_t deadline(const struct prr_record *s, const struct prr_record_task *t)
{
	uint64_t when = NEVER, look = prr_counting_deadline(s, t);
	bool counted = prr_counting_is_ready(t);

	if (s->task_count > 1 || s->options->always_preempt)
		when = s->slice_start_ns + s->options->slice_ns;
	if (t->held_count && t->held_since_ns + grace(counted) < when)
		when = t->held_since_ns + grace(counted);
	/* A fingerprint may have to wait for the cost of the last one. */
	if (when != NEVER && when < s->points.next_ns && !counted)
		when = s->points.next_ns;
	/* An arrival is being waited for, or sites are on trial. */
	return look != NEVER && (counted || look < when) ? look : when;
}

void prr_slice_enter(struct prr_record *s, struct prr_record_task *t)
{
	struct prr_slicing *slicing = &s->slicing;

	slicing->deadline_ns = deadline(s, t);
	slicing->sent = 0;
	slicing->running = t->uid.tid;
	if (slicing->deadline_ns < slicing->armed_for_ns)
		arm(slicing, prr_record_now(), slicing->deadline_ns);
}

void prr_slice_leave(struct prr_record *s, struct prr_record_task *t)
{
	s->slicing.running = 0;
	/* Not known to be drained: prr_record_time_up or _settle will. */
	if (s->slicing.sent)
		t->interrupt_sent = true;
}

static bool other_can_run(const struct prr_record *s, const struct prr_record_task *t)
{
	for (const struct prr_record_task *o = s->tasks; o; o = o->next)
		if (o != t && (o->has_status || o->state == PRR_TASK_READY))
			return true;
	return false;
}

static bool is_due(struct prr_record *s, struct prr_record_task *t, uint64_t now)
{
	bool counted = prr_counting_is_ready(t);

	if (now < s->points.next_ns && !counted)
		return false;
	if (prr_record_has_held(t) && now >= t->held_since_ns + grace(counted))
		return true;
	return now >= s->slice_start_ns + s->options->slice_ns &&
		(s->options->always_preempt || other_can_run(s, t));
}

void prr_slice_go_on(const struct prr_record *s, struct prr_record_task *t)
{
	t->state = PRR_TASK_RUNNING;
	prr_record_go(s, t, 0);
}

static void note_delay(struct prr_point_stats *stats, uint64_t delay_ns)
{
	stats->signals++;
	stats->signal_delay_ns += delay_ns;
	if (delay_ns > stats->signal_delay_max_ns)
		stats->signal_delay_max_ns = delay_ns;
}

enum prr_status prr_record_after_point(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	if (prr_record_now() >= s->slice_start_ns + s->options->slice_ns) {
		if (other_can_run(s, t))
			s->current = NULL;
		else
			s->slice_start_ns = prr_record_now();
	}
	if (!prr_record_has_held(t))
		return PRR_OK;
	note_delay(&s->points.stats, prr_record_now() - t->held_since_ns);
	return prr_record_deliver_after_answer(s, t, err);
}

/* A place is wanted near where t stands, moved since its last event. */
static enum prr_status take_place(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	bool waiting, made;

	PRR_TRY(prr_counting_aim(s, t, &waiting, err));
	if (waiting || prr_record_now() < s->points.next_ns) {
		prr_slice_go_on(s, t);
		return PRR_OK;
	}
	prr_counting_disarm(t);
	PRR_TRY(prr_record_point(s, t, &made, err));
	return made ? prr_record_after_point(s, t, err) : PRR_OK;
}

enum prr_status prr_record_time_up(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	struct prr_regs last = t->regs;

	t->interrupt_sent = false;
	if (!prr_ptrace_get_regs(t->uid.tid, &t->regs))
		return PRR_OK; /* killed: its exit is reported next */
	t->regs_dirty = false;
	prr_counting_leave(t);
	/* What prr_record_signal says of places holds here as well. */
	if (memcmp(&last, &t->regs, sizeof(last)) != 0)
		t->moved = true;
	if (s->task_count > 1)
		PRR_TRY(prr_record_collect(s, false, err));
	if (t->has_status)
		return PRR_OK; /* killed meanwhile */
	PRR_TRY(prr_counting_measure(s, t, err));
	if (!is_due(s, t, prr_record_now())) {
		/* A slice begins anew where nobody waits. */
		if (!other_can_run(s, t) && !s->options->always_preempt)
			s->slice_start_ns = prr_record_now();
		prr_slice_go_on(s, t);
		return PRR_OK;
	}
	if (t->moved)
		return take_place(s, t, err);
	/* Where its last event left it, which names the place. Not a step from there: a
	 * signal that the task sent itself by its last call is due now. */
	t->state = PRR_TASK_READY;
	return prr_record_after_point(s, t, err);
}
