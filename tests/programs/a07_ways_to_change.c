/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A7: the rarer ways to change a mapped file: fallocate in all modes, writes in
 * append mode, beyond the end, of nothing; open with O_TRUNC, creat, truncate by
 * several names; a clone of a whole file.
 * Wrong: the offset is taken from the arguments where the kernel ignores them, or
 * a change by name goes unseen.
 */
#include "mapfile.h"

#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#ifndef RWF_APPEND
#define RWF_APPEND 0x10
#endif

static void ranges(void)
{
	static const struct {
		int mode;
		off_t start, len;
		const char *name;
	} ways[] = {
		{ FALLOC_FL_KEEP_SIZE, PAGE, 8 * PAGE, "keep size" },
		{ 0, 0, 5 * PAGE + 17, "grow" },
		{ FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100, 2 * PAGE, "punch" },
		{ FALLOC_FL_ZERO_RANGE, 2 * PAGE + 5, 50, "zero range" },
		{ FALLOC_FL_ZERO_RANGE, 5 * PAGE, 3 * PAGE, "zero range and grow" },
		{ FALLOC_FL_INSERT_RANGE, PAGE, PAGE, "insert" },
		{ FALLOC_FL_COLLAPSE_RANGE, 2 * PAGE, PAGE, "collapse" },
	};
	struct mapfile m;

	mapfile_open(&m, "ranges");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		char text[64];

		m.private_map[3 * PAGE + 1] = (char)('0' + i);
		(void)snprintf(text, sizeof(text), "%s: %d", ways[i].name,
			fallocate(m.fd, ways[i].mode, ways[i].start, ways[i].len));
		mapfile_show(&m, text);
		CHECK(pwrite(m.fd, "mark", 4, 3 * PAGE + 200 + (off_t)i * 10) == 4);
		mapfile_show(&m, "marked");
	}
}

static void appends(void)
{
	struct iovec vec = { .iov_base = "by pwritev2", .iov_len = 11 };
	char *volatile nowhere = NULL;
	struct mapfile m;
	int append;

	mapfile_open(&m, "appends");
	CHECK(ftruncate(m.fd, 2 * PAGE + 100) == 0);
	append = open("appends", O_RDWR | O_APPEND);
	CHECK(pwrite(append, "at the end", 10, 5) == 10);
	CHECK(m.shared_map[5] == 'a' && m.private_map[2 * PAGE + 100] == 'a');
	mapfile_show(&m, "pwrite in append mode");
	CHECK(lseek(append, 0, SEEK_SET) == 0 && write(append, "again", 5) == 5);
	CHECK(lseek(append, 0, SEEK_CUR) == 2 * PAGE + 115);
	mapfile_show(&m, "write in append mode");
	if (pwritev2(m.fd, &vec, 1, 0, RWF_APPEND) == 11)
		CHECK(m.shared_map[2 * PAGE + 115] == 'b');
	mapfile_show(&m, "pwritev2 that appends");
	CHECK(lseek(m.fd, 30, SEEK_SET) == 30 && pwritev2(m.fd, &vec, 1, -1, 0) == 11);
	CHECK(m.private_map[30] == 'b' && lseek(m.fd, 0, SEEK_CUR) == 41);
	mapfile_show(&m, "pwritev2 at the position");
	m.shared_map[2 * PAGE + 900] = 'G'; /* behind the end, within its page */
	CHECK(pwrite(m.fd, "far", 3, 3 * PAGE + 9) == 3);
	say("behind the old end: %d\n", m.shared_map[2 * PAGE + 900]);
	mapfile_show(&m, "beyond the end");
	CHECK(write(m.fd, "", 0) == 0 && pwrite(m.fd, NULL, 0, 99 * PAGE) == 0);
	CHECK(write(m.fd, nowhere, 10) == -1 && errno == EFAULT);
	CHECK(pwrite(append, "no", 2, -1) == -1 && errno == EINVAL);
	mapfile_show(&m, "nothing");
}

static void by_name(void)
{
	struct mapfile m;
	char name[64];
	int fd;

	mapfile_open(&m, "by-name");
	CHECK(symlink("by-name", "link") == 0);
	CHECK(truncate("link", 3 * PAGE + 5) == 0);
	mapfile_show(&m, "truncate by a link");
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", m.fd);
	CHECK(truncate(name, 2 * PAGE) == 0);
	mapfile_show(&m, "truncate by descriptor");
	fd = open("link", O_WRONLY | O_TRUNC);
	CHECK(fd >= 0 && pwrite(fd, "one", 3, PAGE) == 3);
	CHECK(m.private_map[PAGE] == 'o' && m.private_map[PAGE + 5] == 0);
	mapfile_show(&m, "O_TRUNC");
	close(fd);
	fd = creat("by-name", 0600);
	CHECK(fd >= 0 && ftruncate(fd, 2 * PAGE) == 0 && pwrite(fd, "two", 3, 0) == 3);
	mapfile_show(&m, "creat");
	fd = openat(AT_FDCWD, "by-name", O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && pwrite(fd, "three", 5, 1) == 5);
	mapfile_show(&m, "openat");
	CHECK(unlink("by-name") == 0 && ftruncate(fd, PAGE) == 0 && pwrite(fd, "four", 4, 40) == 4);
	mapfile_show(&m, "unlinked");
	CHECK(truncate("by-name", 0) == -1 && errno == ENOENT);
}

static void clones(void)
{
	struct mapfile m;
	int source = open("source", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char page[PAGE];

	mapfile_open(&m, "clone");
	memset(page, 'S', sizeof(page));
	for (int i = 0; i < 3; i++)
		write_all(source, page, sizeof(page));
	say("clone: %s\n", ioctl(m.fd, FICLONE, source) == 0 ? "done" : "not here");
	mapfile_show(&m, "clone");
}

int main(void)
{
	ranges();
	appends();
	by_name();
	clones();
	return 0;
}
