/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For programs about exact points inside user code: a timer interrupts a loop, and the
 * handler says what the frame holds: rip, all general registers, the XSAVE area.
 */
#ifndef ALARMED_H
#define ALARMED_H

#include "check.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>
#include <ucontext.h>

/* struct _fpx_sw_bytes at this offset of the legacy area tells of the rest. */
enum { XSAVE_SOFTWARE = 464, XSAVE_LEGACY = 512, XSAVE_MOST = 16384 };
#define XSAVE_MAGIC 0x46505853u

static volatile sig_atomic_t alarms;
static void (*alarm_also)(ucontext_t *); /* called by the handler */

static inline size_t xsave_size(const unsigned char *area)
{
	uint32_t magic, size;

	memcpy(&magic, area + XSAVE_SOFTWARE, sizeof(magic));
	memcpy(&size, area + XSAVE_SOFTWARE + 16, sizeof(size));
	if (magic != XSAVE_MAGIC)
		return XSAVE_LEGACY;
	CHECK(size >= XSAVE_LEGACY && size <= XSAVE_MOST);
	return size;
}

/* The lower 16 bytes of a vector register of the interrupted code. */
static inline void frame_xmm(const ucontext_t *u, int number, uint64_t value[2])
{
	memcpy(value, &u->uc_mcontext.fpregs->_xmm[number], 16);
}

static inline void say_frame(const char *name, const ucontext_t *u)
{
	const greg_t *g = u->uc_mcontext.gregs;
	const unsigned char *area = (const unsigned char *)u->uc_mcontext.fpregs;

	say("%s: rip %llx, flags %llx, registers %016lx, xsave %016lx\n", name,
		(unsigned long long)g[REG_RIP], (unsigned long long)g[REG_EFL],
		hash_bytes(g, (REG_EFL + 1) * sizeof(*g), HASH_START),
		hash_bytes(area, xsave_size(area), HASH_START));
}

static void on_alarm(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	char name[32];

	(void)info;
	alarms++;
	(void)snprintf(name, sizeof(name), "%d, alarm %d", signo, alarms);
	say_frame(name, u);
	if (alarm_also)
		alarm_also(u);
}

/* 0: never again. ITIMER_VIRTUAL where many tasks are busy: a task that runs seldom and
 * shortly would have nothing to do but to handle alarms of real time. */
static inline void alarm_every_of(int which, long us)
{
	struct sigaction action = { .sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct itimerval timer = { { 0, us }, { 0, us } };

	sigfillset(&action.sa_mask);
	CHECK(sigaction(which == ITIMER_REAL ? SIGALRM : SIGVTALRM, &action, NULL) == 0);
	CHECK(setitimer(which, &timer, NULL) == 0);
}

static inline void alarm_every(long us)
{
	alarm_every_of(ITIMER_REAL, us);
}

#endif
