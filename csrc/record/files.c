/* SPDX-License-Identifier: GPL-2.0-or-later
 * Contents behind mappings: which store entry holds a mapped file, and the
 * patches of instructions in its code.
 *
 * A file is stored once per identity (dev, ino, size, mtime, ctime). File
 * timestamps may be as coarse as a jiffy, so that two different contents can
 * carry one identity when the file changed a moment ago: such files are stored
 * anew each time, and so are those that somebody may write through a shared
 * mapping. A live object (mapped.h) is not stored at all: replay keeps it right. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../shared/file_hash.h"
#include "session.h"

#define RACY_NS 2000000000ull

static uint64_t in_ns(struct timespec ts)
{
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static bool is_racy(const struct stat *st)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
	return in_ns(st->st_ctim) + RACY_NS > in_ns(now);
}

/* The event that is being prepared. */
static uint64_t this_event(const struct prr_record *s)
{
	return prr_trace_writer_last_index(s->writer) + 1;
}

static bool has_identity(const struct prr_stored_file *f, const struct stat *st)
{
	return f->size == (uint64_t)st->st_size && f->mtime_ns == in_ns(st->st_mtim) &&
		f->ctime_ns == in_ns(st->st_ctim);
}

static struct prr_stored_file *lookup(
	struct prr_record *s, const struct stat *st, bool shared, bool reusable)
{
	for (size_t i = s->file_count; i-- > 0;) {
		struct prr_stored_file *f = &s->files[i];

		if (f->dev != st->st_dev || f->ino != st->st_ino || (f->shared && !shared))
			continue;
		if (f->event == this_event(s) || (reusable && !f->stale && has_identity(f, st)))
			return f;
	}
	return NULL;
}

/* Symbolic links of /proc/PID/fd show how the descriptor was opened (proc(5)). */
static bool is_writable(const char *path)
{
	struct stat link;

	return lstat(path, &link) != 0 || !S_ISLNK(link.st_mode) || (link.st_mode & S_IWUSR);
}

static void make_stale(struct prr_record *s, const struct stat *st)
{
	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].dev == st->st_dev && s->files[i].ino == st->st_ino)
			s->files[i].stale = true;
}

static enum prr_status ask(struct prr_record *s, const char *path, const char *name,
	const struct stat *st, bool shared, bool reusable, struct prr_error *err)
{
	free(s->stop_path);
	free(s->stop_name);
	s->stop_path = strdup(path);
	s->stop_name = strdup(name);
	if (!s->stop_path || !s->stop_name)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	s->stop = (struct prr_record_stop){
		.kind = PRR_RECORD_STOP_STORE_FILE,
		.path = s->stop_path,
		.name = s->stop_name,
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = in_ns(st->st_mtim),
		.ctime_ns = in_ns(st->st_ctim),
		.cacheable = reusable,
	};
	s->stop_shared = shared;
	s->stop_wanted = true;
	return PRR_OK;
}

enum prr_status prr_record_need_file(struct prr_record *s, const char *path, const char *name,
	struct prr_field_mapping *mapping, struct prr_stored_file **file, enum prr_handled *handled,
	struct prr_error *err)
{
	bool shared = mapping->kind == PRR_MAPPING_FILE_SHARED;
	struct stat st;

	*file = NULL;
	if (s->trace_ended)
		return PRR_OK;
	if (stat(path, &st) != 0)
		return prr_fail_errno(err, "cannot save the mapped file %s (%s)", name, path);
	const struct prr_mapped_object *object = prr_mapped_find(&s->mapped, st.st_dev, st.st_ino);
	bool live = object && object->live;
	bool writable = shared && is_writable(path);

	if (writable)
		make_stale(s, &st);
	else if (shared)
		mapping->flags |= PRR_MAPPING_READ_ONLY;
	mapping->dev = st.st_dev;
	mapping->ino = st.st_ino;
	mapping->object_size = (uint64_t)st.st_size;
	/* Code that may have changed must be searched again. */
	if (live && !(mapping->prot & PROT_EXEC))
		return PRR_OK;
	bool reusable = !live && !is_racy(&st) && !writable;
	struct prr_stored_file *found = lookup(s, &st, shared, reusable);

	if (!found) {
		*handled = PRR_HANDLED_STOP;
		return ask(s, path, name, &st, shared, reusable, err);
	}
	mapping->store_id = found->store_id;
	*file = found;
	return PRR_OK;
}

enum prr_status prr_record_file_stored(
	struct prr_record *s, uint32_t store_id, int content, struct prr_error *err)
{
	const struct prr_record_stop *stop = &s->stop;

	if (s->file_count == s->file_capacity) {
		size_t capacity = s->file_capacity ? 2 * s->file_capacity : 64;
		struct prr_stored_file *grown = reallocarray(s->files, capacity, sizeof(*grown));

		if (!grown)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
		s->files = grown;
		s->file_capacity = capacity;
	}
	struct prr_stored_file *f = &s->files[s->file_count];

	memset(f, 0, sizeof(*f));
	f->dev = stop->dev;
	f->ino = stop->ino;
	f->size = stop->size;
	f->mtime_ns = stop->mtime_ns;
	f->ctime_ns = stop->ctime_ns;
	f->store_id = store_id;
	f->shared = s->stop_shared;
	f->event = this_event(s);
	PRR_TRY(prr_file_hash(content, &f->content_size, &f->content_hash, err));
	if (!f->shared)
		PRR_TRY(prr_insn_scan(content, &f->sites, err));
	s->file_count++;
	f->name = strdup(stop->name);
	return f->name ? PRR_OK : prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
}

enum prr_status prr_record_announce_file(
	struct prr_record *s, uint32_t store_id, struct prr_error *err)
{
	for (size_t i = 0; i < s->file_count; i++) {
		struct prr_stored_file *f = &s->files[i];
		struct prr_field_stored_file field = {
			.store_id = store_id, .size = f->content_size, .hash = f->content_hash
		};

		if (f->store_id != store_id || f->announced)
			continue;
		f->announced = true;
		return prr_event_field(s, PRR_FIELD_STORED_FILE, &field, sizeof(field), err);
	}
	return PRR_OK;
}

/* ----------------------------------------------------------------- patches */

const struct prr_field_patch *prr_patch_find(const struct prr_patch_list *patches, uint64_t addr)
{
	for (size_t i = 0; i < patches->count; i++)
		if (patches->items[i].addr == addr)
			return &patches->items[i];
	return NULL;
}

enum prr_status prr_patches_copy(
	struct prr_patch_list *to, const struct prr_patch_list *from, struct prr_error *err)
{
	memset(to, 0, sizeof(*to));
	if (from->count == 0)
		return PRR_OK;
	to->items = malloc(from->count * sizeof(*to->items));
	if (!to->items)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	memcpy(to->items, from->items, from->count * sizeof(*to->items));
	to->count = to->capacity = from->count;
	return PRR_OK;
}

void prr_patches_remove(struct prr_patch_list *patches, uint64_t start, uint64_t len)
{
	size_t kept = 0;

	for (size_t i = 0; i < patches->count; i++)
		if (patches->items[i].addr < start || patches->items[i].addr >= start + len)
			patches->items[kept++] = patches->items[i];
	patches->count = kept;
}

static enum prr_status add_patch(
	struct prr_patch_list *patches, const struct prr_field_patch *patch, struct prr_error *err)
{
	if (patches->count == patches->capacity) {
		size_t capacity = patches->capacity ? 2 * patches->capacity : 64;
		struct prr_field_patch *grown =
			reallocarray(patches->items, capacity, sizeof(*grown));

		if (!grown)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
		patches->items = grown;
		patches->capacity = capacity;
	}
	patches->items[patches->count++] = *patch;
	return PRR_OK;
}

enum prr_status prr_record_patch(struct prr_record *s, struct prr_record_task *t,
	const struct prr_field_mapping *mapping, const struct prr_stored_file *file,
	struct prr_error *err)
{
	for (size_t i = 0; i < file->sites.count; i++) {
		const struct prr_insn_site *site = &file->sites.items[i];
		struct prr_field_patch patch = {
			.length = site->length,
			.instruction = site->instruction,
			.patched = { 0x0f, 0x0b },
		};

		if (site->file_offset < mapping->offset ||
			site->file_offset + site->length > mapping->offset + mapping->len)
			continue;
		patch.addr = mapping->start + (site->file_offset - mapping->offset);
		if (prr_patch_find(&t->as->patches, patch.addr) || site->length > 8 ||
			!prr_mem_read(
				t->uid.tid, prr_remote(patch.addr), patch.original, site->length))
			continue;
		memcpy(patch.patched + 2, patch.original + 2, sizeof(patch.patched) - 2);
		if (!prr_mem_poke(t->uid.tid, prr_remote(patch.addr), patch.patched, patch.length))
			continue;
		PRR_TRY(add_patch(&t->as->patches, &patch, err));
		PRR_TRY(prr_event_field(s, PRR_FIELD_PATCH, &patch, sizeof(patch), err));
	}
	return PRR_OK;
}
