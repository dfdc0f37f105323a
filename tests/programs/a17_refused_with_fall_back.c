/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A17: interfaces that write memory at any moment (io_uring, aio, userfaultfd,
 * perf buffers, packet rings) are refused in a way that a program takes as "not
 * there"; it falls back to plain calls.
 * Wrong: they are let through and the replay lacks their writes.
 */
#include "check.h"

#include <arpa/inet.h>
#include <linux/aio_abi.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/socket.h>

static void tell(const char *what, long result)
{
	say("%s: %s\n", what, result < 0 ? strerror(errno) : "there");
	if (result < 0)
		CHECK(errno == ENOSYS || errno == EPERM || errno == EACCES || errno == EINVAL ||
			errno == ENODEV || errno == ENOENT || errno == EOPNOTSUPP);
}

int main(void)
{
	uint64_t params[15] = { 0 };
	aio_context_t context = 0;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_TASK_CLOCK
	};
	char text[16] = "";
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	long perf;

	tell("io_uring_setup", syscall(SYS_io_uring_setup, 8, params));
	tell("io_setup", syscall(SYS_io_setup, 8, &context));
	tell("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC));
	perf = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	tell("perf_event_open", perf);
	if (perf >= 0)
		tell("its buffer",
			mmap(NULL, 8192, PROT_READ, MAP_SHARED, (int)perf, 0) == MAP_FAILED ? -1
											    : 0);
	tell("packet socket", socket(AF_PACKET, SOCK_RAW, htons(3)));
	tell("bpf", syscall(SYS_bpf, 0, params, sizeof(params)));

	write_all(fd, "the plain way", 13);
	CHECK(pread(fd, text, 13, 0) == 13);
	say("%s\n", text);
	return 0;
}
