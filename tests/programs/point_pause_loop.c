/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A loop of `pause` and a jump alone, whose state never changes, until a handler moves the
 * program on; then one that looks at a flag.
 * Wrong: a signal waits for a syscall that never comes.
 */
#include "alarmed.h"

static volatile int flag;

static void leave(ucontext_t *u)
{
	extern const char after_pause[];

	if (alarms == 8)
		u->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)after_pause;
	if (alarms == 16)
		flag = 1;
}

int main(void)
{
	alarm_also = leave;
	alarm_every(2000);
	__asm__ volatile("1: pause\n"
			 "jmp 1b\n"
			 ".globl after_pause\n"
			 "after_pause:\n" ::
				 : "memory", "cc");
	say("out of the loop that never ends\n");
	while (!flag)
		__builtin_ia32_pause();
	alarm_every(0);
	say("the flag is up\n");
	return 0;
}
