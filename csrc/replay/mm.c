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

static enum prr_status map_file(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_mapping *m, struct prr_error *err)
{
	char path[4200];
	bool shared = prr_mapping_is_shared(m);
	uint64_t args[6] = { m->start, m->len, m->prot,
		MAP_FIXED | (shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE), 0, m->offset };
	int64_t fd, result;
	int object;

	if (shared) {
		PRR_TRY(prr_replay_object(s, m, &object, err));
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), object);
	} else {
		prr_replay_store_path(s, m->store_id, path, sizeof(path));
	}
	PRR_TRY(open_in_tracee(s, t, path, shared ? O_RDWR : O_RDONLY, &fd, err));
	args[4] = (uint64_t)fd;
	PRR_TRY(prr_replay_syscall(s, t, SYS_mmap, args, &result, err));
	PRR_TRY(expect(s, t, "mmap of a stored file", result, (int64_t)m->start, err));
	uint64_t close_args[6] = { (uint64_t)fd };

	return prr_replay_syscall(s, t, SYS_close, close_args, &result, err);
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

enum prr_status prr_replay_map(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_mapping *m, struct prr_error *err)
{
	if (m->start % PRR_PAGE_SIZE || m->start + m->len > PRR_TASK_SIZE ||
		(m->start < PRR_LAYOUT_END && m->start + m->len > PRR_CODE_ADDR))
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"event %llu maps 0x%llx bytes at 0x%llx, which cannot be",
			(unsigned long long)s->event->index, (unsigned long long)m->len,
			(unsigned long long)m->start);
	bool has_object = m->dev || m->ino;

	if (m->kind == PRR_MAPPING_FILE_PRIVATE || m->kind == PRR_MAPPING_FILE_SHARED ||
		(m->kind == PRR_MAPPING_ANON_SHARED && has_object))
		PRR_TRY(map_file(s, t, m, err));
	else
		PRR_TRY(map_anonymous(s, t, m, err));
	return prr_mappings_add(&t->as->mappings, m, err);
}

enum prr_status prr_replay_patches(struct prr_replay *s, struct prr_replay_task *t,
	struct prr_error *err)
{
	for (size_t i = 0; i < s->event->field_count; i++) {
		const struct prr_field *field = &s->event->fields[i];
		struct prr_field_patch patch;

		if (field->tag != PRR_FIELD_PATCH || field->len < sizeof(patch))
			continue;
		memcpy(&patch, field->data, sizeof(patch));
		if (patch.length > sizeof(patch.patched) ||
			!prr_mem_poke(t->tid, prr_remote(patch.addr), patch.patched,
				patch.length))
			return prr_replay_diverged(s, t, err, "0x%llx cannot be patched",
				(unsigned long long)patch.addr);
	}
	return PRR_OK;
}

/* Everything but pyrr's own pages (and the vsyscall page, which stays). */
enum prr_status prr_replay_unmap_all(struct prr_replay *s, struct prr_replay_task *t,
	struct prr_error *err)
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

static enum prr_status map_call(struct prr_replay *s, struct prr_replay_task *t,
	struct prr_error *err)
{
	struct prr_field_mapping m;
	const void *field = prr_field_find(s->event, PRR_FIELD_MAPPING, sizeof(m), NULL, NULL);

	if (!field)
		return PRR_OK; /* it failed */
	memcpy(&m, field, sizeof(m));
	return prr_replay_map(s, t, &m, err);
}

static enum prr_status brk_call(struct prr_replay *s, struct prr_replay_task *t,
	struct prr_error *err)
{
	struct prr_field_brk brk;
	const void *field = prr_field_find(s->event, PRR_FIELD_BRK, sizeof(brk), NULL, NULL);
	struct prr_field_mapping m = {
		.prot = PROT_READ | PROT_WRITE,
		.flags = MAP_PRIVATE | MAP_ANONYMOUS,
		.kind = PRR_MAPPING_HEAP,
	};
	int64_t result;

	if (!field)
		return PRR_OK;
	memcpy(&brk, field, sizeof(brk));
	if (brk.new_end > brk.old_end) {
		m.start = brk.old_end;
		m.len = brk.new_end - brk.old_end;
		return prr_replay_map(s, t, &m, err);
	}
	uint64_t args[6] = { brk.new_end, brk.old_end - brk.new_end };

	PRR_TRY(prr_replay_syscall(s, t, SYS_munmap, args, &result, err));
	PRR_TRY(prr_mappings_remove(&t->as->mappings, args[0], args[1], err));
	return expect(s, t, "shrinking the heap", result, 0, err);
}

static enum prr_status remap_call(struct prr_replay *s, struct prr_replay_task *t,
	const uint64_t args[6], int64_t result, struct prr_error *err)
{
	uint64_t replayed[6] = { args[0], args[1], args[2], 0, 0, 0 };
	int64_t actual;

	if (result < 0 && result > -4096)
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

static enum prr_status detach_call(struct prr_replay *s, struct prr_replay_task *t,
	struct prr_error *err)
{
	struct prr_field_range range;
	const void *field =
		prr_field_find(s->event, PRR_FIELD_UNMAP, sizeof(range), NULL, NULL);
	int64_t actual;

	if (!field)
		return PRR_OK;
	memcpy(&range, field, sizeof(range));
	uint64_t args[6] = { range.start, range.len };

	PRR_TRY(prr_replay_syscall(s, t, SYS_munmap, args, &actual, err));
	PRR_TRY(prr_mappings_remove(&t->as->mappings, range.start, range.len, err));
	return expect(s, t, "munmap", actual, 0, err);
}

/* Run as recorded, failures too: a failing mprotect may have changed a part. */
static enum prr_status same_call(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_syscall_view *view, const uint64_t args[6], int64_t result,
	struct prr_error *err)
{
	int64_t actual;

	PRR_TRY(prr_replay_syscall(s, t, s->event->regs.orig_rax, args, &actual, err));
	PRR_TRY(expect(s, t, view->name, actual, result, err));
	if (result != 0)
		return PRR_OK;
	if (view->replay_handler == PRR_REPLAY_MUNMAP)
		return prr_mappings_remove(&t->as->mappings, args[0], args[1], err);
	if (view->replay_handler == PRR_REPLAY_MPROTECT)
		return prr_mappings_protect(&t->as->mappings, args[0], args[1],
			(uint32_t)args[2] & (PROT_READ | PROT_WRITE | PROT_EXEC), err);
	return PRR_OK;
}

static enum prr_status limit_call(struct prr_replay *s, struct prr_replay_task *t)
{
	struct prr_field_rlimit limit;
	const void *field =
		prr_field_find(s->event, PRR_FIELD_RLIMIT, sizeof(limit), NULL, NULL);

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
	case PRR_REPLAY_MPROTECT:
	case PRR_REPLAY_MADVISE:
		return same_call(s, t, view, args, result, err);
	case PRR_REPLAY_PRLIMIT:
		return limit_call(s, t);
	default:
		return PRR_OK;
	}
}
