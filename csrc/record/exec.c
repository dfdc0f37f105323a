/* SPDX-License-Identifier: GPL-2.0-or-later
 * execve. At its exit stop, before the first instruction of the new program:
 * pyrr's pages are mapped, the vdso is hidden and unmapped, every mapping is
 * described and every byte that is not a file's is saved. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared/inject.h"
#include "session.h"

/* ------------------------------------------------------------------- entry */

/* argv as the caller gives it, NUL-separated, for ps and dump. */
static enum prr_status read_argv(struct prr_record_task *t, uint64_t argv, struct prr_error *err)
{
	free(t->exec_argv);
	t->exec_argv = NULL;
	t->exec_argv_len = 0;
	for (;; argv += 8) {
		uint64_t pointer;
		char *text;

		if (!prr_mem_read(t->uid.tid, prr_remote(argv), &pointer, sizeof(pointer)) ||
			pointer == 0 ||
			!prr_mem_read_string(t->uid.tid, prr_remote(pointer), &text))
			return PRR_OK;
		size_t len = strlen(text) + 1;
		char *grown = realloc(t->exec_argv, t->exec_argv_len + len);

		if (!grown) {
			free(text);
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
		}
		t->exec_argv = grown;
		memcpy(t->exec_argv + t->exec_argv_len, text, len);
		t->exec_argv_len += len;
		free(text);
	}
}

enum prr_status prr_record_exec_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	bool at = t->nr == SYS_execveat;

	(void)s;
	(void)handled;
	free(t->exec_path);
	t->exec_path = NULL;
	t->exec_pending = t->exec_prepared = false;
	if (!prr_mem_read_string(t->uid.tid, prr_remote(t->args[at ? 1 : 0]), &t->exec_path))
		t->exec_path = NULL;
	/* Siblings must die first, each with an EXIT event of its own. */
	if (t->group->task_count > 1)
		t->view.flags |= PRR_SYSCALL_MAY_BLOCK;
	prr_death_deinit(&t->exec_death);
	PRR_TRY(prr_death_foresee(t, &t->exec_death, err));
	return read_argv(t, t->args[at ? 2 : 1], err);
}

/* ------------------------------------------------- PTRACE_EVENT_EXEC: new image */

static enum prr_status leave_group(struct prr_record_task *t, struct prr_error *err)
{
	struct prr_sighand *fresh = malloc(sizeof(*fresh));

	if (!fresh)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	*fresh = *t->sighand;
	fresh->ref_count = 1;
	for (int i = 1; i < PRR_SIGNAL_COUNT; i++)
		if (fresh->actions[i].handler > 1) /* handlers go, SIG_IGN stays */
			memset(&fresh->actions[i], 0, sizeof(fresh->actions[i]));
	prr_sighand_unuse(t->sighand);
	t->sighand = fresh;
	return PRR_OK;
}

enum prr_status prr_record_exec_event(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	struct prr_address_space *as = calloc(1, sizeof(*as));

	if (!as)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	as->uid = s->next_as_uid++;
	as->task_count = 1;
	as->mappings.mapped = &s->mapped;
	prr_address_space_unuse(t->as);
	t->as = as;
	PRR_TRY(leave_group(t, err));
	t->group->tgid = t->uid.tid;
	t->group->leader_serial = t->uid.serial;
	t->group->zombie_leader = NULL;
	t->exec_pending = true;
	t->exec_prepared = false;
	t->clear_child_tid = t->robust_list = 0;
	t->scratch_base = t->scratch_size = t->guard_count = 0;
	t->scratch_bloated = t->leave_in_place = false;
	t->stack_refused = 0;
	t->scratch_active = false;
	t->altstack_sp = t->altstack_size = 0;
	t->altstack_flags = 0;
	prr_record_resume(t, PRR_RESUME_SYSCALL, 0);
	t->state = PRR_TASK_IN_SYSCALL;
	return PRR_OK;
}

/* -------------------------------------------------- exit stop: claim the image */

struct kernel_maps {
	uint64_t start[8], end[8];
	size_t count;
};

static enum prr_status find_kernel_maps(
	void *context, const struct prr_maps_line *line, struct prr_error *err)
{
	struct kernel_maps *maps = context;

	(void)err;
	if ((strcmp(line->path, "[vdso]") == 0 || strncmp(line->path, "[vvar", 5) == 0) &&
		maps->count < 8) {
		maps->start[maps->count] = line->start;
		maps->end[maps->count++] = line->end;
	}
	return PRR_OK;
}

/* AT_SYSINFO_EHDR -> AT_IGNORE: libcs then make real clock syscalls. */
static bool hide_vdso(struct prr_record_task *t)
{
	uint64_t at = t->regs.rsp, word[2];

	if (!prr_mem_read(t->uid.tid, prr_remote(at), word, 8))
		return false;
	at += 8 * (word[0] + 2); /* argc, argv[], NULL */
	do { /* envp[], NULL */
		if (!prr_mem_read(t->uid.tid, prr_remote(at), word, 8))
			return false;
		at += 8;
	} while (word[0]);
	for (;; at += 16) {
		if (!prr_mem_read(t->uid.tid, prr_remote(at), word, 16))
			return false;
		if (word[0] == AT_NULL)
			return true;
		if (word[0] != AT_SYSINFO_EHDR)
			continue;
		word[0] = AT_IGNORE;
		if (!prr_mem_write(t->uid.tid, prr_remote(at), word, 8))
			return false;
	}
}

static enum prr_status map_pages(struct prr_record_task *t, struct prr_error *err)
{
	static const uint8_t code[] = { 0x0f, 0x05, 0xcc, 0xcc };
	uint64_t map_code[6] = { PRR_CODE_ADDR, PRR_PAGE_SIZE, PROT_READ | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0 };
	uint64_t map_data[6] = { PRR_DATA_ADDR, PRR_DATA_SIZE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0 };
	uint8_t saved[2];
	struct prr_inject inject;
	int64_t first, second;

	/* No page of ours is here yet: borrow two bytes at the entry point. */
	if (!prr_mem_read(t->uid.tid, prr_remote(t->regs.rip), saved, sizeof(saved)) ||
		!prr_mem_poke(t->uid.tid, prr_remote(t->regs.rip), code, sizeof(saved)))
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"cannot write the entry point of task %d", t->uid.tid);
	PRR_TRY(prr_inject_begin(&inject, t->uid.tid, t->regs.rip, err));
	PRR_TRY(prr_inject_syscall(&inject, SYS_mmap, map_code, &first, err));
	PRR_TRY(prr_inject_syscall(&inject, SYS_mmap, map_data, &second, err));
	PRR_TRY(prr_inject_end(&inject, err));
	if (first != (int64_t)PRR_CODE_ADDR || second != (int64_t)PRR_DATA_ADDR)
		return prr_fail(err, PRR_ERR_UNSUPPORTED, 0, NULL,
			"%s occupies address 0x%llx, which pyrr needs", t->exec_path,
			PRR_CODE_ADDR);
	if (!prr_mem_poke(t->uid.tid, prr_remote(t->regs.rip), saved, sizeof(saved)) ||
		!prr_mem_poke(t->uid.tid, prr_remote(PRR_CODE_ADDR), code, sizeof(code)))
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"cannot write pyrr's page in task %d", t->uid.tid);
	return PRR_OK;
}

static enum prr_status unmap_vdso(
	struct prr_record_task *t, struct prr_inject *inject, struct prr_error *err)
{
	struct kernel_maps maps = { .count = 0 };
	int64_t result;

	PRR_TRY(prr_maps_each(t->uid.tid, find_kernel_maps, &maps, err));
	for (size_t i = 0; i < maps.count; i++) {
		uint64_t args[6] = { maps.start[i], maps.end[i] - maps.start[i] };

		PRR_TRY(prr_inject_syscall(inject, SYS_munmap, args, &result, err));
		if (result != 0)
			return prr_fail(err, PRR_ERR_ENVIRONMENT, (int)-result, "pyrr doctor",
				"this kernel seals the vdso (CONFIG_MSEAL_SYSTEM_MAPPINGS)");
	}
	return PRR_OK;
}

static enum prr_status claim(struct prr_record_task *t, struct prr_error *err)
{
	struct prr_inject inject;
	uint64_t no_args[6] = { 0 };
	int64_t brk;

	if (t->regs.cs != 0x33)
		return prr_fail(err, PRR_ERR_UNSUPPORTED, 0, "record a 64-bit build of the program",
			"%s is a 32-bit program", t->exec_path ? t->exec_path : "?");
	if (!hide_vdso(t))
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"cannot read the initial stack of task %d", t->uid.tid);
	PRR_TRY(map_pages(t, err));
	PRR_TRY(prr_inject_begin(&inject, t->uid.tid, PRR_CODE_ADDR, err));
	PRR_TRY(unmap_vdso(t, &inject, err));
	PRR_TRY(prr_inject_syscall(&inject, SYS_brk, no_args, &brk, err));
	PRR_TRY(prr_inject_end(&inject, err));
	t->as->brk = (uint64_t)brk;
	return PRR_OK;
}

/* ------------------------------------------------------ describing the mappings */

struct describe {
	struct prr_record *s;
	struct prr_record_task *t;
};

static enum prr_status describe_line(
	void *context, const struct prr_maps_line *line, struct prr_error *err)
{
	struct describe *d = context;
	struct prr_field_mapping m = {
		.start = line->start,
		.len = line->end - line->start,
		.offset = line->offset,
		.prot = line->prot,
		.flags = MAP_PRIVATE,
	};

	if (strcmp(line->path, "[vsyscall]") == 0 || line->start == PRR_CODE_ADDR ||
		line->start == PRR_DATA_ADDR)
		return PRR_OK;
	if (line->path[0] == '/') {
		m.kind = PRR_MAPPING_FILE_PRIVATE;
	} else {
		m.flags |= MAP_ANONYMOUS;
		m.offset = 0;
		m.kind = PRR_MAPPING_ANON;
		if (strcmp(line->path, "[stack]") == 0)
			m.kind = PRR_MAPPING_STACK;
		else if (strcmp(line->path, "[heap]") == 0)
			m.kind = PRR_MAPPING_HEAP;
	}
	return prr_mappings_add(&d->t->as->mappings, &m, err);
}

/* Opens the very file behind a mapping: by name where that still is the file,
 * else through /proc/PID/exe (a deleted program). */
static enum prr_status find_path(
	struct prr_record_task *t, uint64_t ino, const char *name, char *path, size_t size)
{
	struct stat st;

	snprintf(path, size, "/proc/%d/root%s", t->uid.tid, name);
	if (stat(path, &st) == 0 && st.st_ino == ino)
		return PRR_OK;
	snprintf(path, size, "/proc/%d/exe", t->uid.tid);
	return PRR_OK;
}

struct naming {
	struct prr_record *s;
	struct prr_record_task *t;
	enum prr_handled *handled;
};

static enum prr_status name_line(
	void *context, const struct prr_maps_line *line, struct prr_error *err)
{
	struct naming *n = context;
	char path[4200];
	struct prr_stored_file *file;
	const struct prr_field_mapping *m;

	if (line->path[0] != '/' || *n->handled == PRR_HANDLED_STOP)
		return PRR_OK;
	m = prr_mappings_find(&n->t->as->mappings, line->start);
	if (!m || m->start != line->start || m->ino)
		return PRR_OK;
	struct prr_field_mapping named = *m;

	PRR_TRY(find_path(n->t, line->ino, line->path, path, sizeof(path)));
	PRR_TRY(prr_record_need_file(n->s, path, line->path, &named, &file, n->handled, err));
	if (*n->handled == PRR_HANDLED_STOP)
		return PRR_OK;
	return prr_mappings_add(&n->t->as->mappings, &named, err);
}

static enum prr_status start_failed(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	int error = (int)-(int64_t)t->regs.rax;
	const char *program = s->options->program;

	if (error == ENOENT)
		return prr_fail(err, PRR_ERR_NOT_FOUND, error,
			"head -n 1 names a script's interpreter; it must exist", "cannot run %s",
			program);
	if (error == ENOEXEC)
		return prr_fail(err, PRR_ERR_NOT_EXECUTABLE, error,
			"name the interpreter: pyrr record sh SCRIPT", "cannot run %s", program);
	return prr_fail(err, PRR_ERR_NOT_EXECUTABLE, error, "chmod +x makes a file executable",
		"cannot run %s", program);
}

enum prr_status prr_record_exec_prepare(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	struct naming naming = { s, t, handled };
	struct describe describe = { s, t };

	if (!t->exec_pending)
		return s->started ? PRR_OK : start_failed(s, t, err);
	if (!t->exec_prepared) {
		PRR_TRY(claim(t, err));
		PRR_TRY(prr_maps_each(t->uid.tid, describe_line, &describe, err));
		t->exec_prepared = true;
	}
	return prr_maps_each(t->uid.tid, name_line, &naming, err);
}

/* ------------------------------------------------------------ saving the image */

/* Which pages of a private file mapping are no longer the file's? */
static bool is_touched(uint64_t entry)
{
	const uint64_t file_or_shared = 1ull << 61, swapped = 1ull << 62, present = 1ull << 63;

	return (entry & swapped) || ((entry & present) && !(entry & file_or_shared));
}

static bool is_zero(const uint8_t *page)
{
	static const uint8_t zeros[PRR_PAGE_SIZE];

	return memcmp(page, zeros, PRR_PAGE_SIZE) == 0;
}

static enum prr_status save_pages(struct prr_record *s, struct prr_record_task *t,
	const struct prr_field_mapping *m, int pagemap, struct prr_error *err)
{
	uint8_t page[PRR_PAGE_SIZE];

	for (uint64_t addr = m->start; addr < m->start + m->len; addr += PRR_PAGE_SIZE) {
		uint64_t entry;

		if (pread(pagemap, &entry, sizeof(entry), (off_t)(addr / PRR_PAGE_SIZE * 8)) !=
			(ssize_t)sizeof(entry))
			return prr_fail_errno(err, "cannot read /proc/%d/pagemap", t->uid.tid);
		if (!is_touched(entry))
			continue;
		if (!prr_mem_read(t->uid.tid, prr_remote(addr), page, sizeof(page)))
			continue;
		if (m->kind != PRR_MAPPING_FILE_PRIVATE && is_zero(page))
			continue;
		PRR_TRY(prr_event_bytes(s, t->as->uid, addr, page, sizeof(page), err));
	}
	return PRR_OK;
}

static enum prr_status save_memory(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	char name[64];
	enum prr_status status = PRR_OK;

	snprintf(name, sizeof(name), "/proc/%d/pagemap", t->uid.tid);
	int pagemap = open(name, O_RDONLY | O_CLOEXEC);

	if (pagemap < 0)
		return prr_fail_errno(err, "cannot read %s", name);
	for (size_t i = 0; i < t->as->mappings.count && status == PRR_OK; i++) {
		const struct prr_field_mapping *m = &t->as->mappings.items[i];

		if (m->prot & PROT_WRITE)
			status = save_pages(s, t, m, pagemap, err);
	}
	close(pagemap);
	return status;
}

static enum prr_status exec_field(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	const char *path = t->exec_path ? t->exec_path : "";
	size_t len = strlen(path);
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	uint8_t *bytes = malloc(sizeof(struct prr_field_exec) + len);

	if (!bytes)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	prlimit(t->uid.tid, RLIMIT_STACK, NULL, &limit);
	struct prr_field_exec field = {
		.as_uid = t->as->uid,
		.old_tid = t->exec_old_tid ? t->exec_old_tid : t->uid.tid,
		.stack_limit = limit.rlim_cur,
		.brk_start = t->as->brk,
	};

	memcpy(bytes, &field, sizeof(field));
	memcpy(bytes + sizeof(field), path, len);
	enum prr_status status =
		prr_event_field(s, PRR_FIELD_EXEC, bytes, sizeof(field) + len, err);

	free(bytes);
	return status;
}

static enum prr_status describe_mapping(struct prr_record *s, struct prr_record_task *t,
	const struct prr_field_mapping *m, struct prr_error *err)
{
	for (size_t i = 0; i < s->file_count; i++) {
		struct prr_stored_file *f = &s->files[i];

		if (f->store_id != m->store_id || m->store_id == 0)
			continue;
		PRR_TRY(prr_event_mapping(s, m, f->name, err));
		return m->prot & PROT_EXEC ? prr_record_patch(s, t, m, f, err) : PRR_OK;
	}
	return prr_event_mapping(s, m, "", err);
}

/* Under a tracer, and with no_new_privs, the kernel ignores the set-id bits. */
static enum prr_status warn_of_setuid(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	char path[64], *text;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", t->uid.tid);
	if (stat(path, &st) != 0 || !(st.st_mode & (S_ISUID | S_ISGID)) ||
		(st.st_uid == geteuid() && st.st_gid == getegid()))
		return PRR_OK;
	if (asprintf(&text, "%s is set-id: recorded, it runs without those privileges",
		    t->exec_path ? t->exec_path : "a program") < 0)
		text = NULL;
	return prr_record_want_warning(s, text, err);
}

enum prr_status prr_record_exec_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	(void)handled;
	if (!t->exec_pending)
		return PRR_OK;
	PRR_TRY(exec_field(s, t, err));
	if (t->exec_argv)
		PRR_TRY(prr_event_field(s, PRR_FIELD_ARGV, t->exec_argv, t->exec_argv_len, err));
	for (size_t i = 0; i < t->as->mappings.count; i++)
		PRR_TRY(describe_mapping(s, t, &t->as->mappings.items[i], err));
	if (!s->started)
		PRR_TRY(prr_record_echo_inherited(s, t, err));
	PRR_TRY(prr_death_append(s, t, &t->exec_death, err));
	PRR_TRY(save_memory(s, t, err));
	PRR_TRY(prr_event_regs_after(s, t, true, err));
	prr_ptrace_get_sigmask(t->uid.tid, &t->sigmask);
	t->exec_pending = false;
	t->exec_old_tid = 0;
	s->started = true;
	return warn_of_setuid(s, t, err);
}
