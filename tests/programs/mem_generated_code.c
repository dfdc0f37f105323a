/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Code written at run time and executed, as a JIT does: anonymous and
 * executable, two mappings of one memfd (one to write, one to run), rewritten in
 * place, with system calls and rdtsc in the generated code, and mprotect to
 * execute-only.
 */
#include "check.h"

#include <sys/mman.h>

typedef uint64_t (*function)(void);

static const unsigned char return_number[] = { 0xb8, 1, 0, 0, 0, 0xc3 };      /* mov eax,1; ret */
static const unsigned char get_pid[] = { 0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xc3 }; /* getpid */
static const unsigned char time_stamp[] = { 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0,
	0xc3 }; /* rdtsc; shl rdx,32; or rax,rdx; ret */

static void use(char *write_to, char *run_at)
{
	uint64_t last = 0;

	for (int i = 0; i < 20; i++) {
		memcpy(write_to, return_number, sizeof(return_number));
		write_to[1] = (char)i;
		CHECK(((function)(uintptr_t)run_at)() == (uint64_t)i);
		memcpy(write_to, get_pid, sizeof(get_pid));
		CHECK(((function)(uintptr_t)run_at)() == (uint64_t)getpid());
		memcpy(write_to, time_stamp, sizeof(time_stamp));
		CHECK(((function)(uintptr_t)run_at)() > last);
		last = ((function)(uintptr_t)run_at)();
	}
	say("time stamp %lu at %p\n", last, (void *)run_at);
}

int main(void)
{
	int fd = (int)syscall(SYS_memfd_create, "code", 0);
	char *both = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *writable, *runnable;
	pid_t child;

	CHECK(both != MAP_FAILED);
	use(both, both);
	CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
	writable = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	runnable = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	CHECK(writable != MAP_FAILED && runnable != MAP_FAILED);
	use(writable, runnable);
	child = fork();
	if (child == 0) {
		use(writable, runnable);
		use(both, both);
		_exit(0);
	}
	reap_ok(child);
	memcpy(both, get_pid, sizeof(get_pid));
	CHECK(mprotect(both, 4096, PROT_EXEC) == 0);
	CHECK(((function)(uintptr_t)both)() == (uint64_t)getpid());
	return 0;
}
