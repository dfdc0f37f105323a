/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory shared between processes in every way: anonymous, memfd (sealed, grown,
 * mapped twice in one process, passed by descriptor), POSIX shm, SysV shm with
 * fork, read-only attach and removal, /dev/zero.
 */
#include "check.h"

#include <sys/mman.h>
#include <sys/shm.h>

enum { P = 4096 };

/* The child adds 1 to the first int of each area. */
static void child_adds(int **areas, int n)
{
	pid_t child = fork();

	if (child == 0) {
		for (int i = 0; i < n; i++)
			areas[i][0]++;
		_exit(0);
	}
	reap_ok(child);
}

static int *map_fd(int fd, int prot)
{
	int *p = mmap(NULL, P, prot, MAP_SHARED, fd, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void sysv(void)
{
	int id = shmget(IPC_PRIVATE, 3 * P, IPC_CREAT | 0600), *p, *q;
	struct shmid_ds ds;
	pid_t child;

	CHECK(id >= 0);
	p = shmat(id, NULL, 0);
	q = shmat(id, NULL, SHM_RDONLY);
	CHECK(p != (void *)-1 && q != (void *)-1);
	p[5] = 55;
	CHECK(q[5] == 55);
	child = fork();
	if (child == 0) {
		int *r = shmat(id, NULL, 0);

		r[6] = 66;
		CHECK(p[6] == 66 && shmdt(r) == 0 && shmdt(p) == 0);
		_exit(0);
	}
	reap_ok(child);
	CHECK(p[6] == 66 && shmctl(id, IPC_STAT, &ds) == 0);
	say("segment %d: %lu attached, last by %d\n", id, (unsigned long)ds.shm_nattch,
		ds.shm_lpid);
	CHECK(shmctl(id, IPC_RMID, NULL) == 0 && q[6] == 66);
	CHECK(shmdt(q) == 0 && shmdt(p) == 0 && shmdt(p) == -1 && errno == EINVAL);
}

int main(void)
{
	int memfd = (int)syscall(SYS_memfd_create, "area", 2u /* MFD_ALLOW_SEALING */), zero, shm;
	char name[64], text[8];
	int *areas[5], *twice;

	(void)snprintf(name, sizeof(name), "/test-program-%d", getpid());
	shm = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	zero = open("/dev/zero", O_RDWR);
	CHECK(memfd >= 0 && shm >= 0 && ftruncate(memfd, P) == 0 && ftruncate(shm, P) == 0);
	areas[0] = mmap(NULL, P, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	areas[1] = map_fd(memfd, PROT_READ | PROT_WRITE);
	areas[2] = map_fd(shm, PROT_READ | PROT_WRITE);
	areas[3] = map_fd(zero, PROT_READ | PROT_WRITE);
	areas[4] = mmap(NULL, P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	twice = map_fd(memfd, PROT_READ);
	for (int i = 0; i < 3; i++)
		child_adds(areas, 5);
	for (int i = 0; i < 5; i++)
		CHECK(areas[i][0] == (i == 4 ? 0 : 3));
	CHECK(twice[0] == 3);
	CHECK(pwrite(memfd, "file way", 8, 64) == 8 && memcmp(twice + 16, "file way", 8) == 0);
	areas[1][32] = 0x64636261;
	CHECK(pread(memfd, text, 4, 128) == 4 && memcmp(text, "abcd", 4) == 0);
	CHECK(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
	CHECK(ftruncate(memfd, 2 * P) == -1 && errno == EPERM);
	CHECK(shm_unlink(name) == 0 && shm_open(name, O_RDWR, 0) == -1);
	areas[2][1] = 7;
	child_adds(areas, 5);
	CHECK(areas[2][0] == 4);
	sysv();
	return 0;
}
