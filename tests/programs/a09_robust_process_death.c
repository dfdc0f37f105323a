/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A9: a process is killed while it holds a robust, process-shared mutex in a
 * shared page; its parent and a sibling sleep on it. The kernel writes the word
 * in *their* memory when it dies. Also once with priority inheritance.
 * Wrong: the write to the shared page is missing from the replay.
 * pyrr-test: cflags=-pthread
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

struct shared {
	pthread_mutex_t mutex;
	int value;
	int deaths;
};

static void make_mutex(struct shared *s, int protocol)
{
	pthread_mutexattr_t attr;

	CHECK(pthread_mutexattr_init(&attr) == 0);
	CHECK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) == 0);
	CHECK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0);
	CHECK(pthread_mutexattr_setprotocol(&attr, protocol) == 0);
	CHECK(pthread_mutex_init(&s->mutex, &attr) == 0);
}

static void lock(struct shared *s)
{
	int result = pthread_mutex_lock(&s->mutex);

	if (result == EOWNERDEAD) {
		s->deaths++;
		CHECK(pthread_mutex_consistent(&s->mutex) == 0);
	} else {
		CHECK(result == 0);
	}
}

static void round_of(struct shared *s, int number)
{
	int gate[2];
	char byte;
	pid_t holder, sibling;

	CHECK(pipe(gate) == 0);
	holder = fork();
	if (holder == 0) {
		lock(s);
		write_all(gate[1], "l", 1);
		for (;;)
			pause();
	}
	CHECK(read(gate[0], &byte, 1) == 1);
	sibling = fork();
	if (sibling == 0) {
		lock(s);
		s->value += 10;
		CHECK(pthread_mutex_unlock(&s->mutex) == 0);
		_exit(0);
	}
	wait_until_asleep(sibling);
	CHECK(kill(holder, SIGKILL) == 0);
	lock(s);
	s->value++;
	CHECK(pthread_mutex_unlock(&s->mutex) == 0);
	CHECK(WTERMSIG(reap(holder)) == SIGKILL);
	reap_ok(sibling);
	CHECK(s->deaths == number + 1 && s->value == 11 * (number + 1));
	say("round %d: holder %d, sibling %d, lock word %08x\n", number, holder, sibling,
		s->mutex.__data.__lock);
	close(gate[0]);
	close(gate[1]);
}

int main(void)
{
	struct shared *s =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(s != MAP_FAILED);
	make_mutex(s, PTHREAD_PRIO_NONE);
	for (int i = 0; i < 4; i++)
		round_of(s, i);
	memset(s, 0, sizeof(*s));
	make_mutex(s, PTHREAD_PRIO_INHERIT);
	for (int i = 0; i < 4; i++)
		round_of(s, i);
	return 0;
}
