/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unix sockets: stream, datagram and seqpacket, named, abstract and unnamed;
 * SCM_RIGHTS and SCM_CREDENTIALS to another process, recvmmsg and sendmmsg, peeks,
 * truncation, shutdown, options, addresses.
 */
#include "check.h"

#include <sys/socket.h>
#include <sys/un.h>

static void send_descriptor(int via, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec vec = { .iov_base = "fd", .iov_len = 2 };
	struct msghdr msg = { .msg_iov = &vec,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };

	control.header = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS
	};
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	CHECK(sendmsg(via, &msg, 0) == 2);
}

static int receive_descriptor(int via)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char text[8] = "";
	struct iovec vec = { .iov_base = text, .iov_len = sizeof(text) };
	struct msghdr msg = { .msg_iov = &vec,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	int fd;

	CHECK(recvmsg(via, &msg, MSG_CMSG_CLOEXEC) == 2 && strcmp(text, "fd") == 0);
	CHECK(control.header.cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

static void between_processes(void)
{
	int pair[2], fds[2];
	struct ucred cred;
	socklen_t len = sizeof(cred);
	char text[8] = "";
	pid_t child;

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
	child = fork();
	if (child == 0) {
		CHECK(pipe(fds) == 0);
		send_descriptor(pair[1], fds[0]);
		write_all(fds[1], "passed", 6);
		_exit(0);
	}
	fds[0] = receive_descriptor(pair[0]);
	CHECK(read(fds[0], text, 6) == 6 && strcmp(text, "passed") == 0);
	reap_ok(child);
	CHECK(getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
		cred.pid == getpid());
	say("descriptor %d, peer %d\n", fds[0], cred.pid);
}

static void many_messages(void)
{
	char bytes[5][16];
	struct iovec vec[5];
	struct mmsghdr messages[5];
	struct timespec limit = { .tv_sec = 5 };
	int pair[2];

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
	memset(messages, 0, sizeof(messages));
	for (int i = 0; i < 5; i++) {
		vec[i] = (struct iovec){ .iov_base = bytes[i],
			.iov_len = (size_t)snprintf(bytes[i], 16, "message %d", i) };
		messages[i].msg_hdr.msg_iov = &vec[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	CHECK(sendmmsg(pair[0], messages, 5, 0) == 5 && messages[4].msg_len == 9);
	memset(bytes, 0, sizeof(bytes));
	vec[2].iov_len = 3; /* will be cut */
	CHECK(recv(pair[1], bytes[0], 4, MSG_PEEK | MSG_TRUNC) == 9 &&
		memcmp(bytes[0], "mess", 4) == 0);
	CHECK(recvmmsg(pair[1], messages, 5, MSG_WAITFORONE, &limit) == 5);
	CHECK(strcmp(bytes[3], "message 3") == 0 && strcmp(bytes[2], "mes") == 0);
	CHECK(messages[2].msg_hdr.msg_flags & MSG_TRUNC);
	CHECK(recvmmsg(pair[1], messages, 5, MSG_DONTWAIT, NULL) == -1 && errno == EAGAIN);
}

static void named(const struct sockaddr_un *name, socklen_t len)
{
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), client, server, size = 0;
	struct sockaddr_un back;
	socklen_t back_len = sizeof(back);
	char text[8] = "";

	CHECK(bind(listener, (const struct sockaddr *)name, len) == 0 && listen(listener, 3) == 0);
	client = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(connect(client, (const struct sockaddr *)name, len) == 0);
	server = accept(listener, NULL, NULL);
	CHECK(server >= 0 && getpeername(client, (struct sockaddr *)&back, &back_len) == 0);
	CHECK(back_len > 2 && back_len <= len && memcmp(&back, name, back_len) == 0);
	CHECK(send(server, "hello", 5, MSG_NOSIGNAL) == 5 && shutdown(server, SHUT_WR) == 0);
	CHECK(recv(client, text, 8, 0) == 5 && recv(client, text, 8, 0) == 0);
	back_len = sizeof(size);
	CHECK(getsockopt(client, SOL_SOCKET, SO_RCVBUF, &size, &back_len) == 0);
	say("buffer %d\n", size);
	close(client);
	CHECK(send(server, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
	close(server);
	close(listener);
}

int main(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "name.sock" };

	between_processes();
	many_messages();
	named(&name, sizeof(name));
	memset(name.sun_path, 0, sizeof(name.sun_path));
	(void)snprintf(name.sun_path + 1, 40, "abstract-%d", getpid());
	named(&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 30));
	return 0;
}
