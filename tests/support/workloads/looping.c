/* SPDX-License-Identifier: GPL-2.0-or-later
 * An event-free loop over a table, with a counter in memory. */
#include <stdint.h>
#include <stdlib.h>

static uint32_t table[4096];
static uint64_t rounds_done;

__attribute__((noinline)) static uint32_t mix(uint32_t x)
{
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 0;
	uint32_t x = 1;

	for (long i = 0; i < rounds; i++) {
		x = mix(x);
		table[x % 4096] += (uint32_t)i;
		rounds_done++;
	}
	return (int)((table[x % 4096] + rounds_done) & 1);
}
