/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Never the same for long: threads at a mutex, children with pipes, a timer's
 * signals, mappings that come and go, output all the time. argv: rounds.
 */
#include "../../programs/check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int ticks, rounds;

static void on_alarm(int signo)
{
	(void)signo;
	ticks++;
}

static void child_with_pipe(int round)
{
	int fds[2];
	char text[64];
	ssize_t n;
	pid_t child;

	CHECK(pipe(fds) == 0);
	child = fork();
	if (child == 0) {
		n = snprintf(text, sizeof(text), "child %d of round %d", getpid(), round);
		write_all(fds[1], text, (size_t)n);
		_exit(round % 50);
	}
	close(fds[1]);
	do {
		n = read(fds[0], text, sizeof(text));
	} while (n == -1 && errno == EINTR);
	CHECK(n > 0);
	close(fds[0]);
	CHECK(WEXITSTATUS(reap(child)) == round % 50);
	say("%.*s ended, %d ticks\n", (int)n, text, ticks);
}

static void *thread(void *arg)
{
	for (int round = 0; round < rounds; round++) {
		char *area = mmap(
			NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct timespec now;

		CHECK(area != MAP_FAILED && clock_gettime(CLOCK_MONOTONIC, &now) == 0);
		memset(area, round, 16384);
		CHECK(pthread_mutex_lock(&mutex) == 0);
		say("%s, round %d at %ld.%09ld\n", (const char *)arg, round, (long)now.tv_sec,
			now.tv_nsec);
		sched_yield();
		CHECK(pthread_mutex_unlock(&mutex) == 0);
		CHECK(munmap(area, 16384) == 0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerval every = { .it_interval.tv_usec = 3000, .it_value.tv_usec = 3000 };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	pthread_t t[2];

	rounds = argc > 1 ? atoi(argv[1]) : 100;
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	CHECK(pthread_create(&t[0], NULL, thread, "one") == 0);
	CHECK(pthread_create(&t[1], NULL, thread, "two") == 0);
	for (int round = 0; round < rounds; round++)
		child_with_pipe(round);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	return 5;
}
