/* SPDX-License-Identifier: GPL-2.0-or-later
 * Objects behind shared mappings: one for each (device, inode) of the
 * recording, held by the supervisor, so that all tracees share again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "session.h"

void prr_replay_store_path(const struct prr_replay *s, uint32_t store_id, char *path,
	size_t size)
{
	snprintf(path, size, "%s/files/%u", s->options->trace_dir, store_id);
}

static enum prr_status copy_contents(struct prr_replay *s, uint32_t store_id, int to,
	struct prr_error *err)
{
	char path[4200];
	off_t offset = 0;

	prr_replay_store_path(s, store_id, path, sizeof(path));
	int from = open(path, O_RDONLY | O_CLOEXEC);

	if (from < 0)
		return prr_fail(err, PRR_ERR_TRACE, errno, NULL, "cannot open %s", path);
	for (;;) {
		/* Holes stay holes: a shared file may be far larger than its data. */
		off_t data = lseek(from, offset, SEEK_DATA);

		if (data < 0)
			break;
		off_t hole = lseek(from, data, SEEK_HOLE);

		for (offset = data; offset < hole;) {
			size_t chunk = (size_t)(hole - offset) < PRR_OUTPUT_MAX ? (size_t)(hole - offset) : PRR_OUTPUT_MAX;
			ssize_t got = pread(from, s->buffer, chunk, offset);

			if (got <= 0 || pwrite(to, s->buffer, (size_t)got, offset) != got) {
				close(from);
				return prr_fail_errno(err, "cannot copy %s", path);
			}
			offset += got;
		}
	}
	close(from);
	return PRR_OK;
}

static enum prr_status make_object(struct prr_replay *s, const struct prr_field_mapping *m,
	struct prr_object *object, struct prr_error *err)
{
	object->dev = m->dev;
	object->ino = m->ino;
	object->store_id = m->store_id;
	object->fd = memfd_create("pyrr-object", MFD_CLOEXEC);
	if (object->fd < 0)
		return prr_fail_errno(err, "cannot make a memfd");
	if (ftruncate(object->fd, (off_t)m->object_size) != 0)
		return prr_fail_errno(err, "cannot size an object of %llu bytes",
			(unsigned long long)m->object_size);
	return m->store_id ? copy_contents(s, m->store_id, object->fd, err) : PRR_OK;
}

static struct prr_object *find_object(struct prr_replay *s, uint64_t dev, uint64_t ino)
{
	for (size_t i = s->object_count; i-- > 0;)
		if (s->objects[i].dev == dev && s->objects[i].ino == ino)
			return &s->objects[i];
	return NULL;
}

enum prr_status prr_replay_object(struct prr_replay *s, const struct prr_field_mapping *m,
	int *fd, struct prr_error *err)
{
	struct prr_object *found = find_object(s, m->dev, m->ino);

	/* Another store entry: nobody had it mapped, its contents are new. */
	if (found && found->store_id == m->store_id) {
		*fd = found->fd;
		return PRR_OK;
	}
	if (s->object_count == s->object_capacity) {
		size_t capacity = s->object_capacity ? 2 * s->object_capacity : 16;
		struct prr_object *grown = reallocarray(s->objects, capacity, sizeof(*grown));

		if (!grown)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
		s->objects = grown;
		s->object_capacity = capacity;
	}
	struct prr_object *object = &s->objects[s->object_count];

	PRR_TRY(make_object(s, m, object, err));
	s->object_count++;
	*fd = object->fd;
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
		struct prr_object *object = find_object(s, change.dev, change.ino);

		if (!object || change.len > field->len - sizeof(change))
			continue;
		if (ftruncate(object->fd, (off_t)change.size) != 0 ||
			pwrite(object->fd, field->data + sizeof(change), change.len,
				(off_t)change.offset) != (ssize_t)change.len)
			return prr_fail_errno(err, "cannot change an object");
	}
	return PRR_OK;
}

void prr_replay_objects_deinit(struct prr_replay *s)
{
	for (size_t i = 0; i < s->object_count; i++)
		close(s->objects[i].fd);
	free(s->objects);
}
