/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: recvmsg(2) writes to seven places: two buffers, the sender's address and
 * its length, control data and its length, and the flags.
 * Wrong: one of them is written early, or lands in scratch and is not copied.
 * pyrr-test: cflags=-pthread
 */
#include "watch.h"

#include <sys/socket.h>
#include <sys/un.h>

static struct {
	struct msghdr msg;
	struct sockaddr_un from;
	char control[64];
	char first[16], second[32];
} area;
static int receiver;

static void *receive(void *arg)
{
	watch_about_to_sleep(arg);
	CHECK(recvmsg(receiver, &area.msg, 0) == 24);
	return NULL;
}

static void prepare(struct iovec *vec)
{
	memset(&area, 0, sizeof(area));
	vec[0] = (struct iovec){ .iov_base = area.first, .iov_len = sizeof(area.first) };
	vec[1] = (struct iovec){ .iov_base = area.second, .iov_len = sizeof(area.second) };
	area.msg.msg_name = &area.from;
	area.msg.msg_namelen = sizeof(area.from);
	area.msg.msg_iov = vec;
	area.msg.msg_iovlen = 2;
	area.msg.msg_control = area.control;
	area.msg.msg_controllen = sizeof(area.control);
	area.msg.msg_flags = 0x5a5a;
}

int main(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = "to.sock" };
	struct sockaddr_un me = { .sun_family = AF_UNIX, .sun_path = "from.sock" };
	int sender = socket(AF_UNIX, SOCK_DGRAM, 0), on = 1;

	receiver = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK(bind(receiver, (struct sockaddr *)&to, sizeof(to)) == 0);
	CHECK(bind(sender, (struct sockaddr *)&me, sizeof(me)) == 0);
	CHECK(setsockopt(receiver, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0);
	for (int round = 0; round < 10; round++) {
		struct watch w;
		struct iovec vec[2];
		const struct ucred *cred;

		prepare(vec);
		watch_start(&w, &area, sizeof(area), receive);
		CHECK(sendto(sender, "a datagram of 24 bytes..", 24, 0, (struct sockaddr *)&to,
			      sizeof(to)) == 24);
		watch_finish(&w, "recvmsg");
		CHECK(memcmp(area.first, "a datagram of 24", 16) == 0);
		CHECK(memcmp(area.second, " bytes..", 8) == 0);
		CHECK(strcmp(area.from.sun_path, "from.sock") == 0);
		CHECK(area.msg.msg_iov == vec && area.msg.msg_name == &area.from);
		CHECK(area.msg.msg_flags == 0);
		cred = (const void *)CMSG_DATA(CMSG_FIRSTHDR(&area.msg));
		CHECK(cred->pid == getpid());
		say("from pid %d, name length %u\n", cred->pid, area.msg.msg_namelen);
	}
	return 0;
}
