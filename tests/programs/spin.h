/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For programs that wait by spinning: the same bodies run as threads of one process, then
 * as processes over shared memory.
 */
#ifndef SPIN_H
#define SPIN_H

#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { SPIN_MOST = 16 };

struct spin {
	atomic_uint turn, next, serving, left; /* the bodies' own */
	unsigned long inside, sum;             /* guarded by a lock of the bodies' */
	int count, rounds;
	void (*body)(struct spin *s, unsigned me);
};

struct spinner {
	struct spin *s;
	unsigned me;
};

static inline void *spin_thread(void *arg)
{
	struct spinner *spinner = arg;

	spinner->s->body(spinner->s, spinner->me);
	return NULL;
}

static inline void spin_as_threads(struct spin *s)
{
	struct spinner spinners[SPIN_MOST];
	pthread_t threads[SPIN_MOST];

	for (int i = 0; i < s->count; i++) {
		spinners[i] = (struct spinner){ s, (unsigned)i };
		CHECK(pthread_create(&threads[i], NULL, spin_thread, &spinners[i]) == 0);
	}
	for (int i = 0; i < s->count; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static inline void spin_as_processes(struct spin *s)
{
	pid_t children[SPIN_MOST];

	for (int i = 0; i < s->count; i++) {
		children[i] = fork();
		CHECK(children[i] >= 0);
		if (children[i] == 0) {
			s->body(s, (unsigned)i);
			_exit(0);
		}
	}
	for (int i = 0; i < s->count; i++)
		reap_ok(children[i]);
}

/* Both ways; afterwards `also` looks at the state. */
static inline void spin_both_ways(
	int count, int rounds, void (*body)(struct spin *, unsigned), void (*also)(struct spin *))
{
	struct spin *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(s != MAP_FAILED && count <= SPIN_MOST);
	for (int way = 0; way < 2; way++) {
		memset(s, 0, sizeof(*s));
		s->count = count;
		s->rounds = rounds;
		s->body = body;
		if (way == 0)
			spin_as_threads(s);
		else
			spin_as_processes(s);
		also(s);
	}
	CHECK(munmap(s, sizeof(*s)) == 0);
}

/* The argument, or what is short enough for a test. */
static inline int spin_rounds(int argc, char **argv, int usual)
{
	return argc > 1 ? atoi(argv[1]) : usual;
}

#endif
