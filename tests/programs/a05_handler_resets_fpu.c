/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A5: a handler starts with the initial MXCSR and x87 control word, and the
 * interrupted code gets its own back; likewise for a handler of a real fault.
 * Wrong: only general registers are restored in the replay.
 */
#include "check.h"

#include <signal.h>

static volatile uint32_t handler_mxcsr;
static volatile uint16_t handler_control;
static volatile double in_handler;

static uint32_t get_mxcsr(void)
{
	uint32_t value;

	__asm__ volatile("stmxcsr %0" : "=m"(value));
	return value;
}

static uint16_t get_control(void)
{
	uint16_t value;

	__asm__ volatile("fnstcw %0" : "=m"(value));
	return value;
}

static void handler(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	volatile double one = 1.0, three = 3.0;

	(void)info;
	handler_mxcsr = get_mxcsr();
	handler_control = get_control();
	in_handler = one / three;
	if (signo == SIGSEGV)
		u->uc_mcontext.gregs[REG_RIP] += 2;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	uint32_t upward = 0x5f80;   /* round up, all exceptions masked */
	uint16_t control = 0x0b7f;  /* x87: round up */
	volatile double one = 1.0, three = 3.0, before, after;

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
	__asm__ volatile("ldmxcsr %0" : : "m"(upward));
	__asm__ volatile("fldcw %0" : : "m"(control));
	before = one / three;
	for (int i = 0; i < 6; i++) {
		handler_mxcsr = 0;
		if (i % 2)
			__asm__ volatile("movb (%%rax),%%al" : : "a"(8UL) : "memory");
		else
			CHECK(raise(SIGUSR1) == 0);
		CHECK(handler_mxcsr == 0x1f80 && handler_control == 0x37f);
		CHECK((get_mxcsr() & ~0x3fu) == 0x5f80 && get_control() == 0x0b7f);
		after = one / three;
		CHECK(after == before && in_handler < before);
	}
	say("%a outside, %a in the handler\n", before, in_handler);
	return 0;
}
