/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A3: an interval timer fires while the program computes without system calls;
 * then it calls pause(2), sigsuspend(2) or nanosleep(2).
 * Wrong: the held signal waits for the exit of the call, which never comes.
 */
#include "check.h"

#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;

static void tick(int signo)
{
	(void)signo;
	ticks++;
}

static uint64_t compute(uint64_t x)
{
	for (int i = 0; i < 3000000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

int main(void)
{
	struct itimerval every = { .it_interval.tv_usec = 5000, .it_value.tv_usec = 1000 };
	struct sigaction action = { .sa_handler = tick };
	uint64_t x = 1;
	sigset_t none;

	sigemptyset(&none);
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	for (int i = 0; i < 9; i++) {
		int before = ticks, result;

		x = compute(x);
		if (i % 3 == 0)
			result = pause();
		else if (i % 3 == 1)
			result = sigsuspend(&none);
		else
			result = nanosleep(&(struct timespec){ .tv_sec = 100 }, NULL);
		CHECK(result == -1 && errno == EINTR && ticks > before);
		say("round %d: %d ticks, %016lx\n", i, ticks, x);
	}
	return 0;
}
