/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * exec: a chain of 12 execs of this program, by path, /proc/self/exe, a
 * descriptor (fexecve), execveat with a directory, and a script. Descriptors
 * with and without close-on-exec, a blocked pending signal, ignored signals,
 * the environment and the pid go along.
 * Wrong: an address space is not rebuilt, or the replay needs the file.
 */
#include "check.h"

#include <signal.h>

extern char **environ;

static void check_kept(int round)
{
	struct sigaction action;
	sigset_t pending;
	char text[8] = "";

	CHECK(getpid() == atoi(getenv("CHAIN_PID")));
	CHECK(sigaction(SIGUSR2, NULL, &action) == 0 && action.sa_handler == SIG_IGN);
	CHECK(sigaction(SIGTERM, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
	CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1));
	CHECK(pread(50, text, 4, 0) == 4 && strcmp(text, "kept") == 0);
	CHECK(fcntl(51, F_GETFD) == -1 && errno == EBADF);
	say("round %d: pid %d, stack %p, argc kept\n", round, getpid(), (void *)&action);
}

static void prepare(void)
{
	char pid[16];
	sigset_t set;
	int fd = open("kept", O_RDWR | O_CREAT | O_TRUNC, 0600);

	(void)snprintf(pid, sizeof(pid), "%d", getpid());
	CHECK(setenv("CHAIN_PID", pid, 1) == 0);
	write_all(fd, "kept", 4);
	CHECK(dup2(fd, 50) == 50);
	CHECK(signal(SIGUSR2, SIG_IGN) != SIG_ERR);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && raise(SIGUSR1) == 0);
}

static void handler(int signo)
{
	(void)signo;
}

static void next(char **argv, int round)
{
	char number[16];
	char *args[] = { argv[0], number, NULL };
	int fd;

	(void)snprintf(number, sizeof(number), "%d", round + 1);
	CHECK(dup3(1, 51, O_CLOEXEC) == 51);
	CHECK(signal(SIGTERM, handler) != SIG_ERR);
	switch (round % 4) {
	case 0:
		execv(argv[0], args);
		break;
	case 1:
		execl("/proc/self/exe", argv[0], number, NULL);
		break;
	case 2:
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		fexecve(fd, args, environ);
		break;
	default:
		syscall(SYS_execveat, AT_FDCWD, "/proc/self/exe", args, environ, 0);
	}
	CHECK(!"exec came back");
}

int main(int argc, char **argv)
{
	int round = argc > 1 ? atoi(argv[1]) : 0;

	if (round == 0)
		prepare();
	else
		check_kept(round);
	if (round == 12)
		return 0;
	next(argv, round);
}
