/* SPDX-License-Identifier: GPL-2.0-or-later
 * System V shared memory. A segment that nobody of the recording has attached
 * may hold what earlier runs or others left there: then its contents come with
 * the event, as a change of the object. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "session.h"

static bool failed(const struct prr_record_task *t)
{
	int64_t result = (int64_t)t->regs.rax;

	return result < 0 && result > -4096;
}

struct search {
	uint64_t start, end, dev, ino;
	uint32_t prot;
};

static enum prr_status find_line(
	void *context, const struct prr_maps_line *line, struct prr_error *err)
{
	struct search *search = context;

	(void)err;
	if (line->start != search->start)
		return PRR_OK;
	search->end = line->end;
	search->dev = line->dev;
	search->ino = line->ino;
	search->prot = line->prot;
	return PRR_OK;
}

/* The segment's status; false where it cannot be had, for it is in another IPC
 * namespace than the supervisor. */
static bool read_status(const struct prr_record_task *t, struct shmid_ds *segment)
{
	char path[64];
	struct stat own, its;

	snprintf(path, sizeof(path), "/proc/%d/ns/ipc", t->uid.tid);
	return stat("/proc/self/ns/ipc", &own) == 0 && stat(path, &its) == 0 &&
		own.st_ino == its.st_ino && shmctl((int)t->args[0], IPC_STAT, segment) == 0;
}

static enum prr_status append_contents(struct prr_record *s, struct prr_record_task *t,
	const struct prr_field_mapping *m, struct prr_error *err)
{
	struct prr_field_file_change field = {
		.dev = m->dev,
		.ino = m->ino,
		.size = m->object_size,
	};
	const size_t room = s->buffer_size - sizeof(field);

	for (uint64_t at = 0; at < m->len; at += field.len) {
		size_t want = m->len - at < room ? (size_t)(m->len - at) : room;
		uint8_t *bytes = s->buffer + sizeof(field);

		field.offset = at;
		field.len = prr_mem_read_some(t->uid.tid, prr_remote(m->start + at), bytes, want);
		if (field.len == 0)
			return PRR_OK;
		memcpy(s->buffer, &field, sizeof(field));
		PRR_TRY(prr_event_field(
			s, PRR_FIELD_FILE_CHANGE, s->buffer, sizeof(field) + field.len, err));
	}
	return PRR_OK;
}

/* The recording's only attachment of the segment is the one just made. */
static enum prr_status first_seen(struct prr_record *s, struct prr_record_task *t,
	const struct prr_field_mapping *m, struct prr_error *err)
{
	struct shmid_ds segment;
	char *text;

	if (!read_status(t, &segment))
		return append_contents(s, t, m, err);
	if (segment.shm_nattch == 1 && segment.shm_dtime == 0)
		return PRR_OK; /* the first attachment ever: all zeros */
	PRR_TRY(append_contents(s, t, m, err));
	if (segment.shm_nattch == 1)
		return PRR_OK;
	if (asprintf(&text,
		    "shared memory segment %d is attached outside of the recording, too: what is "
		    "written there is not replayed",
		    (int)t->args[0]) < 0)
		text = NULL;
	return prr_record_want_warning(s, text, err);
}

enum prr_status prr_record_shmat_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	struct search search = { .start = t->regs.rax };

	(void)handled;
	if (failed(t))
		return PRR_OK;
	PRR_TRY(prr_maps_each(t->uid.tid, find_line, &search, err));
	struct prr_field_mapping m = {
		.start = search.start,
		.len = search.end - search.start,
		.dev = search.dev | PRR_DEV_SYSV,
		.ino = search.ino,
		.object_size = search.end - search.start,
		.prot = search.prot,
		.flags = MAP_SHARED,
		.kind = PRR_MAPPING_ANON_SHARED,
	};
	bool known = prr_mapped_find(&s->mapped, m.dev, m.ino);

	PRR_TRY(prr_mappings_add(&t->as->mappings, &m, err));
	PRR_TRY(prr_event_mapping(s, &m, "", err));
	return known ? PRR_OK : first_seen(s, t, &m, err);
}

/* The next part of what was attached at `addr`, from *at on: parts of it may have
 * been protected or unmapped by themselves (ipc/shm.c). */
static const struct prr_field_mapping *attached(const struct prr_record_task *t, uint64_t addr,
	const struct prr_field_mapping *first, uint64_t at)
{
	const struct prr_mappings *all = &t->as->mappings;

	for (size_t i = 0; i < all->count; i++) {
		const struct prr_field_mapping *m = &all->items[i];

		if (m->start >= at && m->start - m->offset == addr && m->dev == first->dev &&
			m->ino == first->ino)
			return m;
	}
	return NULL;
}

enum prr_status prr_record_shmdt_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	uint64_t addr = t->args[0], at = addr;
	struct prr_field_mapping first = { 0 };

	(void)handled;
	if (failed(t))
		return PRR_OK;
	/* The first part may be gone already. */
	for (size_t i = 0; i < t->as->mappings.count && !first.ino; i++) {
		const struct prr_field_mapping *m = &t->as->mappings.items[i];

		if ((m->dev & PRR_DEV_SYSV) && m->start >= addr && m->start - m->offset == addr)
			first = *m;
	}
	for (const struct prr_field_mapping *m; (m = attached(t, addr, &first, at)) != NULL;) {
		struct prr_field_range range = { m->start, m->len };

		PRR_TRY(prr_event_field(s, PRR_FIELD_UNMAP, &range, sizeof(range), err));
		at = range.start + range.len;
		PRR_TRY(prr_mappings_remove(&t->as->mappings, range.start, range.len, err));
	}
	return PRR_OK;
}
