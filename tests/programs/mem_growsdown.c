/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * MAP_GROWSDOWN and MAP_STACK regions used as a stack by a coroutine switch
 * (makecontext), and grown by touching below the start.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { P = 4096, STACK = 64 * P };
static ucontext_t main_context, co_context;
static sigjmp_buf back;
static volatile int steps;

static void coroutine(void)
{
	char frame[20000];

	for (int i = 0; i < 10; i++) {
		memset(frame, i, sizeof(frame));
		steps += frame[100 * i];
		CHECK(swapcontext(&co_context, &main_context) == 0);
	}
}

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

int main(void)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	char *room = mmap(NULL, 2048 * P, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *top, *low;

	CHECK(stack != MAP_FAILED && room != MAP_FAILED);
	CHECK(getcontext(&co_context) == 0);
	co_context.uc_stack.ss_sp = stack;
	co_context.uc_stack.ss_size = STACK;
	co_context.uc_link = &main_context;
	makecontext(&co_context, coroutine, 0);
	for (int i = 0; i < 10; i++)
		CHECK(swapcontext(&main_context, &co_context) == 0);
	CHECK(steps == 45);

	CHECK(munmap(room, 2048 * P) == 0);
	top = mmap(room + 2040 * P, 4 * P, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
	CHECK(top == room + 2040 * P && signal(SIGSEGV, on_fault) != SIG_ERR);
	low = top;
	if (sigsetjmp(back, 1) == 0) {
		for (; low > top - 100 * P; low -= P)
			low[0] = 'g';
		CHECK(top[-50 * P] == 'g' && top[-50 * P + 1] == 0);
	}
	say("grew from %p to %p\n", (void *)top, (void *)low);
	return 0;
}
