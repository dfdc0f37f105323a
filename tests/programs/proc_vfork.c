/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * vfork: the parent sleeps until the child execs or exits, and sees what the
 * child stored, since both use one memory; posix_spawn does the same inside.
 * Wrong: the parent runs on, or the replay gives the child a copy.
 */
#include "check.h"

#include <spawn.h>

static volatile int stored;
extern char **environ;

static void by_exit(void)
{
	pid_t child = vfork();

	if (child == 0) {
		stored = getpid();
		_exit(9);
	}
	CHECK(stored == child);
	CHECK(WEXITSTATUS(reap(child)) == 9);
	say("child %d stored its pid\n", child);
}

static void by_exec(void)
{
	pid_t child = vfork();

	if (child == 0) {
		stored = 1;
		execl("/bin/sh", "sh", "-c", "echo sh $$ of $PPID; exit 4", NULL);
		stored = 2;
		_exit(1);
	}
	CHECK(stored == 1);
	CHECK(WEXITSTATUS(reap(child)) == 4);
}

static void by_spawn(void)
{
	posix_spawn_file_actions_t actions;
	char *argv[] = { "cat", NULL }, text[32] = "";
	int in[2], out[2];
	pid_t child;

	CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	CHECK(posix_spawn_file_actions_init(&actions) == 0);
	CHECK(posix_spawn_file_actions_adddup2(&actions, in[0], 0) == 0);
	CHECK(posix_spawn_file_actions_adddup2(&actions, out[1], 1) == 0);
	CHECK(posix_spawnp(&child, "cat", &actions, NULL, argv, environ) == 0);
	close(in[0]);
	close(out[1]);
	write_all(in[1], "through cat\n", 12);
	close(in[1]);
	CHECK(read(out[0], text, sizeof(text)) == 12);
	reap_ok(child);
	say("%s", text);
	CHECK(posix_spawn(&child, "/nonexistent", NULL, NULL, argv, environ) == ENOENT);
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		by_exit();
		by_exec();
		by_spawn();
	}
	return 0;
}
