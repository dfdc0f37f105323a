/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A4: loops of pushf, of lahf and of a call with pushf in it are preempted and interrupted by
 * a timer; no pushed flags and no frame ever show TF. The flags that a loop keeps from round
 * to round (carry, direction) survive.
 * Wrong: the step to a place leaks its trap flag, or a probe changes flags.
 */
#include "alarmed.h"
#include "insns.h"

static void look(ucontext_t *u)
{
	CHECK(!(u->uc_mcontext.gregs[REG_EFL] & FLAG_TRAP));
}

static uint64_t pushed(uint32_t rounds)
{
	uint64_t all = 0;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n"
			 "1: pushfq\n"
			 "popq %%rax\n"
			 "orq %%rax, %0\n"
			 "pushfq\n"
			 "pushfq\n"
			 "popq %%rax\n"
			 "orq (%%rsp), %%rax\n"
			 "orq %%rax, %0\n"
			 "popfq\n"
			 "decl %1\n"
			 "jnz 1b\n"
			 "lea 128(%%rsp), %%rsp\n"
		: "+r"(all), "+r"(rounds)
		:
		: "rax", "cc", "memory");
	return all;
}

/* The carry goes through each round's adc, lahf and sahf; rcx counts without flags. */
static uint64_t carried(uint64_t rounds)
{
	uint64_t sum = 0;

	__asm__ volatile("stc\n"
			 "1: adc $0x7fffffff, %%edx\n"
			 "lahf\n"
			 "adc $3, %0\n"
			 "sahf\n"
			 "lea -1(%1), %1\n"
			 "xchg %1, %%rcx\n"
			 "jrcxz 2f\n"
			 "xchg %1, %%rcx\n"
			 "jmp 1b\n"
			 "2:\n"
		: "+r"(sum), "+r"(rounds)
		: "d"(5)
		: "rax", "rcx", "cc");
	return sum;
}

int main(void)
{
	uint64_t all, first, again;

	first = carried(3000000);
	alarm_also = look;
	alarm_every(2000);
	all = pushed(2000000);
	CHECK(!(all & FLAG_TRAP));
	again = carried(3000000);
	CHECK(first == again);
	alarm_every(0);
	say("%d alarms, flags %lx, sum %lx\n", alarms, all, again);
	return 0;
}
