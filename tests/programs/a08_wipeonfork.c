/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A8: after fork the child finds MADV_WIPEONFORK pages empty, MADV_DONTFORK
 * pages gone, shared pages shared and private pages copied.
 * Wrong: the replay's fork hands down what the kernel did not, or wipes it in
 * the parent.
 * pyrr-test: deterministic
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { SIZE = 3 * 4096 };
static sigjmp_buf back;

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

static int peek(const volatile char *p)
{
	return sigsetjmp(back, 1) ? -1 : *p;
}

static char *map(int flags)
{
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	memset(p, 'x', SIZE);
	return p;
}

int main(void)
{
	char *wiped = map(MAP_PRIVATE), *gone = map(MAP_PRIVATE);
	char *shared = map(MAP_SHARED), *own = map(MAP_PRIVATE);
	pid_t child;

	CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
	CHECK(madvise(wiped, SIZE, MADV_WIPEONFORK) == 0);
	CHECK(madvise(gone + 4096, 4096, MADV_DONTFORK) == 0);
	child = fork();
	if (child == 0) {
		pid_t grandchild;

		CHECK(wiped[0] == 0 && wiped[SIZE - 1] == 0);
		CHECK(peek(gone) == 'x' && peek(gone + 4096) == -1 && peek(gone + 8192) == 'x');
		CHECK(own[0] == 'x' && shared[0] == 'x');
		memset(wiped, 'c', SIZE);
		own[0] = 'c';
		shared[0] = 'c';
		CHECK(mmap(gone + 4096, 4096, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			      0) == gone + 4096);
		grandchild = fork();
		if (grandchild == 0)
			_exit(wiped[0] == 0 && shared[0] == 'c' && peek(gone + 4096) == 0 ? 0 : 1);
		reap_ok(grandchild);
		CHECK(madvise(wiped, SIZE, MADV_KEEPONFORK) == 0);
		grandchild = fork();
		if (grandchild == 0)
			_exit(wiped[0] == 'c' ? 0 : 1);
		reap_ok(grandchild);
		_exit(0);
	}
	reap_ok(child);
	CHECK(wiped[0] == 'x' && gone[4096] == 'x' && own[0] == 'x' && shared[0] == 'c');
	CHECK(madvise(gone + 4096, 4096, MADV_DOFORK) == 0);
	child = fork();
	if (child == 0)
		_exit(peek(gone + 4096) == 'x' ? 0 : 1);
	reap_ok(child);
	say("as the kernel says\n");
	return 0;
}
