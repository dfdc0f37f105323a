/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Semaphores, a mutex, a condition variable and a barrier shared by processes
 * through an anonymous shared mapping and through a named semaphore.
 * Wrong: futexes of a shared page do not meet in the replay.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

enum { PROCESSES = 4, ROUNDS = 15 };
struct shared {
	sem_t tokens;
	pthread_mutex_t mutex;
	pthread_cond_t all_here;
	pthread_barrier_t barrier;
	int here, inside, most, turns;
	char order[PROCESSES * ROUNDS + 1];
};

static void work(struct shared *s, char name)
{
	CHECK(pthread_mutex_lock(&s->mutex) == 0);
	if (++s->here == PROCESSES)
		CHECK(pthread_cond_broadcast(&s->all_here) == 0);
	while (s->here < PROCESSES)
		CHECK(pthread_cond_wait(&s->all_here, &s->mutex) == 0);
	CHECK(pthread_mutex_unlock(&s->mutex) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		int inside;

		CHECK(sem_wait(&s->tokens) == 0);
		inside = __atomic_add_fetch(&s->inside, 1, __ATOMIC_SEQ_CST);
		CHECK(inside <= 2);
		CHECK(pthread_mutex_lock(&s->mutex) == 0);
		if (inside > s->most)
			s->most = inside;
		s->order[s->turns++] = name;
		CHECK(pthread_mutex_unlock(&s->mutex) == 0);
		sched_yield();
		__atomic_sub_fetch(&s->inside, 1, __ATOMIC_SEQ_CST);
		CHECK(sem_post(&s->tokens) == 0);
		if (i % 5 == 4)
			pthread_barrier_wait(&s->barrier);
	}
	_exit(0);
}

static void setup(struct shared *s)
{
	pthread_mutexattr_t mutex;
	pthread_condattr_t condition;
	pthread_barrierattr_t barrier;

	CHECK(sem_init(&s->tokens, 1, 2) == 0);
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	CHECK(pthread_mutex_init(&s->mutex, &mutex) == 0);
	pthread_condattr_init(&condition);
	pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
	CHECK(pthread_cond_init(&s->all_here, &condition) == 0);
	pthread_barrierattr_init(&barrier);
	pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
	CHECK(pthread_barrier_init(&s->barrier, &barrier, PROCESSES) == 0);
}

int main(void)
{
	struct shared *s =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t children[PROCESSES];
	struct timespec soon;
	int value;

	CHECK(s != MAP_FAILED);
	setup(s);
	for (int i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		if (children[i] == 0)
			work(s, (char)('a' + i));
	}
	for (int i = 0; i < PROCESSES; i++)
		reap_ok(children[i]);
	CHECK(s->turns == PROCESSES * ROUNDS);
	CHECK(sem_getvalue(&s->tokens, &value) == 0 && value == 2);
	CHECK(sem_trywait(&s->tokens) == 0 && sem_trywait(&s->tokens) == 0);
	CHECK(sem_trywait(&s->tokens) == -1 && errno == EAGAIN);
	CHECK(clock_gettime(CLOCK_REALTIME, &soon) == 0);
	CHECK(sem_timedwait(&s->tokens, &soon) == -1 && errno == ETIMEDOUT);
	say("%s, at most %d inside\n", s->order, s->most);
	return 0;
}
