/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the clock is measured with: threads that only compute, in a process with much memory.
 *
 *     clock_load file|anonymous MB THREADS MILLIONS [HZ]
 *
 * file: a private executable mapping of the file ./mapped, read all over; anonymous: memory
 * that is written all over. HZ: a profiler's signals (ITIMER_PROF). */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <sys/time.h>

static volatile sig_atomic_t samples;
static unsigned char *area;
static size_t len;
static uint64_t rounds;
static int writes;

static void on_sample(int signo)
{
	(void)signo;
	samples++;
}

/* Each thread writes its own bytes: the result does not depend on their order. */
static void *compute(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	uint64_t x = me + 1, sum = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		size_t at = (x >> 20) % (len - 64) / 64 * 64 + me;

		sum += area[at];
		if (writes)
			area[at] = (unsigned char)(sum + x);
	}
	return (void *)(uintptr_t)(sum + x);
}

int main(int argc, char **argv)
{
	pthread_t threads[16];
	uint64_t result = 0;

	if (argc < 5)
		return 2;
	int count = atoi(argv[3]), fd = -1, hz = argc > 5 ? atoi(argv[5]) : 0;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, prot = PROT_READ | PROT_WRITE;

	writes = strcmp(argv[1], "file") != 0;
	len = (size_t)atoi(argv[2]) << 20;
	rounds = strtoull(argv[4], NULL, 10) * 1000000;
	if (!writes) {
		fd = open("mapped", O_RDONLY | O_CLOEXEC);
		flags = MAP_PRIVATE;
		prot = PROT_READ | PROT_EXEC;
	}
	area = mmap(NULL, len, prot, flags, fd, 0);
	if (area == MAP_FAILED || count < 1 || count > 16)
		return 2;
	if (hz) {
		struct itimerval often = { { 0, 1000000 / hz }, { 0, 1000000 / hz } };
		struct sigaction action = { .sa_handler = on_sample, .sa_flags = SA_RESTART };

		sigaction(SIGPROF, &action, NULL);
		setitimer(ITIMER_PROF, &often, NULL);
	}
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, compute, (void *)(uintptr_t)i);
	for (int i = 0; i < count; i++) {
		void *one;

		pthread_join(threads[i], &one);
		result = result * 31 + (uint64_t)(uintptr_t)one;
	}
	printf("%016lx, %d samples\n", result, samples);
	return 0;
}
