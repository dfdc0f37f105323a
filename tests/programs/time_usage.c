/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * times, getrusage (self, thread, children), clock(), sysinfo, getloadavg,
 * uname, getcpu, prlimit: read and printed; sleeps reach their deadlines.
 */
#include "check.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/utsname.h>

static uint64_t burn(uint64_t x)
{
	for (int i = 0; i < 2000000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static void usage(int who, const char *name)
{
	struct rusage u;

	CHECK(getrusage(who, &u) == 0);
	say("%s: user %ld.%06ld system %ld.%06ld, %ld KB, faults %ld %ld, switches %ld %ld\n", name,
		(long)u.ru_utime.tv_sec, (long)u.ru_utime.tv_usec, (long)u.ru_stime.tv_sec,
		(long)u.ru_stime.tv_usec, u.ru_maxrss, u.ru_minflt, u.ru_majflt, u.ru_nvcsw,
		u.ru_nivcsw);
}

static void deadline(long ms)
{
	struct timespec until, now;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
	until.tv_nsec += ms * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	CHECK(now.tv_sec > until.tv_sec ||
		(now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
	say("late by %ld ns\n",
		(long)(now.tv_sec - until.tv_sec) * 1000000000 + now.tv_nsec - until.tv_nsec);
}

int main(void)
{
	struct sysinfo info;
	struct utsname name;
	struct rlimit limit;
	struct tms t;
	unsigned cpu, node;
	double load[3];
	pid_t child = fork();

	if (child == 0)
		_exit((int)burn(1) & 0);
	reap_ok(child);
	say("%016lx\n", burn(2));
	say("times: %ld", (long)times(&t));
	say(" %ld %ld %ld\n", (long)t.tms_utime, (long)t.tms_stime, (long)t.tms_cutime);
	usage(RUSAGE_SELF, "self");
	usage(RUSAGE_THREAD, "thread");
	usage(RUSAGE_CHILDREN, "children");
	say("clock: %ld\n", (long)clock());
	CHECK(sysinfo(&info) == 0 && uname(&name) == 0 && getcpu(&cpu, &node) == 0);
	say("up %ld s, %lu free, %d processes, %s, cpu %u\n", info.uptime, info.freeram, info.procs,
		name.release, cpu);
	CHECK(getloadavg(load, 3) == 3);
	say("load %f\n", load[0]);
	for (int i = 0; i < 16; i++) {
		CHECK(getrlimit(i, &limit) == 0);
		say("limit %d: %lx %lx\n", i, (unsigned long)limit.rlim_cur,
			(unsigned long)limit.rlim_max);
	}
	deadline(3);
	deadline(0);
	deadline(7);
	return 0;
}
