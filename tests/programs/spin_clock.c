/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Three spinners ask clock_gettime until their deadline; then two of them wait for the third's
 * flag, giving up at a deadline far away. As threads, then as processes. argv: rounds.
 * Wrong: time stands still for a spinner, or the flag comes after the far deadline.
 * pyrr-test: cflags=-pthread
 */
#include "spin.h"

static uint64_t now(void)
{
	struct timespec t;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void body(struct spin *s, unsigned me)
{
	for (unsigned round = 1; round <= (unsigned)s->rounds; round++) {
		uint64_t begin = now(), last = begin, seen = 0;

		while (last < begin + 2000000) {
			uint64_t t = now();

			CHECK(t >= last);
			last = t;
			seen++;
		}
		if (me == 0)
			atomic_store(&s->turn, round);
		while (atomic_load(&s->turn) < round)
			CHECK(now() < begin + 30000000000u);
		say("%u: %lu times, %lu ns\n", me, seen, last - begin);
	}
}

static void look(struct spin *s)
{
	CHECK(atomic_load(&s->turn) == (unsigned)s->rounds);
}

int main(int argc, char **argv)
{
	spin_both_ways(3, spin_rounds(argc, argv, 3), body, look);
	return 0;
}
