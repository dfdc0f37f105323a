/* SPDX-License-Identifier: GPL-2.0-or-later
 * From the model's handler names to functions. A row whose handler has no entry
 * here needs nothing beyond its data. */
#include <sys/resource.h>
#include <sys/syscall.h>

#include "session.h"

static enum prr_status set_tid_address_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	(void)s;
	(void)handled;
	(void)err;
	t->clear_child_tid = t->args[0];
	return PRR_OK;
}

static enum prr_status set_robust_list_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	(void)s;
	(void)handled;
	(void)err;
	if (t->regs.rax == 0)
		t->robust_list = t->args[0];
	return PRR_OK;
}

/* ARCH_SET_FS and ARCH_SET_GS change the registers. */
static enum prr_status arch_prctl_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	(void)handled;
	return prr_event_regs_after(s, t, false, err);
}

/* Replay's stacks must end where the recorded ones did. */
static enum prr_status limit_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	bool by_pid = t->nr == SYS_prlimit64;
	uint64_t resource = t->args[by_pid ? 1 : 0];
	struct rlimit limit;

	(void)handled;
	if (t->regs.rax != 0 || resource != RLIMIT_STACK ||
		(by_pid && t->args[0] != 0 && (pid_t)t->args[0] != t->ns_tid) ||
		prlimit(t->uid.tid, RLIMIT_STACK, NULL, &limit) != 0)
		return PRR_OK;
	struct prr_field_rlimit field = {
		.resource = RLIMIT_STACK, .soft = limit.rlim_cur, .hard = limit.rlim_max
	};

	return prr_event_field(s, PRR_FIELD_RLIMIT, &field, sizeof(field), err);
}

#define CLONE { .entry = prr_record_clone_entry, .exit = prr_record_clone_exit }
#define EXECVE                                      \
	{ .entry = prr_record_exec_entry,           \
		.prepare = prr_record_exec_prepare, \
		.exit = prr_record_exec_exit }
#define EMULATE { .entry = prr_record_emulate_entry }

static const struct prr_record_handlers table[PRR_RECORD_HANDLER_COUNT] = {
	[PRR_RECORD_ARCH_PRCTL] = { .entry = prr_record_emulate_entry, .exit = arch_prctl_exit },
	[PRR_RECORD_BRK] = { .exit = prr_record_brk_exit },
	[PRR_RECORD_CLONE] = CLONE,
	[PRR_RECORD_CLOSE] = { .entry = prr_record_close_entry },
	[PRR_RECORD_CLONE3] = CLONE,
	[PRR_RECORD_DUMPABLE] = EMULATE,
	[PRR_RECORD_EXECVE] = EXECVE,
	[PRR_RECORD_EXECVEAT] = EXECVE,
	[PRR_RECORD_EXIT] = { .entry = prr_record_exit_entry },
	[PRR_RECORD_EXIT_GROUP] = { .entry = prr_record_exit_entry },
	[PRR_RECORD_FILE_WRITE] = { .entry = prr_record_write_entry,
		.exit = prr_record_write_exit },
	[PRR_RECORD_FORK] = CLONE,
	[PRR_RECORD_GETCPU] = EMULATE,
	[PRR_RECORD_MADVISE] = { .entry = prr_record_range_entry, .exit = prr_record_madvise_exit },
	[PRR_RECORD_MMAP] = { .entry = prr_record_mmap_entry,
		.prepare = prr_record_mmap_prepare,
		.exit = prr_record_mmap_exit },
	[PRR_RECORD_MOUNT] = { .entry = prr_record_mount_entry },
	[PRR_RECORD_MPROTECT] = { .entry = prr_record_range_entry,
		.exit = prr_record_mprotect_exit },
	[PRR_RECORD_MREMAP] = { .entry = prr_record_mremap_entry, .exit = prr_record_mremap_exit },
	[PRR_RECORD_MSEAL] = EMULATE,
	[PRR_RECORD_MUNMAP] = { .entry = prr_record_munmap_entry, .exit = prr_record_munmap_exit },
	[PRR_RECORD_NO_NEW_PRIVS] = EMULATE,
	[PRR_RECORD_OPEN] = { .entry = prr_record_open_entry, .exit = prr_record_open_exit },
	[PRR_RECORD_PRCTL_TSC] = EMULATE,
	[PRR_RECORD_PRLIMIT] = { .exit = limit_exit },
	[PRR_RECORD_PROCESS_VM_WRITEV] = { .exit = prr_record_vm_writev_exit },
	[PRR_RECORD_PTRACE] = EMULATE,
	[PRR_RECORD_RT_SIGACTION] = { .exit = prr_record_sigaction_exit },
	[PRR_RECORD_RT_SIGPROCMASK] = { .exit = prr_record_sigmask_exit },
	[PRR_RECORD_RT_SIGRETURN] = { .exit = prr_record_sigreturn_exit },
	[PRR_RECORD_SCHED_AFFINITY] = EMULATE,
	[PRR_RECORD_SCHED_POLICY] = EMULATE,
	[PRR_RECORD_SECCOMP] = EMULATE,
	[PRR_RECORD_SET_ROBUST_LIST] = { .exit = set_robust_list_exit },
	[PRR_RECORD_SET_TID_ADDRESS] = { .exit = set_tid_address_exit },
	[PRR_RECORD_SETRLIMIT] = { .exit = limit_exit },
	[PRR_RECORD_SHMAT] = { .exit = prr_record_shmat_exit },
	[PRR_RECORD_SHMDT] = { .exit = prr_record_shmdt_exit },
	[PRR_RECORD_SIGALTSTACK] = { .exit = prr_record_sigaltstack_exit },
	[PRR_RECORD_TRANSFER] = { .entry = prr_record_transfer_entry,
		.exit = prr_record_transfer_exit },
	[PRR_RECORD_TRUNCATE] = { .entry = prr_record_truncate_entry,
		.exit = prr_record_truncate_exit },
	[PRR_RECORD_VFORK] = CLONE,
};

struct prr_record_handlers prr_record_handlers(unsigned record_handler)
{
	static const struct prr_record_handlers none;

	return record_handler < PRR_RECORD_HANDLER_COUNT ? table[record_handler] : none;
}
