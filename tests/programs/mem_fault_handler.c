/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A SEGV handler that makes the page accessible and returns, so that the
 * instruction runs again: user-level paging as garbage collectors do it, also
 * for copies that cross pages, in two threads, and a read(2) that fails first.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

enum { P = 4096, PAGES = 32 };
static char *area;
static volatile int faults;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	char *page = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)(P - 1));

	(void)signo;
	(void)context;
	CHECK(page >= area && page < area + PAGES * P);
	CHECK(mprotect(page, P, PROT_READ | PROT_WRITE) == 0);
	__atomic_add_fetch(&faults, 1, __ATOMIC_SEQ_CST);
}

static void *toucher(void *arg)
{
	for (int i = (int)(intptr_t)arg; i < PAGES; i += 2)
		area[i * P + 17]++;
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	pthread_t t[2];
	int fds[2];

	area = mmap(NULL, PAGES * P, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED && sigaction(SIGSEGV, &action, NULL) == 0);
	for (int round = 0; round < 4; round++) {
		CHECK(mprotect(area, PAGES * P, round % 2 ? PROT_NONE : PROT_READ) == 0);
		for (intptr_t i = 0; i < 2; i++)
			CHECK(pthread_create(&t[i], NULL, toucher, (void *)i) == 0);
		for (int i = 0; i < 2; i++)
			CHECK(pthread_join(t[i], NULL) == 0);
		CHECK(faults >= PAGES * (round + 1));
		CHECK(area[5 * P + 17] == round + 1);
	}
	CHECK(mprotect(area, PAGES * P, PROT_NONE) == 0);
	memset(area + P - 10, 'm', 2 * P);
	CHECK(area[P - 10] == 'm' && area[3 * P - 11] == 'm');
	CHECK(pipe(fds) == 0);
	write_all(fds[1], "data", 4);
	CHECK(read(fds[0], area + 20 * P, 4) == -1 && errno == EFAULT);
	area[20 * P] = 0;
	CHECK(read(fds[0], area + 20 * P, 4) == 4);
	say("%d faults at %p\n", faults, (void *)area);
	return 0;
}
