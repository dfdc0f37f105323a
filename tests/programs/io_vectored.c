/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pread, pwrite, readv, writev, preadv, pwritev, preadv2 with RWF flags, lseek
 * with holes, O_APPEND, O_TRUNC, O_EXCL, O_TMPFILE, fallocate, fsync, and errors.
 */
#include "check.h"

#include <sys/stat.h>
#include <sys/uio.h>

static void offsets(int fd)
{
	char a[5] = "", b[7] = "", all[32] = "";
	struct iovec out[2] = { { .iov_base = "01234", .iov_len = 5 },
		{ .iov_base = "56789ab", .iov_len = 7 } };
	struct iovec in[2] = { { .iov_base = a, .iov_len = 4 }, { .iov_base = b, .iov_len = 6 } };

	CHECK(writev(fd, out, 2) == 12 && lseek(fd, 0, SEEK_CUR) == 12);
	CHECK(pwritev(fd, out, 2, 20) == 12);
	CHECK(lseek(fd, 2, SEEK_SET) == 2 && readv(fd, in, 2) == 10);
	CHECK(strcmp(a, "2345") == 0 && strcmp(b, "6789ab") == 0);
	CHECK(preadv(fd, in, 2, 30) == 2 && strncmp(a, "ab45", 4) == 0);
	CHECK(preadv2(fd, in, 2, 21, 0) == 10 && strcmp(a, "1234") == 0);
	CHECK(preadv2(fd, in, 2, -1, 0) == 10 && lseek(fd, 0, SEEK_CUR) == 22);
	CHECK(pwritev2(fd, out, 1, -1, RWF_APPEND) == 5 && lseek(fd, 0, SEEK_END) == 37);
	CHECK(pread(fd, all, 31, 0) == 31 && all[12] == 0 && all[20] == '0');
	CHECK(pread(fd, all, 31, 1000) == 0);
	say("nowait read: %ld\n", (long)preadv2(fd, in, 2, 0, RWF_NOWAIT));
	CHECK(syscall(SYS_readv, fd, in, 2000) == -1 && errno == EINVAL);
	CHECK(pread(fd, all, 1, -5) == -1 && errno == EINVAL);
}

static void holes(int fd)
{
	off_t hole, data;

	CHECK(ftruncate(fd, 1 << 20) == 0 && pwrite(fd, "x", 1, 500000) == 1);
	data = lseek(fd, 4096, SEEK_DATA);
	hole = lseek(fd, 0, SEEK_HOLE);
	say("data at %ld, hole at %ld\n", (long)data, (long)hole);
	CHECK(lseek(fd, 2 << 20, SEEK_DATA) == -1 && errno == ENXIO);
	CHECK(posix_fallocate(fd, 0, 2 << 20) == 0 && lseek(fd, 0, SEEK_END) == 2 << 20);
	CHECK(fsync(fd) == 0 && fdatasync(fd) == 0 &&
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
	CHECK(readahead(fd, 0, 4096) == 0 && sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) == 0);
}

static void open_flags(void)
{
	int first = open("appended", O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600), tmp;
	struct stat st;

	CHECK(first >= 0 && open("appended", O_WRONLY | O_CREAT | O_EXCL, 0600) == -1 &&
		errno == EEXIST);
	write_all(first, "one", 3);
	CHECK(lseek(first, 0, SEEK_SET) == 0);
	write_all(first, "two", 3);
	CHECK(fstat(first, &st) == 0 && st.st_size == 6);
	CHECK(fcntl(first, F_GETFL) & O_APPEND);
	close(open("appended", O_WRONLY | O_TRUNC));
	CHECK(fstat(first, &st) == 0 && st.st_size == 0);
	CHECK(open("appended", O_DIRECTORY) == -1 && errno == ENOTDIR);
	CHECK(open("appended/x", O_RDONLY) == -1 && errno == ENOTDIR);
	tmp = open(".", O_TMPFILE | O_RDWR, 0600);
	if (tmp >= 0)
		write_all(tmp, "nameless", 8);
	say("tmpfile: %s\n", tmp >= 0 ? "yes" : strerror(errno));
}

int main(void)
{
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0);
	offsets(fd);
	holes(fd);
	open_flags();
	return 0;
}
