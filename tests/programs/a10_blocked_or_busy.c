/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A10: telling a call that sleeps from one that takes long. One thread makes long
 * calls that never sleep (megabytes of random bytes, of zeros, a copy between
 * processes), two play ping-pong through a futex, one sleeps very short, one waits
 * for all.
 * Wrong: a busy call taken for a sleeping one lets two tasks run at a time, or a
 * sleeping one taken for a busy one stops everything.
 * pyrr-test: cflags=-pthread
 */
#include "futex.h"

#include <sys/random.h>

enum { ROUNDS = 300 };
static atomic_uint ball;
static uint64_t order = HASH_START;
static atomic_int finished;

static void note(char who)
{
	order = hash_bytes(&who, 1, order);
}

static void *player(void *arg)
{
	unsigned mine = (unsigned)(uintptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned now;

		while ((now = atomic_load(&ball)) % 2 != mine)
			futex(&ball, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
		note('0' + (char)mine);
		atomic_fetch_add(&ball, 1);
		futex(&ball, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	atomic_fetch_add(&finished, 1);
	return NULL;
}

static void *busy(void *arg)
{
	static unsigned char bytes[2 << 20];
	int zero = open("/dev/zero", O_RDONLY);

	(void)arg;
	for (int i = 0; i < 4; i++) {
		ssize_t n = getrandom(bytes, sizeof(bytes), 0);

		CHECK(n > 0);
		note('r');
		CHECK(read(zero, bytes, sizeof(bytes)) == sizeof(bytes));
		note('z');
	}
	close(zero);
	atomic_fetch_add(&finished, 1);
	return NULL;
}

static void *napper(void *arg)
{
	struct timespec nap = { .tv_nsec = 1 };

	(void)arg;
	for (int i = 0; i < ROUNDS / 3; i++) {
		CHECK(nanosleep(&nap, NULL) == 0);
		note('n');
	}
	atomic_fetch_add(&finished, 1);
	return NULL;
}

int main(void)
{
	pthread_t t[4];

	CHECK(pthread_create(&t[0], NULL, player, (void *)0) == 0);
	CHECK(pthread_create(&t[1], NULL, player, (void *)1) == 0);
	CHECK(pthread_create(&t[2], NULL, busy, NULL) == 0);
	CHECK(pthread_create(&t[3], NULL, napper, NULL) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(atomic_load(&ball) == 2 * ROUNDS && atomic_load(&finished) == 4);
	say("order %016lx\n", order);
	return 0;
}
