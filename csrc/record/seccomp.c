/* SPDX-License-Identifier: GPL-2.0-or-later
 * The program's own seccomp filters (PITFALLS A12): checked as the kernel does,
 * kept by the task, asked at every entry stop before anything else happens to
 * the call. Kernel side: kernel/seccomp.c.
 *
 * A call that kills is left to the kernel: the task really gets a filter that
 * kills, and makes its call again; so status, core dump and the fate of its
 * siblings are the kernel's own. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "../shared/inject.h"
#include "session.h"

/* ---------------------------------------------------------------- installing */

static unsigned mode_of(const struct prr_record *s, const struct prr_record_task *t)
{
	if (t->seccomp_strict)
		return SECCOMP_MODE_STRICT;
	return t->filters.newest || s->outer_filters ? SECCOMP_MODE_FILTER : SECCOMP_MODE_DISABLED;
}

static bool has_cap_sys_admin(const struct prr_record_task *t)
{
	char name[64], line[256];
	unsigned long long set = 0;

	snprintf(name, sizeof(name), "/proc/%d/status", t->uid.tid);
	FILE *file = fopen(name, "re");

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &set) == 1)
			break;
	fclose(file);
	return set >> CAP_SYS_ADMIN & 1;
}

/* SECCOMP_FILTER_FLAG_TSYNC: the thread that stands in the way, or NULL. */
static struct prr_record_task *cannot_sync(struct prr_record *s, const struct prr_record_task *t)
{
	struct prr_record_task *first = NULL; /* in the kernel's order: the oldest */

	for (struct prr_record_task *o = s->tasks; o; o = o->next) {
		bool can =
			!o->seccomp_strict && prr_seccomp_filters_extend(&t->filters, &o->filters);

		if (o != t && o->group == t->group && o->state != PRR_TASK_EXITING && !can &&
			(!first || o->uid.serial < first->uid.serial))
			first = o;
	}
	return first;
}

static void sync_threads(struct prr_record *s, const struct prr_record_task *t)
{
	for (struct prr_record_task *o = s->tasks; o; o = o->next) {
		if (o == t || o->group != t->group)
			continue;
		prr_seccomp_filters_share(&o->filters, &t->filters);
		o->no_new_privs |= t->no_new_privs;
	}
}

static int64_t attach(struct prr_record *s, struct prr_record_task *t, uint64_t flags,
	const struct sock_filter *filter, size_t count)
{
	struct prr_record_task *other;

	/* The checks come in the kernel's order: program, mode, siblings. */
	if (!prr_bpf_check(filter, count) || mode_of(s, t) == SECCOMP_MODE_STRICT)
		return -EINVAL;
	if (flags & SECCOMP_FILTER_FLAG_TSYNC) {
		other = cannot_sync(s, t);
		if (other)
			return flags & SECCOMP_FILTER_FLAG_TSYNC_ESRCH ? -ESRCH : other->ns_tid;
	}
	int error = prr_seccomp_filters_add(&t->filters, filter, count);

	if (error)
		return -error;
	if (flags & SECCOMP_FILTER_FLAG_TSYNC)
		sync_threads(s, t);
	return 0;
}

static int64_t set_filter(
	struct prr_record *s, struct prr_record_task *t, uint64_t flags, uint64_t pointer)
{
	/* No SECCOMP_FILTER_FLAG_NEW_LISTENER: a supervisor among the tracees
	 * would have to be woken by calls that are never made. */
	const uint64_t known = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG |
		SECCOMP_FILTER_FLAG_SPEC_ALLOW | SECCOMP_FILTER_FLAG_TSYNC_ESRCH;
	struct sock_fprog program;

	if (flags & ~known)
		return -EINVAL;
	if (!prr_mem_read(t->uid.tid, prr_remote(pointer), &program, sizeof(program)))
		return -EFAULT;
	if (program.len == 0 || program.len > BPF_MAXINSNS)
		return -EINVAL;
	if (!t->no_new_privs && !has_cap_sys_admin(t))
		return -EACCES;
	size_t size = program.len * sizeof(struct sock_filter);
	struct sock_filter *filter = malloc(size);

	if (!filter)
		return -ENOMEM;
	int64_t result = -EFAULT;

	if (prr_mem_read(t->uid.tid, prr_remote((uint64_t)(uintptr_t)program.filter), filter, size))
		result = attach(s, t, flags, filter, program.len);
	free(filter);
	return result;
}

static int64_t set_strict(const struct prr_record *s, struct prr_record_task *t)
{
	if (mode_of(s, t) == SECCOMP_MODE_FILTER)
		return -EINVAL;
	t->seccomp_strict = true;
	t->tsc_mode = PR_TSC_SIGSEGV; /* the kernel takes rdtsc away too */
	return 0;
}

static int64_t by_prctl(struct prr_record *s, struct prr_record_task *t)
{
	if ((uint32_t)t->args[0] == PR_GET_SECCOMP)
		return mode_of(s, t);
	if (t->args[1] == SECCOMP_MODE_STRICT)
		return set_strict(s, t);
	return t->args[1] == SECCOMP_MODE_FILTER ? set_filter(s, t, 0, t->args[2]) : -EINVAL;
}

static int64_t by_seccomp(struct prr_record *s, struct prr_record_task *t)
{
	uint32_t flags = (uint32_t)t->args[1];

	switch ((uint32_t)t->args[0]) {
	case SECCOMP_SET_MODE_STRICT:
		return flags || t->args[2] ? -EINVAL : set_strict(s, t);
	case SECCOMP_SET_MODE_FILTER:
		return set_filter(s, t, flags, t->args[2]);
	default:
		return -EINVAL;
	}
}

enum prr_status prr_record_seccomp_call(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	int64_t result = t->nr == SYS_prctl ? by_prctl(s, t) : by_seccomp(s, t);

	return prr_record_answer(s, t, result, NULL, 0, 0, err);
}

/* -------------------------------------------------------------------- asking */

static uint32_t ask(const struct prr_record_task *t)
{
	struct seccomp_data data = {
		.nr = (int)t->entry_regs.orig_rax,
		.arch = AUDIT_ARCH_X86_64,
		.instruction_pointer = t->entry_regs.rip,
	};

	if (t->seccomp_strict)
		switch (data.nr) {
		case SYS_read:
		case SYS_write:
		case SYS_exit:
		case SYS_rt_sigreturn:
			return SECCOMP_RET_ALLOW;
		default:
			return SECCOMP_RET_KILL_THREAD;
		}
	for (int i = 0; i < 6; i++)
		data.args[i] = t->args[i];
	return prr_seccomp_evaluate(&t->filters, &data);
}

/* From here on every call that t makes kills as `action` says. */
static enum prr_status arm(struct prr_record_task *t, uint32_t action, struct prr_error *err)
{
	struct {
		struct sock_fprog program;
		struct sock_filter filter[1];
	} block = { { 1, NULL }, { BPF_STMT(BPF_RET | BPF_K, action) } };
	uint64_t args[6] = { SECCOMP_SET_MODE_FILTER, 0, PRR_DATA_ADDR };
	int64_t result;

	block.program.filter = (void *)(uintptr_t)(PRR_DATA_ADDR + sizeof(block.program));
	if (!prr_mem_write(t->uid.tid, prr_remote(PRR_DATA_ADDR), &block, sizeof(block)))
		return prr_fail(
			err, PRR_ERR_TRACEE_GONE, 0, NULL, "task %d lost its memory", t->uid.tid);
	PRR_TRY(prr_inject_one(t->uid.tid, SYS_seccomp, args, &result, err));
	if (result != 0)
		return prr_fail(err, PRR_ERR_INTERNAL, (int)-result, NULL,
			"task %d cannot be killed as its seccomp filter wants", t->uid.tid);
	return PRR_OK;
}

/* The call is the last thing that t did; its EXIT event follows. */
static enum prr_status kill_by_call(
	struct prr_record *s, struct prr_record_task *t, uint32_t action, struct prr_error *err)
{
	bool alone = t->group->task_count == 1;

	PRR_TRY(arm(t, action, err));
	prr_event_begin(s, t, PRR_EVENT_SYSCALL, PRR_ORIGIN_POLICY, &t->entry_regs);
	PRR_TRY(prr_event_syscall_field(s, t, 0, PRR_SYSCALL_EVENT_NO_RETURN, err));
	PRR_TRY(prr_event_commit(s, err));
	if (alone || (action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_KILL_PROCESS)
		t->group->dying = true;
	t->regs = t->entry_regs; /* the call again, the kernel's filter in place */
	t->regs.rip -= 2;
	t->regs.rax = t->entry_regs.orig_rax;
	t->regs.orig_rax = (uint64_t)-1;
	t->regs_dirty = true;
	t->moved = true; /* a signal that comes first is held, and dies with it */
	t->state = PRR_TASK_EXITING_SOON;
	/* Strict mode ends the task with SIGKILL; what the kernel has for a filter
	 * is SIGSYS. They differ to others where the process ends with the task. */
	if (t->seccomp_strict && alone)
		syscall(SYS_tgkill, t->group->tgid, t->uid.tid, SIGKILL);
	prr_record_resume(t, PRR_RESUME_CONT, 0);
	return PRR_OK;
}

static enum prr_status trap(
	struct prr_record *s, struct prr_record_task *t, uint32_t reason, struct prr_error *err)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = SIGSYS;
	info.si_code = 1; /* SYS_SECCOMP */
	info.si_errno = (int)reason;
	info.si_call_addr = (void *)(uintptr_t)t->entry_regs.rip;
	info.si_syscall = (int)t->entry_regs.orig_rax;
	info.si_arch = AUDIT_ARCH_X86_64;
	return prr_record_raise(s, t, &info, err);
}

enum prr_status prr_record_seccomp(
	struct prr_record *s, struct prr_record_task *t, bool *done, struct prr_error *err)
{
	*done = false;
	if (!t->filters.newest && !t->seccomp_strict)
		return PRR_OK;
	uint32_t verdict = ask(t), data = verdict & SECCOMP_RET_DATA;

	switch (verdict & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
		return PRR_OK;
	case SECCOMP_RET_ERRNO:
		*done = true;
		return prr_record_answer(s, t, -(int64_t)data, NULL, 0, 0, err);
	case SECCOMP_RET_TRACE: /* nobody traces it, as far as it can know */
	case SECCOMP_RET_USER_NOTIF:
		*done = true;
		return prr_record_answer(s, t, -ENOSYS, NULL, 0, 0, err);
	case SECCOMP_RET_TRAP:
		*done = true;
		return trap(s, t, data, err);
	default:
		*done = true;
		return kill_by_call(s, t, verdict, err);
	}
}
