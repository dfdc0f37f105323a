/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A2: the program has handlers of its own for SIGSEGV, SIGILL and SIGTRAP. They
 * run for real faults only, and rdtsc and cpuid work inside of them, where the
 * signal is blocked; SA_RESETHAND acts once.
 * Wrong: a handler runs for a trap of the recorder's, or is lost.
 */
#include "check.h"
#include "insns.h"

#include <signal.h>
#include <sys/mman.h>

static volatile int calls[65];
static volatile uint64_t seen;

static void handler(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	calls[signo]++;
	seen = insn_rdtsc() + insn_cpuid(1, 0).b;
	if (signo == SIGSEGV && info->si_code > 0)
		u->uc_mcontext.gregs[REG_RIP] += 2; /* movb (%rax),%al */
	if (signo == SIGILL && info->si_code > 0)
		u->uc_mcontext.gregs[REG_RIP] += 2; /* ud2 */
}

static void install(int signo, int flags)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	CHECK(sigaction(signo, &action, NULL) == 0);
}

static void fault_all(void)
{
	say("before: %lu %08x\n", insn_rdtsc(), insn_cpuid(1, 0).b);
	__asm__ volatile("movb (%%rax),%%al" : : "a"(8UL) : "memory");
	say("after SIGSEGV: %lu, in the handler %lu\n", insn_rdtsc(), seen);
	__asm__ volatile("ud2");
	say("after SIGILL: %08x, in the handler %lu\n", insn_cpuid(1, 0).b, seen);
	__asm__ volatile("int3");
	say("after SIGTRAP: %lu, in the handler %lu\n", insn_rdtsc(), seen);
}

int main(void)
{
	install(SIGSEGV, 0);
	install(SIGILL, 0);
	install(SIGTRAP, 0);
	for (int i = 0; i < 5; i++)
		fault_all();
	CHECK(calls[SIGSEGV] == 5 && calls[SIGILL] == 5 && calls[SIGTRAP] == 5);

	install(SIGSEGV, SA_RESETHAND);
	for (int i = 0; i < 5; i++)
		(void)insn_rdtsc();
	__asm__ volatile("movb (%%rax),%%al" : : "a"(8UL) : "memory");
	CHECK(calls[SIGSEGV] == 6);
	CHECK(signal(SIGSEGV, SIG_DFL) == SIG_DFL);
	return 0;
}
