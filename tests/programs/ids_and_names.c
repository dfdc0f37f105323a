/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Names the system gives out: pids, tids, sessions, users, groups, inode and
 * device numbers, times of files, directory order, links in /proc, hostname.
 */
#include "check.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

static void show_stat(const char *path)
{
	struct stat st;
	struct statx sx;

	CHECK(stat(path, &st) == 0);
	say("%s: dev %lx ino %lu mode %o links %lu size %ld mtime %ld.%09ld ctime %ld.%09ld\n",
		path, (unsigned long)st.st_dev, (unsigned long)st.st_ino, st.st_mode,
		(unsigned long)st.st_nlink, (long)st.st_size, (long)st.st_mtim.tv_sec,
		st.st_mtim.tv_nsec, (long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	CHECK(statx(AT_FDCWD, path, 0, STATX_ALL, &sx) == 0 && sx.stx_ino == st.st_ino);
	say("birth %ld.%09u mount %lu\n", (long)sx.stx_btime.tv_sec, sx.stx_btime.tv_nsec,
		(unsigned long)sx.stx_mnt_id);
}

static void list(const char *path, int most)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	CHECK(dir != NULL);
	for (int i = 0; i < most && (entry = readdir(dir)); i++)
		say("%s/%s ino %lu off %ld\n", path, entry->d_name, (unsigned long)entry->d_ino,
			telldir(dir));
	closedir(dir);
}

static void show_link(const char *path)
{
	char target[4096] = "";

	say("%s -> %s", path, readlink(path, target, sizeof(target) - 1) > 0 ? target : "?");
	say("\n");
}

int main(void)
{
	char name[256], cwd[4096];
	gid_t groups[100];
	struct statfs fs;

	say("pid %d tid %d ppid %d pgrp %d sid %d\n", getpid(), gettid(), getppid(), getpgrp(),
		getsid(0));
	say("uid %d euid %d gid %d egid %d, %d groups\n", getuid(), geteuid(), getgid(), getegid(),
		getgroups(100, groups));
	for (int i = 0; i < 30; i++) {
		(void)snprintf(name, sizeof(name), "file-%d", i * 7919 % 1000);
		close(open(name, O_CREAT | O_WRONLY, 0644));
	}
	CHECK(mkdir("sub", 0755) == 0 && symlink("file-0", "link") == 0 &&
		link("file-0", "hard") == 0);
	show_stat(".");
	show_stat("file-0");
	show_stat("/proc/self/stat");
	show_stat("/dev/null");
	list(".", 100);
	list("/proc/self/fd", 20);
	list("/proc/self/task", 5);
	list("/etc", 10);
	show_link("link");
	show_link("/proc/self");
	show_link("/proc/thread-self");
	show_link("/proc/self/exe");
	show_link("/proc/self/cwd");
	show_link("/proc/self/fd/0");
	CHECK(gethostname(name, sizeof(name)) == 0 && getcwd(cwd, sizeof(cwd)));
	say("host %s, in %s\n", name, cwd);
	CHECK(statfs(".", &fs) == 0);
	say("free blocks %lu of %lu\n", (unsigned long)fs.f_bfree, (unsigned long)fs.f_blocks);
	return 0;
}
