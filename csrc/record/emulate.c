/* SPDX-License-Identifier: GPL-2.0-or-later
 * Calls that are validated, remembered and answered, never run (PITFALLS A11):
 * they could undo what the recording rests on. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "session.h"

#define SCHED_PRIORITY_MAX 99

/* The task a pid argument names: 0 is the caller; NULL: not ours. */
static struct prr_record_task *named(struct prr_record *s, struct prr_record_task *t, int64_t pid)
{
	if ((pid_t)pid == 0)
		return t;
	for (struct prr_record_task *o = s->tasks; o; o = o->next)
		if (o->ns_tid == (pid_t)pid)
			return o;
	return NULL;
}

static enum prr_status answer(
	struct prr_record *s, struct prr_record_task *t, int64_t result, struct prr_error *err)
{
	return prr_record_answer(s, t, result, NULL, 0, 0, err);
}

static enum prr_status get_affinity(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	struct prr_record_task *o = named(s, t, (int64_t)t->args[0]);
	/* The kernel writes nr_cpu_ids bits in whole longs; one long covers what
	 * machines up to 64 cores have, more only where the mask needs it. */
	size_t len = 8;

	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &s->program_affinity))
			len = (cpu / 64 + 1) * 8;
	if (!o)
		return answer(s, t, -ESRCH, err);
	if (t->args[1] < len || t->args[1] % 8)
		return answer(s, t, -EINVAL, err);
	return prr_record_answer(s, t, (int64_t)len, &o->affinity, t->args[2], len, err);
}

static enum prr_status set_affinity(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	struct prr_record_task *o = named(s, t, (int64_t)t->args[0]);
	cpu_set_t wanted;
	size_t len = t->args[1] < sizeof(wanted) ? (size_t)t->args[1] : sizeof(wanted);

	CPU_ZERO(&wanted);
	if (!prr_mem_read(t->uid.tid, prr_remote(t->args[2]), &wanted, len))
		return answer(s, t, -EFAULT, err);
	if (!o)
		return answer(s, t, -ESRCH, err);
	CPU_AND(&wanted, &wanted, &s->program_affinity);
	if (CPU_COUNT(&wanted) == 0)
		return answer(s, t, -EINVAL, err);
	o->affinity = wanted;
	return answer(s, t, 0, err);
}

static bool is_real_time(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

static bool valid_policy(int policy, int priority)
{
	if (is_real_time(policy))
		return priority >= 1 && priority <= SCHED_PRIORITY_MAX;
	return (policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE) &&
		priority == 0;
}

static enum prr_status set_scheduler(
	struct prr_record *s, struct prr_record_task *t, bool with_policy, struct prr_error *err)
{
	struct prr_record_task *o = named(s, t, (int64_t)t->args[0]);
	int32_t priority;
	uint64_t pointer = t->args[with_policy ? 2 : 1];

	if (!pointer || (int64_t)t->args[0] < 0)
		return answer(s, t, -EINVAL, err);
	if (!prr_mem_read(t->uid.tid, prr_remote(pointer), &priority, sizeof(priority)))
		return answer(s, t, -EFAULT, err);
	if (!o)
		return answer(s, t, -ESRCH, err);
	int policy = with_policy ? (int)t->args[1] & ~SCHED_RESET_ON_FORK : o->policy;

	if (!valid_policy(policy, priority))
		return answer(s, t, -EINVAL, err);
	if (is_real_time(policy) && !s->may_real_time)
		return answer(s, t, -EPERM, err);
	o->policy = policy;
	o->priority = priority;
	return answer(s, t, 0, err);
}

static enum prr_status get_scheduler(
	struct prr_record *s, struct prr_record_task *t, bool want_policy, struct prr_error *err)
{
	struct prr_record_task *o = named(s, t, (int64_t)t->args[0]);

	if (!o)
		return answer(s, t, -ESRCH, err);
	if (want_policy)
		return answer(s, t, o->policy, err);
	return prr_record_answer(s, t, 0, &o->priority, t->args[1], sizeof(o->priority), err);
}

static enum prr_status priorities(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	struct prr_record_task *o = t;

	if (t->args[0] == PRIO_PROCESS)
		o = named(s, t, (int64_t)t->args[1]);
	if (!o)
		return answer(s, t, -ESRCH, err);
	if (t->nr == SYS_getpriority) /* 20 - nice, so that no answer is negative */
		return answer(s, t, 20 - o->nice, err);
	int nice = (int)t->args[2];

	nice = nice < -20 ? -20 : nice > 19 ? 19 : nice;
	if (nice < o->nice && !s->may_real_time)
		return answer(s, t, -EACCES, err);
	o->nice = nice;
	return answer(s, t, 0, err);
}

static enum prr_status getcpu_call(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	uint32_t cpu = (uint32_t)s->options->cpu, node = 0;

	if ((t->args[0] && !prr_mem_write(t->uid.tid, prr_remote(t->args[0]), &cpu, 4)) ||
		(t->args[1] && !prr_mem_write(t->uid.tid, prr_remote(t->args[1]), &node, 4)))
		return answer(s, t, -EFAULT, err);
	prr_event_begin(s, t, PRR_EVENT_SYSCALL, PRR_ORIGIN_POLICY, &t->entry_regs);
	PRR_TRY(prr_event_syscall_field(s, t, 0, 0, err));
	if (t->args[0])
		PRR_TRY(prr_event_memory(s, t, t->args[0], 4, err));
	if (t->args[1])
		PRR_TRY(prr_event_memory(s, t, t->args[1], 4, err));
	PRR_TRY(prr_event_commit(s, err));
	prr_record_skip(s, t, 0);
	return PRR_OK;
}

static enum prr_status tsc_mode(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	if (t->args[0] == PR_GET_TSC)
		return prr_record_answer(
			s, t, 0, &t->tsc_mode, t->args[1], sizeof(t->tsc_mode), err);
	if (t->args[1] != PR_TSC_ENABLE && t->args[1] != PR_TSC_SIGSEGV)
		return answer(s, t, -EINVAL, err);
	t->tsc_mode = (uint32_t)t->args[1];
	return answer(s, t, 0, err);
}

static enum prr_status no_new_privs(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	if (t->args[0] == PR_GET_NO_NEW_PRIVS)
		return answer(s, t, t->no_new_privs, err);
	if (t->args[1] != 1 || t->args[2] || t->args[3] || t->args[4])
		return answer(s, t, -EINVAL, err);
	t->no_new_privs = true;
	return answer(s, t, 0, err);
}

static enum prr_status dumpable(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	if (t->args[0] == PR_GET_DUMPABLE)
		return answer(s, t, t->undumpable ? 0 : 1, err);
	if (t->args[1] > 1)
		return answer(s, t, -EINVAL, err);
	/* Really set, it would keep an unprivileged supervisor out of /proc/PID. */
	t->undumpable = t->args[1] == 0;
	return answer(s, t, 0, err);
}

static enum prr_status prctl_call(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	switch (t->args[0]) {
	case PR_GET_TSC:
	case PR_SET_TSC:
		return tsc_mode(s, t, err);
	case PR_GET_NO_NEW_PRIVS:
	case PR_SET_NO_NEW_PRIVS:
		return no_new_privs(s, t, err);
	case PR_GET_DUMPABLE:
	case PR_SET_DUMPABLE:
		return dumpable(s, t, err);
	case PR_GET_SECCOMP:
	case PR_SET_SECCOMP:
		return prr_record_seccomp_call(s, t, err);
	default:
		return answer(s, t, -EINVAL, err);
	}
}

/* sched_setattr(2), sched_getattr(2): struct sched_attr, first published size. */
struct sched_attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static enum prr_status get_attributes(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	struct prr_record_task *o = named(s, t, (int64_t)t->args[0]);

	if (!t->args[1] || (int64_t)t->args[0] < 0 || t->args[3] ||
		t->args[2] < sizeof(struct sched_attributes))
		return answer(s, t, -EINVAL, err);
	if (!o)
		return answer(s, t, -ESRCH, err);
	struct sched_attributes attributes = {
		.size = sizeof(attributes),
		.policy = (uint32_t)o->policy,
		.nice = o->nice,
		.priority = (uint32_t)o->priority,
	};

	return prr_record_answer(s, t, 0, &attributes, t->args[1], sizeof(attributes), err);
}

static enum prr_status set_attributes(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	struct prr_record_task *o = named(s, t, (int64_t)t->args[0]);
	struct sched_attributes attributes;

	if (!t->args[1] || (int64_t)t->args[0] < 0 || t->args[2])
		return answer(s, t, -EINVAL, err);
	if (!prr_mem_read(t->uid.tid, prr_remote(t->args[1]), &attributes, sizeof(attributes)))
		return answer(s, t, -EFAULT, err);
	if (!o)
		return answer(s, t, -ESRCH, err);
	if (!valid_policy((int)attributes.policy, (int)attributes.priority))
		return answer(s, t, -EINVAL, err);
	if (is_real_time((int)attributes.policy) && !s->may_real_time)
		return answer(s, t, -EPERM, err);
	o->policy = (int32_t)attributes.policy;
	o->priority = (int32_t)attributes.priority;
	o->nice = attributes.nice;
	return answer(s, t, 0, err);
}

/* arch_prctl(ARCH_GET_CPUID / ARCH_SET_CPUID): the program's wish to have cpuid
 * fault cannot be kept beside our own use of it. */
static enum prr_status cpuid_mode(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	const uint64_t get_cpuid = 0x1011;

	return answer(s, t, t->args[0] == get_cpuid ? 1 : -ENODEV, err);
}

static enum prr_status dispatch(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	switch (t->nr) {
	case SYS_sched_getaffinity:
		return get_affinity(s, t, err);
	case SYS_sched_setaffinity:
		return set_affinity(s, t, err);
	case SYS_sched_setscheduler:
	case SYS_sched_setparam:
		return set_scheduler(s, t, t->nr == SYS_sched_setscheduler, err);
	case SYS_sched_getscheduler:
	case SYS_sched_getparam:
		return get_scheduler(s, t, t->nr == SYS_sched_getscheduler, err);
	case SYS_setpriority:
	case SYS_getpriority:
		return priorities(s, t, err);
	case SYS_sched_getattr:
		return get_attributes(s, t, err);
	case SYS_sched_setattr:
		return set_attributes(s, t, err);
	case SYS_getcpu:
		return getcpu_call(s, t, err);
	case SYS_arch_prctl:
		return cpuid_mode(s, t, err);
	case SYS_seccomp:
		return prr_record_seccomp_call(s, t, err);
	case SYS_ptrace:
		return answer(s, t, -EPERM, err);
	case 462: /* mseal: succeeds without being executed (PITFALLS A14) */
		return answer(s, t, 0, err);
	case SYS_prctl:
		return prctl_call(s, t, err);
	default:
		return answer(s, t, -ENOSYS, err);
	}
}

enum prr_status prr_record_emulate_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	/* arch_prctl's other commands run as they are. */
	if (!(t->view.flags & PRR_SYSCALL_EMULATED) && t->nr != SYS_ptrace)
		return PRR_OK;
	*handled = PRR_HANDLED_DONE;
	return dispatch(s, t, err);
}
