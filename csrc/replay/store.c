/* SPDX-License-Identifier: GPL-2.0-or-later
 * The trace's stored files: checked once each, before they are first mapped. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../shared/file_hash.h"
#include "session.h"

void prr_replay_store_path(const struct prr_replay *s, uint32_t store_id, char *path, size_t size)
{
	snprintf(path, size, "%s/files/%u", s->options->trace_dir, store_id);
}

static enum prr_status note(
	struct prr_replay *s, const struct prr_field_stored_file *field, struct prr_error *err)
{
	if (s->stored_count == s->stored_capacity) {
		size_t capacity = s->stored_capacity ? 2 * s->stored_capacity : 64;
		struct prr_stored *grown = reallocarray(s->stored, capacity, sizeof(*grown));

		if (!grown)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
		s->stored = grown;
		s->stored_capacity = capacity;
	}
	s->stored[s->stored_count++] = (struct prr_stored){ .field = *field };
	return PRR_OK;
}

enum prr_status prr_replay_note_stored(struct prr_replay *s, struct prr_error *err)
{
	for (size_t i = 0; i < s->event->field_count; i++) {
		const struct prr_field *field = &s->event->fields[i];
		struct prr_field_stored_file stored;

		if (field->tag != PRR_FIELD_STORED_FILE || field->len < sizeof(stored))
			continue;
		memcpy(&stored, field->data, sizeof(stored));
		PRR_TRY(note(s, &stored, err));
	}
	return PRR_OK;
}

static enum prr_status damaged(const char *path, const char *how, struct prr_error *err)
{
	return prr_fail(err, PRR_ERR_TRACE, 0, "record the program again: pyrr record PROGRAM",
		"the stored file %s is %s", path, how);
}

static enum prr_status compare(
	const struct prr_field_stored_file *field, const char *path, struct prr_error *err)
{
	struct stat st;
	uint64_t size, hash;
	/* O_NONBLOCK: a trace may hold anything under that name. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	if (fd < 0)
		return damaged(path, strerror(errno), err);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return damaged(path, "not a regular file", err);
	}
	enum prr_status status = prr_file_hash(fd, &size, &hash, err);

	close(fd);
	PRR_TRY(status);
	if (size != field->size || hash != field->hash)
		return damaged(path, "not what was stored: it was changed or damaged since", err);
	return PRR_OK;
}

enum prr_status prr_replay_check_stored(
	struct prr_replay *s, uint32_t store_id, struct prr_error *err)
{
	char path[4200];

	prr_replay_store_path(s, store_id, path, sizeof(path));
	for (size_t i = 0; i < s->stored_count; i++) {
		struct prr_stored *stored = &s->stored[i];

		if (stored->field.store_id != store_id)
			continue;
		if (!stored->checked)
			PRR_TRY(compare(&stored->field, path, err));
		stored->checked = true;
		return PRR_OK;
	}
	return damaged(path, "used but never announced", err);
}
