/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A12: SECCOMP_FILTER_FLAG_TSYNC gives a filter to threads that run, that sleep
 * in a call, and to those they start; it fails with the tid of a thread that has
 * filters of its own. Without the flag a filter is its thread's alone.
 * Wrong: a thread without the filter, or one that gets it unasked.
 * pyrr-test: cflags=-pthread
 */
#include "filter.h"

#include <pthread.h>

static pthread_barrier_t barrier;
static int pipe_fds[2];
static volatile pid_t diverged;

static long install(uint32_t number, uint32_t action, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void *grandchild(void *arg)
{
	CHECK(syscall(SYS_getpgrp) == -1 && errno == E2BIG);
	return arg;
}

static void *waiting(void *arg)
{
	CHECK(syscall(SYS_getpgrp) > 0);
	pthread_barrier_wait(&barrier); /* main installs */
	pthread_barrier_wait(&barrier);
	CHECK(syscall(SYS_getpgrp) == -1 && errno == E2BIG);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	return arg;
}

static void *sleeping(void *arg)
{
	pthread_t t;
	char c;

	CHECK(read(pipe_fds[0], &c, 1) == 1);
	CHECK(syscall(SYS_getpgrp) == -1 && errno == E2BIG);
	CHECK(pthread_create(&t, NULL, grandchild, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	return arg;
}

static void *alone(void *arg)
{
	CHECK(install(SYS_getpriority, SECCOMP_RET_ERRNO | EDOM, 0) == 0);
	CHECK(syscall(SYS_getpriority, 0, 0) == -1 && errno == EDOM);
	diverged = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	CHECK(syscall(SYS_getuid) >= 0); /* main's second filter failed */
	return arg;
}

int main(void)
{
	pthread_t a, b, c;

	CHECK(pipe(pipe_fds) == 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 2, 0, 0, 0) == -1 && errno == EINVAL);
	CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
	CHECK(pthread_create(&a, NULL, waiting, NULL) == 0);
	CHECK(pthread_create(&b, NULL, sleeping, NULL) == 0);
	pthread_barrier_wait(&barrier);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(install(SYS_getpgrp, SECCOMP_RET_ERRNO | E2BIG, SECCOMP_FILTER_FLAG_TSYNC) == 0);
	pthread_barrier_wait(&barrier);
	CHECK(write(pipe_fds[1], "x", 1) == 1);
	CHECK(pthread_join(a, NULL) == 0 && pthread_join(b, NULL) == 0);

	CHECK(pthread_create(&c, NULL, alone, NULL) == 0);
	pthread_barrier_wait(&barrier);
	CHECK(syscall(SYS_getpriority, 0, 0) > 0);
	CHECK(install(SYS_getuid, SECCOMP_RET_ERRNO | EDOM, SECCOMP_FILTER_FLAG_TSYNC) == diverged);
	CHECK(install(SYS_getuid, SECCOMP_RET_ERRNO | EDOM, 1 << 20) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_getuid) >= 0);
	pthread_barrier_wait(&barrier);
	CHECK(pthread_join(c, NULL) == 0);
	CHECK(install(SYS_getuid, SECCOMP_RET_ERRNO | EDOM, SECCOMP_FILTER_FLAG_TSYNC) == 0);
	CHECK(syscall(SYS_getuid) == -1 && errno == EDOM);
	say("thread %d stood in the way\n", diverged);
	return 0;
}
