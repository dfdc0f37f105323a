/* SPDX-License-Identifier: GPL-2.0-or-later
 * Syscalls that change a file which is mapped somewhere (PITFALLS A7): shared
 * pages and untouched private ones change with it. The event says how, by
 * FILE_CHANGE fields whose bytes are read back from the file itself.
 *
 * Most calls write to what nobody maps (pipes, terminals, new files). What a
 * descriptor leads to is looked at once and remembered until one is closed or
 * another object is mapped. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "session.h"

#ifndef RWF_APPEND
#define RWF_APPEND 0x10
#endif

static void fd_path(char *path, size_t size, const struct prr_record_task *t, int fd)
{
	snprintf(path, size, "/proc/%d/fd/%d", t->uid.tid, fd);
}

/* ------------------------------------------------------------- what is changed */

static struct prr_plain_fd *plain_slot(struct prr_record_task *t, int fd)
{
	return &t->plain_fds[(unsigned)fd % PRR_PLAIN_FDS];
}

static bool is_plain(const struct prr_record *s, struct prr_record_task *t, int fd)
{
	const struct prr_plain_fd *slot = plain_slot(t, fd);

	return slot->as_uid == t->as->uid && slot->fd == fd && slot->closes == s->closes &&
		slot->additions == s->mapped.additions;
}

static void note_plain(const struct prr_record *s, struct prr_record_task *t, int fd)
{
	*plain_slot(t, fd) = (struct prr_plain_fd){
		.fd = fd,
		.as_uid = t->as->uid,
		.closes = s->closes,
		.additions = s->mapped.additions,
	};
}

static void describe(struct prr_record *s, struct prr_record_task *t, const char *path, int fd)
{
	struct stat st;

	t->change.kind = PRR_CHANGE_NONE;
	if (stat(path, &st) != 0)
		return;
	if (S_ISREG(st.st_mode) && prr_mapped_find(&s->mapped, st.st_dev, st.st_ino)) {
		t->change.kind = PRR_CHANGE_FILE;
		t->change.dev = st.st_dev;
		t->change.ino = st.st_ino;
		t->change.size = (uint64_t)st.st_size;
	} else if (S_ISREG(st.st_mode) && st.st_size == 0 && prr_record_is_memory(path)) {
		t->change.kind = PRR_CHANGE_MEMORY;
	} else if (fd >= 0 && prr_record_may_remember(s, t)) {
		note_plain(s, t, fd);
	}
}

/* A splice from a pipe may have to wait for another task, which then must run. */
static bool may_wait(const struct prr_record_task *t)
{
	char path[64];
	struct stat st;

	if (t->nr != SYS_splice && t->nr != SYS_sendfile)
		return false;
	fd_path(path, sizeof(path), t, (int)t->args[t->nr == SYS_splice ? 0 : 1]);
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

enum prr_status prr_record_write_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	char path[64];
	int fd = (int)t->args[t->view.changed_fd_arg];

	(void)handled;
	(void)err;
	t->change.kind = PRR_CHANGE_NONE;
	if (is_plain(s, t, fd))
		return PRR_OK;
	fd_path(path, sizeof(path), t, fd);
	describe(s, t, path, fd);
	if (t->change.kind == PRR_CHANGE_FILE && !may_wait(t))
		t->no_switch = true;
	return PRR_OK;
}

enum prr_status prr_record_close_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	(void)t;
	(void)handled;
	(void)err;
	s->closes++;
	return PRR_OK;
}

/* --------------------------------------------------------------- FILE_CHANGE */

/* A change that is being described. */
struct change {
	struct prr_record *s;
	struct prr_record_task *t;
	const char *path; /* opens the file */
	int file;         /* opened when bytes are needed, else -1 */
	uint64_t dev, ino;
	uint64_t old_size, size; /* of the file */
};

/* One field; `data` begins with room for the struct. NULL: no bytes follow, `len`
 * bytes are zeros. */
static enum prr_status append(struct change *c, uint64_t size, uint64_t offset, uint64_t len,
	uint8_t *data, struct prr_error *err)
{
	struct prr_field_file_change field = {
		.dev = c->dev,
		.ino = c->ino,
		.offset = offset,
		.size = size,
		.len = len,
	};

	if (!data)
		return prr_event_field(c->s, PRR_FIELD_FILE_CHANGE, &field, sizeof(field), err);
	memcpy(data, &field, sizeof(field));
	return prr_event_field(c->s, PRR_FIELD_FILE_CHANGE, data, sizeof(field) + len, err);
}

static enum prr_status open_file(struct change *c, struct prr_error *err)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

	c->file = open(c->path, flags | O_NOATIME);
	if (c->file < 0)
		c->file = open(c->path, flags);
	if (c->file < 0)
		return prr_fail(err, PRR_ERR_ENVIRONMENT, errno, "make it readable: chmod u+r",
			"a mapped file that task %d changed cannot be read back", c->t->uid.tid);
	return PRR_OK;
}

/* Appends what the file now holds in [start, end). */
static enum prr_status append_bytes(
	struct change *c, uint64_t start, uint64_t end, struct prr_error *err)
{
	const size_t head = sizeof(struct prr_field_file_change);

	if (end > c->size)
		end = c->size;
	if (start < end && c->file < 0)
		PRR_TRY(open_file(c, err));
	while (start < end) {
		size_t room = c->s->buffer_size - head;
		size_t want = end - start < room ? (size_t)(end - start) : room;
		ssize_t got = pread(c->file, c->s->buffer + head, want, (off_t)start);

		if (got <= 0)
			return prr_fail_errno(err,
				"a mapped file that task %d changed cannot "
				"be read back",
				c->t->uid.tid);
		PRR_TRY(append(c, c->size, start, (uint64_t)got, c->s->buffer, err));
		start += (uint64_t)got;
	}
	return PRR_OK;
}

/* The size, and what comes to light behind an old end within a page: zeros or
 * what a mapping left there, as the file system has it. */
static enum prr_status append_size(struct change *c, struct prr_error *err)
{
	PRR_TRY(append(c, c->size, 0, 0, NULL, err));
	if (c->size <= c->old_size || c->old_size % PRR_PAGE_SIZE == 0)
		return PRR_OK;
	return append_bytes(c, c->old_size, prr_page_up(c->old_size), err);
}

bool prr_record_fdinfo(
	const struct prr_record_task *t, int fd, uint64_t *position, unsigned int *flags)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", t->uid.tid, fd);
	int file = open(path, O_RDONLY | O_CLOEXEC);

	if (file < 0)
		return false;
	ssize_t len = read(file, text, sizeof(text) - 1);

	close(file);
	text[len < 0 ? 0 : len] = '\0';
	return sscanf(text, "pos: %lu flags: %o", position, flags) == 2;
}

/* The end of what a call of the write family wrote. */
static bool end_of_write(const struct change *c, uint64_t result, uint64_t *end)
{
	const struct prr_record_task *t = c->t;
	uint64_t position;
	unsigned int flags;
	bool at = t->nr == SYS_pwrite64 || t->nr == SYS_pwritev || t->nr == SYS_pwritev2;
	bool by_pointer = t->nr == SYS_splice || t->nr == SYS_copy_file_range;

	if (by_pointer && t->args[3])
		return prr_mem_read(t->uid.tid, prr_remote(t->args[3]), end, sizeof(*end));
	if (!prr_record_fdinfo(t, (int)t->args[t->view.changed_fd_arg], &position, &flags))
		return false;
	*end = position;
	if (!at || (t->nr == SYS_pwritev2 && t->args[3] == (uint64_t)-1))
		return true;
	/* A given offset does not matter to a file in append mode (pwrite(2)). */
	if ((flags & O_APPEND) || (t->nr == SYS_pwritev2 && (t->args[5] & RWF_APPEND)))
		*end = c->size;
	else
		*end = t->args[3] + result;
	return true;
}

static enum prr_status append_written(struct change *c, uint64_t result, struct prr_error *err)
{
	uint64_t end;

	if (result == 0)
		return PRR_OK;
	if (!end_of_write(c, result, &end) || end < result) /* then all may have changed */
		return append_bytes(c, 0, c->size, err);
	if (c->old_size < end - result)
		PRR_TRY(append_size(c, err));
	return append_bytes(c, end - result, end, err);
}

static enum prr_status append_fallocate(struct change *c, struct prr_error *err)
{
	const uint64_t *args = c->t->args;
	uint64_t start = args[2], end = args[2] + args[3];

	if (args[1] & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) {
		/* All that follows is cut off and comes back elsewhere: private pages
		 * are lost, too (fs/ext4/extents.c; other file systems may differ). */
		PRR_TRY(append(c, prr_page_down(start), 0, 0, NULL, err));
		return append_bytes(c, prr_page_down(start), c->size, err);
	}
	PRR_TRY(append_size(c, err));
	if (!(args[1] & ~(uint64_t)(FALLOC_FL_KEEP_SIZE | FALLOC_FL_UNSHARE_RANGE)))
		return PRR_OK;
	if (end > c->size)
		end = c->size;
	return start < end ? append(c, c->size, start, end - start, NULL, err) : PRR_OK;
}

static enum prr_status append_cloned(struct change *c, struct prr_error *err)
{
	struct file_clone_range range = { 0 };

	PRR_TRY(append_size(c, err));
	if (c->t->args[1] == FICLONERANGE &&
		!prr_mem_read(c->t->uid.tid, prr_remote(c->t->args[2]), &range, sizeof(range)))
		range.dest_offset = 0;
	return append_bytes(c, range.dest_offset,
		range.src_length ? range.dest_offset + range.src_length : c->size, err);
}

static enum prr_status append_change(struct change *c, uint64_t result, struct prr_error *err)
{
	switch (c->t->nr) {
	case SYS_ftruncate:
	case SYS_truncate:
	case SYS_open:
	case SYS_openat:
	case SYS_openat2:
	case SYS_open_by_handle_at:
	case SYS_creat:
		return append_size(c, err);
	case SYS_fallocate:
		return append_fallocate(c, err);
	case SYS_ioctl:
		return append_cloned(c, err);
	default:
		return append_written(c, result, err);
	}
}

/* The call has changed the file at `path`. */
static enum prr_status changed(struct prr_record *s, struct prr_record_task *t, const char *path,
	uint64_t old_size, struct prr_error *err)
{
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return PRR_OK;
	struct prr_mapped_object *object = prr_mapped_find(&s->mapped, st.st_dev, st.st_ino);
	struct change c = {
		.s = s,
		.t = t,
		.path = path,
		.file = -1,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.old_size = old_size,
		.size = (uint64_t)st.st_size,
	};

	if (!object)
		return PRR_OK;
	object->live = true;
	enum prr_status status = append_change(&c, t->regs.rax, err);

	if (c.file >= 0)
		close(c.file);
	return status;
}

enum prr_status prr_record_write_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	char path[64];
	int fd = (int)t->args[t->view.changed_fd_arg];

	(void)handled;
	if ((int64_t)t->regs.rax < 0)
		return PRR_OK;
	fd_path(path, sizeof(path), t, fd);
	/* While it slept others may have mapped the file. */
	if (t->blocked_recorded && t->change.kind == PRR_CHANGE_NONE && !is_plain(s, t, fd))
		describe(s, t, path, fd);
	if (t->change.kind == PRR_CHANGE_MEMORY)
		return prr_record_memory_written(s, t, path, fd, err);
	if (t->change.kind == PRR_CHANGE_FILE)
		return changed(s, t, path, t->change.size, err);
	return PRR_OK;
}

/* ------------------------------------------------------------------- by name */

/* Is O_TRUNC among the flags of the open call? */
static bool truncates(const struct prr_record_task *t)
{
	uint64_t flags = 0;

	switch (t->nr) {
	case SYS_creat:
		return true;
	case SYS_open:
		flags = t->args[1];
		break;
	case SYS_openat2: /* the first member of struct open_how */
		if (!prr_mem_read(t->uid.tid, prr_remote(t->args[2]), &flags, sizeof(flags)))
			flags = 0;
		break;
	default:
		flags = t->args[2];
		break;
	}
	return flags & O_TRUNC;
}

/* How the supervisor reaches what the task calls `name`. */
static void reach(const struct prr_record_task *t, const char *name, char *path, size_t size)
{
	if (strncmp(name, "/proc/self/", 11) == 0)
		snprintf(path, size, "/proc/%d/%s", t->uid.tid, name + 11);
	else if (strncmp(name, "/dev/fd/", 8) == 0)
		snprintf(path, size, "/proc/%d/fd/%s", t->uid.tid, name + 8);
	else
		snprintf(path, size, "/proc/%d/%s%s", t->uid.tid, name[0] == '/' ? "root" : "cwd/",
			name);
}

/* The name that an open call is given, and the directory it starts from. */
static void opened_path(const struct prr_record_task *t, char *path, size_t size)
{
	bool plain = t->nr == SYS_open || t->nr == SYS_creat;
	int directory = plain ? AT_FDCWD : (int)t->args[0];
	char *name;

	path[0] = '\0';
	if (!prr_mem_read_string(t->uid.tid, prr_remote(t->args[plain ? 0 : 1]), &name) || !name)
		return;
	if (directory == AT_FDCWD || name[0] == '/')
		reach(t, name, path, size);
	else
		snprintf(path, size, "/proc/%d/fd/%d/%s", t->uid.tid, directory, name);
	free(name);
}

/* Truncating a mapped file changes memory: nobody may look before the event. The
 * open of a regular file waits for nobody (but for a lease, which the kernel takes
 * away in the end). */
enum prr_status prr_record_open_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	char path[4200];
	struct stat st;

	(void)handled;
	(void)err;
	if (s->mapped.count == 0 || !truncates(t))
		return PRR_OK;
	opened_path(t, path, sizeof(path));
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		prr_mapped_find(&s->mapped, st.st_dev, st.st_ino))
		t->no_switch = true;
	return PRR_OK;
}

enum prr_status prr_record_open_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	char path[64];

	(void)handled;
	if ((int64_t)t->regs.rax < 0 || s->mapped.count == 0 || !truncates(t))
		return PRR_OK;
	fd_path(path, sizeof(path), t, (int)t->regs.rax);
	return changed(s, t, path, 0, err);
}

static bool truncated_path(const struct prr_record_task *t, char *path, size_t size)
{
	char *name;

	if (!prr_mem_read_string(t->uid.tid, prr_remote(t->args[0]), &name) || !name)
		return false;
	reach(t, name, path, size);
	free(name);
	return true;
}

enum prr_status prr_record_truncate_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	char path[4200];

	(void)handled;
	(void)err;
	t->change.kind = PRR_CHANGE_NONE;
	if (truncated_path(t, path, sizeof(path)))
		describe(s, t, path, -1);
	return PRR_OK;
}

enum prr_status prr_record_truncate_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	char path[4200];

	(void)handled;
	if (t->regs.rax != 0 || t->change.kind != PRR_CHANGE_FILE ||
		!truncated_path(t, path, sizeof(path)))
		return PRR_OK;
	return changed(s, t, path, t->change.size, err);
}
