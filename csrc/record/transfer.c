/* SPDX-License-Identifier: GPL-2.0-or-later
 * splice, tee, sendfile and copy_file_range to the recording's stdout or stderr.
 * The bytes never pass through the program's memory, so replay could not show
 * them: the event holds them in ECHO fields.
 *
 * From a file they are read back after the call. From a pipe they are gone by
 * then: they are copied before it (tee takes nothing out), and the call is
 * limited to what was copied. A call that would wait for the pipe's writer is
 * not begun before there is something. From other sources the call is answered
 * with EINVAL, on which programs fall back to read and write. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session.h"

#define PEEK_MAX (1u << 20)
#define SPLICE_FLAGS (SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE | SPLICE_F_GIFT)

/* Which argument is what. */
struct roles {
	unsigned in, out, len;
	unsigned in_offset; /* pointer to it; 6: none */
	unsigned flags;     /* SPLICE_F_; 6: none */
};

static struct roles roles_of(const struct prr_record_task *t)
{
	switch (t->nr) {
	case SYS_sendfile:
		return (struct roles){ 1, 0, 3, 2, 6 };
	case SYS_tee:
		return (struct roles){ 0, 1, 2, 6, 3 };
	case SYS_splice:
		return (struct roles){ 0, 2, 4, 1, 5 };
	default: /* copy_file_range */
		return (struct roles){ 0, 2, 4, 1, 6 };
	}
}

static void fd_path(char *path, size_t size, const struct prr_record_task *t, int fd)
{
	snprintf(path, size, "/proc/%d/fd/%d", t->uid.tid, fd);
}

static void forget(struct prr_record_task *t)
{
	free(t->transfer.bytes);
	memset(&t->transfer, 0, sizeof(t->transfer));
}

/* --------------------------------------------------------------- from a pipe */

static ssize_t read_all(int fd, uint8_t *bytes, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t got = read(fd, bytes + done, len - done);

		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

/* Copies what the pipe holds, up to `len` bytes: their number, 0 at its end, or
 * -errno. */
static ssize_t peek(struct prr_record_task *t, const char *path, size_t len)
{
	int own[2], source = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t got = -1;

	if (source < 0 || pipe2(own, O_CLOEXEC | O_NONBLOCK) != 0) {
		got = -errno;
		if (source >= 0)
			close(source);
		return got;
	}
	(void)fcntl(own[1], F_SETPIPE_SZ, fcntl(source, F_GETPIPE_SZ));
	got = tee(source, own[1], len < PEEK_MAX ? len : PEEK_MAX, SPLICE_F_NONBLOCK);
	if (got < 0)
		got = -errno;
	if (got > 0) {
		t->transfer.bytes = malloc((size_t)got);
		got = t->transfer.bytes ? read_all(own[0], t->transfer.bytes, (size_t)got)
					: -ENOMEM;
	}
	close(own[0]);
	close(own[1]);
	close(source);
	return got;
}

static bool has_signals(const struct prr_record_task *t)
{
	char path[64], line[256];
	unsigned long pending = 0, value;

	snprintf(path, sizeof(path), "/proc/%d/status", t->uid.tid);
	FILE *file = fopen(path, "re");

	if (!file)
		return true;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "SigPnd: %lx", &value) == 1 ||
			sscanf(line, "ShdPnd: %lx", &value) == 1)
			pending |= value;
		else if (sscanf(line, "SigBlk: %lx", &value) == 1)
			pending &= ~value;
	}
	fclose(file);
	return pending != 0;
}

static bool others_can_run(const struct prr_record *s, const struct prr_record_task *t)
{
	for (const struct prr_record_task *o = s->tasks; o; o = o->next)
		if (o != t && (o->has_status || o->state == PRR_TASK_READY))
			return true;
	return false;
}

/* Comes back to the call's entry later: asleep, as far as anybody can tell. */
static enum prr_status wait_for_writer(struct prr_record *s, struct prr_record_task *t,
	const char *path, enum prr_handled *handled, struct prr_error *err)
{
	struct pollfd source = { .events = POLLIN };

	*handled = PRR_HANDLED_STOP;
	t->transfer.waiting = true;
	s->current = NULL;
	if (s->task_count > 1 && !t->blocked_recorded)
		PRR_TRY(prr_record_blocked(s, t, err));
	if (others_can_run(s, t))
		return PRR_OK;
	source.fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (poll(&source, 1, 1) < 0 && errno == EINTR) {
		s->stop.kind = PRR_RECORD_STOP_INTERRUPTED;
		s->stop_wanted = true;
	}
	if (source.fd >= 0)
		close(source.fd);
	return PRR_OK;
}

enum readiness {
	WOULD_WAIT,
	WOULD_BLOCK, /* EAGAIN */
	WOULD_FAIL   /* for another reason than the empty pipe (fs/splice.c) */
};

static enum readiness readiness_of(const struct prr_record_task *t, const struct roles *roles)
{
	struct stat in, out;
	char path[64];
	uint64_t position;
	unsigned int in_flags, out_flags;
	uint64_t flags = roles->flags < 6 ? t->args[roles->flags] : 0;

	fd_path(path, sizeof(path), t, (int)t->args[roles->in]);
	if (stat(path, &in) != 0 ||
		!prr_record_fdinfo(t, (int)t->args[roles->in], &position, &in_flags))
		return WOULD_FAIL;
	fd_path(path, sizeof(path), t, (int)t->args[roles->out]);
	if (stat(path, &out) != 0 ||
		!prr_record_fdinfo(t, (int)t->args[roles->out], &position, &out_flags))
		return WOULD_FAIL;
	if (t->nr != SYS_splice && (t->nr != SYS_tee || !S_ISFIFO(out.st_mode)))
		return WOULD_FAIL;
	if ((flags & ~(uint64_t)SPLICE_FLAGS) || (in_flags & O_ACCMODE) == O_WRONLY ||
		(out_flags & O_ACCMODE) == O_RDONLY || (out_flags & O_APPEND))
		return WOULD_FAIL;
	if (t->nr == SYS_splice && (t->args[1] || (t->args[3] && S_ISFIFO(out.st_mode))))
		return WOULD_FAIL;
	if (in.st_dev == out.st_dev && in.st_ino == out.st_ino)
		return WOULD_FAIL;
	return (flags & SPLICE_F_NONBLOCK) || (in_flags & O_NONBLOCK) ? WOULD_BLOCK : WOULD_WAIT;
}

/* There is nothing in the pipe yet, and somebody may still write to it. */
static enum prr_status from_empty_pipe(struct prr_record *s, struct prr_record_task *t,
	const struct roles *roles, const char *path, enum prr_handled *handled,
	struct prr_error *err)
{
	switch (readiness_of(t, roles)) {
	case WOULD_WAIT:
		if (has_signals(t)) /* which end the wait, in the kernel */
			return PRR_OK;
		return wait_for_writer(s, t, path, handled, err);
	case WOULD_BLOCK:
		*handled = PRR_HANDLED_DONE;
		return prr_record_answer(s, t, -EAGAIN, NULL, 0, 0, err);
	default:
		return PRR_OK;
	}
}

static enum prr_status from_pipe(struct prr_record *s, struct prr_record_task *t,
	const struct roles *roles, const char *path, enum prr_handled *handled,
	struct prr_error *err)
{
	ssize_t got = peek(t, path, t->args[roles->len]);

	if (got == -EAGAIN)
		return from_empty_pipe(s, t, roles, path, handled, err);
	if (got < 0) {
		*handled = PRR_HANDLED_DONE;
		return prr_record_answer(s, t, -EINVAL, NULL, 0, 0, err);
	}
	t->transfer.known = true;
	t->transfer.len = (size_t)got;
	if (got == 0 || t->args[roles->len] == (uint64_t)got)
		return PRR_OK;
	t->transfer.shortened = true;
	t->args[roles->len] = (uint64_t)got;
	t->regs = t->entry_regs;
	prr_regs_set_syscall_args(&t->regs, t->args);
	t->regs_dirty = true;
	return PRR_OK;
}

/* --------------------------------------------------------------------- calls */

static enum prr_status prepare(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	struct roles roles = roles_of(t);
	struct stat st;
	char path[64];

	fd_path(path, sizeof(path), t, (int)t->args[roles.in]);
	if (stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))
		return PRR_OK;
	if (S_ISFIFO(st.st_mode))
		return from_pipe(s, t, &roles, path, handled, err);
	*handled = PRR_HANDLED_DONE;
	return prr_record_answer(s, t, -EINVAL, NULL, 0, 0, err);
}

enum prr_status prr_record_transfer_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	forget(t);
	t->transfer.stream = prr_record_stream(t, (int32_t)t->args[roles_of(t).out]);
	if (t->transfer.stream)
		PRR_TRY(prepare(s, t, handled, err));
	if (*handled != PRR_HANDLED_NORMAL || !(t->view.flags & PRR_SYSCALL_CHANGES_FILES))
		return PRR_OK;
	return prr_record_write_entry(s, t, handled, err);
}

static enum prr_status append(struct prr_record *s, struct prr_record_task *t, const uint8_t *bytes,
	size_t len, struct prr_error *err)
{
	struct prr_field_echo field = { .stream = t->transfer.stream };

	/* bytes may lie in the buffer, behind the room for the struct. */
	memmove(s->buffer + sizeof(field), bytes, len);
	memcpy(s->buffer, &field, sizeof(field));
	return prr_event_field(s, PRR_FIELD_ECHO, s->buffer, sizeof(field) + len, err);
}

static enum prr_status warn_lost(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	char *text = NULL;

	if (asprintf(&text, "task %d: replay cannot show what %s wrote to %s", t->uid.tid,
		    t->view.name, t->transfer.stream == 1 ? "stdout" : "stderr") < 0)
		text = NULL;
	return prr_record_want_warning(s, text, err);
}

/* The source's bytes that end where it stands now. */
static enum prr_status append_from_file(
	struct prr_record *s, struct prr_record_task *t, uint64_t result, struct prr_error *err)
{
	struct roles roles = roles_of(t);
	const size_t head = sizeof(struct prr_field_echo);
	char path[64];
	uint64_t end = 0;
	unsigned int flags;
	bool by_pointer = roles.in_offset < 6 && t->args[roles.in_offset];

	fd_path(path, sizeof(path), t, (int)t->args[roles.in]);
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool placed = by_pointer
		? prr_mem_read(t->uid.tid, prr_remote(t->args[roles.in_offset]), &end, sizeof(end))
		: prr_record_fdinfo(t, (int)t->args[roles.in], &end, &flags);
	uint64_t at = end - result;
	enum prr_status status = PRR_OK;

	while (file >= 0 && placed && at < end && status == PRR_OK) {
		size_t room = s->buffer_size - head;
		ssize_t got = pread(file, s->buffer + head,
			end - at < room ? (size_t)(end - at) : room, (off_t)at);

		if (got <= 0)
			break;
		status = append(s, t, s->buffer + head, (size_t)got, err);
		at += (uint64_t)got;
	}
	if (file >= 0)
		close(file);
	return status == PRR_OK && at != end ? warn_lost(s, t, err) : status;
}

static enum prr_status append_known(
	struct prr_record *s, struct prr_record_task *t, uint64_t result, struct prr_error *err)
{
	size_t room = s->buffer_size - sizeof(struct prr_field_echo);

	for (size_t at = 0; at < result && at < t->transfer.len; at += room) {
		size_t left = (result < t->transfer.len ? result : t->transfer.len) - at;

		PRR_TRY(append(s, t, t->transfer.bytes + at, left < room ? left : room, err));
	}
	return PRR_OK;
}

enum prr_status prr_record_transfer_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	int64_t result = (int64_t)t->regs.rax;
	enum prr_status status = PRR_OK;

	if (t->transfer.shortened) {
		unsigned len = roles_of(t).len;
		uint64_t original[6];

		prr_regs_syscall_args(&t->entry_regs, original);
		t->args[len] = original[len];
		prr_regs_set_syscall_args(&t->regs, t->args);
		t->regs_dirty = true;
	}
	if (t->transfer.stream && result > 0)
		status = t->transfer.known ? append_known(s, t, (uint64_t)result, err)
					   : append_from_file(s, t, (uint64_t)result, err);
	forget(t);
	PRR_TRY(status);
	if (!(t->view.flags & PRR_SYSCALL_CHANGES_FILES))
		return PRR_OK;
	return prr_record_write_exit(s, t, handled, err);
}
