/* sources: shared/mem.c */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * Reading and writing another task's memory, by process_vm_readv and, where a
 * seccomp filter forbids that as older container profiles do, by /proc/PID/mem. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s: not true: %s\n", __FILE__, __LINE__, __func__, \
				#condition);                                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum { PAGE = 4096 };

/* Four pages: two to write, one to read, one without access. */
static uint8_t *pages;
static pid_t child;

static prr_remote_addr at(size_t offset)
{
	return prr_remote((uint64_t)(uintptr_t)pages + offset);
}

static void start_child(void)
{
	int status;

	pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	for (size_t i = 0; i < 3 * PAGE; i++)
		pages[i] = (uint8_t)(1 + i % 251);
	memcpy(pages + 2 * PAGE - 5, "across", 7);
	pages[3 * PAGE - 1] = '\0';
	CHECK(mprotect(pages + 2 * PAGE, PAGE, PROT_READ) == 0);
	CHECK(mprotect(pages + 3 * PAGE, PAGE, PROT_NONE) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
}

static void stop_child(void)
{
	CHECK(kill(child, SIGKILL) == 0);
	CHECK(waitpid(child, NULL, 0) == child);
	munmap(pages, 4 * PAGE);
}

static void test_read(void)
{
	uint8_t buf[4 * PAGE];
	size_t all = prr_mem_read_some(child, at(0), buf, sizeof(buf));

	/* /proc/PID/mem shows pages without access as well. */
	CHECK(all == 3 * PAGE || all == 4 * PAGE);
	CHECK(memcmp(buf, pages, 3 * PAGE) == 0);
	CHECK(prr_mem_read(child, at(7), buf, 100) && memcmp(buf, pages + 7, 100) == 0);
	CHECK(prr_mem_read(child, at(0), buf, 0));
	CHECK(prr_mem_read_some(child, prr_remote(0), buf, 8) == 0);
	CHECK(prr_mem_read_some(child, prr_remote(~0ULL - 3), buf, 8) == 0);
	CHECK(prr_mem_read_some(child, prr_remote(1ULL << 63), buf, 8) == 0);
	CHECK(!prr_mem_read(child, prr_remote(4096), buf, 8));
}

static void test_write(void)
{
	uint8_t bytes[4 * PAGE], buf[3 * PAGE];

	memset(bytes, 0x5a, sizeof(bytes));
	/* Up to the page that may only be read. */
	CHECK(prr_mem_write_some(child, at(100), bytes, sizeof(bytes)) == 2 * PAGE - 100);
	CHECK(prr_mem_read(child, at(0), buf, sizeof(buf)));
	CHECK(memcmp(buf, pages, 100) == 0);
	CHECK(memcmp(buf + 100, bytes, 2 * PAGE - 100) == 0);
	CHECK(memcmp(buf + 2 * PAGE, pages + 2 * PAGE, PAGE) == 0);
	CHECK(!prr_mem_write(child, at(2 * PAGE), bytes, 1));
	CHECK(!prr_mem_write(child, prr_remote(4096), bytes, 1));
	CHECK(prr_mem_write(child, at(2 * PAGE - 1), bytes, 1));
}

static void test_writable(void)
{
	CHECK(prr_mem_is_writable(child, at(0), 2 * PAGE));
	CHECK(prr_mem_is_writable(child, at(5), 1));
	CHECK(prr_mem_is_writable(child, at(5), 0));
	CHECK(!prr_mem_is_writable(child, at(0), 2 * PAGE + 1));
	CHECK(!prr_mem_is_writable(child, at(2 * PAGE), 1));
	CHECK(!prr_mem_is_writable(child, at(3 * PAGE), 1));
	CHECK(!prr_mem_is_writable(child, prr_remote(~0ULL - 3), 8));
}

static void test_copy_writable(void)
{
	uint8_t buf[PAGE];

	CHECK(prr_mem_copy_writable(child, at(7), at(PAGE + 3), 1000));
	CHECK(prr_mem_read(child, at(PAGE + 3), buf, 1000) && memcmp(buf, pages + 7, 1000) == 0);
	CHECK(!prr_mem_copy_writable(child, at(2 * PAGE), at(0), 8));
	CHECK(!prr_mem_copy_writable(child, at(2 * PAGE - 4), at(0), 8));
	CHECK(!prr_mem_copy_writable(child, at(0), at(2 * PAGE), 8));
	CHECK(!prr_mem_copy_writable(child, prr_remote(4096), at(0), 8));
}

static void test_poke(void)
{
	uint8_t buf[6];

	CHECK(prr_mem_poke(child, at(2 * PAGE - 3), "poked!", 6));
	CHECK(prr_mem_read(child, at(2 * PAGE - 3), buf, 6) && memcmp(buf, "poked!", 6) == 0);
	CHECK(prr_mem_poke(child, at(3 * PAGE + 5), "hidden", 6));
	CHECK(prr_mem_peek_some(child, at(3 * PAGE + 5), buf, 6) == 6);
	CHECK(memcmp(buf, "hidden", 6) == 0);
	CHECK(!prr_mem_poke(child, prr_remote(4096), "x", 1));
}

static void test_string(void)
{
	char *text;

	CHECK(prr_mem_read_string(child, at(2 * PAGE - 5), &text));
	CHECK(strcmp(text, "across") == 0);
	free(text);
	CHECK(!prr_mem_read_string(child, prr_remote(4096), &text) && !text);
}

/* Longer than the first guess, ending with its page. */
static void test_long_string(void)
{
	char *text;

	CHECK(prr_mem_read_string(child, at(2 * PAGE + 2), &text));
	CHECK(strlen(text) == PAGE - 3);
	free(text);
}

static void test_gone(void)
{
	char buf[8];

	CHECK(prr_mem_read_some(child, at(0), buf, 8) == 0);
	CHECK(prr_mem_write_some(child, at(0), buf, 8) == 0);
	CHECK(!prr_mem_poke(child, at(0), buf, 8));
	CHECK(!prr_mem_is_writable(child, at(0), 8));
}

static void test_all(void)
{
	start_child();
	test_read();
	test_string();
	test_long_string();
	test_writable();
	test_copy_writable();
	test_write();
	test_poke();
	stop_child();
	pages = NULL;
	test_gone();
}

static void forbid_process_vm(int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	struct iovec iov = { &program, 1 };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	CHECK(process_vm_readv(getpid(), &iov, 1, &iov, 1, 0) == -1 && errno == error);
}

static void test_all_without_process_vm(int error)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		forbid_process_vm(error);
		test_all();
		exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	test_all();
	test_all_without_process_vm(EPERM);
	test_all_without_process_vm(ENOSYS);
	return 0;
}
