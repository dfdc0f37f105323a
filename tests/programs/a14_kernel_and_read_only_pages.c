/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A14: results of calls land in pages which the program makes read-only right
 * after the call, or which another thread makes read-only or unmaps while the
 * call sleeps; the replay must write them all the same, or fail alike.
 * A call that fails leaves its data where it was.
 * Wrong: the replay's writes obey a protection that came later.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static int fds[2];
static char *page;
static volatile int tid;
static ssize_t result;
static int result_errno;

static void *reader(void *arg)
{
	(void)arg;
	tid = gettid();
	result = read(fds[0], page, 100);
	result_errno = errno;
	return NULL;
}

static void while_asleep(int prot)
{
	pthread_t t;
	char text[100];
	int left = -1;

	memset(text, 'T', sizeof(text));
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	memset(page, '.', 4096);
	tid = 0;
	CHECK(pthread_create(&t, NULL, reader, NULL) == 0);
	while (tid == 0)
		sched_yield();
	wait_until_asleep(tid);
	if (prot == -1)
		CHECK(munmap(page, 4096) == 0);
	else
		CHECK(mprotect(page, 4096, prot) == 0);
	write_all(fds[1], text, sizeof(text));
	CHECK(pthread_join(t, NULL) == 0);
	if (prot >= 0) {
		CHECK(mprotect(page, 4096, PROT_READ) == 0);
		say("protection %d: result %ld, page %016lx\n", prot, result,
			hash_bytes(page, 4096, HASH_START));
	} else {
		say("unmapped: result %ld\n", result);
	}
	CHECK(result == 100 || (result == -1 && result_errno == EFAULT));
	CHECK(ioctl(fds[0], FIONREAD, &left) == 0 && left == (result == 100 ? 0 : 100));
	if (left)
		CHECK(read(fds[0], text, sizeof(text)) == 100);
}

int main(void)
{
	struct timespec *when;

	CHECK(pipe(fds) == 0);
	when = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 5; i++) {
		CHECK(mprotect(when, 4096, PROT_READ | PROT_WRITE) == 0);
		CHECK(clock_gettime(CLOCK_REALTIME, when) == 0);
		CHECK(mprotect(when, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_EXEC) == 0);
		say("%ld.%09ld\n", (long)when->tv_sec, when->tv_nsec);
	}
	for (int i = 0; i < 3; i++) {
		while_asleep(PROT_READ);
		while_asleep(PROT_NONE);
		while_asleep(-1);
	}
	return 0;
}
