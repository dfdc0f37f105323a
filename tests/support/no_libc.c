/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A program without a C library: the few events that stand here, in each run. */
static char message[16] = "hello\n";

static long call(long number, long first, long second, long third)
{
	long result;

	__asm__ volatile("syscall"
		: "=a"(result)
		: "a"(number), "D"(first), "S"(second), "d"(third)
		: "rcx", "r11", "memory");
	return result;
}

void _start(void)
{
	long left, length = 6;

	call(1, 1, (long)message, length); /* write */
	left = call(37, 0, 0, 0);          /* alarm */
	message[0] = 'j';
	if (left == 12345)
		length = 3;
	call(1, 1, (long)message, length); /* write */
	call(231, 7, 0, 0);                /* exit_group */
}
