/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The same with musl: another libc's vDSO lookup, threads, malloc and cancel.
 * pyrr-test: cc=musl-gcc
 * pyrr-test: needs=command:musl-gcc
 * pyrr-test: cflags=-static -pthread
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int fds[2], cleaned;

static void check(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "does not hold: %s (errno %d)\n", what, errno);
		_exit(99);
	}
}

static void clean(void *arg)
{
	(void)arg;
	cleaned++;
}

static void *sleeper(void *arg)
{
	char byte;

	(void)arg;
	pthread_cleanup_push(clean, NULL);
	check(read(fds[0], &byte, 1) < 0, "never reached");
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	struct timespec now;
	pthread_t t;
	pid_t child;
	int status;

	check(pipe(fds) == 0, "pipe");
	for (int i = 0; i < 5; i++) {
		check(pthread_create(&t, NULL, sleeper, NULL) == 0, "create");
		check(pthread_cancel(t) == 0 && pthread_join(t, NULL) == 0, "cancel");
	}
	check(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "clock");
	printf("%d cleaned, %lld.%09ld, malloc %p, pid %d\n", cleaned, (long long)now.tv_sec,
		now.tv_nsec, malloc(1000), (int)getpid());
	fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(17);
	check(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 17, "wait");
	return 0;
}
