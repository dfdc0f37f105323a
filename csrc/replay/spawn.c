/* SPDX-License-Identifier: GPL-2.0-or-later
 * The first replaying process: a stub whose only memory is pyrr's pages. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../shared/seccomp.h"
#include "session.h"

#define PTRACE_OPTIONS                                                                            \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
		PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL)

/* A static ELF file made of pyrr's two mappings. */
struct stub {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	uint8_t padding[PRR_PAGE_SIZE - sizeof(Elf64_Ehdr) - 2 * sizeof(Elf64_Phdr)];
	uint8_t code[PRR_PAGE_SIZE];
};

static void fill_stub(struct stub *stub)
{
	memset(stub, 0, sizeof(*stub));
	memcpy(stub->header.e_ident, ELFMAG, SELFMAG);
	stub->header.e_ident[EI_CLASS] = ELFCLASS64;
	stub->header.e_ident[EI_DATA] = ELFDATA2LSB;
	stub->header.e_ident[EI_VERSION] = EV_CURRENT;
	stub->header.e_type = ET_EXEC;
	stub->header.e_machine = EM_X86_64;
	stub->header.e_version = EV_CURRENT;
	stub->header.e_entry = PRR_CODE_ADDR;
	stub->header.e_phoff = offsetof(struct stub, segments);
	stub->header.e_ehsize = sizeof(Elf64_Ehdr);
	stub->header.e_phentsize = sizeof(Elf64_Phdr);
	stub->header.e_phnum = 2;
	stub->segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = offsetof(struct stub, code),
		.p_vaddr = PRR_CODE_ADDR,
		.p_filesz = PRR_PAGE_SIZE,
		.p_memsz = PRR_PAGE_SIZE,
		.p_align = PRR_PAGE_SIZE };
	stub->segments[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
		.p_flags = PF_R | PF_W,
		.p_vaddr = PRR_DATA_ADDR,
		.p_memsz = PRR_DATA_SIZE,
		.p_align = PRR_PAGE_SIZE };
	memcpy(stub->code, "\x0f\x05\xcc\xcc", 4);
}

static enum prr_status make_stub(struct prr_replay *s, struct prr_error *err)
{
	struct stub *stub = malloc(sizeof(*stub));

	if (!stub)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	fill_stub(stub);
	/* Not close-on-exec: every replaying task execs it again. */
	s->stub_fd = memfd_create("pyrr-stub", 0);
	ssize_t written = s->stub_fd < 0 ? -1 : write(s->stub_fd, stub, sizeof(*stub));

	free(stub);
	if (written != (ssize_t)sizeof(*stub))
		return prr_fail_errno(err, "cannot write the replay stub to a memfd");
	return PRR_OK;
}

/* In the child, between fork and exec: async-signal-safe calls only. */
static _Noreturn void child(int stub_fd, int go)
{
	char *argv[] = { "pyrr-replay", NULL }, *envp[] = { NULL };
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(200);
	/* No Ctrl-C from the terminal, and no descriptors of the supervisor's. */
	setsid();
	if (stub_fd > 0)
		syscall(SYS_close_range, 0, stub_fd - 1, 0);
	syscall(SYS_close_range, stub_fd + 1, ~0u, 0);
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	/* Where seccomp is forbidden, programs that call the vsyscall page diverge
	 * loudly; all others replay. */
	(void)prr_seccomp_install_vsyscall();
	syscall(SYS_execveat, stub_fd, "", argv, envp, AT_EMPTY_PATH);
	_exit(127);
}

/* From SEIZE to the stub's execve-exit stop. */
static enum prr_status to_stub(pid_t tid, struct prr_error *err)
{
	bool executed = false;

	for (;;) {
		int status;
		pid_t got = waitpid(tid, &status, __WALL);

		if (got < 0 && errno == EINTR)
			continue;
		if (got != tid || !WIFSTOPPED(status))
			return prr_fail(err, PRR_ERR_ENVIRONMENT, 0, "pyrr doctor",
				"the replay stub could not be executed (wait status 0x%x)",
				(unsigned)status);
		if (executed && prr_status_is_syscall(status))
			return PRR_OK;
		if (prr_status_event(status) == PTRACE_EVENT_EXEC)
			executed = true;
		prr_ptrace_resume(tid, executed ? PRR_RESUME_SYSCALL : PRR_RESUME_CONT, 0);
	}
}

static enum prr_status release(struct prr_replay *s, pid_t tid, int go, struct prr_error *err)
{
	struct prr_task_uid uid = { 0, 1 };
	struct prr_replay_task *t;

	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_OPTIONS) != 0) {
		int error = errno;

		kill(tid, SIGKILL);
		waitpid(tid, NULL, 0);
		return prr_fail(
			err, PRR_ERR_ENVIRONMENT, error, "pyrr doctor", "ptrace is forbidden here");
	}
	PRR_TRY(prr_replay_new_task(s, uid, tid, &t, err));
	PRR_TRY(prr_files_first(&t->files, err));
	t->group = 1;
	if (write(go, "g", 1) != 1)
		return prr_fail_errno(err, "cannot release the replay stub");
	PRR_TRY(to_stub(tid, err));
	if (!prr_ptrace_get_regs(tid, &t->regs))
		return prr_fail_errno(err, "cannot read the replay stub's registers");
	return PRR_OK;
}

enum prr_status prr_replay_spawn(struct prr_replay *s, struct prr_error *err)
{
	cpu_set_t set;
	int go[2];

	CPU_ZERO(&set);
	CPU_SET((size_t)s->options->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		return prr_fail_errno(err, "cannot run on core %d", s->options->cpu);
	PRR_TRY(make_stub(s, err));
	if (pipe2(go, O_CLOEXEC) != 0)
		return prr_fail_errno(err, "cannot make a pipe");
	pid_t tid = fork();

	if (tid == 0) {
		close(go[1]);
		child(s->stub_fd, go[0]);
	}
	close(go[0]);
	enum prr_status status =
		tid < 0 ? prr_fail_errno(err, "cannot fork") : release(s, tid, go[1], err);

	close(go[1]);
	return status;
}
