/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A13: the three functions of the fixed vsyscall page, which some old static
 * programs call, agree with the system calls.
 * Wrong: the replay makes no stop there and returns the real clock.
 * pyrr-test: needs=vsyscall
 */
#include "check.h"

#include <sys/time.h>

typedef int (*vgettimeofday)(struct timeval *, void *);
typedef time_t (*vtime)(time_t *);
typedef long (*vgetcpu)(unsigned *, unsigned *, void *);

int main(void)
{
	volatile uintptr_t page = 0xffffffffff600000;
	vgettimeofday get = (vgettimeofday)page;
	vtime seconds = (vtime)(page + 0x400);
	vgetcpu getcpu = (vgetcpu)(page + 0x800);
	struct timeval one, two;
	unsigned cpu = 1000, node = 1000;

	for (int i = 0; i < 5; i++) {
		time_t now = 0;

		CHECK(gettimeofday(&one, NULL) == 0);
		CHECK(get(&two, NULL) == 0);
		CHECK(!timercmp(&two, &one, <) && two.tv_sec - one.tv_sec < 60);
		CHECK(seconds(&now) == now && now - two.tv_sec < 60);
		say("%ld.%06ld %ld\n", (long)two.tv_sec, (long)two.tv_usec, (long)now);
	}
	CHECK(getcpu(&cpu, &node, NULL) == 0 && cpu < 1000 && node < 1000);
	say("cpu %u, node %u\n", cpu, node);
	return 0;
}
