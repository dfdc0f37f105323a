/* SPDX-License-Identifier: GPL-2.0-or-later
 * Real system calls, made by the test itself on an arena of memory, for the tests
 * of outputs and scratch. The test is its own tracee: process_vm_readv works on
 * oneself. Each scenario can be set up any number of times and then always does
 * the same, up to times of day (`varies`). */
#ifndef PRR_SYSCALL_SCENARIOS_H
#define PRR_SYSCALL_SCENARIOS_H

#include "syscall_types.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.h"
#include "outputs.h"

#define CHECK(condition)                                                                          \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(stderr, "%s:%d: %s: not true: %s (%s, %s)\n", __FILE__, __LINE__, \
				__func__, #condition, current ? current->name : "-",              \
				error.message ? error.message : "-");                             \
			exit(1);                                                                  \
		}                                                                                 \
	} while (0)
#define OK(call) CHECK((call) == PRR_OK)

struct call {
	long nr;
	uint64_t args[6];
};

enum treatment {
	MOVED,
	GUARDED, /* some place is not writable */
	IN_PLACE /* redirect leaves it there */
};

struct scenario {
	const char *name;
	void (*set_up)(struct call *call);
	bool varies;      /* a time is among the outputs */
	enum treatment treatment; /* by scratch */
};

static const struct scenario *current;
static struct prr_error error;

/* The program's memory: everything the kernel writes for a scenario is here. */
enum { ARENA_SIZE = 4 * 4096 };
static uint8_t *arena; /* followed by a page without access */
static pid_t lasting_child; /* does not end by itself */
static uint8_t *read_only; /* a page that can only be read */

static inline void arena_init(void)
{
	arena = mmap(NULL, ARENA_SIZE + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	CHECK(arena != MAP_FAILED);
	CHECK(mprotect(arena + ARENA_SIZE, 4096, PROT_NONE) == 0);
	read_only = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(read_only != MAP_FAILED);
}

/* Descriptors from 3 on, memory and children back to what they were. */
static inline void scenario_reset(void)
{
	CHECK(syscall(SYS_close_range, 3, ~0U, 0) == 0);
	CHECK(mprotect(read_only, 4096, PROT_READ | PROT_WRITE) == 0);
	memset(read_only, 0, 4096);
	for (size_t i = 0; i < ARENA_SIZE; i++)
		arena[i] = (uint8_t)(0xa5 ^ i);
	if (lasting_child > 0)
		kill(lasting_child, SIGKILL);
	lasting_child = 0;
	while (waitpid(-1, NULL, __WALL) > 0)
		;
}

static inline void *at(size_t offset)
{
	return arena + offset;
}

static inline void set(struct call *call, long nr, uint64_t a, const void *b, uint64_t c,
	uint64_t d, const void *e, const void *f)
{
	*call = (struct call){ nr,
		{ a, (uint64_t)(uintptr_t)b, c, d, (uint64_t)(uintptr_t)e,
			(uint64_t)(uintptr_t)f } };
}

static inline long make(const long nr, const uint64_t args[6])
{
	long result = syscall(nr, args[0], args[1], args[2], args[3], args[4], args[5]);

	return result == -1 ? -errno : result;
}

/* ------------------------------------------------------- pipes and buffers */

static inline int pipe_with(const char *text)
{
	int fds[2];

	CHECK(pipe2(fds, O_NONBLOCK) == 0);
	CHECK(write(fds[1], text, strlen(text)) == (ssize_t)strlen(text));
	return fds[0];
}

static inline void read_short(struct call *call)
{
	set(call, SYS_read, (uint64_t)pipe_with("hello"), at(100), 64, 0, NULL, NULL);
}

static inline void read_full(struct call *call)
{
	set(call, SYS_read, (uint64_t)pipe_with("hello world"), at(4090), 8, 0, NULL, NULL);
}

static inline void read_end(struct call *call)
{
	int fd = pipe_with("");

	close(fd + 1);
	set(call, SYS_read, (uint64_t)fd, at(100), 64, 0, NULL, NULL);
}

static inline void read_again(struct call *call)
{
	set(call, SYS_read, (uint64_t)pipe_with(""), at(100), 64, 0, NULL, NULL);
}

static inline void read_huge_count(struct call *call)
{
	set(call, SYS_read, (uint64_t)pipe_with("hello"), at(100), ~0ULL >> 1, 0, NULL, NULL);
}

static inline void read_null(struct call *call)
{
	set(call, SYS_read, (uint64_t)pipe_with("hello"), NULL, 5, 0, NULL, NULL);
}

/* The last bytes do not fit before the unmapped page. */
static inline void read_off_the_end(struct call *call)
{
	set(call, SYS_read, (uint64_t)pipe_with("hello"), at(ARENA_SIZE - 3), 64, 0, NULL, NULL);
}

static inline void readv_with(struct call *call, struct iovec *iov, size_t count, int fd)
{
	memcpy(at(0), iov, count * sizeof(*iov));
	set(call, SYS_readv, (uint64_t)fd, at(0), count, 0, NULL, NULL);
}

static inline void readv_short(struct call *call)
{
	struct iovec iov[] = { { at(1000), 3 }, { at(900), 0 }, { at(800), 4 }, { at(700), 9 },
		{ at(600), 10 } };

	readv_with(call, iov, 5, pipe_with("0123456789abc"));
}

static inline void readv_same_place(struct call *call)
{
	struct iovec iov[] = { { at(1000), 3 }, { at(1001), 3 }, { at(1000), 2 } };

	readv_with(call, iov, 3, pipe_with("0123456789abc"));
}

static inline void readv_off_the_end(struct call *call)
{
	struct iovec iov[] = { { at(1000), 3 }, { at(ARENA_SIZE - 2), 8 }, { at(700), 9 } };

	readv_with(call, iov, 3, pipe_with("0123456789abc"));
}

static inline void readv_negative(struct call *call)
{
	struct iovec iov[] = { { at(1000), 3 }, { at(800), (size_t)-1 } };

	readv_with(call, iov, 2, pipe_with("0123456789abc"));
}

static inline void readv_unreadable(struct call *call)
{
	set(call, SYS_readv, (uint64_t)pipe_with("hello"), at(ARENA_SIZE), 2, 0, NULL, NULL);
}

static inline void readv_many(struct call *call)
{
	struct iovec *iov = at(0);

	for (size_t i = 0; i < 500; i++)
		iov[i] = (struct iovec){ at(8192 + i * 3), 1 + i % 2 };
	set(call, SYS_readv, (uint64_t)pipe_with("0123456789abcdefghijklm"), iov, 500, 0, NULL,
		NULL);
}

static inline void readv_too_many(struct call *call)
{
	set(call, SYS_readv, (uint64_t)pipe_with("hello"), at(0), 1025, 0, NULL, NULL);
}

static inline void splice_offset(struct call *call)
{
	int fd = memfd_create("file", 0), fds[2];
	loff_t offset = 2;

	CHECK(pipe(fds) == 0 && write(fd, "0123456789", 10) == 10);
	memcpy(at(64), &offset, sizeof(offset));
	set(call, SYS_splice, (uint64_t)fd, at(64), (uint64_t)fds[1], 0, (void *)5, NULL);
}

static inline void sendfile_offset(struct call *call)
{
	int fd = memfd_create("file", 0), fds[2];
	loff_t offset = 2;

	CHECK(pipe(fds) == 0 && write(fd, "0123456789", 10) == 10);
	memcpy(at(64), &offset, sizeof(offset));
	*call = (struct call){ SYS_sendfile,
		{ (uint64_t)fds[1], (uint64_t)fd, (uint64_t)(uintptr_t)at(64), 5, 0, 0 } };
}

/* ----------------------------------------------------------------- sockets */

/* A datagram receiver named by an abstract address; *peer sends to it. */
static inline int datagram_pair(int *peer)
{
	struct sockaddr_un name = { AF_UNIX, "" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	int one = 1;

	*peer = socket(AF_UNIX, SOCK_DGRAM, 0);
	snprintf(name.sun_path + 1, 32, "prr-%d-to", getpid());
	CHECK(bind(fd, (void *)&name, 40) == 0);
	CHECK(connect(*peer, (void *)&name, 40) == 0);
	snprintf(name.sun_path + 1, 32, "prr-%d-from", getpid());
	CHECK(bind(*peer, (void *)&name, 40) == 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) == 0);
	return fd;
}

static inline void put_len(size_t offset, int len)
{
	memcpy(at(offset), &len, sizeof(len));
}

static inline void recvfrom_room(struct call *call, int room, uint64_t flags)
{
	int peer, fd = datagram_pair(&peer);

	CHECK(send(peer, "datagram", 8, 0) == 8);
	put_len(512, room);
	set(call, SYS_recvfrom, (uint64_t)fd, at(100), 5, flags, at(200), at(512));
}

static inline void recvfrom_all(struct call *call)
{
	recvfrom_room(call, 110, 0);
}

static inline void recvfrom_small_room(struct call *call)
{
	recvfrom_room(call, 7, 0);
}

static inline void recvfrom_no_room(struct call *call)
{
	recvfrom_room(call, 0, 0);
}

static inline void recvfrom_negative_room(struct call *call)
{
	recvfrom_room(call, -5, 0);
}

static inline void recvfrom_large_room(struct call *call)
{
	recvfrom_room(call, 0x7fffffff, 0);
}

static inline void recvfrom_truncated(struct call *call)
{
	recvfrom_room(call, 110, MSG_TRUNC);
}

static inline void recvfrom_no_name(struct call *call)
{
	recvfrom_room(call, 110, 0);
	call->args[4] = 0;
}

static inline void recvfrom_again(struct call *call)
{
	int peer, fd = datagram_pair(&peer);

	put_len(512, 110);
	set(call, SYS_recvfrom, (uint64_t)fd, at(100), 5, 0, at(200), at(512));
}

static inline void accept_room(struct call *call, int room)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in client = name;
	socklen_t len = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM, 0), peer = socket(AF_INET, SOCK_STREAM, 0);

	/* one client address for all runs */
	client.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)getpid() % 65536);
	CHECK(bind(fd, (void *)&name, len) == 0 && listen(fd, 1) == 0);
	CHECK(getsockname(fd, (void *)&name, &len) == 0);
	CHECK(bind(peer, (void *)&client, len) == 0);
	CHECK(connect(peer, (void *)&name, len) == 0);
	put_len(512, room);
	set(call, SYS_accept4, (uint64_t)fd, at(200), (uint64_t)(uintptr_t)at(512), 0, NULL, NULL);
}

static inline void accept_all(struct call *call)
{
	accept_room(call, 128);
}

static inline void accept_small_room(struct call *call)
{
	accept_room(call, 2);
}

static inline void accept_no_name(struct call *call)
{
	accept_room(call, 2);
	call->args[1] = call->args[2] = 0;
}

static inline void getsockopt_string(struct call *call)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	put_len(512, 64);
	set(call, SYS_getsockopt, (uint64_t)fd, (void *)IPPROTO_TCP, TCP_CONGESTION,
		(uint64_t)(uintptr_t)at(256), at(512), NULL);
}

/* ---------------------------------------------------------------- messages */

/* A message header at `offset`, its buffers in the same place of the arena. */
static inline void put_header(
	size_t offset, size_t name_room, size_t control_room, size_t first, size_t second)
{
	struct iovec iov[2] = { { at(offset + 1024), first }, { at(offset + 1200), second } };
	struct msghdr header = { .msg_name = name_room ? at(offset + 400) : NULL,
		.msg_namelen = (socklen_t)name_room,
		.msg_iov = at(offset + 304),
		.msg_iovlen = 2,
		.msg_control = control_room ? at(offset + 600) : NULL,
		.msg_controllen = control_room,
		.msg_flags = 0x1234 };

	memcpy(at(offset), &header, sizeof(header));
	memcpy(at(offset + 304), iov, sizeof(iov));
}

static inline void send_with_fd(int peer)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { (char *)"a message", 9 };
	struct msghdr header = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *first = CMSG_FIRSTHDR(&header);
	int fd = 0;

	first->cmsg_level = SOL_SOCKET;
	first->cmsg_type = SCM_RIGHTS;
	first->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(first), &fd, sizeof(fd));
	CHECK(sendmsg(peer, &header, 0) == 9);
}

static inline void recvmsg_room(
	struct call *call, size_t name, size_t control, size_t first, size_t second, uint64_t flags)
{
	int peer, fd = datagram_pair(&peer);

	send_with_fd(peer);
	put_header(0, name, control, first, second);
	set(call, SYS_recvmsg, (uint64_t)fd, at(0), flags, 0, NULL, NULL);
}

static inline void recvmsg_all(struct call *call)
{
	recvmsg_room(call, 110, 200, 4, 50, 0);
}

static inline void recvmsg_small(struct call *call)
{
	recvmsg_room(call, 5, 36, 2, 3, 0);
}

static inline void recvmsg_truncated(struct call *call)
{
	recvmsg_room(call, 5, 200, 2, 3, MSG_TRUNC);
}

static inline void recvmsg_data_only(struct call *call)
{
	recvmsg_room(call, 0, 0, 20, 3, 0);
}

static inline void recvmsg_no_buffers(struct call *call)
{
	recvmsg_room(call, 110, 200, 4, 50, 0);
	((struct msghdr *)at(0))->msg_iovlen = 0;
}

static inline void recvmsg_too_many_buffers(struct call *call)
{
	recvmsg_room(call, 110, 200, 4, 50, 0);
	((struct msghdr *)at(0))->msg_iovlen = 1025;
}

static inline void recvmsg_bad_buffer(struct call *call)
{
	recvmsg_room(call, 110, 200, 4, 50, 0);
	((struct iovec *)at(304))[1].iov_base = at(ARENA_SIZE);
}

static inline void recvmsg_bad_header(struct call *call)
{
	recvmsg_room(call, 110, 200, 4, 50, 0);
	call->args[1] = (uint64_t)(uintptr_t)at(ARENA_SIZE - 8);
}

static inline void put_array_header(size_t index, size_t name_room)
{
	size_t offset = 2048 * (index + 1);
	struct mmsghdr *array = at(0);

	put_header(offset, name_room, index == 1 ? 100 : 0, 3, 40);
	memcpy(&array[index].msg_hdr, at(offset), sizeof(struct msghdr));
	array[index].msg_len = 0x55555555;
}

static inline void recvmmsg_three(struct call *call)
{
	int peer, fd = datagram_pair(&peer);
	struct timespec timeout = { 1, 0 };

	CHECK(send(peer, "one", 3, 0) == 3);
	send_with_fd(peer);
	CHECK(send(peer, "three three", 11, 0) == 11);
	for (size_t i = 0; i < 5; i++)
		put_array_header(i, i == 0 ? 0 : 110);
	memcpy(at(1000), &timeout, sizeof(timeout));
	set(call, SYS_recvmmsg, (uint64_t)fd, at(0), 5, MSG_WAITFORONE, at(1000), NULL);
}

static inline void recvmmsg_none(struct call *call)
{
	int peer, fd = datagram_pair(&peer);

	for (size_t i = 0; i < 5; i++)
		put_array_header(i, 110);
	set(call, SYS_recvmmsg, (uint64_t)fd, at(0), 5, 0, NULL, NULL);
}

static inline void sendmmsg_two(struct call *call)
{
	int fds[2];

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) == 0);
	for (size_t i = 0; i < 3; i++)
		put_array_header(i, 0);
	((struct mmsghdr *)at(0))[1].msg_hdr.msg_controllen = 0;
	((struct mmsghdr *)at(0))[2].msg_hdr.msg_iov = at(ARENA_SIZE);
	set(call, SYS_sendmmsg, (uint64_t)fds[0], at(0), 3, 0, NULL, NULL);
}

#endif
