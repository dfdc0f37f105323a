/* SPDX-License-Identifier: GPL-2.0-or-later
 * Calls into the vsyscall page: answered by pyrr with the kernel's own values. */
#include "../shared/vsyscall.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "session.h"

struct answer {
	int64_t result;
	struct prr_range outputs[2];
	uint8_t bytes[2][16];
};

static void put(struct prr_record_task *t, struct answer *answer, int i, uint64_t addr,
	const void *data, size_t len)
{
	if (!addr)
		return;
	memcpy(answer->bytes[i], data, len);
	if (!prr_mem_write(t->uid.tid, prr_remote(addr), data, len))
		answer->result = -EFAULT;
	else
		answer->outputs[i] = (struct prr_range){ addr, len };
}

static void compute(struct prr_record *s, struct prr_record_task *t, struct answer *answer)
{
	struct timeval tv;
	struct timezone tz;
	uint32_t cpu = (uint32_t)s->options->cpu, node = 0;

	memset(answer, 0, sizeof(*answer));
	/* Raw syscalls: the supervisor's vdso would run rdtsc, which traps. */
	syscall(SYS_gettimeofday, &tv, &tz);
	switch (t->nr) {
	case SYS_gettimeofday:
		put(t, answer, 0, t->args[0], &tv, sizeof(tv));
		put(t, answer, 1, t->args[1], &tz, sizeof(tz));
		break;
	case SYS_time:
		put(t, answer, 0, t->args[0], &tv.tv_sec, sizeof(tv.tv_sec));
		if (answer->result == 0)
			answer->result = tv.tv_sec;
		break;
	default: /* getcpu */
		put(t, answer, 0, t->args[0], &cpu, sizeof(cpu));
		put(t, answer, 1, t->args[1], &node, sizeof(node));
		break;
	}
}

enum prr_status prr_record_vsyscall(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	struct answer answer;

	t->entry_regs = t->regs;
	t->nr = (int64_t)t->regs.orig_rax;
	prr_regs_syscall_args(&t->regs, t->args);
	compute(s, t, &answer);
	PRR_TRY(prr_vsyscall_leave(t->uid.tid, answer.result, &t->regs, err));
	t->regs_dirty = false;
	t->state = PRR_TASK_READY;
	prr_event_begin(s, t, PRR_EVENT_SYSCALL, PRR_ORIGIN_POLICY, &t->entry_regs);
	PRR_TRY(prr_event_syscall_field(s, t, answer.result, 0, err));
	for (int i = 0; i < 2; i++)
		PRR_TRY(prr_event_bytes(s, t->as->uid, answer.outputs[i].addr, answer.bytes[i],
			answer.outputs[i].len, err));
	PRR_TRY(prr_event_regs_after(s, t, false, err));
	PRR_TRY(prr_event_commit(s, err));
	prr_record_after_event(s, false);
	return PRR_OK;
}
