/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * mremap of parts: out of the middle of file mappings, shrinking over several
 * mappings, MREMAP_DONTUNMAP, several mappings at once (Linux v6.17), and what
 * became of fork's advice to the moved ranges.
 * Wrong: the model of the address space is off: fork, file changes or later
 * calls meet the wrong range.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

enum { P = 4096 };
static sigjmp_buf back;
static int fd;

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

static int peek(const volatile char *p)
{
	return sigsetjmp(back, 1) ? -1 : *p;
}

static char *reserve(int pages)
{
	char *p = mmap(NULL, (size_t)pages * P, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static char *map_file(int flags)
{
	char *p = mmap(NULL, 8 * P, PROT_READ | PROT_WRITE, flags, fd, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static char *move(char *from, int pages, int new_pages, char *to)
{
	return mremap(
		from, (size_t)pages * P, (size_t)new_pages * P, MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

/* What the file holds in a page shows where a mapping really leads. */
static void middle(int flags)
{
	char *p = map_file(flags), *to = reserve(4);

	CHECK(move(p + 3 * P, 2, 2, to) == to && to[0] == 'd' && to[P] == 'e');
	CHECK(peek(p + 3 * P) == -1 && peek(p + 5 * P) == 'f');
	CHECK(pwrite(fd, "X", 1, 4 * P + 1) == 1 && to[P + 1] == 'X');
	CHECK(pwrite(fd, "Y", 1, 5 * P + 1) == 1 && p[5 * P + 1] == 'Y');
	CHECK(mprotect(p + 6 * P, P, PROT_READ) == 0);
	CHECK(mremap(p + 5 * P, 3 * P, P, 0) == p + 5 * P);
	CHECK(peek(p + 6 * P) == -1 && peek(p + 7 * P) == -1 && peek(p + 5 * P) == 'f');
	CHECK(move(to, 2, 4, reserve(4)) != MAP_FAILED);
	say("%s: %c%c\n", flags == MAP_SHARED ? "shared" : "private", p[5 * P], p[5 * P + 1]);
}

static void several(void)
{
	char *p = map_file(MAP_PRIVATE), *to = reserve(8), *got;

	CHECK(mprotect(p + 2 * P, 2 * P, PROT_READ) == 0);
	p[0] = '!';
	got = move(p, 8, 8, to);
	if (got == MAP_FAILED) {
		CHECK(errno == EFAULT);
		say("not several at once\n");
		return;
	}
	CHECK(to[0] == '!' && to[2 * P] == 'c' && to[7 * P] == 'h' && peek(p + P) == -1);
	CHECK(pwrite(fd, "Z", 1, 7 * P + 1) == 1 && to[7 * P + 1] == 'Z');
	to[4 * P] = '?';
	CHECK(to[4 * P] == '?');
}

static void left_behind(void)
{
	char *p = mmap(NULL, 2 * P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     *to;

	p[0] = 'm';
	to = mremap(p, 2 * P, 2 * P, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	if (to == MAP_FAILED) {
		say("no MREMAP_DONTUNMAP\n");
		return;
	}
	CHECK(to[0] == 'm' && p[0] == 0);
	p[P] = 'n';
	CHECK(to[P] == 0);
}

static void advised(void)
{
	char *p = mmap(NULL, 8 * P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *hole = p + 6 * P, *to = reserve(2), *file = map_file(MAP_PRIVATE);
	pid_t child;

	memset(p, 'x', 8 * P);
	CHECK(madvise(p + P, 2 * P, MADV_WIPEONFORK) == 0);
	CHECK(madvise(p + 3 * P, P, MADV_DONTFORK) == 0);
	CHECK(munmap(hole, P) == 0);
	CHECK(madvise(p + 5 * P, 3 * P, MADV_WIPEONFORK) == -1 && errno == ENOMEM);
	CHECK(madvise(file, P, MADV_WIPEONFORK) == -1 && errno == EINVAL);
	CHECK(madvise(p + 4 * P + 1, P, MADV_DONTFORK) == -1 && errno == EINVAL);
	CHECK(move(p + 2 * P, 2, 2, to) == to || errno == EFAULT);
	child = fork();
	if (child == 0) {
		char text[16] = "";

		for (int i = 0; i < 8; i++) {
			int c = peek(p + i * P);

			text[i] = c == -1 ? '-' : c == 0 ? '0' : (char)c;
		}
		say("in the child: %s, %d %d\n", text, peek(to), peek(to + P));
		_exit(0);
	}
	reap_ok(child);
	CHECK(p[P] == 'x' && p[5 * P] == 'x' && p[7 * P] == 'x');
}

int main(void)
{
	char page[P];

	CHECK(signal(SIGSEGV, on_fault) != SIG_ERR && signal(SIGBUS, on_fault) != SIG_ERR);
	fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < 8; i++) {
		memset(page, 'a' + i, sizeof(page));
		write_all(fd, page, sizeof(page));
	}
	middle(MAP_SHARED);
	middle(MAP_PRIVATE);
	several();
	left_behind();
	advised();
	return 0;
}
