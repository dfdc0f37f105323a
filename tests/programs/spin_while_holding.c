/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Three spinners at a ticket lock: one yields while it holds the lock, one spins while it
 * holds it until another has come to wait, one sleeps with it. As threads, then as
 * processes. argv: rounds.
 * Wrong: those who wait never let the holder go on.
 * pyrr-test: cflags=-pthread
 */
#include "spin.h"

static void hold(struct spin *s, unsigned me, unsigned ticket)
{
	if (me == 0)
		sched_yield();
	if (me == 1) /* `left`: who is done will not come any more */
		while (atomic_load(&s->next) == ticket + 1 && atomic_load(&s->left) == 0)
			;
	if (me == 2)
		usleep(1000);
}

static void body(struct spin *s, unsigned me)
{
	for (int round = 0; round < s->rounds; round++) {
		unsigned ticket = atomic_fetch_add(&s->next, 1);

		while (atomic_load(&s->serving) != ticket)
			;
		CHECK(s->inside++ == 0);
		s->sum = s->sum * 31 + me;
		hold(s, me, ticket);
		CHECK(--s->inside == 0);
		atomic_store(&s->serving, ticket + 1);
	}
	atomic_fetch_add(&s->left, 1);
}

static void look(struct spin *s)
{
	CHECK(atomic_load(&s->serving) == 3u * (unsigned)s->rounds);
	say("sum %lu\n", s->sum);
}

int main(int argc, char **argv)
{
	spin_both_ways(3, spin_rounds(argc, argv, 2), body, look);
	return 0;
}
