/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What siginfo tells of kill, tgkill, sigqueue, rt_tgsigqueueinfo, a timer, a
 * dead, stopped and continued child, and a pipe without readers.
 */
#include "check.h"

#include <signal.h>
#include <time.h>

static volatile siginfo_t last;
static volatile int count;

static void handler(int signo, siginfo_t *info, void *context)
{
	(void)context;
	CHECK(info->si_signo == signo);
	last = *info;
	count++;
}

static void expect(const char *what, int signo, int code)
{
	say("%s: signal %d, code %d, pid %d, value %d\n", what, last.si_signo, last.si_code,
		last.si_pid, last.si_value.sival_int);
	CHECK(count == 1 && last.si_signo == signo && last.si_code == code);
	count = 0;
}

static void from_children(void)
{
	sigset_t chld, old;
	pid_t child;
	int status;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	CHECK(sigprocmask(SIG_BLOCK, &chld, &old) == 0);
	child = fork();
	if (child == 0) {
		raise(SIGSTOP);
		_exit(23);
	}
	CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
	CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
	CHECK(last.si_pid == child && last.si_status == SIGSTOP);
	expect("stopped", SIGCHLD, CLD_STOPPED);
	CHECK(sigprocmask(SIG_BLOCK, &chld, NULL) == 0);
	CHECK(kill(child, SIGCONT) == 0);
	CHECK(waitpid(child, &status, WCONTINUED) == child);
	if (WIFCONTINUED(status))
		reap(child);
	CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
	count = 1;
	CHECK(last.si_pid == child);
	say("at the end: code %d, status %d\n", last.si_code, last.si_status);
	count = 0;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	siginfo_t made = { .si_code = -77 };
	pid_t child;
	int fds[2];

	for (int signo = 1; signo < 65; signo++)
		if (signo != SIGKILL && signo != SIGSTOP && signo != 32 && signo != 33)
			CHECK(sigaction(signo, &action, NULL) == 0);
	CHECK(kill(getpid(), SIGUSR1) == 0);
	CHECK(last.si_pid == getpid() && last.si_uid == getuid());
	expect("kill", SIGUSR1, SI_USER);
	CHECK(raise(SIGUSR2) == 0);
	expect("raise", SIGUSR2, SI_TKILL);
	CHECK(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = 99 }) == 0);
	CHECK(last.si_value.sival_int == 99);
	expect("sigqueue", SIGRTMIN + 1, SI_QUEUE);
	made.si_value.sival_int = 1234;
	CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGURG, &made) == 0);
	CHECK(last.si_value.sival_int == 1234);
	expect("rt_tgsigqueueinfo", SIGURG, -77);
	CHECK(pipe(fds) == 0 && close(fds[0]) == 0);
	CHECK(write(fds[1], "x", 1) == -1 && errno == EPIPE);
	expect("pipe", SIGPIPE, SI_USER);
	child = fork();
	if (child == 0) {
		CHECK(kill(getppid(), SIGHUP) == 0);
		_exit(0);
	}
	while (count == 0)
		sched_yield();
	CHECK(last.si_signo == SIGHUP || last.si_signo == SIGCHLD);
	reap_ok(child);
	while (count < 2)
		sched_yield();
	count = 0;
	from_children();
	return 0;
}
