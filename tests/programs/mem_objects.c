/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The lives of shared objects: mapped, unmapped and mapped again, at several
 * offsets, in parts, beyond the end, by processes that come later; grown by
 * another process while mapped; read-only first; moved, doubled and punched.
 * Wrong: each mapping gets the file as it once was, or a fresh copy.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/shm.h>

enum { P = 4096 };
static sigjmp_buf back;

static void on_bus(int signo)
{
	siglongjmp(back, signo);
}

static int peek(const volatile char *p)
{
	return sigsetjmp(back, 1) ? -1 : *p;
}

static char *map(int fd, int prot, int pages, int first)
{
	char *p = mmap(NULL, (size_t)pages * P, prot, MAP_SHARED, fd, (off_t)first * P);

	CHECK(p != MAP_FAILED);
	return p;
}

static int new_memfd(const char *name, int pages)
{
	int fd = (int)syscall(SYS_memfd_create, name, 0);

	CHECK(fd >= 0 && ftruncate(fd, (off_t)pages * P) == 0);
	return fd;
}

static void again(void)
{
	int fd = new_memfd("again", 4);
	char *p = map(fd, PROT_READ | PROT_WRITE, 4, 0), *q;

	strcpy(p + P, "first life");
	CHECK(munmap(p, 4 * P) == 0 && pwrite(fd, "between", 7, 2 * P) == 7);
	p = map(fd, PROT_READ, 4, 0);
	CHECK(strcmp(p + P, "first life") == 0 && strcmp(p + 2 * P, "between") == 0);
	q = map(fd, PROT_READ | PROT_WRITE, 2, 2);
	strcpy(q, "by the second");
	CHECK(strcmp(p + 2 * P, "by the second") == 0);
	CHECK(munmap(p, 2 * P) == 0 && munmap(p + 3 * P, P) == 0);
	CHECK(pwrite(fd, "BY", 2, 2 * P) == 2 && strcmp(p + 2 * P, "BY the second") == 0);
	CHECK(munmap(p + 2 * P, P) == 0 && strcmp(q, "BY the second") == 0);
	/* The last mapping is replaced by one of the same object. */
	CHECK(mmap(q, P, PROT_READ, MAP_SHARED | MAP_FIXED, fd, P) == q);
	CHECK(strcmp(q, "first life") == 0);
	say("again: %s, %s\n", q, q + P);
}

static void grown_by_another(void)
{
	int fd = new_memfd("grown", 1);
	char *p = map(fd, PROT_READ | PROT_WRITE, 3, 0);
	pid_t child;

	CHECK(peek(p) == 0 && peek(p + P) == -1);
	child = fork();
	if (child == 0) {
		char *own;

		CHECK(ftruncate(fd, 3 * P) == 0 && peek(p + 2 * P) == 0);
		own = map(fd, PROT_READ | PROT_WRITE, 1, 2);
		own[5] = 'c';
		_exit(0);
	}
	reap_ok(child);
	CHECK(peek(p + 2 * P + 5) == 'c');
	p[P] = 'p';
	CHECK(ftruncate(fd, P) == 0 && peek(p + P) == -1);
	CHECK(ftruncate(fd, 2 * P) == 0 && peek(p + P) == 0 && peek(p + 2 * P) == -1);
}

static void read_only_first(void)
{
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600), reader;
	char *p, *q;

	write_all(fd, "some text", 9);
	reader = open("file", O_RDONLY);
	p = map(reader, PROT_READ, 1, 0);
	CHECK(strcmp(p, "some text") == 0 && mprotect(p, P, PROT_READ | PROT_WRITE) == -1);
	CHECK(pwrite(fd, "SOME", 4, 0) == 4 && strcmp(p, "SOME text") == 0);
	q = map(fd, PROT_READ | PROT_WRITE, 1, 0);
	q[4] = '-';
	CHECK(strcmp(p, "SOME-text") == 0);
	CHECK(munmap(p, P) == 0 && munmap(q, P) == 0);
	p = mmap(NULL, P, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(strcmp(p, "SOME-text") == 0);
	say("file: %s\n", p);
}

static void anonymous(void)
{
	char *p = mmap(NULL, 4 * P, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *twin, *moved;
	pid_t child;

	for (int i = 0; i < 4; i++)
		p[i * P] = (char)('0' + i);
	twin = mremap(p + P, 0, 2 * P, MREMAP_MAYMOVE);
	CHECK(twin != MAP_FAILED && twin[0] == '1' && twin[P] == '2');
	moved = mremap(p + 2 * P, 2 * P, 3 * P, MREMAP_MAYMOVE);
	CHECK(moved != MAP_FAILED && moved[P] == '3' && peek(moved + 2 * P) == -1);
	child = fork();
	if (child == 0) {
		twin[P] = 'c';
		_exit(0);
	}
	reap_ok(child);
	CHECK(moved[0] == 'c' && peek(p + P) == '1');
	CHECK(madvise(moved, P, MADV_DONTNEED) == 0 && moved[0] == 'c');
	CHECK(madvise(moved, P, MADV_REMOVE) == 0 && moved[0] == 0 && twin[P] == 0);
	CHECK(munmap(p, 2 * P) == 0 && twin[0] == '1');
}

static void segment(void)
{
	int id = shmget(IPC_PRIVATE, 2 * P, IPC_CREAT | 0600);
	char *p = shmat(id, NULL, 0);
	pid_t child;

	CHECK(p != (void *)-1);
	strcpy(p + P, "kept");
	CHECK(shmdt(p) == 0);
	child = fork();
	if (child == 0) {
		char *q = shmat(id, NULL, 0);

		CHECK(strcmp(q + P, "kept") == 0);
		strcpy(q, "by the child");
		_exit(0);
	}
	reap_ok(child);
	p = shmat(id, NULL, 0);
	CHECK(strcmp(p, "by the child") == 0 && strcmp(p + P, "kept") == 0);
	CHECK(shmctl(id, IPC_RMID, NULL) == 0);
	say("segment: %s, %s\n", p, p + P);
}

int main(void)
{
	CHECK(signal(SIGBUS, on_bus) != SIG_ERR);
	again();
	grown_by_another();
	read_only_first();
	anonymous();
	segment();
	return 0;
}
