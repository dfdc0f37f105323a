/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rarer ways to write other memory: process_vm_writev in several pieces, with
 * a hole in the target, to oneself, by a pid of a new pid namespace; /proc/PID/mem
 * by position, by writev, by a thread's entry, and through a descriptor of the
 * parent's memory that a child inherited.
 * Wrong: what was written lands in the caller, is cut short, or is not recorded.
 */
#include "check.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>

enum { P = 4096 };
static char *area;
static int gate[2];

/* A child that shows its area when told to. */
static pid_t start(const char *name)
{
	char byte;
	pid_t child = fork();

	if (child != 0)
		return child;
	CHECK(read(gate[0], &byte, 1) == 1);
	say("%s: %.9s %.9s %.9s\n", name, area, area + 100, area + P);
	_exit(area[0] == 'p' ? 0 : 1);
}

static void finish(pid_t child)
{
	write_all(gate[1], "x", 1);
	reap_ok(child);
	CHECK(area[0] == '.');
}

static void in_pieces(void)
{
	char first[] = "pieces", second[] = " of it....";
	struct iovec here[2] = { { first, 6 }, { second, 10 } };
	struct iovec there[3] = { { area, 4 }, { area + 100, 8 }, { area + P, 4 } };
	pid_t child = start("pieces");
	ssize_t n = process_vm_writev(child, here, 2, there, 3, 0);

	if (n == -1)
		area[0] = 'p'; /* forbidden here */
	CHECK(n == 16 || errno == EPERM || errno == ENOSYS);
	there[1].iov_base = area + 2 * P; /* not mapped */
	n = process_vm_writev(child, here, 2, there, 3, 0);
	CHECK(n == 4 || n == -1);
	n = process_vm_writev(getpid(), here, 1, &(struct iovec){ area + 300, 6 }, 1, 0);
	CHECK(n == -1 || memcmp(area + 300, "pieces", 6) == 0);
	if (area[0] == 'p') {
		kill(child, SIGKILL);
		(void)reap(child);
		area[0] = '.';
		return;
	}
	finish(child);
}

static int open_memory(const char *format, pid_t pid)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), format, pid, pid);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	return fd;
}

static void by_proc(const char *format)
{
	struct iovec vec[2] = { { "position", 9 }, { " and more", 10 } };
	pid_t child = start(format);
	int fd = open_memory(format, child);
	off_t at = (off_t)(uintptr_t)area;

	CHECK(lseek(fd, at + 100, SEEK_SET) == at + 100 && write(fd, "here", 4) == 4);
	CHECK(write(fd, "there", 5) == 5 && lseek(fd, 0, SEEK_CUR) == at + 109);
	CHECK(lseek(fd, at, SEEK_SET) == at && writev(fd, vec, 2) == 19);
	CHECK(pwritev(fd, vec, 1, at + P) == 9);
	CHECK(pwrite(fd, "xx", 2, at + 2 * P) == -1 && errno == EIO);
	close(fd);
	finish(child);
}

static void by_the_child(void)
{
	int self = open("/proc/self/mem", O_RDWR);
	pid_t child = fork();

	if (child == 0) {
		CHECK(pwrite(self, "from below", 11, (off_t)(uintptr_t)area + 200) == 11);
		_exit(area[200] == 0 ? 0 : 1);
	}
	reap_ok(child);
	CHECK(strcmp(area + 200, "from below") == 0);
	say("parent: %s\n", area + 200);
}

static void in_a_namespace(void)
{
	char text[] = "pid 2";
	pid_t inner, outer = fork();

	if (outer != 0) {
		reap_ok(outer);
		return;
	}
	if (unshare(CLONE_NEWPID) != 0)
		_exit(0);
	inner = fork();
	if (inner == 0) { /* pid 1 of the namespace */
		pid_t second = start("namespace");
		struct iovec here = { text, 6 }, there = { area, 6 };

		CHECK(getpid() == 1 && second == 2);
		if (process_vm_writev(2, &here, 1, &there, 1, 0) == 6)
			finish(second);
		_exit(0);
	}
	reap_ok(inner);
	_exit(0);
}

int main(void)
{
	area = mmap(NULL, 3 * P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED && munmap(area + 2 * P, P) == 0 && pipe(gate) == 0);
	area[0] = '.';
	in_pieces();
	by_proc("/proc/%d/mem");
	by_proc("/proc/%d/task/%d/mem");
	by_the_child();
	in_a_namespace();
	return 0;
}
