/* sources: shared/error.c shared/m*.c shared/syscall_t*.c shared/outputs.c shared/scratch*.c */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * What the table says about a call, and that every byte the kernel really wrote
 * lies in the ranges collected. */
#include "syscall_scenarios_2.h"

static struct prr_syscall_view view_of(int64_t nr, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t args[6] = { a, b, c, 0, 0, 0 };

	return prr_syscall_view(nr, args);
}

static void test_unknown_numbers(void)
{
	static const int64_t none[] = { -1, 337, 423, 471, 0x40000000, INT64_MAX, INT64_MIN };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		struct prr_syscall_view view = view_of(none[i], 0, 0, 0);

		CHECK(prr_syscall_row(none[i]) == NULL);
		CHECK(!view.row && !view.known && view.args);
		CHECK(view.flags == PRR_SYSCALL_REFUSED && view.refuse_errno == ENOSYS);
	}
	CHECK(strcmp(prr_syscall_row(SYS_read)->name, "read") == 0);
	CHECK(strcmp(prr_syscall_row(470)->name, "listns") == 0);
}

static void test_commands(void)
{
	struct prr_syscall_view view = view_of(SYS_ioctl, 0, 0xffffffff00000000 | TCGETS, 0);

	CHECK(view.known && strcmp(view.name, "TCGETS") == 0);
	CHECK(view.args[2].direction == PRR_DIR_OUT && view.args[2].n == 36);
	view = view_of(SYS_ioctl, 0, 0x12345678, 0);
	CHECK(!view.known && view.flags == PRR_SYSCALL_REFUSED && view.refuse_errno == ENOTTY);
	view = view_of(SYS_futex, 0, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | 256, 0);
	CHECK(view.known && strcmp(view.name, "FUTEX_WAIT_BITSET") == 0);
	CHECK(view.flags == PRR_SYSCALL_MAY_BLOCK && view.record_handler == PRR_RECORD_FUTEX);
	CHECK(view_of(SYS_futex, 0, 99, 0).refuse_errno == ENOSYS);
	view = view_of(SYS_madvise, 0, 0, 8);
	CHECK(view.flags == PRR_SYSCALL_REFUSED && view.refuse_errno == EINVAL);
	CHECK(view_of(SYS_madvise, 0, 0, 4).record_handler == PRR_RECORD_MADVISE);
	CHECK(view_of(SYS_madvise, 0, 0, 3).record_handler == PRR_RECORD_NONE);
	CHECK(view_of(SYS_fcntl, 0, F_SETLKW, 0).flags == PRR_SYSCALL_MAY_BLOCK);
	CHECK(view_of(SYS_fcntl, 0, F_SETLK, 0).flags == 0);
	view = view_of(SYS_ioctl, 0, FICLONE, 0);
	CHECK(view.flags == PRR_SYSCALL_CHANGES_FILES && view.changed_fd_arg == 0);
}

static void test_two_argument_commands(void)
{
	struct prr_syscall_view view = view_of(SYS_setsockopt, 0, SOL_PACKET, 5);

	CHECK(view.flags == PRR_SYSCALL_REFUSED && view.refuse_errno == ENOPROTOOPT);
	view = view_of(SYS_setsockopt, 0, SOL_SOCKET, 5);
	CHECK(view.known && view.flags == 0 && strcmp(view.name, "setsockopt") == 0);
	CHECK(view_of(SYS_getsockopt, 0, IPPROTO_TCP, 35).flags == PRR_SYSCALL_REFUSED);
	CHECK(view_of(SYS_getsockopt, 0, SOL_SOCKET, 35).flags == 0);
	CHECK(view_of(SYS_socket, 44, 0, 0).refuse_errno == EAFNOSUPPORT);
	CHECK(view_of(SYS_socket, AF_INET, 0, 0).known);
}

static void test_handlers(void)
{
	CHECK(view_of(SYS_openat, 0, 0, 0).changed_fd_arg == PRR_NO_ARG);
	CHECK(view_of(SYS_copy_file_range, 0, 0, 0).changed_fd_arg == 2);
	CHECK(view_of(SYS_write, 0, 0, 0).record_handler == PRR_RECORD_FILE_WRITE);
	CHECK(view_of(SYS_write, 0, 0, 0).replay_handler == PRR_REPLAY_FILE_WRITE);
	CHECK(view_of(SYS_prctl, PR_SET_TSC, 0, 0).flags == PRR_SYSCALL_EMULATED);
	CHECK(view_of(SYS_io_uring_setup, 0, 0, 0).refuse_errno == ENOSYS);
	CHECK(view_of(SYS_rseq, 0, 0, 0).refuse_errno == ENOSYS);
	CHECK(view_of(SYS_ptrace, 0, 0, 0).refuse_errno == EPERM);
}

static bool covered(const struct prr_ranges *ranges, const uint8_t *byte)
{
	uint64_t addr = (uint64_t)(uintptr_t)byte;

	for (size_t i = 0; i < ranges->count; i++)
		if (addr - ranges->items[i].addr < ranges->items[i].len)
			return true;
	return false;
}

static void run_scenario(const struct scenario *scenario)
{
	static uint8_t before[ARENA_SIZE];
	struct prr_outputs_entry entry = { 0 };
	struct prr_ranges ranges = { 0 };
	struct call call;

	current = scenario;
	scenario_reset();
	scenario->set_up(&call);

	struct prr_syscall_view view = prr_syscall_view(call.nr, call.args);

	CHECK(view.known);
	OK(prr_outputs_enter(&view, getpid(), call.args, &entry, &error));
	memcpy(before, arena, ARENA_SIZE);

	long result = make(call.nr, call.args);

	OK(prr_outputs_collect(&view, getpid(), &entry, result, &ranges, &error));
	for (size_t i = 0; i < ARENA_SIZE; i++)
		if (arena[i] != before[i] && !covered(&ranges, &arena[i])) {
			fprintf(stderr, "byte %zu was written and not collected\n", i);
			CHECK(false);
		}
	prr_ranges_deinit(&ranges);
	prr_outputs_entry_deinit(&entry);
	current = NULL;
}

/* The ranges of a call that is not made. */
static struct prr_ranges collect(int64_t nr, const uint64_t args[6], int64_t result)
{
	struct prr_syscall_view view = prr_syscall_view(nr, args);
	struct prr_outputs_entry entry = { 0 };
	struct prr_ranges ranges = { 0 };

	OK(prr_outputs_enter(&view, getpid(), args, &entry, &error));
	OK(prr_outputs_collect(&view, getpid(), &entry, result, &ranges, &error));
	prr_outputs_entry_deinit(&entry);
	return ranges;
}

static void expect(
	int64_t nr, const uint64_t args[6], int64_t result, size_t count, uint64_t first_len)
{
	struct prr_ranges ranges = collect(nr, args, result);

	CHECK(ranges.count == count);
	CHECK(count == 0 || ranges.items[0].len == first_len);
	prr_ranges_deinit(&ranges);
}

static void test_results(void)
{
	const uint64_t read_args[6] = { 0, 0x10000, 100 };
	const uint64_t huge_args[6] = { 0, 0x10000, ~0ULL };
	const uint64_t sleep_args[6] = { 0x10000, 0x20000 };
	const uint64_t wait_args[6] = { 0, 0x10000, 0, 0x20000 };
	/* The upper half of an int argument is not part of it. */
	const uint64_t epoll_args[6] = { 3, 0x10000, 0x5555000000000004 };

	expect(SYS_read, read_args, 60, 1, 60);
	expect(SYS_read, read_args, 0, 0, 0);
	expect(SYS_read, read_args, -EIO, 0, 0);
	expect(SYS_read, read_args, -EFAULT, 1, 100);
	expect(SYS_read, read_args, 1000, 1, 100);
	expect(SYS_read, huge_args, -EFAULT, 1, 0x7ffff000);
	expect(SYS_nanosleep, sleep_args, 0, 0, 0);
	expect(SYS_nanosleep, sleep_args, -EINTR, 1, 16);
	expect(SYS_nanosleep, sleep_args, -516, 1, 16);
	expect(SYS_wait4, wait_args, 0, 0, 0);
	expect(SYS_wait4, wait_args, 77, 2, 4);
	expect(SYS_epoll_wait, epoll_args, 3, 1, 36);
	expect(SYS_epoll_wait, epoll_args, -EFAULT, 1, 48);
	expect(SYS_getpid, read_args, 5, 0, 0);
}

int main(void)
{
	arena_init();
	test_unknown_numbers();
	test_commands();
	test_two_argument_commands();
	test_handlers();
	test_results();
	for (size_t i = 0; i < SCENARIO_COUNT; i++)
		run_scenario(&scenarios[i]);
	scenario_reset();
	return 0;
}
