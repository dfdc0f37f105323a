/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A3: signals of a timer hit a loop of quick system calls and computing; each
 * handler reads a clock, and the main loop's own state must survive it.
 * Wrong: a signal is replayed beside another system call than it was recorded.
 */
#include "check.h"

#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;
static volatile uint64_t where, hash = HASH_START;

static void tick(int signo, siginfo_t *info, void *context)
{
	struct timespec now;
	uint64_t at = where;

	(void)signo;
	(void)context;
	CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	hash = hash_bytes(&now, sizeof(now), hash);
	hash = hash_bytes(&at, sizeof(at), hash);
	hash = hash_bytes(&info->si_code, sizeof(info->si_code), hash);
	ticks++;
	errno = EDOM;
}

int main(void)
{
	struct itimerval every = { .it_interval.tv_usec = 900, .it_value.tv_usec = 300 };
	struct sigaction action = { .sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART };
	int fd = open("/dev/zero", O_RDONLY);
	char bytes[64];
	uint64_t x = 1;

	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	while (ticks < 40) {
		where++;
		for (int i = 0; i < 500; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
		CHECK(read(fd, bytes, sizeof(bytes)) == 64);
		CHECK(getppid() > 0);
	}
	every = (struct itimerval){ 0 };
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	say("%d ticks in %lu rounds, hash %016lx, x %016lx\n", ticks, where, hash, x);
	return 0;
}
