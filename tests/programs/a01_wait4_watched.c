/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A1: wait4(2) writes the status and a struct rusage; waitid(2) a siginfo.
 * Wrong: they are seen early, or the resource usage is not in the trace.
 * pyrr-test: cflags=-pthread
 */
#include "watch.h"

#include <sys/resource.h>

static struct {
	int status;
	int pad;
	struct rusage usage;
	siginfo_t info;
} area;
static pid_t child;
static int use_waitid;

static void *waiter(void *arg)
{
	watch_about_to_sleep(arg);
	if (use_waitid)
		CHECK(syscall(SYS_waitid, P_PID, child, &area.info, WEXITED, &area.usage) == 0);
	else
		CHECK(wait4(child, &area.status, 0, &area.usage) == child);
	return NULL;
}

int main(void)
{
	for (int round = 0; round < 8; round++) {
		struct watch w;
		int gate[2];
		char byte;

		use_waitid = round % 2;
		memset(&area, 0x11, sizeof(area));
		CHECK(pipe(gate) == 0);
		child = fork();
		if (child == 0)
			_exit(read(gate[0], &byte, 1) == 1 ? 40 + round : 1);
		watch_start(&w, &area, sizeof(area), waiter);
		write_all(gate[1], "x", 1);
		watch_finish(&w, use_waitid ? "waitid" : "wait4");
		if (use_waitid)
			CHECK(area.info.si_pid == child && area.info.si_status == 40 + round);
		else
			CHECK(WEXITSTATUS(area.status) == 40 + round);
		say("child %d used %ld us, %ld KB\n", child, area.usage.ru_stime.tv_usec,
			area.usage.ru_maxrss);
		close(gate[0]);
		close(gate[1]);
	}
	return 0;
}
