/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * mprotect, madvise and mremap that fail: over holes (what lies before is
 * changed), on files opened for reading only, on locked pages, misaligned; and
 * huge pages, which are not to be had.
 * Wrong: replay's mappings allow what the program's did not, or the model misses
 * what a failing call changed.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { P = 4096 };
static sigjmp_buf back;

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

static int poke(volatile char *p)
{
	if (sigsetjmp(back, 1))
		return -1;
	*p = 'w';
	return 0;
}

static char *map(int pages)
{
	char *p = mmap(NULL, (size_t)pages * P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);

	CHECK(p != MAP_FAILED);
	memset(p, 'x', (size_t)pages * P);
	return p;
}

static void holes(void)
{
	char *p = map(6);

	CHECK(munmap(p + 2 * P, P) == 0);
	CHECK(mprotect(p, 6 * P, PROT_READ) == -1 && errno == ENOMEM);
	CHECK(poke(p) == -1 && poke(p + P) == -1 && poke(p + 3 * P) == 0);
	CHECK(madvise(p, 6 * P, MADV_DONTNEED) == -1 && errno == ENOMEM);
	CHECK(p[0] == 0 && p[5 * P] == 0);
	CHECK(mprotect(p, 2 * P, PROT_READ | PROT_WRITE) == 0 && poke(p) == 0);
	CHECK(mprotect(p + 1, P, PROT_READ) == -1 && errno == EINVAL);
	CHECK(madvise(p + 1, P, MADV_DONTNEED) == -1 && errno == EINVAL && p[0] == 'w');
	CHECK(mremap(p + 2 * P, P, 2 * P, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
	CHECK(mremap(p + 3 * P, P, 0, 0) == MAP_FAILED && errno == EINVAL);
}

static void read_only(void)
{
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600), reader = open("file", O_RDONLY);
	char *p;

	CHECK(ftruncate(fd, 2 * P) == 0);
	p = mmap(NULL, 2 * P, PROT_READ, MAP_SHARED, reader, 0);
	CHECK(p != MAP_FAILED);
	CHECK(mprotect(p, P, PROT_READ | PROT_WRITE) == -1 && errno == EACCES && poke(p) == -1);
	CHECK(mmap(NULL, P, PROT_READ | PROT_WRITE, MAP_SHARED, reader, 0) == MAP_FAILED);
	CHECK(madvise(p, P, MADV_REMOVE) == -1 && (errno == EACCES || errno == EINVAL));
	CHECK(pwrite(fd, "text", 4, 0) == 4 && strcmp(p, "text") == 0);
	CHECK(madvise(p, P, MADV_DONTNEED) == 0 && strcmp(p, "text") == 0);
}

static void locked(void)
{
	char *p = map(2);

	if (mlock(p, P) != 0) {
		say("mlock: %s\n", strerror(errno));
		return;
	}
	CHECK(madvise(p, 2 * P, MADV_DONTNEED) == -1 && errno == EINVAL && p[0] == 'x');
	CHECK(munlock(p, P) == 0 && madvise(p, 2 * P, MADV_DONTNEED) == 0 && p[0] == 0);
}

static void huge(void)
{
	char *p = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	CHECK(p != MAP_FAILED || errno == ENOMEM);
}

int main(void)
{
	CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
	holes();
	read_only();
	locked();
	huge();
	say("as the kernel says\n");
	return 0;
}
