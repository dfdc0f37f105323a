/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * System V shared memory: contents that outlive all attachments, first seen by a
 * read-only one; parts of an attachment protected or unmapped before shmdt takes
 * the rest; many segments, whose numbers are those of memfds as well.
 * Wrong: the contents are written through a mapping that forbids it, or shmdt
 * takes the first part only.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/shm.h>

enum { P = 4096 };
static sigjmp_buf back;

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

static int peek(const volatile char *p)
{
	return sigsetjmp(back, 1) ? -1 : *p;
}

static void outlives(void)
{
	int id = shmget(IPC_PRIVATE, 3 * P, IPC_CREAT | 0600);
	char *p = shmat(id, NULL, 0), *q;

	CHECK(id >= 0 && p != (void *)-1 && p[0] == 0);
	strcpy(p + 2 * P, "left behind");
	CHECK(shmdt(p) == 0 && peek(p) == -1);
	q = shmat(id, NULL, SHM_RDONLY);
	CHECK(strcmp(q + 2 * P, "left behind") == 0);
	p = shmat(id, NULL, 0);
	strcpy(p, "found");
	CHECK(strcmp(q, "found") == 0 && shmctl(id, IPC_RMID, NULL) == 0);
	say("%s, %s\n", q, q + 2 * P);
	CHECK(shmdt(q) == 0 && strcmp(p, "found") == 0 && shmdt(p) == 0);
}

static void in_parts(void)
{
	int id = shmget(IPC_PRIVATE, 5 * P, IPC_CREAT | 0600);
	char *p = shmat(id, NULL, 0), *other;

	memset(p, 'x', 5 * P);
	CHECK(mprotect(p + P, P, PROT_READ) == 0);
	CHECK(munmap(p + 3 * P, P) == 0 && munmap(p, P) == 0);
	other = mmap(p + 3 * P, P, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(peek(p + P) == 'x' && peek(p + 4 * P) == 'x' && peek(other) == 0);
	CHECK(shmdt(p) == 0 && peek(p + P) == -1 && peek(p + 4 * P) == -1 && peek(other) == 0);
	CHECK(shmdt(p) == -1 && errno == EINVAL);
	CHECK(shmctl(id, IPC_RMID, NULL) == 0);
}

static void numbers(void)
{
	enum { N = 20 };
	int ids[N];
	char *segments[N], *files[N];

	for (int i = 0; i < N; i++) {
		int fd = (int)syscall(SYS_memfd_create, "area", 0);

		ids[i] = shmget(IPC_PRIVATE, P, IPC_CREAT | 0600);
		segments[i] = shmat(ids[i], NULL, 0);
		CHECK(fd >= 0 && ids[i] >= 0 && segments[i] != (void *)-1 && ftruncate(fd, P) == 0);
		files[i] = mmap(NULL, P, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		segments[i][0] = (char)('a' + i);
		files[i][0] = (char)('A' + i);
		close(fd);
	}
	for (int i = 0; i < N; i++) {
		CHECK(segments[i][0] == 'a' + i && files[i][0] == 'A' + i);
		CHECK(shmdt(segments[i]) == 0 && shmctl(ids[i], IPC_RMID, NULL) == 0);
	}
}

int main(void)
{
	CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
	outlives();
	in_parts();
	numbers();
	return 0;
}
