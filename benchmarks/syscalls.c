/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Loops of cheap system calls for bench.py: syscalls KIND COUNT.
 *
 *	getppid   COUNT calls
 *	zero      COUNT reads of 64 bytes of /dev/zero
 *	pingpong  a byte goes to a child and back COUNT times
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static void getppids(long count)
{
	for (long i = 0; i < count; i++)
		must(syscall(SYS_getppid) >= 0, "getppid");
}

static void zeros(long count)
{
	char bytes[64];
	int fd = open("/dev/zero", O_RDONLY);

	must(fd >= 0, "/dev/zero");
	for (long i = 0; i < count; i++)
		must(read(fd, bytes, sizeof(bytes)) == sizeof(bytes), "read");
}

static void pingpong(long count)
{
	int there[2], back[2];
	char byte = 'x';
	pid_t child;

	must(pipe(there) == 0 && pipe(back) == 0, "pipe");
	child = fork();
	must(child >= 0, "fork");
	if (child == 0) {
		for (long i = 0; i < count; i++)
			must(read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1,
				"child");
		_exit(0);
	}
	for (long i = 0; i < count; i++)
		must(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "parent");
	must(waitpid(child, NULL, 0) == child, "wait");
}

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : 0;

	if (argc == 3 && strcmp(argv[1], "getppid") == 0)
		getppids(count);
	else if (argc == 3 && strcmp(argv[1], "zero") == 0)
		zeros(count);
	else if (argc == 3 && strcmp(argv[1], "pingpong") == 0)
		pingpong(count);
	else
		return 2;
	return 0;
}
