/* SPDX-License-Identifier: GPL-2.0-or-later
 * What the PMU clock needs, tried out on this machine. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmu_check.h"

static void fail(struct prr_pmu_verdict *verdict, const char *what, int errnum)
{
	verdict->usable = false;
	snprintf(verdict->reason, sizeof(verdict->reason), "the self-test could not be run: %s%s%s",
		what, errnum ? ": " : "", errnum ? strerror(errnum) : "");
	verdict->remedy[0] = '\0';
}

/* In a child: it is bound to a core, takes signals and has nothing of the caller's. */
static void test_in_child(int32_t core, int out)
{
	struct prr_pmu_machine machine;
	struct prr_pmu_verdict verdict;
	cpu_set_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (core < 0)
		core = sched_getcpu();
	CPU_ZERO(&set);
	CPU_SET((size_t)core, &set);
	/* Refused: an unbound self-test is a harder one. */
	(void)sched_setaffinity(0, sizeof(set), &set);
	prr_pmu_host(&machine);
	prr_pmu_check(&machine, &verdict);
	(void)!write(out, &verdict, sizeof(verdict));
	_exit(0);
}

static void take_answer(int in, pid_t child, struct prr_pmu_verdict *verdict)
{
	struct prr_pmu_verdict answer;
	ssize_t len;
	int status = 0;

	do
		len = read(in, &answer, sizeof(answer)); /* less than PIPE_BUF: all or nothing */
	while (len < 0 && errno == EINTR);
	while (waitpid(child, &status, __WALL) < 0 && errno == EINTR)
		;
	if (len == sizeof(answer))
		*verdict = answer;
	else
		fail(verdict, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "no answer", 0);
}

void prr_pmu_check_apart(int32_t core, struct prr_pmu_verdict *verdict)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		fail(verdict, "pipe", errno);
		return;
	}
	child = fork();
	if (child == 0)
		test_in_child(core, ends[1]);
	if (child < 0)
		fail(verdict, "fork", errno);
	close(ends[1]);
	if (child > 0)
		take_answer(ends[0], child, verdict);
	close(ends[0]);
}

void prr_clock_facts(int32_t core, struct prr_clock_facts *ret)
{
	struct prr_pmu_machine machine;
	struct prr_pmu_verdict verdict;

	_Static_assert(sizeof(ret->cpu) >= sizeof(verdict.cpu) &&
			sizeof(ret->reason) >= sizeof(verdict.reason) &&
			sizeof(ret->remedy) >= sizeof(verdict.remedy),
		"texts fit");
	memset(ret, 0, sizeof(*ret));
	prr_pmu_host(&machine);
	/* Which core of a hybrid CPU this runs on is of no account, only the child's is. */
	machine.cpu.efficiency_core = false;
	if (prr_pmu_check_there(&machine, &verdict))
		prr_pmu_check_apart(core, &verdict);
	ret->pmu_usable = verdict.usable;
	snprintf(ret->cpu, sizeof(ret->cpu), "%s", verdict.cpu);
	snprintf(ret->reason, sizeof(ret->reason), "%s", verdict.reason);
	snprintf(ret->remedy, sizeof(ret->remedy), "%s", verdict.remedy);
}
