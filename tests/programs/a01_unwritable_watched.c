/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: calls whose targets are not wholly writable sleep until another thread,
 * which looks at the memory all the while, sends something: a buffer that ends
 * in a page without access or in a page for reading only, vectors with a bad one
 * among them, a message whose header is read-only, a poll of a read-only set, a child's
 * status that has no place.
 * Wrong: the kernel writes what fits straight to the program's memory, in the
 * middle of the watcher's slice; or nobody else runs, and the recording hangs.
 * pyrr-test: cflags=-pthread
 */
#include "watch.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { PAGE = 4096 };

static int pair[2];
static unsigned char *pages; /* one for all, one for reading, one for nothing */
static long result;
static int reason;

static long noted(long value)
{
	reason = value == -1 ? errno : 0;
	result = value;
	return value;
}

static void *read_into_hole(void *arg)
{
	watch_about_to_sleep(arg);
	noted(read(pair[0], pages + PAGE - 32, 64));
	return NULL;
}

static void *read_before_none(void *arg)
{
	CHECK(mprotect(pages + PAGE, PAGE, PROT_NONE) == 0);
	watch_about_to_sleep(arg);
	noted(read(pair[0], pages + PAGE - 32, 64));
	CHECK(mprotect(pages + PAGE, PAGE, PROT_READ) == 0);
	return NULL;
}

static void *readv_with_bad_one(void *arg)
{
	struct iovec parts[3] = { { pages + 64, 8 }, { pages + PAGE - 4, 8 }, { pages, 8 } };

	watch_about_to_sleep(arg);
	noted(readv(pair[0], parts, 3));
	return NULL;
}

static void *receive_to_read_only_header(void *arg)
{
	struct iovec part = { pages, 64 };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	CHECK(mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
	memcpy(pages + PAGE, &header, sizeof(header));
	CHECK(mprotect(pages + PAGE, PAGE, PROT_READ) == 0);
	watch_about_to_sleep(arg);
	noted(recvmsg(pair[0], (struct msghdr *)(void *)(pages + PAGE), 0));
	return NULL;
}

static void *receive_with_bad_name(void *arg)
{
	socklen_t len = 100;

	watch_about_to_sleep(arg);
	noted(recvfrom(pair[0], pages, 64, 0, (struct sockaddr *)(void *)(pages + PAGE), &len));
	return NULL;
}

static void *poll_read_only(void *arg)
{
	struct pollfd fds[2] = { { .fd = pair[0], .events = POLLIN }, { .fd = -1 } };

	CHECK(mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
	memcpy(pages + PAGE - sizeof(fds[0]), fds, sizeof(fds));
	CHECK(mprotect(pages + PAGE, PAGE, PROT_READ) == 0);
	watch_about_to_sleep(arg);
	noted(poll((struct pollfd *)(void *)(pages + PAGE - sizeof(fds[0])), 2, -1));
	return NULL;
}

static void *read_with_stack(void *arg)
{
	unsigned char deep[1 << 16]; /* the thread's stack is mapped as a whole */

	watch_about_to_sleep(arg);
	noted(read(pair[0], pages, 64));
	memset(deep, 1, sizeof(deep));
	return deep[result] ? NULL : arg;
}

static void *wait_for_child(void *arg)
{
	watch_about_to_sleep(arg);
	noted(waitpid(-1, (int *)(void *)(pages + PAGE), 0));
	result = result > 0;
	return NULL;
}

static void show(const char *what, void *(*body)(void *), bool child)
{
	char text[48];
	int go[2];
	struct watch w;

	memset(pages, '.', PAGE);
	memset(text, 't', sizeof(text));
	CHECK(pipe(go) == 0);
	pid_t pid = child ? fork() : 0;

	if (child && pid == 0) {
		CHECK(close(go[1]) == 0 && read(go[0], text, 1) == 0);
		_exit(7);
	}
	watch_start(&w, pages, WATCH_MAX, body);
	w.area = pages + PAGE - WATCH_MAX;
	memcpy(w.before, (const void *)w.area, WATCH_MAX);
	if (!child)
		CHECK(send(pair[1], text, sizeof(text), 0) == sizeof(text));
	CHECK(close(go[1]) == 0);
	watch_finish(&w, what);
	CHECK(close(go[0]) == 0);
	if (child)
		while (waitpid(pid, NULL, 0) == pid)
			;
	say("%s: %ld %s, %016lx\n", what, result, reason ? strerror(reason) : "",
		hash_bytes(pages, PAGE, HASH_START));
	while (recv(pair[0], text, sizeof(text), MSG_DONTWAIT) > 0)
		;
}

int main(void)
{
	pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED && mprotect(pages + PAGE, PAGE, PROT_READ) == 0);
	CHECK(mprotect(pages + 2 * PAGE, PAGE, PROT_NONE) == 0);
	for (int type = 0; type < 2; type++) {
		CHECK(socketpair(AF_UNIX, type ? SOCK_DGRAM : SOCK_STREAM, 0, pair) == 0);
		say("%s\n", type ? "datagrams" : "a stream");
		show("read to a page for reading", read_into_hole, false);
		show("read to a page for nothing", read_before_none, false);
		show("readv", readv_with_bad_one, false);
		show("recvmsg", receive_to_read_only_header, false);
		show("recvfrom", receive_with_bad_name, false);
		show("poll", poll_read_only, false);
		show("read", read_with_stack, false);
		CHECK(close(pair[0]) == 0 && close(pair[1]) == 0);
	}
	CHECK(pipe(pair) == 0);
	show("wait4", wait_for_child, true);
	return 0;
}
