/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A loop in which nothing changes but one x87 register, under a timer's signals.
 * Wrong: a point is compared without the x87 part of XSTATE.
 */
#include "alarmed.h"

int main(void)
{
	double start = 0, end = 8e6;
	uint64_t rounds;

	alarm_every(1000);
	/* st(0) counts, st(1) is 1, st(2) the end; the flags say `below` until it is reached. */
	__asm__ volatile("fldl %2\n"
			 "fld1\n"
			 "fldl %1\n"
			 "xor %%eax, %%eax\n"
			 "1: fadd %%st(1), %%st\n"
			 "fcomi %%st(2), %%st\n"
			 "jb 1b\n"
			 "fistpll %0\n"
			 "fstp %%st(0)\n"
			 "fstp %%st(0)\n"
		: "=m"(rounds)
		: "m"(start), "m"(end)
		: "rax", "st", "st(1)", "st(2)", "cc");
	alarm_every(0);
	CHECK(rounds == 8000000);
	say("%d alarms\n", alarms);
	return 0;
}
