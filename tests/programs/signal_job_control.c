/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Job control without a terminal: SIGSTOP, SIGTSTP (with a handler and without)
 * and SIGCONT of a single process, one with threads, and a process group;
 * WUNTRACED, WCONTINUED, WSTOPPED.
 * Wrong: under ptrace group stops look like signals, and the parent sees none.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

static volatile int *beats;

static void *beat(void *arg)
{
	for (;;) {
		__atomic_add_fetch(&beats[(intptr_t)arg], 1, __ATOMIC_SEQ_CST);
		sleep_ms(1);
	}
	return NULL;
}

static void on_tstp(int signo)
{
	write_all(STDOUT_FILENO, "handler of SIGTSTP\n", 19);
	CHECK(signal(signo, SIG_DFL) != SIG_ERR);
}

static pid_t start(int threads, int index, pid_t group)
{
	pid_t child = fork();
	pthread_t t;

	if (child == 0) {
		if (group >= 0)
			CHECK(setpgid(0, group) == 0);
		CHECK(signal(SIGTSTP, on_tstp) != SIG_ERR);
		for (intptr_t i = 1; i < threads; i++)
			CHECK(pthread_create(&t, NULL, beat, (void *)(index + i)) == 0);
		beat((void *)(intptr_t)index);
	}
	if (group >= 0)
		CHECK(setpgid(child, group) == 0 || errno == EACCES);
	while (beats[index] == 0)
		sched_yield();
	return child;
}

static void stop_and_go(pid_t child, int index, int signo)
{
	siginfo_t info;
	int status, before;

	CHECK(kill(child, signo) == 0);
	CHECK(waitpid(child, &status, WUNTRACED) == child);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == signo);
	before = beats[index];
	sleep_ms(5);
	CHECK(beats[index] == before);
	CHECK(waitpid(child, &status, WUNTRACED | WNOHANG) == 0);
	CHECK(kill(child, SIGCONT) == 0);
	CHECK(waitid(P_PID, (id_t)child, &info, WCONTINUED) == 0 && info.si_code == CLD_CONTINUED);
	while (beats[index] == before)
		sched_yield();
	say("stopped and went on by signal %d\n", signo);
}

int main(void)
{
	pid_t single, threaded, group[2];
	int status;

	beats = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	single = start(1, 0, 0); /* its own group, never an orphaned one */
	stop_and_go(single, 0, SIGSTOP);
	CHECK(kill(single, SIGTSTP) == 0);
	for (int before = beats[0]; beats[0] < before + 3;)
		sched_yield();
	stop_and_go(single, 0, SIGTTIN);
	CHECK(kill(single, SIGKILL) == 0 && WTERMSIG(reap(single)) == SIGKILL);

	threaded = start(3, 10, -1);
	stop_and_go(threaded, 10, SIGSTOP);
	CHECK(kill(threaded, SIGSTOP) == 0);
	CHECK(waitpid(threaded, &status, WUNTRACED) == threaded && WIFSTOPPED(status));
	CHECK(kill(threaded, SIGKILL) == 0 && WTERMSIG(reap(threaded)) == SIGKILL);

	group[0] = start(1, 20, 0);
	group[1] = start(1, 21, group[0]);
	CHECK(kill(-group[0], SIGSTOP) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(waitpid(group[i], &status, WUNTRACED) == group[i] && WIFSTOPPED(status));
	CHECK(killpg(group[0], SIGCONT) == 0 && killpg(group[0], SIGTERM) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(WTERMSIG(reap(group[i])) == SIGTERM);
	say("beats: %d %d\n", beats[0], beats[10]);
	return 0;
}
