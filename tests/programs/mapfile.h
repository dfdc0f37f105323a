/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A file of four pages, mapped privately and shared. Page 1 of the private
 * mapping has been written by the program, so it no longer follows the file.
 */
#ifndef MAPFILE_H
#define MAPFILE_H

#include "check.h"

#include <sys/mman.h>
#include <sys/stat.h>

enum { PAGE = 4096, PAGES = 4 };

struct mapfile {
	int fd;
	volatile char *private_map, *shared_map;
};

static inline void mapfile_open(struct mapfile *m, const char *name)
{
	char page[PAGE];

	m->fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(m->fd >= 0);
	for (int i = 0; i < PAGES; i++) {
		memset(page, 'a' + i, sizeof(page));
		write_all(m->fd, page, sizeof(page));
	}
	m->private_map = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, m->fd, 0);
	m->shared_map = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	CHECK(m->private_map != MAP_FAILED && m->shared_map != MAP_FAILED);
	CHECK(m->private_map[0] == 'a' && m->shared_map[3 * PAGE] == 'd');
	m->private_map[PAGE + 5] = '!';
}

/* What the program sees through both mappings and through the descriptor. */
static inline void mapfile_show(const struct mapfile *m, const char *what)
{
	struct stat st;
	size_t size;
	uint64_t hash = HASH_START;
	char *copy;

	CHECK(fstat(m->fd, &st) == 0);
	size = (size_t)st.st_size;
	copy = malloc(size + 1);
	CHECK(pread(m->fd, copy, size, 0) == (ssize_t)size);
	hash = hash_bytes(copy, size, hash);
	free(copy);
	if (size > PAGES * PAGE)
		size = PAGES * PAGE;
	size = (size + PAGE - 1) / PAGE * PAGE;
	say("%s: size %ld file %016lx private %016lx shared %016lx\n", what, (long)st.st_size, hash,
		hash_bytes((const void *)m->private_map, size, HASH_START),
		hash_bytes((const void *)m->shared_map, size, HASH_START));
}

#endif
