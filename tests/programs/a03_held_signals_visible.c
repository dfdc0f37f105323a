/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A3: blocked signals that came are seen by sigpending, taken by sigtimedwait
 * and by a signalfd with all that sigqueue gave them, and then are gone.
 * Wrong: the recorder keeps them to itself, or their siginfo is lost.
 */
#include "check.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/time.h>

static void check_pending(int signo, int wanted)
{
	sigset_t pending;

	CHECK(sigpending(&pending) == 0);
	CHECK(sigismember(&pending, signo) == wanted);
}

int main(void)
{
	struct itimerval soon = { .it_value.tv_usec = 3000 };
	struct signalfd_siginfo record;
	struct timespec limit = { .tv_sec = 20 };
	siginfo_t info;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 2);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	CHECK(fd >= 0);

	check_pending(SIGALRM, 0);
	CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	sleep_ms(20);
	check_pending(SIGALRM, 1);
	CHECK(sigtimedwait(&set, &info, &limit) == SIGALRM && info.si_code == SI_KERNEL);
	check_pending(SIGALRM, 0);

	for (int i = 0; i < 3; i++) {
		CHECK(sigqueue(getpid(), SIGRTMIN + 2, (union sigval){ .sival_int = 100 + i }) ==
			0);
		check_pending(SIGRTMIN + 2, 1);
	}
	CHECK(read(fd, &record, sizeof(record)) == sizeof(record));
	CHECK(record.ssi_int == 100 && record.ssi_code == SI_QUEUE);
	say("signalfd: from pid %u, value %d\n", record.ssi_pid, record.ssi_int);
	CHECK(sigwaitinfo(&set, &info) == SIGRTMIN + 2 && info.si_value.sival_int == 101);
	CHECK(read(fd, &record, sizeof(record)) == sizeof(record) && record.ssi_int == 102);
	check_pending(SIGRTMIN + 2, 0);

	limit = (struct timespec){ .tv_nsec = 2000000 };
	CHECK(sigtimedwait(&set, &info, &limit) == -1 && errno == EAGAIN);

	/* Now while the wait is under way. */
	soon.it_value.tv_usec = 5000;
	CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	CHECK(sigwaitinfo(&set, &info) == SIGALRM);
	CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	CHECK(read(fd, &record, sizeof(record)) == sizeof(record) && record.ssi_signo == SIGALRM);
	say("signalfd: code %d\n", record.ssi_code);
	return 0;
}
