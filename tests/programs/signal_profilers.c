/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Profilers at 1 kHz: setitimer(ITIMER_PROF) for the process, and for each of two busy
 * threads a timer of its CPU time that signals this thread (SIGEV_THREAD_ID). The handlers
 * keep a histogram by rip that is printed.
 * Wrong: samples at other instructions in replay, or of the other thread.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
enum { SAMPLES = 4096 };

struct sample {
	int tid, signo;
	uint64_t rip, rsp;
};

static struct sample samples[SAMPLES];
static volatile sig_atomic_t count;
static __thread volatile int wanted_tid;

static void on_sample(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;
	int at = count;

	if (signo == SIGRTMIN) {
		CHECK(info->si_code == SI_TIMER && wanted_tid == gettid());
		CHECK(info->si_value.sival_int == 4711);
	}
	if (at == SAMPLES)
		return;
	count = at + 1;
	samples[at] = (struct sample){ gettid(), signo, (uint64_t)u->uc_mcontext.gregs[REG_RIP],
		(uint64_t)u->uc_mcontext.gregs[REG_RSP] };
}

static __attribute__((noinline)) uint32_t mix(uint32_t x)
{
	return (x ^ x >> 15) * 0x2c1b3c6du;
}

static __attribute__((noinline)) uint32_t work(uint32_t rounds)
{
	uint32_t x = 1;

	for (uint32_t i = 0; i < rounds; i++)
		x = i % 3 ? mix(x + i) : x * 31 + i;
	return x;
}

static void *thread(void *arg)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGRTMIN,
		.sigev_value.sival_int = 4711 };
	struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };
	timer_t timer;

	wanted_tid = gettid();
	event.sigev_notify_thread_id = gettid();
	CHECK(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0);
	CHECK(timer_settime(timer, 0, &often, NULL) == 0);
	*(uint32_t *)arg = work(15000000);
	CHECK(timer_delete(timer) == 0);
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_sample,
		.sa_flags = SA_SIGINFO | SA_RESTART };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	uint32_t results[3];
	pthread_t t[2];

	sigfillset(&action.sa_mask);
	CHECK(sigaction(SIGPROF, &action, NULL) == 0 && sigaction(SIGRTMIN, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_PROF, &often, NULL) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, thread, &results[i]) == 0);
	results[2] = work(15000000);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(setitimer(ITIMER_PROF, &never, NULL) == 0);
	CHECK(results[0] == results[1] && results[1] == results[2]);
	for (int i = 0; i < count; i++)
		say("%d: signal %d, rip %lx, rsp %lx\n", samples[i].tid, samples[i].signo,
			samples[i].rip, samples[i].rsp);
	say("%d samples\n", count);
	return 0;
}
