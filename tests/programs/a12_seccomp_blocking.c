/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A12: ERRNO for calls that would block or shape the process (read of an empty
 * pipe, fork, mmap, execve), USER_NOTIF and TRACE without anyone who answers, in
 * threads, over fork and exec; a thread killed alone while others sleep; filters
 * that look at arguments; programs the kernel refuses.
 * Wrong: a call that really runs; a hang; a filter that is taken though invalid.
 * pyrr-test: cflags=-pthread
 */
#include "filter.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

static int fds[2];

static void *reads(void *arg)
{
	char c;

	CHECK(read(fds[0], &c, 1) == -1 && errno == EL2HLT);
	return arg;
}

static void *dies(void *arg)
{
	filter_install(SYS_getppid, SECCOMP_RET_KILL_THREAD);
	getppid();
	_exit(1);
	return arg;
}

static void *sleeps(void *arg)
{
	char c;

	CHECK(read(*(int *)arg, &c, 1) == 1);
	return arg;
}

static void kill_one_of_three(void)
{
	pthread_t a, b;
	int other[2];

	CHECK(pipe(other) == 0);
	CHECK(pthread_create(&a, NULL, sleeps, &other[0]) == 0);
	CHECK(pthread_create(&b, NULL, dies, NULL) == 0);
	CHECK(pthread_join(b, NULL) == 0);
	CHECK(write(other[1], "x", 1) == 1);
	CHECK(pthread_join(a, NULL) == 0);
}

/* Only a write of the length 13 is refused. */
static void by_argument(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 13, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0xffff),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_LOG),
	};
	struct sock_fprog program = { .len = 6, .filter = code };

	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	CHECK(syscall(SYS_write, 1, "1234567890123", 13) == -1 && errno == 4095);
	say("twelve bytes");
	say("\n");
}

static void refused(void)
{
	struct sock_filter no_end[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0) };
	struct sock_filter odd[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog programs[] = { { 1, no_end }, { 2, odd }, { 0, odd } };

	for (int i = 0; i < 3; i++)
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &programs[i]) == -1 &&
			errno == EINVAL);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)16) == -1 && errno == EFAULT);
	CHECK(prctl(PR_SET_SECCOMP, 7, NULL) == -1 && errno == EINVAL);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == -1 && errno == EINVAL);
	CHECK(prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER);
}

int main(int argc, char **argv)
{
	pthread_t t;
	pid_t child;

	if (argc > 1) {
		CHECK(syscall(SYS_mlockall, 1) == -1 && errno == EDOM);
		say("exec'ed under the same filters\n");
		return 0;
	}
	CHECK(pipe(fds) == 0);
	kill_one_of_three();
	filter_install(SYS_mlockall, SECCOMP_RET_ERRNO | EDOM);
	child = fork();
	if (child == 0) {
		execl("/proc/self/exe", argv[0], "again", NULL);
		_exit(1);
	}
	reap_ok(child);
	filter_install(SYS_swapoff, SECCOMP_RET_TRACE | 5);
	CHECK(syscall(SYS_swapoff, "/nowhere") == -1 && errno == ENOSYS);
	filter_install(SYS_acct, SECCOMP_RET_USER_NOTIF);
	CHECK(syscall(SYS_acct, "/nowhere") == -1 && errno == ENOSYS);
	by_argument();
	refused();
	filter_install(SYS_read, SECCOMP_RET_ERRNO | EL2HLT);
	CHECK(pthread_create(&t, NULL, reads, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	filter_install(SYS_execve, SECCOMP_RET_ERRNO | EXFULL);
	CHECK(execl("/proc/self/exe", argv[0], "again", NULL) == -1 && errno == EXFULL);
	filter_install(SYS_mmap, SECCOMP_RET_ERRNO | ENOANO);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
		errno == ENOANO);
	filter_install(SYS_clone, SECCOMP_RET_ERRNO | ENOTUNIQ);
	CHECK(fork() == -1 && errno == ENOTUNIQ);
	filter_install(SYS_exit_group, SECCOMP_RET_ERRNO | 0);
	syscall(SYS_exit_group, 3);
	say("pid %d outlived exit_group\n", getpid());
	syscall(SYS_exit, 0);
}
