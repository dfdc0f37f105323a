/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Calls on names: mkdir, rename, renameat2, link, symlink, unlinkat, chmod,
 * utimensat, access, faccessat2, chdir, fchdir, getcwd, extended attributes,
 * openat2, getdents, nftw, umask, realpath, truncate.
 * The replay runs none of them and leaves no file.
 */
#include "check.h"

#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static int visited;

static int visit(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)where;
	visited++;
	say("%s %o %ld %d\n", path, st->st_mode, (long)st->st_size, kind);
	return 0;
}

static void make_and_move(int dir)
{
	CHECK(mkdirat(dir, "a", 0700) == 0 && mkdir("top/a/b", 0755) == 0);
	close(openat(dir, "a/file", O_CREAT | O_WRONLY, 0640));
	CHECK(rename("top/a/file", "top/a/b/moved") == 0);
	CHECK(linkat(dir, "a/b/moved", dir, "a/hard", 0) == 0);
	CHECK(symlinkat("a/b/moved", dir, "soft") == 0);
	CHECK(syscall(SYS_renameat2, dir, "a/hard", dir, "a/b/moved", 1 /* NOREPLACE */) == -1);
	CHECK(errno == EEXIST);
	CHECK(rmdir("top/a") == -1 && (errno == ENOTEMPTY || errno == EEXIST));
	CHECK(access("top/soft", R_OK) == 0 && faccessat(dir, "none", F_OK, 0) == -1);
	CHECK(chmod("top/soft", 0400) == 0 && fchmodat(dir, "a", 0750, 0) == 0);
	CHECK(truncate("top/a/hard", 77) == 0 || errno == EACCES);
	CHECK(unlinkat(dir, "a/hard", 0) == 0);
}

static void times_and_attributes(int dir)
{
	struct timespec times[2] = { { .tv_sec = 1000000000, .tv_nsec = 5 },
		{ .tv_nsec = UTIME_NOW } };
	struct stat st;
	char value[32] = "";

	CHECK(utimensat(dir, "soft", times, 0) == 0 && stat("top/soft", &st) == 0);
	CHECK(st.st_atim.tv_sec == 1000000000);
	say("mtime %ld.%09ld\n", (long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	CHECK(lstat("top/soft", &st) == 0 && S_ISLNK(st.st_mode));
	if (setxattr("top/a", "user.colour", "green", 5, 0) == 0) {
		CHECK(getxattr("top/a", "user.colour", value, sizeof(value)) == 5);
		CHECK(strcmp(value, "green") == 0);
		CHECK(listxattr("top/a", value, sizeof(value)) >= 12);
	} else {
		say("no attributes here\n");
	}
}

static void open_beneath(int dir)
{
	struct open_how how = { .flags = O_RDONLY, .resolve = RESOLVE_BENEATH };
	long fd = syscall(SYS_openat2, dir, "../..", &how, sizeof(how));

	say("openat2: %s\n", fd == -1 ? strerror(errno) : "opened");
	CHECK(fd == -1);
}

int main(void)
{
	char here[PATH_MAX], there[PATH_MAX], target[16] = "", *real;
	int dir, old = open(".", O_RDONLY | O_DIRECTORY);

	(void)umask(022);
	CHECK(mkdir("top", 0777) == 0);
	dir = open("top", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_and_move(dir);
	times_and_attributes(dir);
	open_beneath(dir);
	CHECK(readlinkat(dir, "soft", target, sizeof(target)) == 9 &&
		strcmp(target, "a/b/moved") == 0);
	CHECK(getcwd(here, sizeof(here)) && fchdir(dir) == 0 && chdir("a/b") == 0);
	CHECK(getcwd(there, sizeof(there)) && strstr(there, "/top/a/b"));
	CHECK(fchdir(old) == 0);
	real = realpath("top/a/../soft", NULL);
	CHECK(real && strcmp(real + strlen(here), "/top/a/b/moved") == 0);
	say("%s\n", real);
	CHECK(nftw("top", visit, 5, FTW_PHYS) == 0 && visited == 5);
	CHECK(unlink("top/soft") == 0 && unlinkat(dir, "a/b/moved", 0) == 0);
	CHECK(unlinkat(dir, "a/b", AT_REMOVEDIR) == 0 && rmdir("top/a") == 0 && rmdir("top") == 0);
	return 0;
}
