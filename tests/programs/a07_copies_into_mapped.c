/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A7: copy_file_range, sendfile, splice and a write by another process and
 * another descriptor reach the mappings of the target too.
 * Wrong: only write(2) is thought to change files.
 */
#include "mapfile.h"

#include <sys/sendfile.h>

static void copy_in_all_ways(const struct mapfile *m, int source)
{
	off_t from = 0, to = 0;
	int fds[2];

	CHECK(copy_file_range(source, &from, m->fd, &to, 100, 0) == 100);
	CHECK(m->private_map[99] == 'Q' && m->shared_map[99] == 'Q' && m->shared_map[100] == 'a');
	mapfile_show(m, "copy_file_range");

	from = 0;
	CHECK(lseek(m->fd, 2 * PAGE, SEEK_SET) == 2 * PAGE);
	CHECK(sendfile(m->fd, source, &from, 200) == 200);
	CHECK(m->private_map[2 * PAGE + 199] == 'Q' && m->private_map[2 * PAGE + 200] == 'c');
	mapfile_show(m, "sendfile");

	CHECK(pipe(fds) == 0);
	write_all(fds[1], "through a pipe", 14);
	to = 3 * PAGE;
	CHECK(splice(fds[0], NULL, m->fd, &to, 14, 0) == 14);
	CHECK(memcmp((const char *)m->private_map + 3 * PAGE, "through a pipe", 14) == 0);
	mapfile_show(m, "splice");
}

int main(void)
{
	struct mapfile m;
	char text[300];
	pid_t child;
	int source;

	mapfile_open(&m, "mapped");
	source = open("source", O_RDWR | O_CREAT | O_TRUNC, 0600);
	memset(text, 'Q', sizeof(text));
	write_all(source, text, sizeof(text));
	copy_in_all_ways(&m, source);

	child = fork();
	if (child == 0) {
		int other = open("mapped", O_WRONLY);

		CHECK(pwrite(other, "by the child", 12, 3 * PAGE + 40) == 12);
		_exit(0);
	}
	reap_ok(child);
	CHECK(memcmp((const char *)m.private_map + 3 * PAGE + 40, "by the child", 12) == 0);
	mapfile_show(&m, "a child's write");
	child = fork();
	if (child == 0) {
		execlp("sh", "sh", "-c",
			"printf 'from a shell' | dd of=mapped bs=1 seek=60 conv=notrunc 2>/dev/null",
			NULL);
		_exit(1);
	}
	reap_ok(child);
	CHECK(memcmp((const char *)m.shared_map + 60, "from a shell", 12) == 0);
	mapfile_show(&m, "an exec'ed writer");
	return 0;
}
