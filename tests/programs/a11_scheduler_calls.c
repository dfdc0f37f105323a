/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A11: policy, priority and nice are set, read back and inherited. SCHED_FIFO
 * needs privilege: both outcomes are right, but the answers must agree.
 * Wrong: a real-time tracee starves the recorder, or a value is forgotten.
 */
#include "check.h"

#include <sys/resource.h>

/* As the kernel has it; its header clashes with <sched.h>. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static void try_policy(int policy, int priority, const char *name)
{
	struct sched_param param = { .sched_priority = priority }, now;
	int result = sched_setscheduler(0, policy, &param);

	if (result == -1) {
		CHECK(errno == EPERM);
		say("%s: not permitted\n", name);
		return;
	}
	CHECK(sched_getscheduler(0) == policy);
	CHECK(sched_getparam(0, &now) == 0 && now.sched_priority == priority);
	CHECK(sched_yield() == 0);
	say("%s: set\n", name);
}

int main(void)
{
	struct attributes attr = { .size = sizeof(attr) };
	struct sched_param zero = { 0 };
	struct timespec quantum;
	pid_t child;

	CHECK(sched_getscheduler(0) == SCHED_OTHER);
	try_policy(SCHED_FIFO, 10, "fifo");
	try_policy(SCHED_RR, 3, "rr");
	CHECK(sched_setscheduler(0, SCHED_OTHER, &zero) == 0);
	try_policy(SCHED_BATCH, 0, "batch");
	CHECK(sched_setscheduler(0, SCHED_OTHER, &zero) == 0);
	CHECK(sched_setscheduler(0, 99, &zero) == -1 && errno == EINVAL);

	CHECK(setpriority(PRIO_PROCESS, 0, 5) == 0);
	CHECK(getpriority(PRIO_PROCESS, 0) == 5);
	CHECK(nice(2) == 7);
	CHECK(syscall(SYS_getpriority, PRIO_PROCESS, 0) == 20 - 7);
	child = fork();
	if (child == 0)
		_exit(getpriority(PRIO_PROCESS, 0));
	CHECK(WEXITSTATUS(reap(child)) == 7);

	CHECK(syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) == 0);
	CHECK(attr.policy == SCHED_OTHER && attr.nice == 7);
	attr.nice = 9;
	CHECK(syscall(SYS_sched_setattr, 0, &attr, 0) == 0);
	CHECK(getpriority(PRIO_PROCESS, 0) == 9);
	CHECK(sched_rr_get_interval(0, &quantum) == 0);
	say("priorities %d..%d\n", sched_get_priority_min(SCHED_FIFO),
		sched_get_priority_max(SCHED_FIFO));
	return 0;
}
