/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * siglongjmp out of handlers of faults, of a timer and of a signal that comes
 * while read(2) sleeps; with and without the mask restored.
 * Wrong: the replay expects the rt_sigreturn that never comes.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf back;
static volatile int rounds;

static void jump(int signo)
{
	siglongjmp(back, signo);
}

int main(void)
{
	struct itimerval soon = { .it_value.tv_usec = 3000 };
	sigset_t set;
	int fds[2], signo;
	char byte;

	CHECK(pipe(fds) == 0);
	CHECK(signal(SIGALRM, jump) != SIG_ERR && signal(SIGSEGV, jump) != SIG_ERR);
	for (rounds = 0; rounds < 10; rounds++) {
		signo = sigsetjmp(back, 1);
		if (signo == 0) {
			CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
			CHECK(read(fds[0], &byte, 1) == -2); /* left by the jump */
		}
		CHECK(signo == SIGALRM);
		signo = sigsetjmp(back, 1);
		if (signo == 0)
			*(volatile char *)24 = 1;
		CHECK(signo == SIGSEGV);
	}
	if (sigsetjmp(back, 0) == 0)
		*(volatile char *)24 = 1;
	CHECK(sigprocmask(SIG_BLOCK, NULL, &set) == 0 && sigismember(&set, SIGSEGV));
	say("pid %d jumped %d times\n", getpid(), rounds);
	return 0;
}
