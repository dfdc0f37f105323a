/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Handlers in handlers: SA_NODEFER, sa_mask, SA_RESETHAND, several signals
 * pending at once, and a handler that unblocks by editing the saved mask.
 */
#include "check.h"

#include <signal.h>

static char log_text[4096];
static volatile size_t logged;

static void note(const char *what, int signo)
{
	logged += (size_t)snprintf(
		log_text + logged, sizeof(log_text) - logged, "%s%d ", what, signo);
}

static void nested(int signo)
{
	note("+", signo);
	if (signo < SIGRTMIN + 4)
		CHECK(raise(signo + 1) == 0);
	note("-", signo);
}

static volatile int again;

static void once(int signo)
{
	note("o", signo);
}

static void recursive(int signo)
{
	note("r", again);
	if (again++ < 5)
		CHECK(raise(signo) == 0);
	note("s", again);
}

static void editing(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)info;
	note("e", signo);
	sigaddset(&u->uc_sigmask, SIGUSR2);
	sigdelset(&u->uc_sigmask, SIGUSR1);
}

static void install(int signo, void (*handler)(int), int flags, int mask)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	if (mask)
		sigaddset(&action.sa_mask, mask);
	CHECK(sigaction(signo, &action, NULL) == 0);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = editing, .sa_flags = SA_SIGINFO };
	sigset_t set, old;

	for (int i = 0; i < 5; i++)
		install(SIGRTMIN + i, nested, 0, i == 1 ? SIGRTMIN + 2 : 0);
	CHECK(raise(SIGRTMIN) == 0);
	note("\n", 0);
	install(SIGUSR1, recursive, SA_NODEFER, 0);
	CHECK(raise(SIGUSR1) == 0);
	note("\n", 0);
	again = 0;
	install(SIGUSR1, recursive, 0, 0);
	CHECK(raise(SIGUSR1) == 0);
	note("\n", 0);

	install(SIGUSR2, once, SA_RESETHAND, 0);
	CHECK(raise(SIGUSR2) == 0);
	CHECK(sigaction(SIGUSR2, NULL, &action) == 0 && action.sa_handler == SIG_DFL);

	sigfillset(&set);
	CHECK(sigprocmask(SIG_BLOCK, &set, &old) == 0);
	for (int i = 4; i >= 0; i--)
		CHECK(raise(SIGRTMIN + i) == 0);
	note("\n", 1);
	CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0); /* all at once */
	note("\n", 2);

	action = (struct sigaction){ .sa_sigaction = editing, .sa_flags = SA_SIGINFO };
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(raise(SIGALRM) == 0);
	CHECK(sigprocmask(SIG_BLOCK, NULL, &set) == 0);
	CHECK(sigismember(&set, SIGUSR2) && !sigismember(&set, SIGUSR1));
	say("%s\n", log_text);
	return 0;
}
