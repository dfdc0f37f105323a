/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Writing another process's memory: process_vm_writev and /proc/PID/mem, and
 * reading it, also one's own through /proc/self/mem (read-only pages too).
 * Containers may forbid the first: then only the second is checked.
 * Wrong: the event names the caller's address space, not the target's.
 */
#include "check.h"

#include <sys/mman.h>
#include <sys/uio.h>

static char *area, *constant;

static void target(int gate)
{
	char byte;

	CHECK(read(gate, &byte, 1) == 1);
	say("child: %s, %s, %s\n", area, area + 100, constant);
	CHECK(strcmp(area + 100, "by /proc") == 0);
	_exit(0);
}

static void by_vm_calls(pid_t child)
{
	char back[16] = "", text[] = "by writev";
	struct iovec here = { .iov_base = text, .iov_len = sizeof(text) };
	struct iovec there = { .iov_base = area, .iov_len = sizeof(text) };

	if (process_vm_writev(child, &here, 1, &there, 1, 0) == -1) {
		CHECK(errno == EPERM || errno == ENOSYS);
		say("process_vm_writev: %s\n", strerror(errno));
		return;
	}
	here.iov_base = back;
	CHECK(process_vm_readv(child, &here, 1, &there, 1, 0) == sizeof(text));
	CHECK(strcmp(back, "by writev") == 0 && strcmp(area, "by writev") != 0);
}

int main(void)
{
	char path[64], back[16] = "";
	int fds[2], mem, self;
	pid_t child;

	area = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	constant = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(area, "untouched");
	CHECK(pipe(fds) == 0);
	child = fork();
	if (child == 0)
		target(fds[0]);
	by_vm_calls(child);
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", child);
	mem = open(path, O_RDWR);
	CHECK(mem >= 0);
	CHECK(pwrite(mem, "by /proc", 9, (off_t)(uintptr_t)area + 100) == 9);
	CHECK(pread(mem, back, 9, (off_t)(uintptr_t)area + 100) == 9 &&
		strcmp(back, "by /proc") == 0);
	CHECK(pwrite(mem, "forced", 7, (off_t)(uintptr_t)constant) == 7);
	write_all(fds[1], "x", 1);
	reap_ok(child);
	CHECK(strcmp(area, "untouched") == 0 && area[100] == 0);

	self = open("/proc/self/mem", O_RDWR);
	CHECK(pwrite(self, "myself", 7, (off_t)(uintptr_t)constant) == 7);
	CHECK(strcmp(constant, "myself") == 0);
	CHECK(lseek(self, (off_t)(uintptr_t)area, SEEK_SET) > 0 && read(self, back, 9) == 9);
	CHECK(memcmp(back, "untouched", 9) == 0);
	say("parent: %s, %s\n", area, constant);
	return 0;
}
