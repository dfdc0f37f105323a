/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * mmap and mremap in all their forms: hints, FIXED over others, FIXED_NOREPLACE,
 * NORESERVE, POPULATE, 32BIT; grow, shrink and move, to a given place, keeping
 * the old one (DONTUNMAP), duplicating a shared one (old size 0); holes cut by
 * munmap; failures.
 * Wrong: the mapping model of the replay splits or merges otherwise.
 */
#include "check.h"

#include <sys/mman.h>

enum { P = 4096 };
static const int rw = PROT_READ | PROT_WRITE, anon = MAP_PRIVATE | MAP_ANONYMOUS;

static char *map(size_t pages, int flags)
{
	char *p = mmap(NULL, pages * P, rw, flags, -1, 0);

	CHECK(p != MAP_FAILED);
	for (size_t i = 0; i < pages; i++)
		memset(p + i * P, 'a' + (int)i, P);
	return p;
}

static void fixed(void)
{
	char *p = map(10, anon), *q;

	CHECK(munmap(p + 2 * P, 2 * P) == 0);
	CHECK(mmap(p + P, 2 * P, rw, anon | MAP_FIXED, -1, 0) == p + P);
	CHECK(p[0] == 'a' && p[P] == 0 && p[2 * P] == 0 && p[4 * P] == 'e');
	CHECK(mmap(p + 4 * P, P, rw, anon | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED);
	CHECK(errno == EEXIST);
	CHECK(mmap(p + 3 * P, P, rw, anon | MAP_FIXED_NOREPLACE, -1, 0) == p + 3 * P);
	q = mmap(p + 5, 100, rw, anon, -1, 0); /* a hint only */
	CHECK(q != MAP_FAILED && (q < p || q >= p + 10 * P));
	CHECK(mmap(p + 1, P, rw, anon | MAP_FIXED, -1, 0) == MAP_FAILED && errno == EINVAL);
	CHECK(mmap(NULL, 0, rw, anon, -1, 0) == MAP_FAILED && errno == EINVAL);
	CHECK(munmap(p, 10 * P) == 0 && munmap(q, P) == 0);
	p = mmap(NULL, 3 * P, rw, anon | MAP_32BIT | MAP_POPULATE | MAP_NORESERVE, -1, 0);
	CHECK(p != MAP_FAILED && (uintptr_t)p < 1ull << 32);
	say("low %p, hint gave %p\n", (void *)p, (void *)q);
	CHECK(munmap(p, 3 * P) == 0);
}

static void remap(void)
{
	char *p = map(4, anon), *q, *target;

	q = mremap(p, 4 * P, 2 * P, 0);
	CHECK(q == p);
	q = mremap(p, 2 * P, 64 * P, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED && q[P] == 'b' && q[2 * P] == 0 && q[63 * P] == 0);
	target = map(8, anon);
	p = mremap(q, 8 * P, 8 * P, MREMAP_MAYMOVE | MREMAP_FIXED, target);
	CHECK(p == target && p[0] == 'a' && p[2 * P] == 0);
	CHECK(q[10 * P] == 0);
	q[10 * P] = 'q';
	p = mremap(q + 10 * P, 2 * P, 2 * P, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	if (p == MAP_FAILED) {
		say("DONTUNMAP: %s\n", strerror(errno));
	} else {
		CHECK(p[0] == 'q' && q[10 * P] == 0);
		CHECK(munmap(p, 2 * P) == 0);
	}
	CHECK(mremap(q, 0x7fffffff000, P, 0) == MAP_FAILED && errno == EFAULT);
	say("moved from %p to %p\n", (void *)q, (void *)target);

	p = map(3, MAP_SHARED | MAP_ANONYMOUS);
	q = mremap(p, 0, 3 * P, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED && q != p && q[2 * P] == 'c');
	q[P] = 'Q';
	CHECK(p[P] == 'Q');
	p = mremap(p, 3 * P, 3 * P, MREMAP_MAYMOVE | MREMAP_FIXED, target);
	CHECK(p == target && p[P] == 'Q');
	p[0] = 'T';
	CHECK(q[0] == 'T');
}

static void protections(void)
{
	char *p = map(9, anon);

	for (int i = 0; i < 9; i += 2)
		CHECK(mprotect(p + i * P, P, i % 4 ? PROT_NONE : PROT_READ) == 0);
	CHECK(p[0] == 'a' && p[P] == 'b' && p[4 * P] == 'e');
	CHECK(mprotect(p, 9 * P, rw) == 0 && p[2 * P] == 'c');
	CHECK(munmap(p + 3 * P, P) == 0);
	CHECK(mprotect(p, 9 * P, PROT_READ) == -1 && errno == ENOMEM);
	p[8 * P] = 'z'; /* beyond the hole: not changed */
	CHECK(madvise(p + 5 * P, 2 * P, MADV_DONTNEED) == 0 && p[5 * P] == 0 && p[7 * P] == 'h');
	CHECK(msync(p, 3 * P, MS_ASYNC) == 0 && mlock(p, P) == 0 && munlock(p, P) == 0);
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		fixed();
		remap();
		protections();
	}
	return 0;
}
