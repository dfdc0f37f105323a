/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A loop that counts in a global with `inc`: no register changes, and the flags hardly ever.
 * The handler prints the counter. A second loop counts in a page of its own, of 4 bytes at
 * an odd address, across a cache line.
 * Wrong: another count in the replay's handler.
 */
#include "alarmed.h"

static volatile uint64_t counter;
static struct {
	char room[61];
	volatile uint32_t count;
} __attribute__((packed, aligned(4096))) odd;
static uint64_t last;

static void look(ucontext_t *u)
{
	uint64_t now = counter + odd.count;

	(void)u;
	CHECK(now >= last);
	last = now;
	say("counter %lu, odd %u\n", counter, odd.count);
}

int main(void)
{
	alarm_also = look;
	alarm_every(2000);
	__asm__ volatile("1: incq %0\n"
			 "btq $24, %0\n"
			 "jnc 1b\n"
		: "+m"(counter)
		:
		: "cc");
	__asm__ volatile("1: incl %0\n"
			 "btl $23, %0\n"
			 "jnc 1b\n"
		: "+m"(odd.count)
		:
		: "cc");
	alarm_every(0);
	CHECK(counter == 1u << 24 && odd.count == 1u << 23);
	say("%d alarms\n", alarms);
	return 0;
}
