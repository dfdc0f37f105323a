/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * splice, tee, vmsplice, sendfile and copy_file_range, also straight to stdout,
 * where the bytes never pass through the program's memory.
 * Wrong: the replay does not know what was written and prints nothing.
 */
#include "check.h"

#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

static void make(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	write_all(fd, text, strlen(text));
	close(fd);
}

/* A stdout in append mode takes none of these calls: EINVAL or EBADF. */
static void tell(const char *call, ssize_t n, ssize_t wanted)
{
	CHECK(n == wanted || (n == -1 && (errno == EINVAL || errno == EBADF || errno == EXDEV)));
	say("%s to stdout: %s\n", call, n == -1 ? strerror(errno) : "done");
}

static void to_stdout(int file)
{
	char text[1000];
	struct stat st;
	off_t offset = 0;
	int fds[2];

	CHECK(fstat(file, &st) == 0 && pipe(fds) == 0);
	tell("sendfile", sendfile(STDOUT_FILENO, file, &offset, 1000), st.st_size);
	CHECK(splice(file, NULL, fds[1], NULL, 1000, 0) == st.st_size);
	tell("splice", splice(fds[0], NULL, STDOUT_FILENO, NULL, 1000, SPLICE_F_MOVE), st.st_size);
	CHECK(fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
	(void)!read(fds[0], text, sizeof(text));
	CHECK(write(fds[1], "tee\n", 4) == 4);
	tell("tee", tee(fds[0], STDOUT_FILENO, 1000, 0), 4);
	CHECK(lseek(file, 0, SEEK_SET) == 0);
	tell("copy_file_range", copy_file_range(file, NULL, STDOUT_FILENO, NULL, 1000, 0),
		st.st_size);
}

static void between_pipes(void)
{
	struct iovec vec = { .iov_base = "mapped bytes", .iov_len = 12 };
	char text[64] = "";
	int a[2], b[2], file;
	off_t offset = 5;

	CHECK(pipe(a) == 0 && pipe(b) == 0);
	CHECK(vmsplice(a[1], &vec, 1, 0) == 12);
	CHECK(tee(a[0], b[1], 100, 0) == 12);
	CHECK(read(a[0], text, 64) == 12 && strcmp(text, "mapped bytes") == 0);
	file = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(splice(b[0], NULL, file, &offset, 12, SPLICE_F_MORE) == 12 && offset == 17);
	CHECK(pread(file, text, 64, 0) == 17 && memcmp(text + 5, "mapped bytes", 12) == 0);
	CHECK(tee(a[0], b[1], 100, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
	CHECK(splice(a[0], NULL, b[1], NULL, 1, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
}

static void from_a_sleeping_pipe(void)
{
	char text[8] = "";
	int a[2], b[2];
	pid_t child;

	CHECK(pipe(a) == 0 && pipe(b) == 0);
	child = fork();
	if (child == 0) {
		wait_until_asleep(getppid());
		write_all(a[1], "late", 4);
		_exit(0);
	}
	CHECK(splice(a[0], NULL, b[1], NULL, 100, 0) == 4);
	CHECK(read(b[0], text, 8) == 4 && strcmp(text, "late") == 0);
	reap_ok(child);
}

int main(void)
{
	int in, out;
	char text[64] = "";

	make("in", "a line of the file, sent without being read\n");
	in = open("in", O_RDONLY);
	out = open("copy", O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(copy_file_range(in, NULL, out, NULL, 10, 0) == 10);
	CHECK(sendfile(out, in, NULL, 9) == 9);
	CHECK(pread(out, text, 64, 0) == 19 && strcmp(text, "a line of the file,") == 0);
	CHECK(lseek(in, 0, SEEK_SET) == 0);
	to_stdout(in);
	between_pipes();
	from_a_sleeping_pipe();
	say("pid %d\n", getpid());
	return 0;
}
