/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A2: with SIGSEGV, SIGILL and SIGTRAP blocked, rdtsc and cpuid run as ever and
 * the three stay blocked: one sent to the thread is pending, not fatal.
 * Wrong: a trap the recorder caused makes the kernel unblock them.
 */
#include "check.h"
#include "insns.h"

#include <signal.h>

int main(void)
{
	sigset_t traps, now, pending;
	uint64_t last = 0;

	sigemptyset(&traps);
	sigaddset(&traps, SIGSEGV);
	sigaddset(&traps, SIGILL);
	sigaddset(&traps, SIGTRAP);
	CHECK(sigprocmask(SIG_BLOCK, &traps, NULL) == 0);
	for (int i = 0; i < 50; i++) {
		uint64_t tsc = insn_rdtsc();
		struct cpuid_result r = insn_cpuid(1, 0);

		CHECK(tsc > last);
		last = tsc;
		CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
		CHECK(sigismember(&now, SIGSEGV) && sigismember(&now, SIGILL));
		CHECK(sigismember(&now, SIGTRAP) && !sigismember(&now, SIGUSR1));
		if (i % 10 == 0)
			say("tsc %lu, cpuid 1: %08x %08x\n", tsc, r.a, r.b);
	}
	(void)insn_rdtsc();
	(void)insn_cpuid(0, 0);
	CHECK(raise(SIGSEGV) == 0 && raise(SIGILL) == 0 && raise(SIGTRAP) == 0);
	(void)insn_rdtsc();
	(void)insn_cpuid(0, 0);
	CHECK(sigpending(&pending) == 0);
	CHECK(sigismember(&pending, SIGSEGV) && sigismember(&pending, SIGILL));
	CHECK(sigismember(&pending, SIGTRAP));
	say("all three are pending\n");
	return 0;
}
