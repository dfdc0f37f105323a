/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../shared/seccomp.h"

#define PTRACE_OPTIONS                                                                            \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
		PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACESECCOMP |                 \
		PTRACE_O_EXITKILL)

/* Exit codes of the child before its exec, told apart by spawn_failed. */
enum { CHILD_NO_SECCOMP = 201, CHILD_NO_TSC = 202 };

/* In the child, between fork and exec: async-signal-safe calls only. */
static _Noreturn void child(const struct prr_record_options *options, int go)
{
	char byte;

	/* Python ignores these two; a program of the user's would not have them
	 * ignored. */
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (read(go, &byte, 1) != 1)
		_exit(200);
	close(go);
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0)
		_exit(CHILD_NO_TSC);
	if (prr_seccomp_install() != 0)
		_exit(CHILD_NO_SECCOMP);
	execve(options->program, (char *const *)(uintptr_t)options->argv,
		(char *const *)(uintptr_t)options->envp);
	_exit(127);
}

static enum prr_status pin(int cpu, struct prr_error *err)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		return prr_fail_errno(err, "cannot run on core %d", cpu);
	return PRR_OK;
}

/* Signals that the parent shell ignored stay ignored over exec (execve(2)). */
static void read_ignored(pid_t tid, struct prr_sighand *sighand)
{
	char name[64], line[256];
	unsigned long long ignored;

	snprintf(name, sizeof(name), "/proc/%d/status", tid);
	FILE *file = fopen(name, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "SigIgn: %llx", &ignored) == 1)
			for (int signo = 1; signo < PRR_SIGNAL_COUNT; signo++)
				if (ignored >> (signo - 1) & 1)
					sighand->actions[signo].handler = 1; /* SIG_IGN */
	fclose(file);
}

static enum prr_status first_task(struct prr_record *s, pid_t tid, struct prr_error *err)
{
	struct prr_record_task *t;

	PRR_TRY(prr_record_new_task(s, tid, &t, err));
	t->group = calloc(1, sizeof(*t->group));
	t->as = calloc(1, sizeof(*t->as));
	t->sighand = calloc(1, sizeof(*t->sighand));
	if (!t->group || !t->as || !t->sighand)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory for a task");
	t->group->ref_count = t->group->task_count = 1;
	t->group->tgid = tid;
	t->group->leader_serial = t->uid.serial;
	t->as->task_count = 1;
	t->sighand->ref_count = 1;
	t->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
	t->state = PRR_TASK_RUNNING;
	s->root_tid = tid;
	s->current = t;
	return PRR_OK;
}

enum prr_status prr_record_spawn(struct prr_record *s, struct prr_error *err)
{
	int go[2];

	PRR_TRY(pin(s->options->cpu, err));
	if (pipe2(go, O_CLOEXEC) != 0)
		return prr_fail_errno(err, "cannot make a pipe");
	pid_t tid = fork();
	if (tid == 0) {
		close(go[1]);
		child(s->options, go[0]);
	}
	close(go[0]);
	if (tid < 0) {
		close(go[1]);
		return prr_fail_errno(err, "cannot fork");
	}
	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_OPTIONS) != 0) {
		int error = errno;

		kill(tid, SIGKILL);
		waitpid(tid, NULL, 0);
		close(go[1]);
		return prr_fail(
			err, PRR_ERR_ENVIRONMENT, error, "pyrr doctor", "ptrace is forbidden here");
	}
	PRR_TRY(first_task(s, tid, err));
	read_ignored(tid, s->tasks->sighand);
	s->tasks->sighand->actions[SIGPIPE].handler = 0;
	s->tasks->sighand->actions[SIGXFSZ].handler = 0;
	ssize_t written = write(go[1], "g", 1);

	close(go[1]);
	if (written != 1)
		return prr_fail_errno(err, "cannot release the tracee");
	return PRR_OK;
}

enum prr_status prr_record_spawn_failed(struct prr_record *s, struct prr_error *err)
{
	int status = s->root_status;

	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_NO_SECCOMP)
		return prr_fail(err, PRR_ERR_ENVIRONMENT, 0, "pyrr doctor",
			"seccomp filters are forbidden here");
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_NO_TSC)
		return prr_fail(err, PRR_ERR_ENVIRONMENT, 0, "pyrr doctor",
			"prctl(PR_SET_TSC) is forbidden here");
	return prr_fail(err, PRR_ERR_TRACEE_GONE, 0, NULL,
		"%s ended (wait status 0x%x) before it was executed", s->options->program,
		(unsigned)status);
}
