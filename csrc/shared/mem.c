/* SPDX-License-Identifier: GPL-2.0-or-later
 * See mem.h. Every function works on any task that the supervisor may ptrace. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES_AT_ONCE = 128, SMALL = 512 };

/* Is this errno of process_vm_readv/writev about the call itself (seccomp
 * profiles, kernels without CONFIG_CROSS_MEMORY_ATTACH) and not the memory? */
static bool is_call_refused(int errnum)
{
	return errnum == EPERM || errnum == ENOSYS || errnum == EACCES;
}

static int open_mem(pid_t tid, int flags)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/mem", tid);
	return open(path, flags | O_CLOEXEC);
}

static size_t read_proc_mem(pid_t tid, uint64_t addr, void *buf, size_t len)
{
	int fd = open_mem(tid, O_RDONLY);
	size_t done = 0;

	if (fd < 0)
		return 0;
	while (done < len) {
		ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)(addr + done));

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	close(fd);
	return done;
}

static size_t write_proc_mem(pid_t tid, uint64_t addr, const void *buf, size_t len)
{
	int fd = open_mem(tid, O_RDWR);
	size_t done = 0;

	if (fd < 0)
		return 0;
	while (done < len) {
		ssize_t n = pwrite(fd, (const char *)buf + done, len - done, (off_t)(addr + done));

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	close(fd);
	return done;
}

size_t prr_mem_read_some(pid_t tid, prr_remote_addr addr, void *buf, size_t len)
{
	size_t done = 0;

	/* A page that cannot be read ends the call early; the next one, which
	 * begins there, says why. */
	while (done < len) {
		struct iovec local = { (char *)buf + done, len - done };
		struct iovec remote = { (void *)(addr.value + done), len - done };
		ssize_t n = process_vm_readv(tid, &local, 1, &remote, 1, 0);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n < 0 && is_call_refused(errno))
			done += read_proc_mem(
				tid, addr.value + done, (char *)buf + done, len - done);
		break;
	}
	return done;
}

size_t prr_mem_peek_some(pid_t tid, prr_remote_addr addr, void *buf, size_t len)
{
	return read_proc_mem(tid, addr.value, buf, len);
}

bool prr_mem_read(pid_t tid, prr_remote_addr addr, void *buf, size_t len)
{
	return prr_mem_read_some(tid, addr, buf, len) == len;
}

/* How many bytes from addr on lie in mappings that the task itself may write:
 * /proc/PID/mem ignores the protection, so the fallback has to look. */
static size_t writable_len(pid_t tid, uint64_t addr, size_t len)
{
	char path[48], line[512];
	uint64_t start, end, reach = addr;
	char write_flag;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	FILE *maps = fopen(path, "re");

	if (!maps)
		return 0;
	while (reach < addr + len && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*c%c", &start, &end, &write_flag) != 3 || end <= reach)
			continue;
		if (start > reach || write_flag != 'w')
			break;
		reach = end;
	}
	fclose(maps);
	return reach - addr < len ? reach - addr : len;
}

/* Reads one byte of each of `count` pages and writes it back, as the only way to
 * ask whether the kernel would: the first byte of the stretch at `addr` for the
 * first page, each next page's start for the others. Returns for how many it would. */
static size_t rewrite_pages(pid_t tid, uint64_t addr, size_t count)
{
	char bytes[PAGES_AT_ONCE];
	struct iovec local = { bytes, count };
	struct iovec remote[PAGES_AT_ONCE];
	ssize_t n;

	for (size_t i = 0; i < count; i++) {
		uint64_t at = i ? addr - addr % PAGE + i * PAGE : addr;

		remote[i] = (struct iovec){ (void *)at, 1 };
	}
	n = process_vm_readv(tid, &local, 1, remote, count, 0);
	if (n < 0 && is_call_refused(errno)) {
		uint64_t end = addr - addr % PAGE + count * PAGE;

		return (writable_len(tid, addr, end - addr) + addr % PAGE) / PAGE;
	}
	if (n > 0) {
		local.iov_len = (size_t)n;
		n = process_vm_writev(tid, &local, 1, remote, (size_t)n, 0);
	}
	return n > 0 ? (size_t)n : 0;
}

size_t prr_mem_writable_len(pid_t tid, prr_remote_addr addr, size_t len)
{
	uint64_t at = addr.value, end = at + len;

	if (end < at)
		end = UINT64_MAX;
	while (at < end) {
		uint64_t pages = (end - 1) / PAGE - at / PAGE + 1;
		size_t count = pages < PAGES_AT_ONCE ? pages : PAGES_AT_ONCE;
		size_t done = rewrite_pages(tid, at, count);

		if (done == 0)
			break;
		at = at - at % PAGE + done * PAGE;
	}
	return at < end ? at - addr.value : end - addr.value;
}

bool prr_mem_is_writable(pid_t tid, prr_remote_addr addr, size_t len)
{
	return addr.value + len >= len && prr_mem_writable_len(tid, addr, len) == len;
}

size_t prr_mem_write_some(pid_t tid, prr_remote_addr addr, const void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		struct iovec local = { (char *)buf + done, len - done };
		struct iovec remote = { (void *)(addr.value + done), len - done };
		ssize_t n = process_vm_writev(tid, &local, 1, &remote, 1, 0);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n < 0 && is_call_refused(errno))
			done += write_proc_mem(tid, addr.value + done, (const char *)buf + done,
				writable_len(tid, addr.value + done, len - done));
		break;
	}
	return done;
}

bool prr_mem_write(pid_t tid, prr_remote_addr addr, const void *buf, size_t len)
{
	return prr_mem_write_some(tid, addr, buf, len) == len;
}

/* Writes the same bytes to both places at once: it asks whether the first is
 * writable and saves a call (1.5 us). */
static bool write_both(pid_t tid, uint64_t first, uint64_t second, void *buf, size_t len)
{
	struct iovec local[2] = { { buf, len }, { buf, len } };
	struct iovec remote[2] = { { (void *)first, len }, { (void *)second, len } };
	ssize_t n = process_vm_writev(tid, local, 2, remote, 2, 0);

	if (n < 0 && is_call_refused(errno))
		return writable_len(tid, first, len) == len &&
			prr_mem_write(tid, prr_remote(second), buf, len);
	return n >= 0 && (size_t)n == 2 * len;
}

bool prr_mem_copy_writable(pid_t tid, prr_remote_addr from, prr_remote_addr to, size_t len)
{
	uint8_t small[SMALL];
	uint8_t *buf = len <= sizeof(small) ? small : malloc(len);
	bool copied = buf && prr_mem_read(tid, from, buf, len) &&
		write_both(tid, from.value, to.value, buf, len);

	if (buf != small)
		free(buf);
	return copied;
}

/* Word by word, keeping the bytes around. The task must be stopped under the
 * calling thread's ptrace. */
static bool poke_words(pid_t tid, uint64_t addr, const uint8_t *buf, size_t len)
{
	while (len) {
		uint64_t aligned = addr & ~(uint64_t)(sizeof(long) - 1);
		size_t skip = addr - aligned;
		size_t n = sizeof(long) - skip < len ? sizeof(long) - skip : len;
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, tid, (void *)aligned, NULL);
		if (errno)
			return false;
		memcpy((char *)&word + skip, buf, n);
		if (ptrace(PTRACE_POKEDATA, tid, (void *)aligned, (void *)word) != 0)
			return false;
		addr += n;
		buf += n;
		len -= n;
	}
	return true;
}

bool prr_mem_poke(pid_t tid, prr_remote_addr addr, const void *buf, size_t len)
{
	struct iovec local = { (void *)(uintptr_t)buf, len };
	struct iovec remote = { (void *)addr.value, len };
	ssize_t n = process_vm_writev(tid, &local, 1, &remote, 1, 0);
	size_t done = n > 0 ? (size_t)n : 0;

	if (done < len)
		done += write_proc_mem(
			tid, addr.value + done, (const char *)buf + done, len - done);
	return done == len ||
		poke_words(tid, addr.value + done, (const uint8_t *)buf + done, len - done);
}

bool prr_mem_read_string(pid_t tid, prr_remote_addr addr, char **ret)
{
	size_t size = 0, capacity = 256;
	char *text = malloc(capacity);

	*ret = NULL;
	while (text) {
		/* Never across a page that the string may not reach. */
		size_t want = PAGE - (addr.value + size) % PAGE;

		if (want > capacity - size)
			want = capacity - size;
		if (!prr_mem_read(tid, prr_remote(addr.value + size), text + size, want))
			break;
		if (memchr(text + size, '\0', want)) {
			*ret = text;
			return true;
		}
		size += want;
		if (size < capacity)
			continue;
		capacity *= 2;

		char *larger = realloc(text, capacity);

		if (!larger)
			break;
		text = larger;
	}
	free(text);
	return false;
}
