/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A7: two processes map one file MAP_SHARED, each by its own open, a third maps
 * it privately; stores, writes and reads of all three agree. They take turns by
 * a pipe, and by a futex in the file itself.
 * Wrong: the replay gives each process its own copy of the file.
 */
#include "mapfile.h"

#include <linux/futex.h>

struct board {
	int turn; /* futex: whose turn it is */
	int moves;
	char text[200];
};

static void wait_for_turn(struct board *b, int mine)
{
	int now;

	while ((now = __atomic_load_n(&b->turn, __ATOMIC_SEQ_CST)) != mine)
		syscall(SYS_futex, &b->turn, FUTEX_WAIT, now, NULL, NULL, 0);
}

static void give_turn(struct board *b, int next)
{
	__atomic_store_n(&b->turn, next, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &b->turn, FUTEX_WAKE, 100, NULL, NULL, 0);
}

static struct board *map_board(void)
{
	int fd = open("board", O_RDWR);
	struct board *b = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(fd >= 0 && b != MAP_FAILED);
	close(fd);
	return b;
}

static void play(int me)
{
	struct board *b = map_board();

	for (int round = 0; round < 50; round++) {
		wait_for_turn(b, me);
		b->moves++;
		b->text[b->moves] = (char)('A' + me);
		give_turn(b, (me + 1) % 3);
	}
	_exit(0);
}

int main(void)
{
	int fd = open("board", O_RDWR | O_CREAT | O_TRUNC, 0600);
	const struct board *watcher;
	struct board *b, copy;
	pid_t players[3];

	CHECK(ftruncate(fd, PAGE) == 0);
	watcher = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	b = map_board();
	b->turn = -1;
	for (int i = 0; i < 3; i++) {
		players[i] = fork();
		if (players[i] == 0)
			play(i);
	}
	give_turn(b, 0);
	for (int i = 0; i < 3; i++)
		reap_ok(players[i]);
	CHECK(b->moves == 150 && watcher->moves == 150);
	CHECK(pread(fd, &copy, sizeof(copy), 0) == sizeof(copy) && copy.moves == 150);
	CHECK(pwrite(fd, "X", 1, offsetof(struct board, text) + 7) == 1 && b->text[7] == 'X');
	say("%s\n", b->text + 1);
	return 0;
}
