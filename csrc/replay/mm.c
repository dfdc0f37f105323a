/* SPDX-License-Identifier: GPL-2.0-or-later
 * Memory: recorded mappings are made again at their addresses. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session.h"

static enum prr_status expect(struct prr_replay *s, struct prr_replay_task *t, const char *what,
	int64_t result, int64_t expected, struct prr_error *err)
{
	if (result == expected)
		return PRR_OK;
	return prr_replay_diverged(s, t, err, "%s gave %lld, recorded %lld", what,
		(long long)result, (long long)expected);
}

/* May the program have this range? A trace may say anything. */
static bool can_be(uint64_t start, uint64_t len)
{
	return start % PRR_PAGE_SIZE == 0 && start <= PRR_TASK_SIZE &&
		len <= PRR_TASK_SIZE - start && !prr_hits_layout(start, len);
}

static enum prr_status unmap(struct prr_replay *s, struct prr_replay_task *t, uint64_t start,
	uint64_t len, struct prr_error *err)
{
	uint64_t args[6] = { start, len };
	int64_t result;

	if (!can_be(start, len))
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"event %llu unmaps 0x%llx bytes at 0x%llx, which cannot be",
			(unsigned long long)s->event->index, (unsigned long long)len,
			(unsigned long long)start);
	PRR_TRY(prr_replay_syscall(s, t, SYS_munmap, args, &result, err));
	PRR_TRY(prr_mappings_remove(&t->as->mappings, start, len, err));
	return expect(s, t, "munmap", result, 0, err);
}

/* ------------------------------------------------------------------ mapping */

static enum prr_status open_in_tracee(struct prr_replay *s, struct prr_replay_task *t,
	const char *path, int flags, int64_t *fd, struct prr_error *err)
{
	uint64_t args[6] = { (uint64_t)AT_FDCWD, PRR_DATA_ADDR, (uint64_t)flags | O_CLOEXEC };

	if (!prr_mem_write(t->tid, prr_remote(PRR_DATA_ADDR), path, strlen(path) + 1))
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL, "pyrr's pages are gone");
	PRR_TRY(prr_replay_syscall(s, t, SYS_openat, args, fd, err));
	if (*fd < 0)
		return prr_fail(err, PRR_ERR_TRACE, (int)-*fd, NULL,
			"cannot open %s, which event %llu maps", path,
			(unsigned long long)s->event->index);
	return PRR_OK;
}

static enum prr_status map_path(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_mapping *m, const char *path, int flags, struct prr_error *err)
{
	bool shared = prr_mapping_is_shared(m);
	uint64_t args[6] = { m->start, m->len, m->prot,
		MAP_FIXED | (shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE), 0, m->offset };
	int64_t fd, result;

	PRR_TRY(open_in_tracee(s, t, path, flags, &fd, err));
	args[4] = (uint64_t)fd;
	PRR_TRY(prr_replay_syscall(s, t, SYS_mmap, args, &result, err));
	PRR_TRY(expect(s, t, "mmap of a stored file", result, (int64_t)m->start, err));
	uint64_t close_args[6] = { (uint64_t)fd };

	return prr_replay_syscall(s, t, SYS_close, close_args, &result, err);
}

enum prr_status prr_replay_map_object(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_mapping *m, int fd, struct prr_error *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
	return map_path(s, t, m, path, prr_mapping_is_shared(m) ? O_RDWR : O_RDONLY, err);
}

static enum prr_status map_file(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_mapping *m, struct prr_error *err)
{
	char path[4200];
	int object;

	if (m->store_id)
		PRR_TRY(prr_replay_check_stored(s, m->store_id, err));
	PRR_TRY(prr_replay_object(s, m, &object, err));
	if (object >= 0)
		return prr_replay_map_object(s, t, m, object, err);
	prr_replay_store_path(s, m->store_id, path, sizeof(path));
	/* O_NONBLOCK: a trace may hold anything under that name. */
	return map_path(s, t, m, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, err);
}

static enum prr_status map_anonymous(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_mapping *m, struct prr_error *err)
{
	uint64_t flags = MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE;
	int64_t result;

	flags |= m->kind == PRR_MAPPING_ANON_SHARED ? MAP_SHARED : MAP_PRIVATE;
	if (m->kind == PRR_MAPPING_STACK || (m->flags & MAP_GROWSDOWN))
		flags |= MAP_GROWSDOWN;
	uint64_t args[6] = { m->start, m->len, m->prot, flags, (uint64_t)-1, 0 };

	PRR_TRY(prr_replay_syscall(s, t, SYS_mmap, args, &result, err));
	return expect(s, t, "mmap", result, (int64_t)m->start, err);
}

/* Private pages of a file that were made to be written no longer follow it. */
static enum prr_status populate(struct prr_replay *s, struct prr_replay_task *t, uint64_t start,
	uint64_t len, struct prr_error *err)
{
	uint64_t end = start + prr_page_up(len);
	int64_t result;

	for (size_t i = 0; i < t->as->mappings.count; i++) {
		const struct prr_field_mapping *m = &t->as->mappings.items[i];
		uint64_t from = m->start > start ? m->start : start;
		uint64_t to = m->start + m->len < end ? m->start + m->len : end;
		uint64_t args[6] = { from, to - from, MADV_POPULATE_WRITE };

		/* Up to the file's end: what fails here failed there. */
		if (from < to && m->kind == PRR_MAPPING_FILE_PRIVATE && (m->prot & PROT_WRITE))
			PRR_TRY(prr_replay_syscall(s, t, SYS_madvise, args, &result, err));
	}
	return PRR_OK;
}

enum prr_status prr_replay_map(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_mapping *m, struct prr_error *err)
{
	if (!can_be(m->start, m->len))
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"event %llu maps 0x%llx bytes at 0x%llx, which cannot be",
			(unsigned long long)s->event->index, (unsigned long long)m->len,
			(unsigned long long)m->start);
	bool has_object = m->dev || m->ino;
	struct prr_field_mapping model = *m;

	model.flags &= PRR_MAPPING_TRACE_FLAGS;
	if (m->kind == PRR_MAPPING_FILE_PRIVATE || m->kind == PRR_MAPPING_FILE_SHARED ||
		(m->kind == PRR_MAPPING_ANON_SHARED && has_object))
		PRR_TRY(map_file(s, t, m, err));
	else
		PRR_TRY(map_anonymous(s, t, m, err));
	PRR_TRY(prr_mappings_add(&t->as->mappings, &model, err));
	if (model.flags & (MAP_POPULATE | MAP_LOCKED))
		return populate(s, t, m->start, m->len, err);
	return PRR_OK;
}

/* Fresh zeros in the place of a private anonymous mapping. */
static enum prr_status wipe(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_mapping *m, struct prr_error *err)
{
	int64_t result;
	uint64_t args[6] = { m->start, m->len, MADV_DONTNEED };

	PRR_TRY(prr_replay_syscall(s, t, SYS_madvise, args, &result, err));
	return expect(s, t, "wiping a forked range", result, 0, err);
}

enum prr_status prr_replay_forked(struct prr_replay *s, struct prr_replay_task *parent,
	struct prr_replay_task *child, struct prr_error *err)
{
	for (size_t i = 0; i < parent->as->mappings.count; i++) {
		const struct prr_field_mapping *m = &parent->as->mappings.items[i];
		uint64_t args[6] = { m->start, m->len };
		int64_t result;

		if (m->flags & PRR_MAPPING_DONTFORK) {
			PRR_TRY(prr_replay_syscall(s, child, SYS_munmap, args, &result, err));
			PRR_TRY(expect(s, child, "unmapping a forked range", result, 0, err));
		} else if (m->flags & PRR_MAPPING_WIPEONFORK) {
			PRR_TRY(wipe(s, child, m, err));
		}
	}
	return PRR_OK;
}

enum prr_status prr_replay_patches(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	for (size_t i = 0; i < s->event->field_count; i++) {
		const struct prr_field *field = &s->event->fields[i];
		struct prr_field_patch patch;

		if (field->tag != PRR_FIELD_PATCH || field->len < sizeof(patch))
			continue;
		memcpy(&patch, field->data, sizeof(patch));
		if (patch.length > sizeof(patch.patched) ||
			!prr_mem_poke(t->tid, prr_remote(patch.addr), patch.patched, patch.length))
			return prr_replay_diverged(s, t, err, "0x%llx cannot be patched",
				(unsigned long long)patch.addr);
	}
	return PRR_OK;
}

/* Everything but pyrr's own pages (and the vsyscall page, which stays). */
enum prr_status prr_replay_unmap_all(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	uint64_t below[6] = { 0, PRR_CODE_ADDR };
	uint64_t above[6] = { PRR_LAYOUT_END, PRR_TASK_SIZE - PRR_LAYOUT_END };
	int64_t first, second;

	PRR_TRY(prr_replay_syscall(s, t, SYS_munmap, below, &first, err));
	PRR_TRY(prr_replay_syscall(s, t, SYS_munmap, above, &second, err));
	if (first != 0 || second != 0)
		return prr_fail(err, PRR_ERR_ENVIRONMENT, (int)-(first ? first : second),
			"pyrr doctor", "the replay stub's memory cannot be unmapped");
	return PRR_OK;
}

/* ------------------------------------------------------------------- calls */

static enum prr_status map_call(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	struct prr_field_mapping m;
	const void *field = prr_field_find(s->event, PRR_FIELD_MAPPING, sizeof(m), NULL, NULL);

	if (!field)
		return PRR_OK; /* it failed */
	memcpy(&m, field, sizeof(m));
	return prr_replay_map(s, t, &m, err);
}

static enum prr_status brk_call(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	struct prr_field_brk brk;
	const void *field = prr_field_find(s->event, PRR_FIELD_BRK, sizeof(brk), NULL, NULL);
	struct prr_field_mapping m = {
		.prot = PROT_READ | PROT_WRITE,
		.flags = MAP_PRIVATE | MAP_ANONYMOUS,
		.kind = PRR_MAPPING_HEAP,
	};

	if (!field)
		return PRR_OK;
	memcpy(&brk, field, sizeof(brk));
	if (brk.new_end > brk.old_end) {
		m.start = brk.old_end;
		m.len = brk.new_end - brk.old_end;
		return prr_replay_map(s, t, &m, err);
	}
	return unmap(s, t, brk.new_end, brk.old_end - brk.new_end, err);
}

static enum prr_status remap_call(struct prr_replay *s, struct prr_replay_task *t,
	const uint64_t args[6], int64_t result, struct prr_error *err)
{
	uint64_t replayed[6] = { args[0], args[1], args[2], 0, 0, 0 };
	int64_t actual;

	if ((result < 0 && result > -4096) || prr_hits_layout(args[0], args[1]) ||
		prr_hits_layout((uint64_t)result, args[2]))
		return PRR_OK;
	if ((uint64_t)result != args[0]) {
		replayed[3] = MREMAP_MAYMOVE | MREMAP_FIXED | (args[3] & MREMAP_DONTUNMAP);
		replayed[4] = (uint64_t)result;
	}
	PRR_TRY(prr_replay_syscall(s, t, SYS_mremap, replayed, &actual, err));
	PRR_TRY(expect(s, t, "mremap", actual, result, err));
	return prr_mappings_move(&t->as->mappings, args[0], args[1], (uint64_t)result, args[2],
		args[3] & MREMAP_DONTUNMAP, err);
}

static enum prr_status detach_call(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	for (size_t i = 0; i < s->event->field_count; i++) {
		const struct prr_field *field = &s->event->fields[i];
		struct prr_field_range range;

		if (field->tag != PRR_FIELD_UNMAP || field->len < sizeof(range))
			continue;
		memcpy(&range, field->data, sizeof(range));
		PRR_TRY(unmap(s, t, range.start, range.len, err));
	}
	return PRR_OK;
}

/* Run as recorded. ENOMEM says that the range has holes: what lies before them
 * (mprotect) or around them (madvise) was changed. Other failures depend on
 * what replay's mappings need not have: the file's permissions, locked pages. */
static enum prr_status same_call(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_syscall_view *view, const uint64_t args[6], int64_t result,
	struct prr_error *err)
{
	int64_t actual;

	if ((result != 0 && result != -ENOMEM) || prr_hits_layout(args[0], args[1]))
		return PRR_OK;
	PRR_TRY(prr_replay_syscall(s, t, s->event->regs.orig_rax, args, &actual, err));
	PRR_TRY(expect(s, t, view->name, actual, result, err));
	if (view->replay_handler == PRR_REPLAY_MUNMAP)
		return prr_mappings_remove(&t->as->mappings, args[0], args[1], err);
	if (view->replay_handler != PRR_REPLAY_MPROTECT)
		return PRR_OK;
	uint64_t len = args[1];

	if (result != 0)
		len = prr_mappings_hole(&t->as->mappings, args[0], prr_page_up(len)) - args[0];
	return prr_mappings_protect(&t->as->mappings, args[0], len,
		(uint32_t)args[2] & (PROT_READ | PROT_WRITE | PROT_EXEC), err);
}

static enum prr_status advise_call(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_syscall_view *view, const uint64_t args[6], int64_t result,
	struct prr_error *err)
{
	uint64_t replayed[6] = { args[0], args[1], args[2] };

	switch ((int)args[2]) {
	case MADV_DONTFORK:
	case MADV_DOFORK:
	case MADV_WIPEONFORK:
	case MADV_KEEPONFORK:
		return prr_mappings_advise(
			&t->as->mappings, args[0], args[1], (int)args[2], result, err);
	case MADV_POPULATE_WRITE:
		return populate(s, t, args[0], args[1], err);
	case MADV_DONTNEED_LOCKED: /* nothing is locked here */
		replayed[2] = MADV_DONTNEED;
		break;
	default:
		break;
	}
	return same_call(s, t, view, replayed, result, err);
}

static enum prr_status lock_call(struct prr_replay *s, struct prr_replay_task *t,
	const uint64_t args[6], int64_t result, struct prr_error *err)
{
	uint64_t nr = s->event->regs.orig_rax;

	if (result != 0 || (nr == SYS_mlock2 && (args[2] & MLOCK_ONFAULT)))
		return PRR_OK;
	if (nr != SYS_mlockall)
		return populate(
			s, t, prr_page_down(args[0]), args[1] + args[0] % PRR_PAGE_SIZE, err);
	if (!(args[0] & MCL_CURRENT) || (args[0] & MCL_ONFAULT))
		return PRR_OK;
	return populate(s, t, 0, PRR_TASK_SIZE, err);
}

static enum prr_status limit_call(struct prr_replay *s, struct prr_replay_task *t)
{
	struct prr_field_rlimit limit;
	const void *field = prr_field_find(s->event, PRR_FIELD_RLIMIT, sizeof(limit), NULL, NULL);

	if (!field)
		return PRR_OK;
	memcpy(&limit, field, sizeof(limit));
	struct rlimit value = { limit.soft, limit.hard };

	if (limit.resource == RLIMIT_STACK)
		prlimit(t->tid, RLIMIT_STACK, &value, NULL);
	return PRR_OK;
}

enum prr_status prr_replay_memory_call(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_syscall_view *view, const uint64_t args[6], int64_t result,
	struct prr_error *err)
{
	switch (view->replay_handler) {
	case PRR_REPLAY_MMAP:
	case PRR_REPLAY_SHMAT:
		return map_call(s, t, err);
	case PRR_REPLAY_BRK:
		return brk_call(s, t, err);
	case PRR_REPLAY_MREMAP:
		return remap_call(s, t, args, result, err);
	case PRR_REPLAY_SHMDT:
		return detach_call(s, t, err);
	case PRR_REPLAY_MUNMAP:
		if (result != 0)
			return PRR_OK;
		return same_call(s, t, view, args, result, err);
	case PRR_REPLAY_MADVISE:
		return advise_call(s, t, view, args, result, err);
	case PRR_REPLAY_MLOCK:
		return lock_call(s, t, args, result, err);
	case PRR_REPLAY_MPROTECT:
		return same_call(s, t, view, args, result, err);
	case PRR_REPLAY_PRLIMIT:
		return limit_call(s, t);
	default:
		return PRR_OK;
	}
}
