/* SPDX-License-Identifier: GPL-2.0-or-later
 * The core that everything shares: how long it makes us wait, and moving to
 * another one (PITFALLS A10). The program cannot tell: what it is told of its
 * core (rdtscp, getcpu, cpuid) is made up of the first one. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "session.h"

/* Nanoseconds that a task was runnable but not running so far: the second
 * number of /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst). */
static uint64_t run_delay(pid_t tid)
{
	char text[128];
	uint64_t running, delay = 0;

	snprintf(text, sizeof(text), "/proc/%d/schedstat", tid);
	int fd = open(text, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	ssize_t len = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[len < 0 ? 0 : len] = '\0';
	return sscanf(text, "%" SCNu64 " %" SCNu64, &running, &delay) == 2 ? delay : 0;
}

uint64_t prr_record_run_delay(const struct prr_record *s)
{
	uint64_t total = run_delay(getpid());

	for (const struct prr_record_task *t = s->tasks; t; t = t->next)
		total += run_delay(t->uid.tid);
	return total;
}

enum prr_status prr_record_move(struct prr_record *s, int32_t cpu, struct prr_error *err)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		return prr_fail_errno(err, "cannot run on core %d", cpu);
	/* A task created meanwhile inherits its parent's core; a dying one fails. */
	for (struct prr_record_task *t = s->tasks; t; t = t->next)
		(void)sched_setaffinity(t->uid.tid, sizeof(set), &set);
	return PRR_OK;
}
