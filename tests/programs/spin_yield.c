/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Four spinners in a ring wait for their turn with sched_yield; one of them yields in its
 * turn too. As threads, then as processes. argv: rounds.
 * Wrong: yielding gives nobody the core.
 * pyrr-test: cflags=-pthread
 */
#include "spin.h"

static void body(struct spin *s, unsigned me)
{
	for (int round = 0; round < s->rounds; round++) {
		while (atomic_load(&s->turn) != me)
			sched_yield();
		s->sum = s->sum * 3 + me;
		if (me == 2)
			sched_yield();
		atomic_store(&s->turn, (me + 1) % 4);
	}
}

static void look(struct spin *s)
{
	unsigned long sum = 0;

	for (int i = 0; i < 4 * s->rounds; i++)
		sum = sum * 3 + (unsigned)i % 4;
	CHECK(s->sum == sum);
	say("sum %lu\n", s->sum);
}

int main(int argc, char **argv)
{
	spin_both_ways(4, spin_rounds(argc, argv, 30), body, look);
	return 0;
}
