/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A7: ftruncate and fallocate on a mapped file: pages past the new end raise
 * SIGBUS, the tail of the last page reads as zeros, private pages lost by a
 * shrink do not come back, punched holes are zeros.
 * Wrong: the replay's memory keeps the old bytes, or raises no SIGBUS.
 */
#include "mapfile.h"

#include <linux/falloc.h>
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;
static volatile siginfo_t fault;

static void on_bus(int signo, siginfo_t *info, void *context)
{
	(void)context;
	fault = *info;
	siglongjmp(back, signo);
}

/* The byte at `p`, -1 when reading it raises SIGBUS. */
static int peek(const volatile char *p)
{
	if (sigsetjmp(back, 1)) {
		CHECK(fault.si_code == BUS_ADRERR && fault.si_addr == (const void *)p);
		return -1;
	}
	return *p;
}

int main(void)
{
	struct mapfile m;
	struct sigaction action = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };

	CHECK(sigaction(SIGBUS, &action, NULL) == 0);
	mapfile_open(&m, "mapped");
	mapfile_show(&m, "start");
	CHECK(ftruncate(m.fd, PAGE + 10) == 0);
	CHECK(peek(m.shared_map + 2 * PAGE) == -1 && peek(m.private_map + 3 * PAGE) == -1);
	CHECK(peek(m.shared_map + PAGE + 9) == 'b' && peek(m.shared_map + PAGE + 10) == 0);
	CHECK(peek(m.private_map + PAGE + 5) == '!');
	mapfile_show(&m, "after the shrink");
	CHECK(ftruncate(m.fd, 3 * PAGE) == 0);
	CHECK(peek(m.shared_map + 2 * PAGE) == 0 && peek(m.private_map + 2 * PAGE) == 0);
	CHECK(peek(m.private_map + 3 * PAGE) == -1);
	mapfile_show(&m, "after growing again");
	CHECK(ftruncate(m.fd, 0) == 0);
	CHECK(peek(m.private_map + PAGE + 5) == -1 && peek(m.shared_map) == -1);
	CHECK(ftruncate(m.fd, 4 * PAGE) == 0);
	CHECK(peek(m.private_map + PAGE + 5) == 0);
	CHECK(pwrite(m.fd, "second life", 11, PAGE) == 11);
	CHECK(peek(m.private_map + PAGE) == 's');
	mapfile_show(&m, "second life");
	if (fallocate(m.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, 100) == 0)
		CHECK(peek(m.shared_map + PAGE) == 0 && peek(m.private_map + PAGE) == 0);
	else
		say("no holes here: %s\n", strerror(errno));
	mapfile_show(&m, "hole");
	CHECK(truncate("mapped", 2 * PAGE) == 0);
	mapfile_show(&m, "truncate by name");
	return 0;
}
