/* SPDX-License-Identifier: GPL-2.0-or-later
 * Memory syscalls: they really run, and the model of the AddressSpace follows. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "session.h"

#define HUGETLBFS_MAGIC 0x958458f6 /* <linux/magic.h> */
#define HUGE (1 << 20)             /* blocks of other file systems are smaller */

#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE 0x08
#endif

static bool failed(const struct prr_record_task *t)
{
	int64_t result = (int64_t)t->regs.rax;

	return result < 0 && result > -4096;
}

static void fd_path(char *path, size_t size, const struct prr_record_task *t, uint64_t fd)
{
	snprintf(path, size, "/proc/%d/fd/%d", t->uid.tid, (int)fd);
}

static bool is_hugetlbfs(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC;
}

static bool is_dev_zero(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 5);
}

enum prr_status prr_record_mmap_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	char path[64];
	struct stat st;
	int refused = 0;

	if ((t->args[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) &&
		prr_hits_layout(t->args[0], t->args[1]))
		refused = ENOMEM;
	else if ((t->args[3] & MAP_TYPE) == MAP_DROPPABLE)
		refused = EINVAL; /* pages that vanish at will are not replayable */
	else if ((t->args[3] & (MAP_ANONYMOUS | MAP_HUGETLB)) == (MAP_ANONYMOUS | MAP_HUGETLB))
		refused = ENOMEM; /* no huge pages are left: replay may have none */
	if (!refused && !(t->args[3] & MAP_ANONYMOUS)) {
		/* Memory that a device writes cannot be recorded. */
		fd_path(path, sizeof(path), t, t->args[4]);
		if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !is_dev_zero(&st))
			refused = ENODEV;
		else if (st.st_blksize >= HUGE && is_hugetlbfs(path))
			refused = ENOMEM;
	}
	if (!refused)
		return PRR_OK;
	*handled = PRR_HANDLED_DONE;
	return prr_record_answer(s, t, -refused, NULL, 0, 0, err);
}

/* What an mmap made, the store entry aside. */
static void describe(const struct prr_record_task *t, struct prr_field_mapping *m)
{
	bool shared = (t->args[3] & MAP_TYPE) != MAP_PRIVATE;

	memset(m, 0, sizeof(*m));
	m->start = t->regs.rax;
	m->len = prr_page_up(t->args[1]);
	m->prot = (uint32_t)t->args[2];
	m->flags = (uint32_t)t->args[3] & PRR_MAPPING_MAP_FLAGS;
	m->kind = shared ? PRR_MAPPING_ANON_SHARED : PRR_MAPPING_ANON;
}

enum prr_status prr_record_mmap_prepare(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	char path[64], name[4096];
	struct stat st;
	struct prr_field_mapping *m = &t->new_mapping;

	describe(t, m);
	t->new_file = NULL;
	t->new_name[0] = '\0';
	if (failed(t) || (t->args[3] & MAP_ANONYMOUS))
		return PRR_OK;
	fd_path(path, sizeof(path), t, t->args[4]);
	if (stat(path, &st) != 0)
		return prr_fail_errno(err, "cannot look at descriptor %d of task %d",
			(int)t->args[4], t->uid.tid);
	if (is_dev_zero(&st))
		return PRR_OK;
	bool shared = m->kind == PRR_MAPPING_ANON_SHARED;
	ssize_t len = readlink(path, name, sizeof(name) - 1);

	name[len < 0 ? 0 : len] = '\0';
	m->kind = shared ? PRR_MAPPING_FILE_SHARED : PRR_MAPPING_FILE_PRIVATE;
	m->offset = t->args[5];
	snprintf(t->new_name, sizeof(t->new_name), "%s", name);
	return prr_record_need_file(s, path, name, m, &t->new_file, handled, err);
}

enum prr_status prr_record_mmap_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	struct prr_field_mapping *m = &t->new_mapping;

	(void)handled;
	if (failed(t))
		return PRR_OK;
	prr_patches_remove(&t->as->patches, m->start, m->len);
	if (m->kind == PRR_MAPPING_ANON_SHARED) {
		m->ino = ++s->next_anon_object;
		m->object_size = m->len;
	}
	PRR_TRY(prr_mappings_add(&t->as->mappings, m, err));
	PRR_TRY(prr_event_mapping(s, m, t->new_name, err));
	if (!t->new_file)
		return PRR_OK;
	if (m->kind == PRR_MAPPING_FILE_PRIVATE && (m->prot & PROT_EXEC))
		PRR_TRY(prr_record_patch(s, t, m, t->new_file, err));
	return PRR_OK;
}

enum prr_status prr_record_munmap_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	if (!prr_hits_layout(t->args[0], t->args[1]))
		return PRR_OK;
	*handled = PRR_HANDLED_DONE;
	return prr_record_answer(s, t, -EINVAL, NULL, 0, 0, err);
}

enum prr_status prr_record_munmap_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	(void)s;
	(void)handled;
	if (failed(t))
		return PRR_OK;
	prr_patches_remove(&t->as->patches, t->args[0], t->args[1]);
	return prr_mappings_remove(&t->as->mappings, t->args[0], t->args[1], err);
}

enum prr_status prr_record_mremap_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	if (!prr_hits_layout(t->args[0], t->args[1]) &&
		(!(t->args[3] & MREMAP_FIXED) || !prr_hits_layout(t->args[4], t->args[2])))
		return PRR_OK;
	*handled = PRR_HANDLED_DONE;
	return prr_record_answer(s, t, -EINVAL, NULL, 0, 0, err);
}

enum prr_status prr_record_mremap_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	bool keep = t->args[3] & MREMAP_DONTUNMAP;

	(void)s;
	(void)handled;
	if (failed(t))
		return PRR_OK;
	for (size_t i = 0; i < t->as->patches.count; i++) {
		struct prr_field_patch *p = &t->as->patches.items[i];

		if (p->addr >= t->args[0] && p->addr < t->args[0] + t->args[1])
			p->addr += t->regs.rax - t->args[0];
	}
	return prr_mappings_move(
		&t->as->mappings, t->args[0], t->args[1], t->regs.rax, t->args[2], keep, err);
}

/* mprotect and madvise find a hole where pyrr's pages are. */
enum prr_status prr_record_range_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	if (!prr_hits_layout(t->args[0], t->args[1]))
		return PRR_OK;
	*handled = PRR_HANDLED_DONE;
	return prr_record_answer(s, t, -ENOMEM, NULL, 0, 0, err);
}

/* Code that becomes executable only now must be patched now. */
static enum prr_status patch_range(struct prr_record *s, struct prr_record_task *t, uint64_t start,
	uint64_t len, struct prr_error *err)
{
	for (size_t i = 0; i < t->as->mappings.count; i++) {
		const struct prr_field_mapping *m = &t->as->mappings.items[i];

		if (m->start + m->len <= start || m->start >= start + len ||
			m->kind != PRR_MAPPING_FILE_PRIVATE)
			continue;
		for (size_t f = 0; f < s->file_count; f++)
			if (s->files[f].store_id == m->store_id && !s->files[f].shared)
				PRR_TRY(prr_record_patch(s, t, m, &s->files[f], err));
	}
	return PRR_OK;
}

enum prr_status prr_record_mprotect_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	uint32_t prot = (uint32_t)t->args[2] & (PROT_READ | PROT_WRITE | PROT_EXEC);

	uint64_t len = prr_page_up(t->args[1]);

	(void)handled;
	if ((int64_t)t->regs.rax == -ENOMEM) /* what lies before the hole was changed */
		len = prr_mappings_hole(&t->as->mappings, t->args[0], len) - t->args[0];
	else if (failed(t))
		return PRR_OK;
	PRR_TRY(prr_mappings_protect(&t->as->mappings, t->args[0], len, prot, err));
	if (!(prot & PROT_EXEC))
		return PRR_OK;
	return patch_range(s, t, t->args[0], len, err);
}

enum prr_status prr_record_brk_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	struct prr_field_brk field = {
		.old_end = prr_page_up(t->as->brk),
		.new_end = prr_page_up(t->regs.rax),
	};
	struct prr_field_mapping m = {
		.prot = PROT_READ | PROT_WRITE,
		.flags = MAP_PRIVATE | MAP_ANONYMOUS,
		.kind = PRR_MAPPING_HEAP,
	};

	(void)handled;
	t->as->brk = t->regs.rax;
	if (field.new_end == field.old_end)
		return PRR_OK;
	PRR_TRY(prr_event_field(s, PRR_FIELD_BRK, &field, sizeof(field), err));
	if (field.new_end < field.old_end)
		return prr_mappings_remove(
			&t->as->mappings, field.new_end, field.old_end - field.new_end, err);
	m.start = field.old_end;
	m.len = field.new_end - field.old_end;
	return prr_mappings_add(&t->as->mappings, &m, err);
}

enum prr_status prr_record_madvise_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	int advice = (int)t->args[2];

	(void)s;
	(void)handled;
	if (advice != MADV_DONTFORK && advice != MADV_DOFORK && advice != MADV_WIPEONFORK &&
		advice != MADV_KEEPONFORK)
		return PRR_OK;
	return prr_mappings_advise(
		&t->as->mappings, t->args[0], t->args[1], advice, (int64_t)t->regs.rax, err);
}
