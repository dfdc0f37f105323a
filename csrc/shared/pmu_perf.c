/* SPDX-License-Identifier: GPL-2.0-or-later
 * struct prr_perf_ops by system calls: perf_event_open(2), fcntl(2). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmu.h"

static int zero_or_errno(int result)
{
	return result < 0 ? -errno : 0;
}

static int kernel_open(void *context, const struct perf_event_attr *attr, pid_t tid, int group)
{
	/* cpu -1: the task's ticks wherever it runs; no inherit: each task has its own. */
	long fd = syscall(SYS_perf_event_open, attr, tid, -1, group, PERF_FLAG_FD_CLOEXEC);

	(void)context;
	return fd < 0 ? -errno : (int)fd;
}

static int kernel_read(void *context, int fd, uint64_t *ret)
{
	ssize_t len = read(fd, ret, sizeof(*ret));

	(void)context;
	if (len < 0)
		return -errno;
	/* End of file: a pinned event in error state. */
	return len == sizeof(*ret) ? 0 : -ENODATA;
}

static int kernel_reset(void *context, int fd)
{
	(void)context;
	return zero_or_errno(ioctl(fd, PERF_EVENT_IOC_RESET, 0));
}

static int kernel_set_period(void *context, int fd, uint64_t period)
{
	(void)context;
	return zero_or_errno(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period));
}

static int kernel_notify(void *context, int fd, pid_t tid, int signo)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = tid };

	(void)context;
	/* The order matters: with O_ASYNC first, an overflow would send SIGIO. */
	if (fcntl(fd, F_SETOWN_EX, &owner) < 0 || fcntl(fd, F_SETSIG, signo) < 0)
		return -errno;
	return zero_or_errno(fcntl(fd, F_SETFL, O_ASYNC));
}

static void kernel_close(void *context, int fd)
{
	(void)context;
	close(fd);
}

struct prr_perf prr_perf_kernel(void)
{
	static const struct prr_perf_ops ops = {
		.open = kernel_open,
		.read = kernel_read,
		.reset = kernel_reset,
		.set_period = kernel_set_period,
		.notify = kernel_notify,
		.close = kernel_close,
	};

	return (struct prr_perf){ .ops = &ops };
}
