/* SPDX-License-Identifier: GPL-2.0-or-later
 * More scenarios: waiting, signals, processes, queues; and the list of all. */
#ifndef PRR_SYSCALL_SCENARIOS_2_H
#define PRR_SYSCALL_SCENARIOS_2_H

#include "syscall_scenarios.h"

/* ----------------------------------------------------------------- waiting */

static inline void put_pollfds(int fd)
{
	struct pollfd fds[4] = { { fd, POLLIN, 0x7777 }, { -1, POLLIN, 0x7777 },
		{ fd + 1, POLLIN | POLLOUT, 0x7777 }, { 999, POLLIN, 0x7777 } };

	memcpy(at(64), fds, sizeof(fds));
}

static inline void poll_ready(struct call *call)
{
	put_pollfds(pipe_with("x"));
	set(call, SYS_poll, (uint64_t)(uintptr_t)at(64), (void *)4, (uint64_t)-1, 0, NULL, NULL);
}

static inline void poll_timeout(struct call *call)
{
	put_pollfds(pipe_with(""));
	set(call, SYS_poll, (uint64_t)(uintptr_t)at(64), (void *)1, 1, 0, NULL, NULL);
}

static inline void poll_bad(struct call *call)
{
	put_pollfds(pipe_with("x"));
	set(call, SYS_poll, (uint64_t)(uintptr_t)at(ARENA_SIZE - 8), (void *)3, 1, 0, NULL, NULL);
}

static inline void poll_none(struct call *call)
{
	set(call, SYS_poll, 0, NULL, 1, 0, NULL, NULL);
}

static inline void ppoll_with(struct call *call, void *timeout)
{
	*(struct timespec *)timeout = (struct timespec){ 50, 0 };
	put_pollfds(pipe_with("x"));
	set(call, SYS_ppoll, (uint64_t)(uintptr_t)at(64), (void *)4, (uint64_t)(uintptr_t)timeout,
		0, (void *)8, NULL);
}

static inline void ppoll_ready(struct call *call)
{
	ppoll_with(call, at(512));
}

static inline void ppoll_read_only_timeout(struct call *call)
{
	ppoll_with(call, read_only);
	CHECK(mprotect(read_only, 4096, PROT_READ) == 0);
}

static inline void put_sets(int fd)
{
	memset(at(0), 0, 1024);
	FD_SET(fd, (fd_set *)at(0));
	FD_SET(fd + 1, (fd_set *)at(128));
	FD_SET(fd, (fd_set *)at(256));
}

static inline void select_ready(struct call *call)
{
	int fd = pipe_with("x");

	put_sets(fd);
	((struct timeval *)at(512))->tv_sec = 50;
	set(call, SYS_select, (uint64_t)fd + 2, at(0), (uint64_t)(uintptr_t)at(128),
		(uint64_t)(uintptr_t)at(256), at(512), NULL);
}

static inline void select_same_set(struct call *call)
{
	int fd = pipe_with("x");

	put_sets(fd);
	set(call, SYS_select, (uint64_t)fd + 2, at(0), (uint64_t)(uintptr_t)at(0), 0, NULL, NULL);
}

static inline void select_timeout(struct call *call)
{
	int fd = pipe_with("");

	put_sets(fd);
	((struct timeval *)at(512))->tv_usec = 1000;
	set(call, SYS_select, (uint64_t)fd + 1, at(0), 0, (uint64_t)(uintptr_t)at(256), at(512),
		NULL);
}

static inline void select_bad_fd(struct call *call)
{
	put_sets(pipe_with(""));
	FD_SET(60, (fd_set *)at(0));
	set(call, SYS_select, 64, at(0), 0, 0, at(512), NULL);
}

static inline void pselect_many(struct call *call)
{
	int fd = pipe_with("x");

	memset(at(0), 0, 4096);
	FD_SET(fd, (fd_set *)at(0));
	set(call, SYS_pselect6, 5000, at(0), (uint64_t)(uintptr_t)at(1024), 0, NULL, NULL);
}

static inline void epoll_two(struct call *call)
{
	int epfd = epoll_create1(0);

	for (uint64_t i = 0; i < 3; i++) {
		struct epoll_event event = { EPOLLIN, { .u64 = 0x1111111111111111 * (i + 1) } };

		CHECK(epoll_ctl(epfd, EPOLL_CTL_ADD, pipe_with(i == 1 ? "" : "x"), &event) == 0);
	}
	set(call, SYS_epoll_wait, (uint64_t)epfd, at(40), 8, (uint64_t)-1, NULL, NULL);
}

static inline void epoll_none(struct call *call)
{
	set(call, SYS_epoll_pwait, (uint64_t)epoll_create1(0), at(40), 8, 0, NULL, (void *)8);
}

static inline void epoll_negative(struct call *call)
{
	set(call, SYS_epoll_wait, (uint64_t)epoll_create1(0), at(40), (uint64_t)-1, 0, NULL, NULL);
}

/* ------------------------------------------------------ signals, processes */

static inline void on_alarm(int signo)
{
	(void)signo;
}

static inline void nanosleep_interrupted(struct call *call)
{
	struct itimerval soon = { .it_value = { 0, 20000 } };
	struct timespec want = { 50, 0 };

	CHECK(signal(SIGALRM, on_alarm) != SIG_ERR);
	CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	memcpy(at(100), &want, sizeof(want));
	set(call, SYS_nanosleep, (uint64_t)(uintptr_t)at(100), at(200), 0, 0, NULL, NULL);
}

static inline void nanosleep_whole(struct call *call)
{
	struct timespec want = { 0, 1000 };

	memcpy(at(100), &want, sizeof(want));
	set(call, SYS_nanosleep, (uint64_t)(uintptr_t)at(100), at(200), 0, 0, NULL, NULL);
}

static inline pid_t child(int status)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(status);
	CHECK(pid > 0);
	return pid;
}

static inline void wait4_child(struct call *call)
{
	child(7);
	set(call, SYS_wait4, (uint64_t)-1, at(100), __WALL, (uint64_t)(uintptr_t)at(200), NULL,
		NULL);
}

static inline void wait4_not_yet(struct call *call)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	lasting_child = pid;
	set(call, SYS_wait4, (uint64_t)pid, at(100), WNOHANG, (uint64_t)(uintptr_t)at(200), NULL,
		NULL);
}

static inline void wait4_nobody(struct call *call)
{
	set(call, SYS_wait4, (uint64_t)getpid(), at(100), 0, (uint64_t)(uintptr_t)at(200), NULL,
		NULL);
}

static inline void waitid_child(struct call *call)
{
	child(7);
	set(call, SYS_waitid, P_ALL, 0, (uint64_t)(uintptr_t)at(100), WEXITED | __WALL, at(400),
		NULL);
}

static inline void waitid_nobody(struct call *call)
{
	set(call, SYS_waitid, P_PID, (void *)(uintptr_t)getpid(), (uint64_t)(uintptr_t)at(100),
		WEXITED, at(400), NULL);
}

static inline void block_usr1(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	CHECK(sigprocmask(SIG_BLOCK, &mask, NULL) == 0);
	memcpy(at(64), &mask, 8);
}

static inline void sigtimedwait_one(struct call *call)
{
	block_usr1();
	CHECK(raise(SIGUSR1) == 0);
	set(call, SYS_rt_sigtimedwait, (uint64_t)(uintptr_t)at(64), at(128), 0, 8, NULL, NULL);
}

static inline void sigtimedwait_again(struct call *call)
{
	block_usr1();
	memset(at(100), 0, 16);
	set(call, SYS_rt_sigtimedwait, (uint64_t)(uintptr_t)at(64), at(128),
		(uint64_t)(uintptr_t)at(100), 8, NULL, NULL);
}

/* ------------------------------------------------------------------ queues */

static inline void msgrcv_with(struct call *call, size_t room, int flags)
{
	static int queue = -1;
	struct {
		long type;
		char text[9];
	} message = { 5, "a message" };

	if (queue >= 0)
		msgctl(queue, IPC_RMID, NULL);
	queue = msgget(IPC_PRIVATE, 0600);
	CHECK(queue >= 0 && msgsnd(queue, &message, 9, 0) == 0);
	set(call, SYS_msgrcv, (uint64_t)queue, at(100), room, 0, (void *)(uintptr_t)(unsigned)flags,
		NULL);
}

static inline void msgrcv_all(struct call *call)
{
	msgrcv_with(call, 64, 0);
}

static inline void msgrcv_cut(struct call *call)
{
	msgrcv_with(call, 4, MSG_NOERROR);
}

static inline void msgrcv_too_big(struct call *call)
{
	msgrcv_with(call, 4, 0);
	call->args[4] = IPC_NOWAIT;
}

/* ------------------------------------------------------- calls not blocking */

static inline void fstat_file(struct call *call)
{
	set(call, SYS_fstat, 0, at(100), 0, 0, NULL, NULL);
}

static inline void statx_bad_flags(struct call *call)
{
	*call = (struct call){ SYS_statx,
		{ 0, (uint64_t)(uintptr_t)"", ~0ULL, 0, (uint64_t)(uintptr_t)at(100), 0 } };
}

static inline void getdents_proc(struct call *call)
{
	int fd = open("/proc/self/ns", O_RDONLY | O_DIRECTORY);

	set(call, SYS_getdents64, (uint64_t)fd, at(64), 500, 0, NULL, NULL);
}

static inline void getcwd_all(struct call *call)
{
	set(call, SYS_getcwd, (uint64_t)(uintptr_t)at(64), (void *)4096, 0, 0, NULL, NULL);
}

static inline void readlink_cut(struct call *call)
{
	static const char path[] = "/proc/self/ns/mnt";

	set(call, SYS_readlink, (uint64_t)(uintptr_t)path, at(64), 5, 0, NULL, NULL);
}

static inline void uname_all(struct call *call)
{
	set(call, SYS_uname, (uint64_t)(uintptr_t)at(64), NULL, 0, 0, NULL, NULL);
}

static inline void pipe_fds(struct call *call)
{
	set(call, SYS_pipe2, (uint64_t)(uintptr_t)at(64), NULL, 0, 0, NULL, NULL);
}

static inline void ioctl_bytes(struct call *call)
{
	set(call, SYS_ioctl, (uint64_t)pipe_with("hello"), (void *)FIONREAD,
		(uint64_t)(uintptr_t)at(64), 0, NULL, NULL);
}

static inline void ioctl_terminal(struct call *call)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY);

	/* The upper half of a request does not count. */
	set(call, SYS_ioctl, (uint64_t)fd, (void *)(TCGETS | 0x1234500000000ULL),
		(uint64_t)(uintptr_t)at(64), 0, NULL, NULL);
}

static inline void ioctl_interfaces(struct call *call)
{
	struct ifconf conf = { .ifc_len = 200, .ifc_buf = at(512) };

	memcpy(at(64), &conf, sizeof(conf));
	set(call, SYS_ioctl, (uint64_t)socket(AF_INET, SOCK_DGRAM, 0), (void *)SIOCGIFCONF,
		(uint64_t)(uintptr_t)at(64), 0, NULL, NULL);
}

static inline void ioctl_extents(struct call *call)
{
	struct fiemap map = { .fm_length = ~0ULL, .fm_extent_count = 3 };

	memcpy(at(64), &map, sizeof(map));
	set(call, SYS_ioctl, (uint64_t)open("/proc/self/exe", O_RDONLY), (void *)FS_IOC_FIEMAP,
		(uint64_t)(uintptr_t)at(64), 0, NULL, NULL);
}

static inline void fcntl_lock(struct call *call)
{
	struct flock lock = { .l_type = F_WRLCK };

	memcpy(at(64), &lock, sizeof(lock));
	set(call, SYS_fcntl, (uint64_t)memfd_create("file", 0), (void *)F_OFD_GETLK,
		(uint64_t)(uintptr_t)at(64), 0, NULL, NULL);
	((struct flock *)at(64))->l_pid = 0;
}

static inline void mincore_pages(struct call *call)
{
	set(call, SYS_mincore, (uint64_t)(uintptr_t)arena, (void *)4097,
		(uint64_t)(uintptr_t)at(64), 0, NULL, NULL);
}

static inline void prctl_name(struct call *call)
{
	set(call, SYS_prctl, PR_GET_NAME, at(64), 0, 0, NULL, NULL);
}

static inline void getgroups_size(struct call *call)
{
	set(call, SYS_getgroups, 64, at(64), 0, 0, NULL, NULL);
}

static inline void handle_of_root(struct call *call)
{
	*(unsigned int *)at(64) = 128;
	set(call, SYS_name_to_handle_at, (uint64_t)AT_FDCWD, "/", (uint64_t)(uintptr_t)at(64),
		(uint64_t)(uintptr_t)at(512), NULL, NULL);
}

static inline void wake_op(struct call *call)
{
	/* *uaddr2 = 5, whatever it was */
	set(call, SYS_futex, (uint64_t)(uintptr_t)at(64), (void *)(FUTEX_WAKE_OP | 128), 1, 1,
		at(128), (void *)(uintptr_t)FUTEX_OP(FUTEX_OP_SET, 5, FUTEX_OP_CMP_EQ, 0));
}

static inline void lock_pi(struct call *call)
{
	memset(at(64), 0, 4);
	set(call, SYS_futex, (uint64_t)(uintptr_t)at(64), (void *)FUTEX_LOCK_PI, 0, 0, NULL, NULL);
}

static inline void vm_readv(struct call *call)
{
	static const char secret[] = "0123456789";
	static const struct iovec remote = { (void *)(uintptr_t)secret, 10 };
	struct iovec local[2] = { { at(1000), 3 }, { at(1100), 9 } };

	memcpy(at(0), local, sizeof(local));
	set(call, SYS_process_vm_readv, (uint64_t)getpid(), at(0), 2, (uint64_t)(uintptr_t)&remote,
		(void *)1, NULL);
}

/* A buffer that can be read, not written. */
static inline void read_to_read_only(struct call *call)
{
	set(call, SYS_read, (uint64_t)pipe_with("hello"), read_only + 10, 64, 0, NULL, NULL);
	CHECK(mprotect(read_only, 4096, PROT_READ) == 0);
}

/* Of 300 MiB a part is there. */
static inline void read_huge_room(struct call *call)
{
	set(call, SYS_read, (uint64_t)pipe_with("hello"), at(ARENA_SIZE - 5000), 300 << 20, 0, NULL,
		NULL);
}

static inline void readv_with_a_hole(struct call *call)
{
	struct iovec *vec = at(0);

	vec[0] = (struct iovec){ at(100), 3 };
	vec[1] = (struct iovec){ at(ARENA_SIZE - 2), 6 };
	vec[2] = (struct iovec){ at(200), 100 };
	set(call, SYS_readv, (uint64_t)pipe_with("hello world"), vec, 3, 0, NULL, NULL);
}

static inline void poll_read_only(struct call *call)
{
	struct pollfd *fds = (struct pollfd *)(void *)read_only;

	fds[0] = (struct pollfd){ .fd = pipe_with("x"), .events = POLLIN };
	set(call, SYS_poll, (uint64_t)(uintptr_t)fds, (void *)1, 1, 0, NULL, NULL);
	CHECK(mprotect(read_only, 4096, PROT_READ) == 0);
}

static inline void recvmsg_read_only_header(struct call *call)
{
	recvmsg_room(call, 110, 200, 4, 50, 0);
	memcpy(read_only, (void *)(uintptr_t)call->args[1], sizeof(struct msghdr));
	call->args[1] = (uint64_t)(uintptr_t)read_only;
	CHECK(mprotect(read_only, 4096, PROT_READ) == 0);
}

static inline void recvfrom_read_only_length(struct call *call)
{
	recvfrom_all(call);
	memcpy(read_only + 8, (void *)(uintptr_t)call->args[5], sizeof(int));
	call->args[5] = (uint64_t)(uintptr_t)read_only + 8;
	CHECK(mprotect(read_only, 4096, PROT_READ) == 0);
}

static inline void wait4_read_only_status(struct call *call)
{
	wait4_child(call);
	call->args[1] = (uint64_t)(uintptr_t)read_only;
	CHECK(mprotect(read_only, 4096, PROT_READ) == 0);
}

#define SCENARIO(name, ...) { #name, name, __VA_ARGS__ }

static const struct scenario scenarios[] = {
	SCENARIO(read_short, false, MOVED),
	SCENARIO(read_full, false, MOVED),
	SCENARIO(read_end, false, MOVED),
	SCENARIO(read_again, false, MOVED),
	SCENARIO(read_huge_count, false, IN_PLACE),
	SCENARIO(read_null, false, MOVED),
	SCENARIO(read_off_the_end, false, GUARDED),
	SCENARIO(read_to_read_only, false, GUARDED),
	SCENARIO(read_huge_room, false, GUARDED),
	SCENARIO(readv_with_a_hole, false, GUARDED),
	SCENARIO(poll_read_only, false, GUARDED),
	SCENARIO(recvmsg_read_only_header, false, GUARDED),
	SCENARIO(recvfrom_read_only_length, false, GUARDED),
	SCENARIO(wait4_read_only_status, false, GUARDED),
	SCENARIO(readv_short, false, MOVED),
	SCENARIO(readv_same_place, false, MOVED),
	SCENARIO(readv_off_the_end, false, GUARDED),
	SCENARIO(readv_negative, false, MOVED),
	SCENARIO(readv_unreadable, false, MOVED),
	SCENARIO(readv_many, false, MOVED),
	SCENARIO(readv_too_many, false, MOVED),
	SCENARIO(splice_offset, false, MOVED),
	SCENARIO(sendfile_offset, false, MOVED),
	SCENARIO(recvfrom_all, false, MOVED),
	SCENARIO(recvfrom_small_room, false, MOVED),
	SCENARIO(recvfrom_no_room, false, MOVED),
	SCENARIO(recvfrom_negative_room, false, MOVED),
	SCENARIO(recvfrom_large_room, false, MOVED),
	SCENARIO(recvfrom_truncated, false, MOVED),
	SCENARIO(recvfrom_no_name, false, MOVED),
	SCENARIO(recvfrom_again, false, MOVED),
	SCENARIO(accept_all, true, MOVED),
	SCENARIO(accept_small_room, false, MOVED),
	SCENARIO(accept_no_name, false, MOVED),
	SCENARIO(getsockopt_string, false, MOVED),
	SCENARIO(recvmsg_all, false, MOVED),
	SCENARIO(recvmsg_small, false, MOVED),
	SCENARIO(recvmsg_truncated, false, MOVED),
	SCENARIO(recvmsg_data_only, false, MOVED),
	SCENARIO(recvmsg_no_buffers, false, MOVED),
	SCENARIO(recvmsg_too_many_buffers, false, MOVED),
	SCENARIO(recvmsg_bad_buffer, false, GUARDED),
	SCENARIO(recvmsg_bad_header, false, MOVED),
	SCENARIO(recvmmsg_three, true, MOVED),
	SCENARIO(recvmmsg_none, false, MOVED),
	SCENARIO(sendmmsg_two, false, MOVED),
	SCENARIO(poll_ready, false, MOVED),
	SCENARIO(poll_timeout, false, MOVED),
	SCENARIO(poll_bad, false, GUARDED),
	SCENARIO(poll_none, false, MOVED),
	SCENARIO(ppoll_ready, true, MOVED),
	SCENARIO(ppoll_read_only_timeout, false, MOVED),
	SCENARIO(select_ready, true, MOVED),
	SCENARIO(select_same_set, false, MOVED),
	SCENARIO(select_timeout, false, MOVED),
	SCENARIO(select_bad_fd, false, MOVED),
	SCENARIO(pselect_many, false, MOVED),
	SCENARIO(epoll_two, false, MOVED),
	SCENARIO(epoll_none, false, MOVED),
	SCENARIO(epoll_negative, false, MOVED),
	SCENARIO(nanosleep_interrupted, true, MOVED),
	SCENARIO(nanosleep_whole, false, MOVED),
	SCENARIO(wait4_child, true, MOVED),
	SCENARIO(wait4_not_yet, false, MOVED),
	SCENARIO(wait4_nobody, false, MOVED),
	SCENARIO(waitid_child, true, MOVED),
	SCENARIO(waitid_nobody, false, MOVED),
	SCENARIO(sigtimedwait_one, false, MOVED),
	SCENARIO(sigtimedwait_again, false, MOVED),
	SCENARIO(msgrcv_all, false, MOVED),
	SCENARIO(msgrcv_cut, false, MOVED),
	SCENARIO(msgrcv_too_big, false, MOVED),
	SCENARIO(fstat_file, false, MOVED),
	SCENARIO(statx_bad_flags, false, MOVED),
	SCENARIO(getdents_proc, true, MOVED),
	SCENARIO(getcwd_all, false, MOVED),
	SCENARIO(readlink_cut, false, MOVED),
	SCENARIO(uname_all, false, MOVED),
	SCENARIO(pipe_fds, false, MOVED),
	SCENARIO(ioctl_bytes, false, MOVED),
	SCENARIO(ioctl_terminal, false, MOVED),
	SCENARIO(ioctl_interfaces, false, MOVED),
	SCENARIO(ioctl_extents, false, MOVED),
	SCENARIO(fcntl_lock, false, MOVED),
	SCENARIO(mincore_pages, false, MOVED),
	SCENARIO(prctl_name, false, MOVED),
	SCENARIO(getgroups_size, false, MOVED),
	SCENARIO(handle_of_root, false, MOVED),
	SCENARIO(wake_op, false, MOVED),
	SCENARIO(lock_pi, false, MOVED),
	SCENARIO(vm_readv, false, MOVED),
};
enum { SCENARIO_COUNT = sizeof(scenarios) / sizeof(scenarios[0]) };

#endif
