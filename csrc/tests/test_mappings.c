/* sources: shared/mappings.c shared/mapped.c shared/error.c */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * The model of address spaces against a naive one that knows each page, under
 * random calls; and the counts of mapped objects against counting. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "error.h"
#include "layout.h"
#include "mappings.h"

enum {
	PAGES = 64,
	SPACES = 3,
	OBJECTS = 150, /* so that they meet in the table */
	STEPS = 60000
};
#define BASE 0x10000000ull

#define CHECK(cond)                                                                \
	do {                                                                       \
		if (!(cond)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                   \
		}                                                                  \
	} while (0)
#define OK(call) CHECK((call) == PRR_OK)

struct page { /* what the naive model knows of one */
	bool mapped, shared;
	uint64_t ino, offset;
	uint32_t prot, flags;
};
struct space {
	struct prr_mappings mappings;
	struct page pages[PAGES];
};

static struct prr_mapped mapped;
static struct space spaces[SPACES];
static bool live[OBJECTS + 1];
static struct prr_error error;
static uint64_t seed = 88172645463325252ull;

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static uint64_t address(uint64_t page)
{
	return BASE + page * PRR_PAGE_SIZE;
}

/* A range of at least one page. */
static void draw_range(uint64_t *first, uint64_t *count)
{
	*first = draw(PAGES);
	*count = 1 + draw(PAGES - *first < 12 ? PAGES - *first : 12);
}

/* ------------------------------------------------------------------ comparing */

static void compare_space(const struct space *s)
{
	size_t shared = 0;

	for (size_t i = 0; i < s->mappings.count; i++) {
		const struct prr_field_mapping *m = &s->mappings.items[i];

		CHECK(m->len && m->start % PRR_PAGE_SIZE == 0 && m->len % PRR_PAGE_SIZE == 0);
		CHECK(i == 0 || m[-1].start + m[-1].len <= m->start);
		shared += prr_mapping_is_shared(m) && (m->prot & PROT_WRITE);
	}
	CHECK(shared == s->mappings.shared_count);
	for (uint64_t p = 0; p < PAGES; p++) {
		const struct page *want = &s->pages[p];
		const struct prr_field_mapping *m = prr_mappings_find(&s->mappings, address(p));

		CHECK(want->mapped == (m != NULL));
		if (!m)
			continue;
		CHECK(m->ino == want->ino && m->prot == want->prot && m->flags == want->flags);
		CHECK(prr_mapping_is_shared(m) == want->shared);
		if (m->ino)
			CHECK(m->offset + (address(p) - m->start) == want->offset);
	}
}

static void compare_counts(void)
{
	size_t objects = 0;

	for (uint64_t ino = 1; ino <= OBJECTS; ino++) {
		const struct prr_mapped_object *object = prr_mapped_find(&mapped, 7, ino);
		size_t count = 0;

		for (int s = 0; s < SPACES; s++)
			for (size_t i = 0; i < spaces[s].mappings.count; i++)
				count += spaces[s].mappings.items[i].ino == ino;
		CHECK((object != NULL) == (count > 0));
		live[ino] = live[ino] && count > 0;
		if (!object)
			continue;
		objects++;
		CHECK(object->count == count);
		CHECK(object->live == live[ino]);
	}
	CHECK(mapped.count == objects);
}

/* ---------------------------------------------------------------------- calls */

static void map(struct space *s)
{
	uint64_t first, count;
	struct prr_field_mapping m = {
		.prot = (uint32_t)draw(8),
		.flags = MAP_PRIVATE,
	};

	draw_range(&first, &count);
	m.start = address(first);
	m.len = count * PRR_PAGE_SIZE - draw(2) * 100;
	if (draw(4)) {
		m.kind = draw(2) ? PRR_MAPPING_FILE_SHARED : PRR_MAPPING_FILE_PRIVATE;
		m.dev = 7;
		m.ino = 1 + draw(OBJECTS);
		m.offset = draw(100) * PRR_PAGE_SIZE;
		live[m.ino] = live[m.ino] || m.kind == PRR_MAPPING_FILE_SHARED;
	}
	OK(prr_mappings_add(&s->mappings, &m, &error));
	for (uint64_t p = 0; p < count; p++)
		s->pages[first + p] = (struct page){
			.mapped = true,
			.shared = prr_mapping_is_shared(&m),
			.ino = m.ino,
			.offset = m.offset + p * PRR_PAGE_SIZE,
			.prot = m.prot,
			.flags = m.flags,
		};
}

static void unmap(struct space *s)
{
	uint64_t first, count;

	draw_range(&first, &count);
	OK(prr_mappings_remove(&s->mappings, address(first), count * PRR_PAGE_SIZE, &error));
	memset(&s->pages[first], 0, count * sizeof(s->pages[0]));
}

static uint64_t first_hole(const struct space *s, uint64_t first, uint64_t count)
{
	for (uint64_t p = first; p < first + count; p++)
		if (!s->pages[p].mapped)
			return p;
	return first + count;
}

static void protect(struct space *s)
{
	uint64_t first, count;
	uint32_t prot = (uint32_t)draw(8);

	draw_range(&first, &count);
	CHECK(prr_mappings_hole(&s->mappings, address(first), count * PRR_PAGE_SIZE) ==
		address(first_hole(s, first, count)));
	OK(prr_mappings_protect(&s->mappings, address(first), count * PRR_PAGE_SIZE, prot, &error));
	for (uint64_t p = first; p < first + count; p++)
		if (s->pages[p].mapped)
			s->pages[p].prot = prot;
}

static void advise(struct space *s)
{
	static const int advices[] = { MADV_DONTFORK, MADV_DOFORK, MADV_WIPEONFORK,
		MADV_KEEPONFORK };
	int advice = advices[draw(4)];
	bool sets = advice == MADV_DONTFORK || advice == MADV_WIPEONFORK;
	uint32_t flag = advice == MADV_DONTFORK || advice == MADV_DOFORK ? PRR_MAPPING_DONTFORK
									 : PRR_MAPPING_WIPEONFORK;
	uint64_t first, count;
	int64_t result = 0;

	draw_range(&first, &count);
	for (uint64_t p = first; p < first + count; p++) {
		struct page *page = &s->pages[p];

		if (!page->mapped) {
			result = -ENOMEM;
			continue;
		}
		if (advice == MADV_WIPEONFORK && page->ino) {
			result = -EINVAL;
			break;
		}
		page->flags = sets ? page->flags | flag : page->flags & ~flag;
	}
	OK(prr_mappings_advise(
		&s->mappings, address(first), count * PRR_PAGE_SIZE, advice, result, &error));
}

/* As mremap(2) may: a move without growth takes several mappings. */
static void move(struct space *s)
{
	uint64_t from, count, to = draw(PAGES), new_count = 1 + draw(12);
	struct page old[PAGES];
	bool keep = draw(4) == 0;

	draw_range(&from, &count);
	if (to + new_count > PAGES || (to < from + count && from < to + new_count) ||
		!s->pages[from].mapped || !s->pages[from + count - 1].mapped)
		return;
	if (keep)
		new_count = count;
	if (to + new_count > PAGES || (to < from + count && from < to + new_count))
		return;
	memcpy(old, s->pages, sizeof(old));
	if (count > new_count && first_hole(s, from, new_count) < from + new_count)
		return;
	OK(prr_mappings_move(&s->mappings, address(from), count * PRR_PAGE_SIZE, address(to),
		new_count * PRR_PAGE_SIZE, keep, &error));
	if (!keep)
		memset(&s->pages[from], 0, count * sizeof(old[0]));
	for (uint64_t p = 0; p < new_count; p++) {
		uint64_t source = p < count ? from + p : from + count - 1;
		struct page *page = &s->pages[to + p];

		if (p < count && !old[source].mapped) {
			*page = (struct page){ 0 };
			continue;
		}
		*page = old[source];
		if (p >= count)
			page->offset += (p - count + 1) * PRR_PAGE_SIZE;
	}
}

static void fork_space(struct space *from, struct space *to)
{
	if (from == to)
		return;
	prr_mappings_deinit(&to->mappings);
	memset(to->pages, 0, sizeof(to->pages));
	/* Whoever was only mapped there is gone before the fork. */
	to->mappings.mapped = &mapped;
	compare_counts();
	OK(prr_mappings_fork(&to->mappings, &from->mappings, &error));
	for (int p = 0; p < PAGES; p++)
		if (!(from->pages[p].flags & PRR_MAPPING_DONTFORK))
			to->pages[p] = from->pages[p];
}

static void change(void)
{
	uint64_t ino = 1 + draw(OBJECTS);
	struct prr_mapped_object *object = prr_mapped_find(&mapped, 7, ino);

	if (object)
		object->live = live[ino] = true;
}

int main(void)
{
	prr_error_init(&error);
	for (int i = 0; i < SPACES; i++)
		spaces[i].mappings.mapped = &mapped;
	for (int step = 0; step < STEPS; step++) {
		struct space *s = &spaces[draw(SPACES)];

		switch (draw(12)) {
		case 0:
		case 1:
		case 2:
			map(s);
			break;
		case 3:
		case 4:
		case 5:
			unmap(s);
			break;
		case 6:
			protect(s);
			break;
		case 7:
			advise(s);
			break;
		case 8:
		case 9:
			move(s);
			break;
		case 10:
			fork_space(s, &spaces[draw(SPACES)]);
			break;
		default:
			change();
			break;
		}
		compare_counts();
		compare_space(s);
	}
	for (int i = 0; i < SPACES; i++)
		prr_mappings_deinit(&spaces[i].mappings);
	CHECK(mapped.count == 0);
	prr_mapped_deinit(&mapped);
	prr_error_deinit(&error);
	printf("test_mappings: %d steps\n", STEPS);
	return 0;
}
