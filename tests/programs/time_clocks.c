/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every clock through libc (which would use the vDSO) and through the raw system
 * call, in turns: each is monotonic where it must be, and both ways agree.
 * Wrong: the vDSO is still there and the replay reads today's clock.
 */
#include "check.h"

#include <sys/auxv.h>
#include <sys/time.h>

static int64_t ns(const struct timespec *t)
{
	return t->tv_sec * 1000000000ll + t->tv_nsec;
}

static void compare(clockid_t clock)
{
	struct timespec libc, raw, again, resolution;

	if (clock_gettime(clock, &libc) == -1) {
		CHECK(errno == EINVAL);
		return;
	}
	CHECK(syscall(SYS_clock_gettime, clock, &raw) == 0);
	CHECK(clock_gettime(clock, &again) == 0);
	CHECK(ns(&raw) - ns(&libc) < 10000000000ll);
	if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE && clock != CLOCK_TAI)
		CHECK(ns(&libc) <= ns(&raw) && ns(&raw) <= ns(&again));
	CHECK(clock_getres(clock, &resolution) == 0);
	say("clock %d: %ld %ld %ld, resolution %ld\n", clock, ns(&libc), ns(&raw), ns(&again),
		ns(&resolution));
}

int main(void)
{
	struct timeval one, two;
	struct timespec now;
	struct timezone zone;
	clockid_t other;
	time_t t;

	for (int round = 0; round < 3; round++)
		for (clockid_t clock = 0; clock < 12; clock++)
			compare(clock);
	CHECK(clock_getcpuclockid(getpid(), &other) == 0);
	compare(other);
	for (int i = 0; i < 5; i++) {
		CHECK(gettimeofday(&one, &zone) == 0);
		CHECK(syscall(SYS_gettimeofday, &two, NULL) == 0);
		CHECK(!timercmp(&two, &one, <));
		t = time(NULL);
		CHECK(t >= one.tv_sec - 1 && syscall(SYS_time, NULL) >= t); /* a coarser clock */
		CHECK(timespec_get(&now, TIME_UTC) == TIME_UTC);
		say("%ld.%06ld %ld.%06ld %ld %ld\n", (long)one.tv_sec, (long)one.tv_usec,
			(long)two.tv_sec, (long)two.tv_usec, (long)t, now.tv_nsec);
	}
	say("local time: %s", ctime(&t));
	say("vdso: %lx, clock ticks %lu, page %lu\n", getauxval(AT_SYSINFO_EHDR),
		getauxval(AT_CLKTCK), getauxval(AT_PAGESZ));
	return 0;
}
