/* SPDX-License-Identifier: GPL-2.0-or-later
 * Echo of the recording's stdout and stderr: which descriptors lead there is
 * followed through dup, fork, exec and close, from the events alone. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "session.h"

/* ------------------------------------------------------------------- table */

static struct prr_echo_fd *lookup(struct prr_files *files, int32_t fd)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->items[i].fd == fd)
			return &files->items[i];
	return NULL;
}

static void forget(struct prr_files *files, int32_t fd)
{
	struct prr_echo_fd *item = lookup(files, fd);

	if (item)
		*item = files->items[--files->count];
}

static enum prr_status add(
	struct prr_files *files, int32_t fd, uint8_t stream, bool cloexec, struct prr_error *err)
{
	forget(files, fd);
	if (files->count == files->capacity) {
		size_t capacity = files->capacity ? 2 * files->capacity : 8;
		struct prr_echo_fd *grown = reallocarray(files->items, capacity, sizeof(*grown));

		if (!grown)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
		files->items = grown;
		files->capacity = capacity;
	}
	files->items[files->count++] = (struct prr_echo_fd){ fd, stream, cloexec };
	return PRR_OK;
}

enum prr_status prr_files_first(struct prr_files **ret, struct prr_error *err)
{
	struct prr_files *files = calloc(1, sizeof(*files));

	if (!files)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	files->ref_count = 1;
	*ret = files;
	PRR_TRY(add(files, 1, 1, false, err));
	return add(files, 2, 2, false, err);
}

enum prr_status prr_files_clone(
	struct prr_files *from, bool share, struct prr_files **ret, struct prr_error *err)
{
	if (share) {
		from->ref_count++;
		*ret = from;
		return PRR_OK;
	}
	struct prr_files *files = calloc(1, sizeof(*files));

	if (!files)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	files->ref_count = 1;
	*ret = files;
	for (size_t i = 0; i < from->count; i++)
		PRR_TRY(add(files, from->items[i].fd, from->items[i].stream, from->items[i].cloexec,
			err));
	return PRR_OK;
}

void prr_files_exec(struct prr_files *files)
{
	size_t kept = 0;

	for (size_t i = 0; i < files->count; i++)
		if (!files->items[i].cloexec)
			files->items[kept++] = files->items[i];
	files->count = kept;
}

void prr_files_unuse(struct prr_files *files)
{
	if (!files || --files->ref_count > 0)
		return;
	free(files->items);
	free(files);
}

/* ------------------------------------------------------- calls that move fds */

static enum prr_status duplicate(
	struct prr_files *files, int32_t from, int32_t to, bool cloexec, struct prr_error *err)
{
	struct prr_echo_fd *item = lookup(files, from);

	if (from == to)
		return PRR_OK;
	if (!item) {
		forget(files, to);
		return PRR_OK;
	}
	return add(files, to, item->stream, cloexec, err);
}

static enum prr_status on_fcntl(
	struct prr_files *files, const uint64_t args[6], int64_t result, struct prr_error *err)
{
	struct prr_echo_fd *item = lookup(files, (int32_t)args[0]);

	if (args[1] == F_DUPFD || args[1] == F_DUPFD_CLOEXEC)
		return duplicate(
			files, (int32_t)args[0], (int32_t)result, args[1] == F_DUPFD_CLOEXEC, err);
	if (args[1] == F_SETFD && item)
		item->cloexec = args[2] & FD_CLOEXEC;
	return PRR_OK;
}

static void on_close_range(struct prr_files *files, const uint64_t args[6])
{
	for (size_t i = files->count; i-- > 0;) {
		uint32_t fd = (uint32_t)files->items[i].fd;

		if (fd < (uint32_t)args[0] || fd > (uint32_t)args[1])
			continue;
		if (args[2] & CLOSE_RANGE_CLOEXEC)
			files->items[i].cloexec = true;
		else
			files->items[i] = files->items[--files->count];
	}
}

/* Descriptors that the recorder found to lead there. */
static enum prr_status on_found(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	for (size_t i = 0; i < s->event->field_count; i++) {
		const struct prr_field *field = &s->event->fields[i];
		struct prr_field_echo_fd found;

		if (field->tag != PRR_FIELD_ECHO_FD || field->len < sizeof(found))
			continue;
		memcpy(&found, field->data, sizeof(found));
		PRR_TRY(add(t->files, found.fd, found.stream == 2 ? 2 : 1, found.cloexec, err));
	}
	return PRR_OK;
}

/* A number that a call hands out anew led nowhere before; a stale entry would
 * echo what goes to a file. */
static void forget_pair(struct prr_replay_task *t, uint64_t addr)
{
	int32_t pair[2];

	if (!prr_mem_read(t->tid, prr_remote(addr), pair, sizeof(pair)))
		return;
	forget(t->files, pair[0]);
	forget(t->files, pair[1]);
}

static enum prr_status follow(struct prr_replay_task *t, int64_t nr, const uint64_t args[6],
	int64_t result, struct prr_error *err)
{
	switch (nr) {
	case SYS_dup:
		return duplicate(t->files, (int32_t)args[0], (int32_t)result, false, err);
	case SYS_dup2:
		return duplicate(t->files, (int32_t)args[0], (int32_t)args[1], false, err);
	case SYS_dup3:
		return duplicate(
			t->files, (int32_t)args[0], (int32_t)args[1], args[2] & O_CLOEXEC, err);
	case SYS_fcntl:
		return on_fcntl(t->files, args, result, err);
	case SYS_close:
		forget(t->files, (int32_t)args[0]);
		return PRR_OK;
	case SYS_close_range:
		on_close_range(t->files, args);
		return PRR_OK;
	case SYS_pipe:
	case SYS_pipe2:
		forget_pair(t, args[0]);
		return PRR_OK;
	case SYS_socketpair:
		forget_pair(t, args[3]);
		return PRR_OK;
	case SYS_open:
	case SYS_openat:
	case SYS_openat2:
	case SYS_creat:
	case SYS_socket:
	case SYS_accept:
	case SYS_accept4:
	case SYS_epoll_create1:
	case SYS_eventfd2:
	case SYS_timerfd_create:
	case SYS_memfd_create:
		forget(t->files, (int32_t)result);
		return PRR_OK;
	default:
		return PRR_OK;
	}
}

/* ------------------------------------------------------------------- writing */

static enum prr_status put(
	struct prr_replay *s, int fd, const uint8_t *data, size_t len, struct prr_error *err)
{
	if (s->event->index < s->options->echo_from)
		return PRR_OK; /* an earlier session has echoed it */
	while (len > 0) {
		ssize_t done = write(fd, data, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return prr_fail_errno(err, "cannot echo the output of event %llu",
				(unsigned long long)s->event->index);
		data += done;
		len -= (size_t)done;
	}
	return PRR_OK;
}

static enum prr_status put_remote(struct prr_replay *s, struct prr_replay_task *t, int fd,
	uint64_t addr, uint64_t len, struct prr_error *err)
{
	while (len > 0) {
		size_t chunk = len < PRR_OUTPUT_MAX ? (size_t)len : PRR_OUTPUT_MAX;
		size_t got = prr_mem_read_some(t->tid, prr_remote(addr), s->buffer, chunk);

		if (got == 0)
			return PRR_OK;
		PRR_TRY(put(s, fd, s->buffer, got, err));
		addr += got;
		len -= got;
	}
	return PRR_OK;
}

static enum prr_status put_vector(struct prr_replay *s, struct prr_replay_task *t, int fd,
	uint64_t vector, uint64_t count, uint64_t total, struct prr_error *err)
{
	for (uint64_t i = 0; i < count && total > 0; i++) {
		struct {
			uint64_t base, len;
		} part;

		if (!prr_mem_read(
			    t->tid, prr_remote(vector + i * sizeof(part)), &part, sizeof(part)))
			return PRR_OK;
		uint64_t len = part.len < total ? part.len : total;

		PRR_TRY(put_remote(s, t, fd, part.base, len, err));
		total -= len;
	}
	return PRR_OK;
}

static enum prr_status put_message(struct prr_replay *s, struct prr_replay_task *t, int fd,
	uint64_t message, uint64_t total, struct prr_error *err)
{
	struct msghdr header;

	if (!prr_mem_read(t->tid, prr_remote(message), &header, sizeof(header)))
		return PRR_OK;
	return put_vector(
		s, t, fd, (uint64_t)(uintptr_t)header.msg_iov, header.msg_iovlen, total, err);
}

/* Bytes that went there without the program's memory (splice and its kin). */
static enum prr_status put_fields(
	struct prr_replay *s, struct prr_replay_task *t, int32_t target, struct prr_error *err)
{
	const struct prr_echo_fd *item = lookup(t->files, target);

	for (size_t i = 0; i < s->event->field_count; i++) {
		const struct prr_field *field = &s->event->fields[i];
		struct prr_field_echo echo;

		if (field->tag != PRR_FIELD_ECHO || field->len < sizeof(echo))
			continue;
		memcpy(&echo, field->data, sizeof(echo));
		uint32_t stream = item ? item->stream : echo.stream;
		int fd = stream == 2 ? s->options->stderr_fd : s->options->stdout_fd;

		if (fd >= 0)
			PRR_TRY(put(
				s, fd, field->data + sizeof(echo), field->len - sizeof(echo), err));
	}
	return PRR_OK;
}

enum prr_status prr_replay_echo(struct prr_replay *s, struct prr_replay_task *t, int64_t nr,
	const uint64_t args[6], int64_t result, struct prr_error *err)
{
	if (result < 0)
		return PRR_OK;
	const struct prr_echo_fd *item = lookup(t->files, (int32_t)args[0]);
	int fd = !item ? -1 : item->stream == 1 ? s->options->stdout_fd : s->options->stderr_fd;

	switch (nr) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_sendto:
		return fd < 0 ? PRR_OK : put_remote(s, t, fd, args[1], (uint64_t)result, err);
	case SYS_sendfile:
		return put_fields(s, t, (int32_t)args[0], err);
	case SYS_tee:
		return put_fields(s, t, (int32_t)args[1], err);
	case SYS_splice:
	case SYS_copy_file_range:
		return put_fields(s, t, (int32_t)args[2], err);
	case SYS_writev:
	case SYS_vmsplice:
	case SYS_pwritev:
	case SYS_pwritev2:
		return fd < 0 ? PRR_OK
			      : put_vector(s, t, fd, args[1], args[2], (uint64_t)result, err);
	case SYS_sendmsg:
		return fd < 0 ? PRR_OK : put_message(s, t, fd, args[1], (uint64_t)result, err);
	default:
		PRR_TRY(follow(t, nr, args, result, err));
		return on_found(s, t, err);
	}
}
