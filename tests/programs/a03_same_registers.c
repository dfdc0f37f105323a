/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A3: after a handler returns, a loop runs whose registers never change while it
 * counts in memory; a timer's signals arrive in there.
 * Wrong: a signal at unchanged registers counts as one that came before the loop
 * began, and the replay's handler sees another count.
 */
#include "check.h"

#include <signal.h>
#include <sys/time.h>

#define SEEN 256

static volatile unsigned long counter, seen[SEEN];
static volatile int alarms;

static void on_alarm(int signo)
{
	(void)signo;
	if (alarms < SEEN)
		seen[alarms] = counter;
	alarms++;
}

static void on_trap(int signo)
{
	(void)signo; /* returns to the head of the loop */
}

int main(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	uint64_t hash = HASH_START;

	signal(SIGALRM, on_alarm);
	signal(SIGTRAP, on_trap);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (int i = 0; i < 20; i++) {
		counter = 0;
		__asm__ volatile("cmp %%rax, %%rax\n"
				 "int3\n"
				 "1: lock addq $1, %0\n"
				 "btq $20, %0\n"
				 "jc 2f\n"
				 "cmp %%rax, %%rax\n"
				 "jmp 1b\n"
				 "2:\n"
			: "+m"(counter)
			:
			: "cc");
		getppid();
	}
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	for (int i = 0; i < alarms && i < SEEN; i++)
		hash = hash_bytes((const void *)&seen[i], sizeof(seen[i]), hash);
	say("%d alarms, %llx\n", alarms, (unsigned long long)hash);
	return 0;
}
