/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * 60 threads at once pass a token round a ring of pipes, so that only one is
 * ever able to run and 59 sleep; tids are reused by a second generation.
 * Wrong: finding the one that can run takes ages, or a reused tid is confused.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 60, LAPS = 8 };
static int ring[THREADS][2];
static uint64_t order;

static void *runner(void *arg)
{
	int i = (int)(intptr_t)arg, token, tid = gettid();

	for (int lap = 0; lap < LAPS; lap++) {
		CHECK(read(ring[i][0], &token, sizeof(token)) == sizeof(token));
		order = hash_bytes(&tid, sizeof(tid), order);
		token++;
		write_all(ring[(i + 1) % THREADS][1], &token, sizeof(token));
	}
	return NULL;
}

int main(void)
{
	pthread_attr_t small;

	CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 65536) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pipe(ring[i]) == 0);
	for (int generation = 0; generation < 2; generation++) {
		pthread_t t[THREADS];
		int token = 0;

		order = HASH_START;
		for (intptr_t i = 0; i < THREADS; i++)
			CHECK(pthread_create(&t[i], &small, runner, (void *)i) == 0);
		write_all(ring[0][1], &token, sizeof(token));
		for (int i = 0; i < THREADS; i++)
			CHECK(pthread_join(t[i], NULL) == 0);
		CHECK(read(ring[0][0], &token, sizeof(token)) == sizeof(token));
		CHECK(token == THREADS * LAPS);
		say("generation %d: order of tids %016lx\n", generation, order);
	}
	return 0;
}
