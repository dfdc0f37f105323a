/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * `rep stosb` over 64 MB, again and again, under a timer's signals: nearly each of them
 * comes in the middle of an instruction. The handler looks at the memory around rdi.
 * Wrong: a point inside a repeated instruction is found at another rcx, or costs a step
 * for each byte.
 */
#include "alarmed.h"

#include <sys/mman.h>

#define LEN (64ul << 20)

static unsigned char *area;

static void look(ucontext_t *u)
{
	size_t left = (size_t)u->uc_mcontext.gregs[REG_RCX];
	unsigned char *at = (unsigned char *)(uintptr_t)u->uc_mcontext.gregs[REG_RDI];

	if (at > area && at < area + LEN && left == (size_t)(area + LEN - at)) {
		CHECK(at[-1] == (unsigned char)u->uc_mcontext.gregs[REG_RAX]);
		say("at %zu: %02x, then %02x\n", (size_t)(at - area), at[-1], at[0]);
	}
}

int main(void)
{
	area = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	alarm_also = look;
	alarm_every(3000);
	for (int i = 1; i <= 20; i++) {
		unsigned char *to = area;
		size_t len = LEN;

		__asm__ volatile("rep stosb" : "+D"(to), "+c"(len) : "a"(i) : "memory");
		CHECK(len == 0 && to == area + LEN);
		CHECK(area[0] == i && area[LEN - 1] == i && area[LEN / 2] == i);
	}
	alarm_every(0);
	say("%d alarms\n", alarms);
	return 0;
}
