/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A3: a timer's signals hit just before, in and after calls that sleep, fail and
 * succeed at once, in the main thread and in another; each result is hashed.
 * Wrong: the call that was backed up before the handler is not entered again, or
 * twice, in the replay.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;

static void tick(int signo)
{
	(void)signo;
	ticks++;
}

static uint64_t mix(uint64_t hash, long value)
{
	int error = value == -1 ? errno : 0;

	hash = hash_bytes(&value, sizeof(value), hash);
	return hash_bytes(&error, sizeof(error), hash);
}

static uint64_t quick_calls(uint64_t hash, int rounds)
{
	off_t from = 5;
	char byte;

	for (int i = 0; i < rounds; i++) {
		hash = mix(hash, sendfile(-1, -1, &from, 100));
		hash = mix(hash, getppid());
		hash = mix(hash, read(-1, &byte, 1));
		hash = mix(hash, sched_yield());
	}
	return mix(hash, ticks);
}

static uint64_t sleeping_call(uint64_t hash, int yields)
{
	char text[200];
	int fds[2];
	pid_t child;
	ssize_t n;

	CHECK(pipe(fds) == 0);
	child = fork();
	if (child == 0) {
		memset(text, yields, sizeof(text));
		for (int i = 0; i < yields; i++)
			sched_yield();
		write_all(fds[1], text, (size_t)yields + 1);
		_exit(0);
	}
	do {
		n = read(fds[0], text, sizeof(text));
		hash = mix(hash, n);
	} while (n == -1 && errno == EINTR);
	CHECK(n == yields + 1 && text[0] == yields);
	close(fds[0]);
	close(fds[1]);
	reap_ok(child);
	return mix(hash, ticks);
}

static void *thread(void *arg)
{
	uint64_t hash = HASH_START;

	for (int i = 0; i < 8; i++) {
		hash = quick_calls(hash, 30);
		hash = sleeping_call(hash, i % 7);
	}
	*(uint64_t *)arg = hash;
	return NULL;
}

int main(void)
{
	struct itimerval every = { .it_interval.tv_usec = 700, .it_value.tv_usec = 700 };
	struct sigaction action = { .sa_handler = tick };
	uint64_t hashes[2];
	pthread_t t;

	for (int i = 0; i < 4; i++) {
		action.sa_flags = i % 2 ? SA_RESTART : 0;
		CHECK(sigaction(SIGALRM, &action, NULL) == 0);
		CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
		CHECK(pthread_create(&t, NULL, thread, &hashes[1]) == 0);
		thread(&hashes[0]);
		CHECK(pthread_join(t, NULL) == 0);
		say("%d ticks, %016lx %016lx\n", ticks, hashes[0], hashes[1]);
	}
	return 0;
}
