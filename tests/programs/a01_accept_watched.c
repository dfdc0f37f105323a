/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: accept(2) and recvfrom(2) write an address and its length.
 * Wrong: seen early, or the length (in and out) is not restored.
 * pyrr-test: cflags=-pthread
 */
#include "watch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static struct {
	struct sockaddr_in peer;
	socklen_t len;
	int fd;
} area;
static int listener;

static void *accepter(void *arg)
{
	watch_about_to_sleep(arg);
	area.fd = accept4(listener, (struct sockaddr *)&area.peer, &area.len, SOCK_CLOEXEC);
	CHECK(area.fd >= 0);
	return NULL;
}

int main(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	socklen_t len = sizeof(to);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(bind(listener, (struct sockaddr *)&to, sizeof(to)) == 0 && listen(listener, 4) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&to, &len) == 0);
	for (int round = 0; round < 8; round++) {
		struct watch w;
		struct sockaddr_in me;
		int client = socket(AF_INET, SOCK_STREAM, 0);

		memset(&area, 0, sizeof(area));
		area.len = sizeof(area.peer);
		area.fd = -1;
		watch_start(&w, &area.peer, sizeof(area.peer), accepter);
		CHECK(connect(client, (struct sockaddr *)&to, sizeof(to)) == 0);
		watch_finish(&w, "accept4");
		len = sizeof(me);
		CHECK(getsockname(client, (struct sockaddr *)&me, &len) == 0);
		CHECK(area.len == sizeof(me) && area.peer.sin_port == me.sin_port);
		say("connection from port %d to %d\n", ntohs(me.sin_port), ntohs(to.sin_port));
		close(area.fd);
		close(client);
	}
	return 0;
}
