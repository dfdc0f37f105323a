/* SPDX-License-Identifier: GPL-2.0-or-later
 * Calls that write memory through another door than the caller's own pointers:
 * process_vm_writev and writes to /proc/PID/mem. The outputs of their events name
 * the target's AddressSpace. A target outside of the recording is none of ours. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "session.h"

#define PROC_MAGIC 0x9fa0 /* <linux/magic.h>: PROC_SUPER_MAGIC */
#define NAMESPACES_MAX 33 /* pid_namespaces(7): 32 levels */

/* The task's ids, from the supervisor's pid namespace to the task's own. */
static size_t namespace_ids(pid_t tid, pid_t ids[NAMESPACES_MAX])
{
	char path[64], line[512];
	size_t count = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	FILE *file = fopen(path, "re");

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		char *rest = line + 6;

		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		for (char *end; count < NAMESPACES_MAX; rest = end) {
			long id = strtol(rest, &end, 10);

			if (end == rest)
				break;
			ids[count++] = (pid_t)id;
		}
		break;
	}
	fclose(file);
	return count;
}

/* Whoever runs in the same AddressSpace and can be read through. */
static struct prr_record_task *readable(struct prr_record *s, struct prr_record_task *t)
{
	for (struct prr_record_task *o = s->tasks; o && t; o = o->next)
		if (o->as == t->as && o->state != PRR_TASK_EXITING)
			return o;
	return NULL;
}

/* The task that `t` knows as `pid`; NULL: not one of the recording. */
static struct prr_record_task *known_as(struct prr_record *s, struct prr_record_task *t, pid_t pid)
{
	pid_t ids[NAMESPACES_MAX];
	size_t depth = namespace_ids(t->uid.tid, ids);

	if (depth <= 1)
		return readable(s, prr_record_find(s, pid));
	for (struct prr_record_task *o = s->tasks; o; o = o->next)
		if (namespace_ids(o->uid.tid, ids) >= depth && ids[depth - 1] == pid)
			return readable(s, o);
	return NULL;
}

enum prr_status prr_record_vm_writev_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	int64_t left = (int64_t)t->regs.rax;
	struct prr_record_task *target;

	(void)handled;
	if (left <= 0 || !(target = known_as(s, t, (pid_t)t->args[0])))
		return PRR_OK;
	for (uint64_t i = 0; i < t->args[4] && left > 0; i++) {
		struct iovec part;

		if (!prr_mem_read(t->uid.tid, prr_remote(t->args[3] + i * sizeof(part)), &part,
			    sizeof(part)))
			break;
		uint64_t len = part.iov_len < (uint64_t)left ? part.iov_len : (uint64_t)left;

		PRR_TRY(prr_event_memory(s, target, (uint64_t)(uintptr_t)part.iov_base, len, err));
		left -= (int64_t)len;
	}
	return PRR_OK;
}

/* ------------------------------------------------------------ /proc/PID/mem */

/* The number before "/mem" of the file's name in its procfs; 0: another file. */
static pid_t memory_owner(const char *path)
{
	char name[4096];
	ssize_t len = readlink(path, name, sizeof(name) - 1);

	if (len < 5)
		return 0;
	name[len] = '\0';
	if (strcmp(name + len - 4, "/mem") != 0)
		return 0;
	name[len - 4] = '\0';
	const char *number = strrchr(name, '/');

	return number ? (pid_t)strtol(number + 1, NULL, 10) : 0;
}

bool prr_record_is_memory(const char *path)
{
	struct statfs fs;

	return memory_owner(path) > 0 && statfs(path, &fs) == 0 && fs.f_type == PROC_MAGIC;
}

enum prr_status prr_record_memory_written(struct prr_record *s, struct prr_record_task *t,
	const char *path, int fd, struct prr_error *err)
{
	pid_t pid = memory_owner(path);
	uint64_t result = t->regs.rax, end;
	unsigned int flags;
	struct stat own, st;

	/* A procfs numbers its tasks by the pid namespace in which it was mounted. */
	bool same =
		stat("/proc/self", &own) == 0 && stat(path, &st) == 0 && own.st_dev == st.st_dev;
	struct prr_record_task *target =
		same ? readable(s, prr_record_find(s, pid)) : known_as(s, t, pid);

	if (!target || result == 0)
		return PRR_OK;
	if (t->nr == SYS_pwrite64 || t->nr == SYS_pwritev ||
		(t->nr == SYS_pwritev2 && t->args[3] != (uint64_t)-1))
		return prr_event_memory(s, target, t->args[3], result, err);
	if (!prr_record_fdinfo(t, fd, &end, &flags))
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"cannot tell where task %d wrote in the memory of task %d", t->uid.tid,
			target->uid.tid);
	return prr_event_memory(s, target, end - result, result, err);
}
