/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A11: sched_setaffinity is answered as the kernel would and can be read back,
 * by threads and children too, though the recorder keeps all on one core.
 * Wrong: the program sees the recorder's pinning, or undoes it.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>

static cpu_set_t one;

static void *thread(void *arg)
{
	cpu_set_t now;

	(void)arg;
	CHECK(sched_getaffinity(0, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &one));
	return NULL;
}

int main(void)
{
	cpu_set_t all, now, none;
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	int first = -1;
	pthread_t t;
	pid_t child;

	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
	say("%d of %ld cpus allowed\n", CPU_COUNT(&all), online);
	CHECK(CPU_COUNT(&all) >= 1);
	for (int i = 0; i < CPU_SETSIZE && first < 0; i++)
		if (CPU_ISSET(i, &all))
			first = i;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	CHECK(sched_getaffinity(0, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &one));
	CHECK(pthread_create(&t, NULL, thread, NULL) == 0 && pthread_join(t, NULL) == 0);
	child = fork();
	if (child == 0) {
		thread(NULL);
		CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);
		_exit(0);
	}
	reap_ok(child);
	CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);
	CHECK(sched_getaffinity(0, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &all));

	CPU_ZERO(&none);
	CHECK(sched_setaffinity(0, sizeof(none), &none) == -1 && errno == EINVAL);
	CHECK(sched_setaffinity(0x3fffffff, sizeof(all), &all) == -1 && errno == ESRCH);
	CHECK(syscall(SYS_sched_getaffinity, 0, 1, &now) == -1 && errno == EINVAL);
	say("raw result %ld, cpu %d\n", syscall(SYS_sched_getaffinity, 0, sizeof(now), &now),
		sched_getcpu() >= 0);
	return 0;
}
