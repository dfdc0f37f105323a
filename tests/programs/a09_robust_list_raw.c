/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A9: a robust list made by hand: two held locks, one held by another tid, and a
 * pending operation. get_robust_list shows it; thread exit, exec and process exit
 * each walk it.
 * Wrong: list_op_pending is forgotten, or a word of another owner is changed.
 * pyrr-test: cflags=-pthread
 * pyrr-test: deterministic
 */
#include "check.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>

struct lock {
	struct robust_list list;
	uint32_t word;
};
struct area {
	struct robust_list_head head;
	struct lock held[2], foreign, pending;
};
static struct area *area;

static void install(void)
{
	struct robust_list_head *head = &area->head, *read_back = NULL;
	size_t len = 0;
	uint32_t me = (uint32_t)gettid();

	memset(area, 0, sizeof(*area));
	head->futex_offset = offsetof(struct lock, word) - offsetof(struct lock, list);
	head->list.next = &area->held[0].list;
	area->held[0].list.next = &area->held[1].list;
	area->held[1].list.next = &area->foreign.list;
	area->foreign.list.next = &head->list;
	head->list_op_pending = &area->pending.list;
	area->held[0].word = me;
	area->held[1].word = me | FUTEX_WAITERS;
	area->foreign.word = 12345;
	area->pending.word = me;
	CHECK(syscall(SYS_set_robust_list, head, sizeof(*head)) == 0);
	CHECK(syscall(SYS_get_robust_list, 0, &read_back, &len) == 0);
	CHECK(read_back == head && len == sizeof(*head));
}

static void check_died(const char *how)
{
	CHECK(area->held[0].word == FUTEX_OWNER_DIED);
	CHECK(area->held[1].word == (FUTEX_OWNER_DIED | FUTEX_WAITERS));
	CHECK(area->foreign.word == 12345);
	CHECK(area->pending.word == FUTEX_OWNER_DIED);
	say("%s: all marked\n", how);
}

static void *thread(void *arg)
{
	(void)arg;
	install();
	return NULL;
}

int main(void)
{
	pthread_t t;
	pid_t child;

	area = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	CHECK(pthread_create(&t, NULL, thread, NULL) == 0 && pthread_join(t, NULL) == 0);
	check_died("thread");
	for (int i = 0; i < 3; i++) {
		child = fork();
		if (child == 0) {
			install();
			if (i == 1)
				execl("/bin/true", "true", NULL);
			if (i == 2)
				abort();
			_exit(0);
		}
		CHECK(reap(child) == 0 || i == 2);
		check_died(i == 0 ? "exit" : i == 1 ? "exec" : "abort");
	}
	return 0;
}
