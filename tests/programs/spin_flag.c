/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two spinners hand a flag to each other and wait for it with an empty loop, without pause;
 * as threads, then as processes over shared memory. argv: rounds.
 * Wrong: a spinner keeps the core for ever.
 * pyrr-test: cflags=-pthread
 */
#include "spin.h"

static void body(struct spin *s, unsigned me)
{
	for (int round = 0; round < s->rounds; round++) {
		while (atomic_load_explicit(&s->turn, memory_order_acquire) != me)
			;
		s->sum = s->sum * 3 + me;
		atomic_store_explicit(&s->turn, 1 - me, memory_order_release);
	}
}

static void look(struct spin *s)
{
	unsigned long sum = 0;

	for (int i = 0; i < 2 * s->rounds; i++)
		sum = sum * 3 + (unsigned)i % 2;
	CHECK(s->sum == sum);
	say("sum %lu\n", s->sum);
}

int main(int argc, char **argv)
{
	spin_both_ways(2, spin_rounds(argc, argv, 3), body, look);
	return 0;
}
