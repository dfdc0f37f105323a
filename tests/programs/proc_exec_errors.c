/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * exec that fails leaves the program as it was: no file, no permission, a
 * directory, no format, a script whose interpreter is missing, too long an
 * argument, rubbish pointers; and a script that works, with its interpreter's
 * argument and a nested interpreter.
 * Wrong: the recorder believes the old image has gone.
 * pyrr-test: deterministic
 */
#include "check.h"

#include <sys/stat.h>

extern char **environ;

static void make(const char *name, const char *text, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, mode);

	CHECK(fd >= 0);
	write_all(fd, text, strlen(text));
	close(fd);
	CHECK(chmod(name, mode) == 0);
}

static void fail(const char *name, int wanted)
{
	char *args[] = { (char *)name, NULL };
	int result = execve(name, args, environ);

	say("%s: %d, %s\n", name, result, strerror(errno));
	CHECK(result == -1 && errno == wanted);
}

static void succeed(const char *name, int wanted)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		execl(name, name, "one", "two words", NULL);
		_exit(99);
	}
	status = reap(child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == wanted);
}

int main(void)
{
	char *huge = malloc(200000);
	char *args[] = { "true", huge, NULL };

	make("plain", "no program\n", 0600);
	make("data", "no program\n", 0700);
	make("lost", "#!/nonexistent/interpreter\n", 0700);
	make("script", "#!/bin/sh -u\necho $# args: \"$1\" \"$2\"; exit 12\n", 0700);
	make("nested", "#!./script\n", 0700);
	CHECK(mkdir("dir", 0700) == 0);
	fail("nothing", ENOENT);
	fail("plain", EACCES);
	fail("dir", EACCES);
	fail("data", ENOEXEC);
	fail("lost", ENOENT);
	fail("plain/x", ENOTDIR);
	memset(huge, 'x', 199999);
	huge[199999] = 0;
	CHECK(execve("/bin/true", args, environ) == -1 && errno == E2BIG);
	CHECK(syscall(SYS_execve, 8, args, environ) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_execve, "/bin/true", 8, environ) == -1 && errno == EFAULT);
	succeed("./script", 12);
	succeed("./nested", 12);
	say("still here\n");
	return 0;
}
