/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Four processes count in the bytes of one shared page without any lock, between
 * calls of many kinds: quick, failing, sleeping, mapping, faulting. What each read
 * depends only on whose slice ran before whose, and is hashed.
 * Wrong: the trace's order of events is not the order in which the code between
 * them ran.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { PROCESSES = 4, ROUNDS = 60, PAGES = 3 };
static volatile unsigned char *shared;
static sigjmp_buf back;

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

/* Reads and counts on in every page. */
static uint64_t count(uint64_t hash)
{
	for (size_t i = 0; i < PAGES * 4096; i += 4096) {
		unsigned char now = shared[i];

		hash = hash_bytes(&now, 1, hash);
		shared[i] = (unsigned char)(now + 1);
	}
	return hash;
}

static void one_call(int kind)
{
	struct timespec nap = { .tv_nsec = 1000 };
	volatile char *page;
	char text[64] = "";
	int fds[2];
	pid_t child;

	switch (kind % 9) {
	case 0:
		CHECK(getppid() >= 0);
		break;
	case 1:
		CHECK(write(-1, text, 1) == -1);
		break;
	case 2:
		CHECK(nanosleep(&nap, NULL) == 0);
		break;
	case 3:
		page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (sigsetjmp(back, 1) == 0)
			*page = 1;
		CHECK(munmap((void *)page, 4096) == 0);
		break;
	case 4:
		CHECK(mprotect((void *)shared, PAGES * 4096, PROT_WRITE) == 0);
		break;
	case 5:
		CHECK(pipe(fds) == 0 && write(fds[1], "x", 1) == 1 && read(fds[0], text, 64) == 1);
		close(fds[0]);
		close(fds[1]);
		break;
	case 6:
		child = fork();
		if (child == 0) {
			shared[4096 * 2]++;
			_exit(0);
		}
		reap_ok(child);
		break;
	case 7:
		sched_yield();
		break;
	default:
		raise(SIGWINCH);
	}
}

static void work(int number)
{
	uint64_t hash = HASH_START;

	for (int round = 0; round < ROUNDS; round++) {
		hash = count(hash);
		one_call(round * 7 + number * 3 + shared[0] % 4);
		hash = count(hash);
		if (round % 10 == 0)
			say("process %d, round %d: %016lx\n", number, round, hash);
	}
	_exit(0);
}

int main(void)
{
	pid_t children[PROCESSES];

	CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
	shared =
		mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	for (int i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		if (children[i] == 0)
			work(i);
	}
	for (int i = 0; i < PROCESSES; i++)
		reap_ok(children[i]);
	say("%d %d %d\n", shared[0], shared[4096], shared[8192]);
	return 0;
}
