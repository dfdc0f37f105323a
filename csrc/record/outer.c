/* SPDX-License-Identifier: GPL-2.0-or-later
 * Seccomp filters that were there before pyrr: a container's or a sandbox's.
 *
 * What such a filter answers with an errno never comes to ours, since ERRNO beats
 * RET_TRACE: the program gets a result that no stop shows, and goes another way
 * (glibc calls clone where Docker's profile says that there is no clone3). So where
 * there is one, tasks run to syscall stops too: the entry stop comes before all
 * filters. Then either our seccomp stop follows, or at once the exit stop of a
 * call that another filter has answered.
 *
 * Under PTRACE_SYSCALL a call that pyrr answered, and a new task, come to an exit
 * stop as well: nothing is to be done there. */
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>

#include "session.h"

#ifndef PTRACE_EVENTMSG_SYSCALL_ENTRY
#define PTRACE_EVENTMSG_SYSCALL_ENTRY 1 /* Linux 5.3 */
#endif

enum { MAX_ERRNO = 4095 };

bool prr_record_has_outer_filters(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
}

/* int 0x80 is answered by pyrr's filter; replay does it without an event. */
static bool is_int80(const struct prr_record_task *t)
{
	static const uint8_t int80[2] = { 0xcd, 0x80 };
	uint8_t bytes[2];

	return prr_mem_read(t->uid.tid, prr_remote(t->regs.rip - 2), bytes, sizeof(bytes)) &&
		memcmp(bytes, int80, sizeof(bytes)) == 0;
}

/* t stands at the exit of a call that another filter has answered. The program's
 * own filters are asked all the same: one that kills is stronger. */
static enum prr_status answered(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	int64_t result = (int64_t)t->regs.rax;
	bool done;

	prr_regs_canonical_syscall(&t->regs);
	t->regs.rax = (uint64_t)-ENOSYS; /* as at the entry */
	PRR_TRY(prr_record_before_call(s, t, &done, err));
	if (done)
		return PRR_OK;
	if (result >= 0 || result < -MAX_ERRNO)
		return prr_fail(err, PRR_ERR_UNSUPPORTED, 0,
			"run pyrr where no seccomp filter with a supervisor is in force",
			"task %d: a supervisor outside the recording carried out its call %lld",
			t->uid.tid, (long long)t->nr);
	return prr_record_answer(s, t, result, NULL, 0, 0, err);
}

enum prr_status prr_record_outer_stop(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	unsigned long message;

	if (!prr_ptrace_event_message(t->uid.tid, &message))
		return PRR_OK; /* killed: its exit is reported next */
	bool entry = message == PTRACE_EVENTMSG_SYSCALL_ENTRY;
	bool passed = t->before_filters;

	t->before_filters = entry;
	if (!entry && passed) {
		struct prr_regs last = t->regs;

		if (!prr_ptrace_get_regs(t->uid.tid, &t->regs))
			return PRR_OK;
		/* SECCOMP_RET_TRAP puts the number back; its SIGSYS comes next. */
		if (t->regs.rax != t->regs.orig_rax && !is_int80(t))
			return answered(s, t, err);
		t->regs = last;
	}
	prr_record_go(s, t, 0);
	return PRR_OK;
}
