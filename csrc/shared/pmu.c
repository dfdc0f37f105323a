/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pmu.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "error.h"

static struct perf_event_attr attributes(const struct prr_pmu_cpu *cpu)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_RAW;
	attr.config = cpu->event;
	/* The kernel works on the task's behalf differently in each run. */
	attr.exclude_kernel = 1;
	/* Else a virtual machine that the task runs would count as its own code. */
	attr.exclude_guest = 1;
	return attr;
}

static enum prr_status unavailable(struct prr_error *err, int result, const char *doing)
{
	return prr_fail(
		err, PRR_ERR_ENVIRONMENT, -result, "record with --clock=probe", "%s", doing);
}

enum prr_status prr_pmu_open(struct prr_pmu_counter *counter, const struct prr_perf *perf,
	const struct prr_pmu_cpu *cpu, const struct prr_cpu_id *id, pid_t tid,
	struct prr_error *err)
{
	struct perf_event_attr attr = attributes(cpu);
	int fd;

	*counter = (struct prr_pmu_counter){ .perf = *perf, .overflow = -1, .measure = -1 };
	/* Pinned: an event that shares its place with others counts now and then only. */
	attr.pinned = 1;
	attr.sample_period = PRR_PMU_NEVER; /* without one, none can be set later */
	fd = perf->ops->open(perf->context, &attr, tid, -1);
	if (fd < 0)
		return unavailable(err, fd, "opening a counter of conditional branches");
	counter->overflow = counter->measure = fd;
	if (!id->transactions)
		return PRR_OK;
	/* The kernel does not let an IN_TXCP event interrupt: the CPU would report overflows
	 * that are none (Intel SDM vol. 3B on IA32_PERFEVTSEL2). So a second event, of the same
	 * group, does the counting; overflows may then come too early, which prr_pmu_run_to
	 * bears. */
	attr.pinned = 0;
	attr.sample_period = 0;
	attr.config |= PRR_PMU_IN_TXCP;
	fd = perf->ops->open(perf->context, &attr, tid, counter->overflow);
	if (fd < 0) {
		prr_pmu_close(counter);
		return unavailable(err, fd, "opening a counter that leaves out transactions");
	}
	counter->measure = fd;
	return PRR_OK;
}

enum prr_status prr_pmu_notify(struct prr_pmu_counter *counter, pid_t tid, struct prr_error *err)
{
	int result = counter->perf.ops->notify(
		counter->perf.context, counter->overflow, tid, PRR_PMU_SIGNAL);

	return result < 0 ? unavailable(err, result, "asking for overflow signals") : PRR_OK;
}

enum prr_status prr_pmu_ticks(
	const struct prr_pmu_counter *counter, uint64_t *ret, struct prr_error *err)
{
	int result = counter->perf.ops->read(counter->perf.context, counter->measure, ret);

	if (result == -ENODATA)
		return prr_fail(err, PRR_ERR_ENVIRONMENT, 0,
			"stop what else uses the counters: perf, or sysctl kernel.nmi_watchdog=0",
			"the branch counter was taken away by another user of the PMU");
	return result < 0 ? unavailable(err, result, "reading the branch counter") : PRR_OK;
}

enum prr_status prr_pmu_reset(const struct prr_pmu_counter *counter, struct prr_error *err)
{
	const struct prr_perf *perf = &counter->perf;
	int result = perf->ops->reset(perf->context, counter->overflow);

	if (result == 0 && counter->measure != counter->overflow)
		result = perf->ops->reset(perf->context, counter->measure);
	return result < 0 ? unavailable(err, result, "resetting the branch counter") : PRR_OK;
}

enum prr_status prr_pmu_arm(
	const struct prr_pmu_counter *counter, uint64_t period, struct prr_error *err)
{
	int result = counter->perf.ops->set_period(
		counter->perf.context, counter->overflow, period ? period : 1);

	return result < 0 ? unavailable(err, result, "arming the branch counter") : PRR_OK;
}

void prr_pmu_close(struct prr_pmu_counter *counter)
{
	if (counter->measure >= 0 && counter->measure != counter->overflow)
		counter->perf.ops->close(counter->perf.context, counter->measure);
	if (counter->overflow >= 0)
		counter->perf.ops->close(counter->perf.context, counter->overflow);
	counter->overflow = counter->measure = -1;
}

bool prr_pmu_is_overflow(const struct prr_pmu_counter *counter, const siginfo_t *info)
{
	/* fcntl(2), F_SETSIG: si_code says POLL_IN, si_fd which descriptor. */
	return info->si_signo == PRR_PMU_SIGNAL && info->si_code == POLL_IN &&
		info->si_fd == counter->overflow;
}
