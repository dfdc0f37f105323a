/* SPDX-License-Identifier: GPL-2.0-or-later
 * Objects behind mappings: a memfd of the supervisor for each live (device,
 * inode) of the recording (mapped.h), so that all tracees share again.
 *
 * A mapping of an object that is not live is made from its store entry: private
 * ones and those for reading only. When the object becomes live, since it is
 * mapped shared otherwise or a FILE_CHANGE reaches it, they are made again from
 * the memfd: the pages that the program has not written follow it from then on,
 * as the kernel has it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../shared/buffer.h"
#include "../shared/pages.h"
#include "session.h"

enum { RUNS_AT_ONCE = 64 };

/* ----------------------------------------------------------------- contents */

static enum prr_status copy_range(struct prr_replay *s, int from, int to, off_t start, off_t end,
	const char *path, struct prr_error *err)
{
	while (start < end) {
		size_t left = (size_t)(end - start);
		ssize_t got = pread(
			from, s->buffer, left < PRR_OUTPUT_MAX ? left : PRR_OUTPUT_MAX, start);

		if (got <= 0 || pwrite(to, s->buffer, (size_t)got, start) != got)
			return prr_fail_errno(err, "cannot copy %s", path);
		start += got;
	}
	return PRR_OK;
}

/* Holes stay holes: a mapped file may be far larger than its data. */
static enum prr_status copy_data(
	struct prr_replay *s, int from, int to, off_t size, const char *path, struct prr_error *err)
{
	off_t offset = 0;

	while (offset < size) {
		off_t data = lseek(from, offset, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);

		if (hole < 0 || data >= size)
			data = hole = size;
		if (hole > size)
			hole = size;
		if (data > offset &&
			fallocate(to, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
				data - offset) != 0)
			return prr_fail_errno(err, "cannot empty an object");
		PRR_TRY(copy_range(s, from, to, data, hole, path, err));
		offset = hole;
	}
	return PRR_OK;
}

static enum prr_status resize(int fd, uint64_t size, struct prr_error *err)
{
	if (size > INT64_MAX || ftruncate(fd, (off_t)size) != 0)
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"an object of %llu bytes cannot be made", (unsigned long long)size);
	return PRR_OK;
}

/* Makes the object hold what the store entry holds. */
static enum prr_status fill(struct prr_replay *s, int to, uint32_t store_id, struct prr_error *err)
{
	char path[4200];
	struct stat st;

	prr_replay_store_path(s, store_id, path, sizeof(path));
	/* O_NONBLOCK: a trace may hold anything under that name. */
	int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	if (from < 0 || fstat(from, &st) != 0 || !S_ISREG(st.st_mode)) {
		int error = from < 0 ? errno : 0;

		if (from >= 0)
			close(from);
		return prr_fail(err, PRR_ERR_TRACE, error, NULL, "cannot read %s", path);
	}
	enum prr_status status = resize(to, (uint64_t)st.st_size, err);

	if (status == PRR_OK)
		status = copy_data(s, from, to, st.st_size, path, err);
	close(from);
	return status;
}

/* ------------------------------------------------------------------- objects */

static struct prr_object *find_object(struct prr_replay *s, uint64_t dev, uint64_t ino)
{
	for (size_t i = 0; i < s->object_count; i++)
		if (s->objects[i].dev == dev && s->objects[i].ino == ino)
			return &s->objects[i];
	return NULL;
}

/* What nobody maps is not live any more. */
static void drop_unmapped(struct prr_replay *s)
{
	for (size_t i = s->object_count; i-- > 0;) {
		struct prr_object *object = &s->objects[i];

		if (prr_mapped_find(&s->mapped, object->dev, object->ino))
			continue;
		close(object->fd);
		*object = s->objects[--s->object_count];
	}
}

/* Programs may share more objects than a process usually has descriptors. */
static bool raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static enum prr_status new_object(struct prr_replay *s, const struct prr_field_mapping *m,
	struct prr_object **ret, struct prr_error *err)
{
	if (s->object_count == s->object_capacity) {
		size_t capacity = s->object_capacity ? 2 * s->object_capacity : 16;
		struct prr_object *grown = reallocarray(s->objects, capacity, sizeof(*grown));

		if (!grown)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
		s->objects = grown;
		s->object_capacity = capacity;
	}
	struct prr_object *object = &s->objects[s->object_count];

	object->dev = m->dev;
	object->ino = m->ino;
	object->fd = memfd_create("pyrr-object", MFD_CLOEXEC);
	if (object->fd < 0 && errno == EMFILE && raise_limit())
		object->fd = memfd_create("pyrr-object", MFD_CLOEXEC);
	if (object->fd < 0)
		return prr_fail_errno(err, "cannot make memfd number %zu", s->object_count + 1);
	s->object_count++;
	*ret = object;
	return m->store_id ? fill(s, object->fd, m->store_id, err)
			   : resize(object->fd, m->object_size, err);
}

/* ---------------------------------------------- private mappings of live objects */

/* Appends (address, length, bytes) of each run of pages that are the program's own. */
static enum prr_status save_touched(struct prr_replay_task *t, const struct prr_field_mapping *m,
	struct prr_pagemap *pagemap, struct prr_buffer *saved, struct prr_error *err)
{
	struct prr_page_run runs[RUNS_AT_ONCE];
	uint64_t at = m->start, end = m->start + m->len;
	size_t count;

	while (at < end) {
		PRR_TRY(prr_pagemap_touched(
			pagemap, at, end, false, runs, RUNS_AT_ONCE, &count, &at, err));
		for (size_t i = 0; i < count; i++) {
			uint64_t head[2] = { runs[i].start, runs[i].end - runs[i].start };

			PRR_TRY(prr_buffer_reserve(saved, sizeof(head) + head[1], err));
			prr_buffer_put(saved, head, sizeof(head));
			head[1] = prr_mem_peek_some(
				t->tid, prr_remote(head[0]), saved->bytes + saved->size, head[1]);
			memcpy(saved->bytes + saved->size - sizeof(head), head, sizeof(head));
			saved->size += head[1];
		}
	}
	return PRR_OK;
}

static enum prr_status restore(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_buffer *saved, struct prr_error *err)
{
	uint64_t head[2];

	for (size_t at = 0; at < saved->size; at += sizeof(head) + head[1]) {
		memcpy(head, saved->bytes + at, sizeof(head));
		if (!prr_mem_poke(
			    t->tid, prr_remote(head[0]), saved->bytes + at + sizeof(head), head[1]))
			return prr_replay_diverged(
				s, t, err, "0x%llx cannot be written", (unsigned long long)head[0]);
	}
	return PRR_OK;
}

/* The mapping stays one mapping (mremap works within one only). */
static enum prr_status map_again(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_mapping *m, int fd, struct prr_error *err)
{
	struct prr_buffer saved = { 0 };
	struct prr_pagemap pagemap;

	PRR_TRY(prr_pagemap_open(&pagemap, t->tid, err));
	enum prr_status status = save_touched(t, m, &pagemap, &saved, err);

	prr_pagemap_close(&pagemap);
	if (status == PRR_OK)
		status = prr_replay_map_object(s, t, m, fd, err);
	if (status == PRR_OK)
		status = restore(s, t, &saved, err);
	prr_buffer_deinit(&saved);
	return status;
}

/* Is it made from a store entry while its object is not live? */
static bool is_from_store(const struct prr_field_mapping *m)
{
	return m->kind == PRR_MAPPING_FILE_PRIVATE ||
		(m->kind == PRR_MAPPING_FILE_SHARED && (m->flags & PRR_MAPPING_READ_ONLY));
}

/* Mappings of a new object were made from its store entry. */
static enum prr_status adopt_mappings(
	struct prr_replay *s, const struct prr_object *object, struct prr_error *err)
{
	for (struct prr_replay_task *t = s->tasks; t; t = t->next) {
		if (!t->as || prr_replay_find_as(s, t->as->uid) != t)
			continue;
		for (size_t i = 0; i < t->as->mappings.count; i++) {
			const struct prr_field_mapping *m = &t->as->mappings.items[i];

			if (m->dev != object->dev || m->ino != object->ino || !is_from_store(m))
				continue;
			if (m->kind == PRR_MAPPING_FILE_PRIVATE)
				PRR_TRY(map_again(s, t, m, object->fd, err));
			else
				PRR_TRY(prr_replay_map_object(s, t, m, object->fd, err));
		}
	}
	return PRR_OK;
}

enum prr_status prr_replay_object(
	struct prr_replay *s, const struct prr_field_mapping *m, int *fd, struct prr_error *err)
{
	bool is_file = m->kind != PRR_MAPPING_ANON_SHARED;

	*fd = -1;
	drop_unmapped(s);
	struct prr_object *object = find_object(s, m->dev, m->ino);

	if (object) {
		*fd = object->fd;
		/* With a store entry: these are the contents, whoever wrote them. */
		return m->store_id ? fill(s, object->fd, m->store_id, err) : PRR_OK;
	}
	if (is_file && m->store_id == 0)
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"event %llu maps a file of which the trace has no contents",
			(unsigned long long)s->event->index);
	if (is_from_store(m))
		return PRR_OK;
	PRR_TRY(new_object(s, m, &object, err));
	*fd = object->fd;
	return adopt_mappings(s, object, err);
}

/* ------------------------------------------------------------- FILE_CHANGE */

/* The mapping with the newest contents. */
static const struct prr_field_mapping *newest_mapping(
	struct prr_replay *s, uint64_t dev, uint64_t ino)
{
	const struct prr_field_mapping *found = NULL;

	for (struct prr_replay_task *t = s->tasks; t; t = t->next)
		for (size_t i = 0; t->as && i < t->as->mappings.count; i++) {
			const struct prr_field_mapping *m = &t->as->mappings.items[i];

			if (m->dev == dev && m->ino == ino && is_from_store(m) &&
				(!found || m->store_id > found->store_id))
				found = m;
		}
	return found;
}

/* NULL in *ret: nobody maps it. */
static enum prr_status changed_object(struct prr_replay *s,
	const struct prr_field_file_change *change, struct prr_object **ret, struct prr_error *err)
{
	*ret = find_object(s, change->dev, change->ino);
	if (*ret)
		return PRR_OK;
	const struct prr_field_mapping *m = newest_mapping(s, change->dev, change->ino);

	if (!m)
		return PRR_OK;
	PRR_TRY(new_object(s, m, ret, err));
	return adopt_mappings(s, *ret, err);
}

static enum prr_status apply(struct prr_replay *s, const struct prr_field_file_change *change,
	const uint8_t *bytes, size_t len, struct prr_error *err)
{
	struct prr_object *object;

	if (change->offset > change->size || change->len > change->size - change->offset ||
		(len != change->len && len != 0))
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"event %llu changes %llu bytes at %llu of a file of %llu",
			(unsigned long long)s->event->index, (unsigned long long)change->len,
			(unsigned long long)change->offset, (unsigned long long)change->size);
	PRR_TRY(changed_object(s, change, &object, err));
	if (!object)
		return PRR_OK;
	PRR_TRY(resize(object->fd, change->size, err));
	if (len && pwrite(object->fd, bytes, len, (off_t)change->offset) != (ssize_t)len)
		return prr_fail_errno(err, "cannot change an object");
	if (!len && change->len &&
		fallocate(object->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)change->offset, (off_t)change->len) != 0)
		return prr_fail_errno(err, "cannot punch a hole into an object");
	return PRR_OK;
}

enum prr_status prr_replay_file_changes(struct prr_replay *s, struct prr_error *err)
{
	for (size_t i = 0; i < s->event->field_count; i++) {
		const struct prr_field *field = &s->event->fields[i];
		struct prr_field_file_change change;

		if (field->tag != PRR_FIELD_FILE_CHANGE || field->len < sizeof(change))
			continue;
		memcpy(&change, field->data, sizeof(change));
		PRR_TRY(apply(s, &change, field->data + sizeof(change), field->len - sizeof(change),
			err));
	}
	return PRR_OK;
}

void prr_replay_objects_deinit(struct prr_replay *s)
{
	for (size_t i = 0; i < s->object_count; i++)
		close(s->objects[i].fd);
	free(s->objects);
}
