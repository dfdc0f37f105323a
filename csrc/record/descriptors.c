/* SPDX-License-Identifier: GPL-2.0-or-later
 * What descriptors lead to, looked at once and remembered until one is closed.
 *
 * A read of a file on a local disk, or of /dev/zero and its like, waits for no other
 * task, so nobody else has to run before it is finished: then it may write to its
 * own place, and needs no scratch (PITFALLS A1). Not so a file that a process may
 * serve which is itself recorded (FUSE): only mounts that were there when the
 * first descriptor was looked at, and whose type needs no server, count; after the
 * program has mounted something none does. No look goes to such a server. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session.h"

/* Device numbers of drivers/char/mem.c. */
enum { MEM_MAJOR = 1, NULL_MINOR = 3, ZERO_MINOR = 5, FULL_MINOR = 7, URANDOM_MINOR = 9 };

/* ------------------------------------------------------------------- mounts */

static bool is_local(const char *type)
{
	static const char *const types[] = { "bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3",
		"ext4", "f2fs", "iso9660", "overlay", "ramfs", "rootfs", "squashfs", "tmpfs",
		"vfat", "xfs", "zfs" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

static void add_mount(struct prr_local_mounts *local, uint64_t id)
{
	uint64_t *ids = reallocarray(local->ids, local->count + 1, sizeof(*ids));

	if (!ids)
		return;
	local->ids = ids;
	local->ids[local->count++] = id;
}

/* proc_pid_mountinfo(5): "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE ..." */
static void read_mounts(struct prr_local_mounts *local)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t capacity = 0;

	local->known = true;
	if (!file)
		return;
	while (getline(&line, &capacity, file) > 0) {
		const char *tail = strstr(line, " - ");
		char type[32];

		if (tail && sscanf(tail, " - %31s", type) == 1 && is_local(type))
			add_mount(local, strtoull(line, NULL, 10));
	}
	free(line);
	fclose(file);
}

static bool is_on_local_mount(struct prr_record *s, const struct statx *st)
{
	struct prr_local_mounts *local = &s->local_mounts;

	if (local->changed || !(st->stx_mask & STATX_MNT_ID))
		return false;
	if (!local->known)
		read_mounts(local);
	for (size_t i = 0; i < local->count; i++)
		if (local->ids[i] == st->stx_mnt_id)
			return true;
	return false;
}

enum prr_status prr_record_mount_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	(void)t;
	(void)handled;
	(void)err;
	s->local_mounts.changed = true;
	s->closes++; /* what is remembered was found out with the old ones */
	return PRR_OK;
}

/* -------------------------------------------------------------- descriptors */

bool prr_record_may_remember(const struct prr_record *s, const struct prr_record_task *t)
{
	for (const struct prr_record_task *o = s->tasks; o; o = o->next)
		if (o != t && o->state == PRR_TASK_IN_SYSCALL &&
			o->view.record_handler == PRR_RECORD_CLOSE)
			return false;
	return true;
}

static bool is_steady(struct prr_record *s, const struct prr_record_task *t, int fd)
{
	char path[64];
	struct statx st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->uid.tid, fd);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID, &st) != 0)
		return false;
	if (S_ISREG(st.stx_mode))
		return is_on_local_mount(s, &st);
	return S_ISCHR(st.stx_mode) && st.stx_rdev_major == MEM_MAJOR &&
		(st.stx_rdev_minor == NULL_MINOR || st.stx_rdev_minor == ZERO_MINOR ||
			st.stx_rdev_minor == FULL_MINOR || st.stx_rdev_minor == URANDOM_MINOR);
}

bool prr_record_reads_at_once(struct prr_record *s, struct prr_record_task *t)
{
	int fd = (int)t->args[0];

	if (t->nr != SYS_read && t->nr != SYS_readv && t->nr != SYS_preadv2)
		return false;
	struct prr_steady_fd *slot = &t->steady_fds[(unsigned)fd % PRR_STEADY_FDS];

	if (slot->as_uid == t->as->uid && slot->fd == fd && slot->closes == s->closes)
		return slot->steady;
	bool steady = is_steady(s, t, fd);

	if (prr_record_may_remember(s, t))
		*slot = (struct prr_steady_fd){
			.fd = fd,
			.as_uid = t->as->uid,
			.closes = s->closes,
			.steady = steady,
		};
	return steady;
}
