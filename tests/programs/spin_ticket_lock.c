/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Eight spinners at a ticket lock, waiting with pause. As threads, then as processes.
 * argv: rounds.
 * Wrong: whoever waits for its ticket keeps the core from the one whose turn it is.
 * pyrr-test: cflags=-pthread
 */
#include "spin.h"

static void body(struct spin *s, unsigned me)
{
	for (int round = 0; round < s->rounds; round++) {
		unsigned ticket = atomic_fetch_add(&s->next, 1);

		while (atomic_load_explicit(&s->serving, memory_order_acquire) != ticket)
			__builtin_ia32_pause();
		CHECK(s->inside++ == 0);
		for (int i = 0; i < 20000; i++)
			s->sum = s->sum * 31 + me;
		CHECK(--s->inside == 0);
		atomic_store_explicit(&s->serving, ticket + 1, memory_order_release);
	}
}

static void look(struct spin *s)
{
	CHECK(atomic_load(&s->serving) == 8u * (unsigned)s->rounds);
	say("sum %lu\n", s->sum);
}

int main(int argc, char **argv)
{
	spin_both_ways(8, spin_rounds(argc, argv, 4), body, look);
	return 0;
}
