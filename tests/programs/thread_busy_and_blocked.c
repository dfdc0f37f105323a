/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A busy thread next to threads that sleep with a timeout in poll, epoll_wait, a futex,
 * nanosleep and sigtimedwait, and one that reads what the busy thread never writes but a
 * child does: each wakes in time.
 * Wrong: a sleeper wakes only when the busy thread has ended, 30 times later.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>

enum { SLEEPERS = 6, ROUNDS = 2, SLEEP_MS = 10 };

static atomic_int left = SLEEPERS;
static int pipes[2];

static uint64_t now_ms(void)
{
	struct timespec t;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void sleep_once(long kind)
{
	struct timespec t = { 0, SLEEP_MS * 1000000 };
	struct epoll_event event;
	int fd, word = 0;
	sigset_t set;
	char byte;

	switch (kind) {
	case 0:
		CHECK(poll(NULL, 0, SLEEP_MS) == 0);
		break;
	case 1:
		fd = epoll_create1(0);
		CHECK(epoll_wait(fd, &event, 1, SLEEP_MS) == 0);
		close(fd);
		break;
	case 2:
		CHECK(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, NULL, 0) == -1);
		CHECK(errno == ETIMEDOUT);
		break;
	case 3:
		CHECK(nanosleep(&t, NULL) == 0);
		break;
	case 4:
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		CHECK(sigtimedwait(&set, NULL, &t) == -1 && errno == EAGAIN);
		break;
	default:
		CHECK(read(pipes[0], &byte, 1) == 1 && byte == 'x');
	}
}

static void *sleeper(void *arg)
{
	long kind = (long)arg;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begin = now_ms(), took;

		sleep_once(kind);
		took = now_ms() - begin;
		CHECK(kind == 5 || took >= SLEEP_MS - 1);
		CHECK(took < 5000);
		say("kind %ld woke after %lu ms\n", kind, took);
	}
	atomic_fetch_sub(&left, 1);
	return NULL;
}

int main(void)
{
	volatile uint64_t counter = 0;
	pthread_t t[SLEEPERS];
	pid_t child;

	CHECK(pipe(pipes) == 0);
	child = fork();
	if (child == 0) {
		for (int i = 0; i < ROUNDS; i++) {
			sleep_ms(SLEEP_MS);
			write_all(pipes[1], "x", 1);
		}
		_exit(0);
	}
	for (long i = 0; i < SLEEPERS; i++)
		CHECK(pthread_create(&t[i], NULL, sleeper, (void *)i) == 0);
	while (atomic_load(&left) > 0) /* no call in here */
		counter++;
	for (int i = 0; i < SLEEPERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	reap_ok(child);
	say("counted to %lu\n", counter);
	return 0;
}
