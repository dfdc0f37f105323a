/* SPDX-License-Identifier: GPL-2.0-or-later
 * The handler runs with TSD on: no vdso, no rdtsc. */
#include "interrupter.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Nobody else's: glibc takes the first two real-time signals, Python none. */
#define TIMER_SIGNAL (SIGRTMAX - 3)

uint64_t prr_now(void)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void arm(struct prr_interrupter *interrupter, uint64_t now, uint64_t when)
{
	uint64_t left = when > now ? when - now : 1;
	struct itimerspec spec = { .it_value = { (time_t)(left / 1000000000ull),
					   (long)(left % 1000000000ull) } };

	interrupter->armed_for_ns = when;
	syscall(SYS_timer_settime, interrupter->timer, 0, &spec, NULL);
}

static void on_timer(int signo, siginfo_t *info, void *context)
{
	struct prr_interrupter *interrupter = info->si_value.sival_ptr;
	int saved = errno;
	uint64_t now = prr_now();

	(void)signo;
	(void)context;
	interrupter->armed_for_ns = PRR_INTERRUPT_NEVER;
	if (interrupter->running != 0 && now < interrupter->deadline_ns) {
		if (interrupter->deadline_ns != PRR_INTERRUPT_NEVER)
			arm(interrupter, now, interrupter->deadline_ns);
	} else if (interrupter->running != 0) {
		interrupter->sent = 1;
		ptrace(PTRACE_INTERRUPT, interrupter->running, 0, 0);
	}
	errno = saved;
}

enum prr_status prr_interrupter_init(struct prr_interrupter *interrupter, struct prr_error *err)
{
	struct sigaction action = { .sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TIMER_SIGNAL };

	interrupter->armed_for_ns = interrupter->deadline_ns = PRR_INTERRUPT_NEVER;
	event.sigev_value.sival_ptr = interrupter;
	event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
	if (sigaction(TIMER_SIGNAL, &action, &interrupter->old_action) != 0 ||
		syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &interrupter->timer) != 0)
		return prr_fail_errno(err, "cannot make a timer");
	interrupter->made = true;
	return PRR_OK;
}

void prr_interrupter_deinit(struct prr_interrupter *interrupter)
{
	if (!interrupter->made)
		return;
	interrupter->running = 0;
	syscall(SYS_timer_delete, interrupter->timer);
	/* A signal that is under way finds running 0: it came before this call returned. */
	sigaction(TIMER_SIGNAL, &interrupter->old_action, NULL);
	interrupter->made = false;
}

void prr_interrupter_enter(struct prr_interrupter *interrupter, pid_t tid, uint64_t deadline_ns)
{
	interrupter->deadline_ns = deadline_ns;
	interrupter->sent = 0;
	interrupter->running = tid;
	if (deadline_ns < interrupter->armed_for_ns)
		arm(interrupter, prr_now(), deadline_ns);
}

bool prr_interrupter_leave(struct prr_interrupter *interrupter)
{
	interrupter->running = 0;
	return interrupter->sent != 0;
}
