/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A6: the program's own PR_SET_TSC works as without a recorder: rdtsc faults
 * while it is set, the setting is read back, inherited by a child and by exec.
 * Static, since ld.so itself uses rdtsc.
 * Wrong: the recorder's own trapping of rdtsc shows through, or breaks it.
 * pyrr-test: cflags=-static
 */
#include "check.h"
#include "insns.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>

static sigjmp_buf back;

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

/* The time stamp, 0 when the instruction faults. */
static uint64_t try_rdtsc(void)
{
	return sigsetjmp(back, 1) ? 0 : insn_rdtsc();
}

static int setting(void)
{
	int value = -1;

	CHECK(prctl(PR_GET_TSC, &value) == 0);
	return value;
}

int main(int argc, char **argv)
{
	pid_t child;

	CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
	if (argc > 1) {
		CHECK(setting() == PR_TSC_SIGSEGV && try_rdtsc() == 0);
		CHECK(prctl(PR_SET_TSC, PR_TSC_ENABLE) == 0 && try_rdtsc() != 0);
		say("after exec: %lu\n", try_rdtsc());
		return 0;
	}
	CHECK(setting() == PR_TSC_ENABLE && try_rdtsc() != 0);
	CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
	CHECK(setting() == PR_TSC_SIGSEGV);
	CHECK(try_rdtsc() == 0 && try_rdtsc() == 0);
	child = fork();
	if (child == 0) {
		CHECK(setting() == PR_TSC_SIGSEGV && try_rdtsc() == 0);
		execl("/proc/self/exe", argv[0], "again", NULL);
		_exit(1);
	}
	reap_ok(child);
	CHECK(prctl(PR_SET_TSC, PR_TSC_ENABLE) == 0 && setting() == PR_TSC_ENABLE);
	say("tsc %lu\n", try_rdtsc());
	CHECK(prctl(PR_SET_TSC, 77) == -1 && errno == EINVAL);
	return 0;
}
