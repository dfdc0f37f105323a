/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: calls that may block with targets that are not writable, wholly or in
 * part, fail or return short just as without a recorder.
 * Wrong: redirected to scratch they succeed, or the recorder itself fails.
 * pyrr-test: deterministic
 */
#include "check.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>

static void show(const char *what, long result)
{
	say("%s: %ld %s\n", what, result, result == -1 ? strerror(errno) : "");
}

int main(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[64];
	int pair[2], status = 0;
	pid_t child;

	CHECK(page != MAP_FAILED && mprotect(page + 4096, 4096, PROT_NONE) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	memset(text, 't', sizeof(text));
	memset(page, '.', 4096);

	write_all(pair[1], text, 64);
	show("read to an unmapped page", read(pair[0], page + 4096, 64));
	show("read across the edge", read(pair[0], page + 4096 - 20, 64));
	say("%.20s\n", page + 4096 - 20);
	show("recv of what is left", recv(pair[0], text, 64, MSG_DONTWAIT));
	show("read to null", read(pair[0], NULL, 0));
	show("poll of an unmapped set", poll((struct pollfd *)(page + 4096), 1, 10));
	show("read of a bad descriptor", read(999, text, 1));
	child = fork();
	if (child == 0)
		_exit(5);
	show("wait4 with an unmapped status", waitpid(child, (int *)(page + 4096), 0) == child);
	show("wait4 again", waitpid(child, &status, 0));
	write_all(pair[1], text, 4);
	show("read-only target", read(pair[0], (void *)"constant", 4));
	return 0;
}
