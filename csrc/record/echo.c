/* SPDX-License-Identifier: GPL-2.0-or-later
 * Which new descriptors lead to the recording's stdout or stderr. Replay follows
 * dup, fork, exec and close by the events alone; what it cannot know is where a
 * descriptor leads that was inherited, received over a socket, or opened by a
 * name such as /dev/stdout: those are looked at here, and only those. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "session.h"

static bool leads_to(const struct stat *st, int stream)
{
	struct stat own;

	return fstat(stream, &own) == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino &&
		own.st_rdev == st->st_rdev;
}

/* fcntl's FD_CLOEXEC as /proc/PID/fdinfo/N shows it among the flags (proc(5)). */
static bool closes_at_exec(struct prr_record_task *t, int32_t fd)
{
	char path[64], line[128];
	unsigned int flags = 0;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", t->uid.tid, fd);
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "flags: %o", &flags) == 1)
			break;
	fclose(file);
	return flags & O_CLOEXEC;
}

uint32_t prr_record_stream(const struct prr_record_task *t, int32_t fd)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->uid.tid, fd);
	if (stat(path, &st) != 0)
		return 0;
	if (leads_to(&st, 1))
		return 1;
	return leads_to(&st, 2) ? 2 : 0;
}

static enum prr_status look_at(
	struct prr_record *s, struct prr_record_task *t, int32_t fd, struct prr_error *err)
{
	struct prr_field_echo_fd field = { .fd = fd, .stream = prr_record_stream(t, fd) };

	if (field.stream == 0)
		return PRR_OK;
	field.cloexec = closes_at_exec(t, fd);
	return prr_event_field(s, PRR_FIELD_ECHO_FD, &field, sizeof(field), err);
}

enum prr_status prr_record_echo_inherited(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	char path[64];
	enum prr_status status = PRR_OK;

	snprintf(path, sizeof(path), "/proc/%d/fd", t->uid.tid);
	DIR *directory = opendir(path);

	if (!directory)
		return prr_fail_errno(err, "cannot read %s", path);
	for (struct dirent *e = readdir(directory); e && status == PRR_OK; e = readdir(directory)) {
		int fd = atoi(e->d_name);

		/* 1 and 2 are known; 0 is a terminal's input more often than not,
		 * yet a program may write to it. */
		if (e->d_name[0] != '.' && fd != 1 && fd != 2)
			status = look_at(s, t, fd, err);
	}
	closedir(directory);
	return status;
}

/* Descriptors in the control data of a received message (unix(7)). */
static enum prr_status received(
	struct prr_record *s, struct prr_record_task *t, uint64_t message, struct prr_error *err)
{
	struct msghdr header;
	enum prr_status status = PRR_OK;

	if (!prr_mem_read(t->uid.tid, prr_remote(message), &header, sizeof(header)) ||
		header.msg_controllen < sizeof(struct cmsghdr) ||
		header.msg_controllen > s->buffer_size)
		return PRR_OK;
	/* event output copying uses s->buffer: keep the control data apart. */
	void *control = malloc(header.msg_controllen);

	if (!control)
		return PRR_OK;
	if (!prr_mem_read(t->uid.tid, prr_remote((uint64_t)(uintptr_t)header.msg_control), control,
		    header.msg_controllen))
		header.msg_controllen = 0;
	header.msg_control = control;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&header); c && status == PRR_OK;
		c = CMSG_NXTHDR(&header, c)) {
		size_t end = c->cmsg_len;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(int32_t) <= end && status == PRR_OK;
			at += sizeof(int32_t)) {
			int32_t fd;

			memcpy(&fd, (char *)c + at, sizeof(fd));
			status = look_at(s, t, fd, err);
		}
	}
	free(control);
	return status;
}

static bool names_a_descriptor(struct prr_record_task *t, uint64_t name)
{
	char path[8] = "";

	prr_mem_read_some(t->uid.tid, prr_remote(name), path, sizeof(path) - 1);
	return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

enum prr_status prr_record_echo_fds(
	struct prr_record *s, struct prr_record_task *t, int64_t result, struct prr_error *err)
{
	if (result < 0)
		return PRR_OK;
	switch (t->nr) {
	case SYS_open:
		return names_a_descriptor(t, t->args[0]) ? look_at(s, t, (int32_t)result, err)
							 : PRR_OK;
	case SYS_openat:
	case SYS_openat2:
		return names_a_descriptor(t, t->args[1]) ? look_at(s, t, (int32_t)result, err)
							 : PRR_OK;
	case SYS_pidfd_getfd:
		return look_at(s, t, (int32_t)result, err);
	case SYS_recvmsg:
		return received(s, t, t->args[1], err);
	case SYS_recvmmsg:
		for (int64_t i = 0; i < result; i++)
			PRR_TRY(received(
				s, t, t->args[1] + (uint64_t)i * sizeof(struct mmsghdr), err));
		return PRR_OK;
	default:
		return PRR_OK;
	}
}
