/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A3: signals that hit a process which execs itself over and over: blocked ones
 * stay pending over every exec, none is lost; one with the default action kills,
 * whenever it comes.
 * Wrong: a signal swallowed while the recorder prepares the new image.
 */
#include "check.h"

#include <signal.h>

enum { EXECS = 12, SENT = 60 };

static void again(char *self, int left)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", left);
	execl("/proc/self/exe", self, number, NULL);
	_exit(1);
}

static int count_pending(void)
{
	struct timespec none = { 0, 0 };
	siginfo_t info;
	sigset_t set;
	int count = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	while (sigtimedwait(&set, &info, &none) == SIGRTMIN) {
		CHECK(info.si_value.sival_int == count && info.si_code == SI_QUEUE);
		count++;
	}
	return count;
}

static void blocked_case(char *self)
{
	sigset_t set, old;
	int status;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	CHECK(sigprocmask(SIG_BLOCK, &set, &old) == 0);
	pid_t child = fork();

	if (child == 0)
		again(self, EXECS);
	for (int i = 0; i < SENT; i++) {
		union sigval value = { .sival_int = i };

		CHECK(sigqueue(child, SIGRTMIN, value) == 0);
		sched_yield();
	}
	CHECK(kill(child, SIGHUP) == 0); /* the end of the last image's wait */
	status = reap(child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == SENT);
	CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
}

static void fatal_case(char *self, int yields)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		again(self, 1000000);
	for (int i = 0; i < yields; i++)
		sched_yield();
	CHECK(kill(child, SIGTERM) == 0);
	status = reap(child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(int argc, char **argv)
{
	sigset_t hup;
	int signo;

	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	CHECK(sigprocmask(SIG_BLOCK, &hup, NULL) == 0);
	if (argc > 1) {
		int left = atoi(argv[1]);

		if (left > 0)
			again(argv[0], left - 1);
		CHECK(sigwait(&hup, &signo) == 0);
		return count_pending();
	}
	blocked_case(argv[0]);
	for (int i = 0; i < 6; i++)
		fatal_case(argv[0], i * 7);
	say("pid %d sent them all\n", getpid());
	return 0;
}
