/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A 64-bit program that makes a 32-bit system call (int 0x80): numbers of
 * another table. Under pyrr there are none: ENOSYS, as on kernels without
 * IA32_EMULATION.
 * Wrong: the number is taken for a 64-bit one (20 is getpid there, writev here).
 */
#include "check.h"

int main(void)
{
	long result = 20;

	for (int i = 0; i < 3; i++) {
		result = 20;
		__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
		/* Bare: the pid, where the kernel has the 32-bit table. */
		CHECK((int)result == getpid() || (int)result == -ENOSYS);
	}
	say("done\n");
	return 0;
}
