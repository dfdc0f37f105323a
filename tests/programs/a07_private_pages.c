/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A7: private mappings alone (nobody maps the file shared) follow what write
 * does to the file, page by page, until a page is written by the program, made
 * writable by mlock, MAP_POPULATE or MADV_POPULATE_WRITE, or given back by
 * MADV_DONTNEED. In parent, child and several mappings; they can be moved,
 * protected and unmapped afterwards.
 * Wrong: only shared mappings are thought of, or untouched pages of a mapping
 * that was taken apart or moved.
 */
#include "check.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { P = 4096, N = 8 };
static int fd;

static char *map(int prot, int flags, int pages, int first)
{
	char *p = mmap(NULL, (size_t)pages * P, prot, MAP_PRIVATE | flags, fd, (off_t)first * P);

	CHECK(p != MAP_FAILED);
	return p;
}

static void put(int page, char c)
{
	CHECK(pwrite(fd, &c, 1, (off_t)page * P + 7) == 1);
}

/* The eight bytes that the writes of this program change. */
static void show(const char *what, const volatile char *p, int pages)
{
	char text[N + 1] = "";

	for (int i = 0; i < pages; i++)
		text[i] = p[i * P + 7];
	say("%s: %s\n", what, text);
}

static void in_the_child(char *all)
{
	pid_t child = fork();

	if (child == 0) {
		char *own = map(PROT_READ, 0, 2, 3);

		put(3, 'k');
		CHECK(all[3 * P + 7] == 'k' && own[7] == 'k');
		all[4 * P + 7] = 'K';
		put(4, 'l');
		CHECK(all[4 * P + 7] == 'K' && own[P + 7] == 'l');
		show("child", all, N);
		_exit(0);
	}
	reap_ok(child);
	CHECK(all[3 * P + 7] == 'k' && all[4 * P + 7] == 'l');
}

static void populated(void)
{
	char *now = map(PROT_READ | PROT_WRITE, MAP_POPULATE, 2, 0);
	char *read_only = map(PROT_READ, MAP_POPULATE, 2, 0);
	char *locked = map(PROT_READ | PROT_WRITE, 0, 2, 0);
	char *advised = map(PROT_READ | PROT_WRITE, 0, 2, 0);
	int is_locked = mlock(locked, P) == 0;
	int is_advised = madvise(advised + P, P, MADV_POPULATE_WRITE) == 0;

	put(0, 'q');
	put(1, 'r');
	CHECK(now[7] != 'q' && now[P + 7] != 'r' && read_only[7] == 'q' && read_only[P + 7] == 'r');
	CHECK((locked[7] != 'q') == is_locked && locked[P + 7] == 'r');
	CHECK(advised[7] == 'q' && (advised[P + 7] != 'r') == is_advised);
	show("locked", locked, 2);
	show("advised", advised, 2);
}

static void moved(void)
{
	char *p = map(PROT_READ | PROT_WRITE, 0, 6, 1), *to;

	p[2 * P + 7] = 'T';
	CHECK(mprotect(p + P, P, PROT_NONE) == 0);
	p[3 * P + 7] = 'U';
	CHECK(mprotect(p + 3 * P, P, PROT_NONE) == 0);
	put(1, '1');
	put(2, '2');
	put(3, '3');
	put(4, '4');
	CHECK(mprotect(p + P, P, PROT_READ) == 0 && mprotect(p + 3 * P, P, PROT_READ) == 0);
	CHECK(p[7] == '1' && p[P + 7] == '2' && p[2 * P + 7] == 'T' && p[3 * P + 7] == 'U');
	to = mremap(
		p + 4 * P, 2 * P, 2 * P, MREMAP_MAYMOVE | MREMAP_FIXED, map(PROT_NONE, 0, 2, 0));
	CHECK(to != MAP_FAILED);
	put(5, '5');
	CHECK(to[7] == '5');
	to[7] = 'V';
	put(5, '6');
	CHECK(to[7] == 'V' && madvise(to, P, MADV_DONTNEED) == 0 && to[7] == '6');
	CHECK(munmap(p + P, P) == 0);
	put(1, '7');
	put(3, '8');
	CHECK(p[7] == '7' && p[2 * P + 7] == 'T');
	show("moved", to, 2);
}

static void mapped_again(void)
{
	char *p = map(PROT_READ, 0, N, 0), *later;

	put(0, 'x');
	CHECK(p[7] == 'x' && munmap(p, N * P) == 0);
	put(0, 'y'); /* maybe nobody maps this page now */
	later = map(PROT_READ, 0, N, 0);
	CHECK(later[7] == 'y');
	put(0, 'z');
	CHECK(later[7] == 'z');
	show("again", later, N);
}

int main(void)
{
	char page[P], *all, *twin;

	fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < N; i++) {
		memset(page, 'a' + i, sizeof(page));
		write_all(fd, page, sizeof(page));
	}
	all = map(PROT_READ | PROT_WRITE, 0, N, 0);
	twin = map(PROT_READ, 0, 2, 6);
	all[6 * P] = '!';
	show("start", all, N);
	put(0, 'A');
	put(6, 'G');
	CHECK(all[7] == 'A' && all[6 * P + 7] == 'g' && twin[7] == 'G' && all[6 * P] == '!');
	show("changed", all, N);
	in_the_child(all);
	populated();
	moved();
	CHECK(munmap(all, N * P) == 0 && munmap(twin, 2 * P) == 0);
	mapped_again();
	return 0;
}
