/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A14: advice whose effect is not deterministic (MADV_FREE), new advice
 * (guard pages, COLLAPSE) and mseal are either refused or replay alike. Bytes
 * written after MADV_FREE stay.
 * Wrong: freed pages come back differently in the replay.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static sigjmp_buf back;

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

static int peek(const volatile char *p)
{
	return sigsetjmp(back, 1) ? -1 : *p;
}

int main(void)
{
	enum { SIZE = 64 * 4096 };
	volatile char *p =
		mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int result, kept = 0;

	CHECK(p != MAP_FAILED && signal(SIGSEGV, on_fault) != SIG_ERR);
	memset((void *)p, 'f', SIZE);
	result = madvise((void *)p, SIZE, MADV_FREE);
	say("MADV_FREE: %s\n", result ? strerror(errno) : "taken");
	for (int i = 0; i < 64; i += 2)
		p[i * 4096] = 'w';
	for (int i = 0; i < 64; i++) {
		char c = p[i * 4096 + 1];

		CHECK(p[i * 4096] == (i % 2 ? p[i * 4096] : 'w'));
		CHECK(c == 'f' || c == 0);
		kept += c == 'f';
	}
	say("%d pages kept their bytes\n", kept);

	result = madvise((void *)p, 4096, 102 /* MADV_GUARD_INSTALL */);
	say("guard: %d, then %d\n", result, peek(p));
	if (result == 0) {
		CHECK(peek(p) == -1 && peek(p + 4096) != -1);
		CHECK(madvise((void *)p, 4096, 103 /* MADV_GUARD_REMOVE */) == 0 && peek(p) == 0);
	}
	result = (int)syscall(462 /* mseal */, p, 4096, 0);
	say("mseal: %d\n", result);
	CHECK(peek(p) != -1);
	say("%d %d\n", madvise((void *)p, SIZE, MADV_HUGEPAGE),
		madvise((void *)p, SIZE, MADV_WILLNEED));
	return 0;
}
