/* sources: shared/error.c shared/m*.c shared/syscall_t*.c shared/outputs.c shared/scratch*.c */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * Each scenario is run bare, and with its outputs in scratch: until the end the
 * program's memory must not change, and at the end result and memory must be
 * those of the bare run. */
#include "syscall_scenarios_2.h"

enum { SCRATCH_SIZE = 1 << 20, LARGE_SIZE = 512 << 20 };

static uint8_t *scratch_memory;
static uint8_t bare[ARENA_SIZE], before[ARENA_SIZE], read_only_before[4096];

static bool in_place(const struct prr_syscall_view *view)
{
	for (unsigned i = 0; i < 6; i++)
		if (view->args[i].direction == PRR_DIR_INOUT_IN_PLACE)
			return true;
	return false;
}

static void check_ranges(const struct prr_ranges *ranges, const uint8_t *old)
{
	for (size_t i = 0; i < ARENA_SIZE; i++) {
		bool covered = false;

		for (size_t r = 0; r < ranges->count; r++)
			covered |= (uint64_t)(uintptr_t)&arena[i] - ranges->items[r].addr <
				ranges->items[r].len;
		CHECK(covered || arena[i] == old[i]);
	}
}

/* As the guards say while a call runs, else all writable. */
static void guard(const struct prr_scratch *scratch, bool on)
{
	for (size_t i = 0; i < scratch->guard_count; i++)
		CHECK(mprotect((void *)(uintptr_t)scratch->guards[i].addr, scratch->guards[i].len,
			      on ? (int)scratch->guards[i].prot : PROT_READ | PROT_WRITE) == 0);
}

static void run_scenario(const struct scenario *scenario)
{
	struct prr_scratch scratch = { .base = (uint64_t)(uintptr_t)scratch_memory,
		.size = LARGE_SIZE };
	struct prr_outputs_entry entry = { 0 };
	struct prr_ranges ranges = { 0 };
	struct call call;
	uint64_t args[6];
	int64_t bare_result, result;

	current = scenario;
	scenario_reset();
	scenario->set_up(&call);
	bare_result = make(call.nr, call.args);
	memcpy(bare, arena, ARENA_SIZE);

	scenario_reset();
	memset(scratch_memory, 0xee, SCRATCH_SIZE);
	scenario->set_up(&call);

	struct prr_syscall_view view = prr_syscall_view(call.nr, call.args);

	OK(prr_outputs_enter(&view, getpid(), call.args, &entry, &error));
	memcpy(before, arena, ARENA_SIZE);
	memcpy(read_only_before, read_only, 4096);
	OK(prr_scratch_redirect(&view, getpid(), &entry, &scratch, args, &error));
	CHECK(scratch.left_in_place == (scenario->treatment == IN_PLACE) || call.nr == SYS_ioctl);
	CHECK((scratch.guard_count > 0) == (scenario->treatment == GUARDED));
	CHECK(scratch.guard_count || scratch.used <= prr_scratch_need(&view, getpid(), &entry));
	guard(&scratch, true);
	result = make(call.nr, args);
	if (!scratch.left_in_place && !in_place(&view))
		CHECK(memcmp(before, arena, ARENA_SIZE) == 0);
	OK(prr_scratch_finish(&view, getpid(), &entry, &scratch, &result, &ranges, &error));
	guard(&scratch, false);
	CHECK(memcmp(read_only, read_only_before, 4096) == 0);
	check_ranges(&ranges, before);
	if (call.nr != SYS_wait4 || bare_result <= 0)
		CHECK(result == bare_result);
	if (!scenario->varies)
		CHECK(memcmp(bare, arena, ARENA_SIZE) == 0);
	prr_scratch_deinit(&scratch);
	prr_ranges_deinit(&ranges);
	prr_outputs_entry_deinit(&entry);
	current = NULL;
}

/* One task's call, in steps; the program's memory changes in between. */
struct steps {
	struct prr_syscall_view view;
	struct prr_outputs_entry entry;
	struct prr_scratch scratch;
	struct prr_ranges ranges;
	struct call call;
	uint64_t args[6];
	int64_t result;
};

static void begin(struct steps *steps, void (*set_up)(struct call *call), uint64_t size)
{
	memset(steps, 0, sizeof(*steps));
	scenario_reset();
	set_up(&steps->call);
	steps->view = prr_syscall_view(steps->call.nr, steps->call.args);
	steps->scratch.base = (uint64_t)(uintptr_t)scratch_memory;
	steps->scratch.size = size;
	OK(prr_outputs_enter(&steps->view, getpid(), steps->call.args, &steps->entry, &error));
	OK(prr_scratch_redirect(
		&steps->view, getpid(), &steps->entry, &steps->scratch, steps->args, &error));
	steps->result = make(steps->call.nr, steps->args);
}

static void finish(struct steps *steps)
{
	OK(prr_scratch_finish(&steps->view, getpid(), &steps->entry, &steps->scratch,
		&steps->result, &steps->ranges, &error));
}

static void end(struct steps *steps)
{
	prr_scratch_deinit(&steps->scratch);
	prr_ranges_deinit(&steps->ranges);
	prr_outputs_entry_deinit(&steps->entry);
}

/* Another task changes pollfd.events, bytes behind a short read, and a buffer
 * that another message was not received into: nothing of it is undone. */
static void test_others_writes_survive(void)
{
	struct steps steps;
	struct pollfd *fds = at(64);

	begin(&steps, poll_ready, SCRATCH_SIZE);
	fds[0].events = POLLPRI;
	finish(&steps);
	CHECK(fds[0].events == POLLPRI && fds[0].revents == POLLIN && steps.result == 3);
	end(&steps);

	begin(&steps, read_short, SCRATCH_SIZE);
	memcpy(at(105), "other", 5);
	finish(&steps);
	CHECK(memcmp(at(100), "helloother", 10) == 0 && steps.result == 5);
	CHECK(steps.ranges.count == 1 && steps.ranges.items[0].len == 5);
	end(&steps);

	begin(&steps, recvmsg_all, SCRATCH_SIZE);
	((struct msghdr *)at(0))->msg_iovlen = 99;
	finish(&steps);
	CHECK(((struct msghdr *)at(0))->msg_iovlen == 99);
	CHECK(((struct msghdr *)at(0))->msg_iov == at(304));
	end(&steps);
}

/* Too little scratch: the call runs in place and says so. */
static void test_no_room(void)
{
	struct steps steps;

	begin(&steps, read_short, 16);
	CHECK(steps.scratch.left_in_place && steps.args[1] == steps.call.args[1]);
	CHECK(memcmp(at(100), "hello", 5) == 0);
	finish(&steps);
	CHECK(steps.result == 5 && steps.ranges.count == 1 && steps.ranges.items[0].len == 5);
	end(&steps);

	begin(&steps, recvmsg_all, 64);
	CHECK(steps.scratch.left_in_place);
	finish(&steps);
	CHECK(steps.result == 9);
	end(&steps);
}

/* Another thread makes the memory read-only while the call sleeps: as if the
 * kernel had written before. */
static void test_not_writable(void)
{
	struct steps steps;

	begin(&steps, read_full, SCRATCH_SIZE); /* the buffer lies across two pages */
	CHECK(mprotect(at(4096), 4096, PROT_READ) == 0);
	finish(&steps);
	CHECK(steps.result == 8 && memcmp(at(4090), "hello wo", 8) == 0);
	CHECK(mprotect(at(4096), 4096, PROT_READ | PROT_WRITE) == 0);
	end(&steps);
}

/* restart_syscall goes on with the scratch places: the plan is used again. */
static void test_finish_again(void)
{
	struct steps steps;
	struct pollfd *fds = at(64);

	begin(&steps, poll_ready, SCRATCH_SIZE);
	steps.result = -516;
	finish(&steps);
	CHECK(steps.result == -516 && fds[0].revents == POLLIN);
	fds[0].revents = 0;
	steps.result = make(steps.call.nr, steps.args);
	finish(&steps);
	CHECK(steps.result == 3 && fds[0].revents == POLLIN);
	end(&steps);
}

static void test_alignment(void)
{
	struct prr_scratch scratch = { .base = (uint64_t)(uintptr_t)scratch_memory,
		.size = SCRATCH_SIZE };
	struct prr_outputs_entry entry = { 0 };
	uint64_t args[6] = { 0, (uint64_t)(uintptr_t)at(4096), 4096, 0, 0, 0 }, new_args[6];
	struct prr_syscall_view view = prr_syscall_view(SYS_read, args);

	OK(prr_outputs_enter(&view, getpid(), args, &entry, &error));
	scratch.base += 16;
	scratch.size -= 16;
	OK(prr_scratch_redirect(&view, getpid(), &entry, &scratch, new_args, &error));
	CHECK(new_args[1] % 4096 == 0 && new_args[1] != args[1]);
	prr_scratch_deinit(&scratch);
	prr_outputs_entry_deinit(&entry);
}

/* ------------------------------------------------------------------- fuzz */

static uint64_t random_state = 88172645463325252U;

static uint64_t random_next(void) /* xorshift64: the same run every time */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t random_value(void)
{
	uint64_t number = random_next();

	switch (number % 8) {
	case 0:
		return 0;
	case 1:
		return number >> 58;
	case 2:
		return number >> 32;
	case 3:
		return number;
	case 4:
		return (uint64_t)(uintptr_t)at(ARENA_SIZE - (number >> 58));
	default:
		return (uint64_t)(uintptr_t)at((number >> 16) % ARENA_SIZE);
	}
}

static void fill_at_random(void)
{
	for (size_t i = 0; i < ARENA_SIZE; i += 8) {
		uint64_t value = random_value();

		memcpy(at(i), &value, 8);
	}
}

/* Calls that are not made, with arguments, memory and results of any kind:
 * nothing is read or written that should not be, and ranges stay sane. */
static void test_anything(void)
{
	static const int64_t results[] = { 0, 1, 5, 4096, INT64_MAX, -EFAULT, -EINVAL, -EINTR, -514,
		-516 };

	for (int round = 0; round < 20000; round++) {
		struct prr_scratch scratch = { .base = (uint64_t)(uintptr_t)scratch_memory,
			.size = random_next() % SCRATCH_SIZE };
		struct prr_outputs_entry entry = { 0 };
		struct prr_ranges ranges = { 0 };
		int64_t nr = (int64_t)(random_next() % 480);
		int64_t result = results[random_next() % 10];
		uint64_t args[6], new_args[6];

		if (round % 64 == 0)
			fill_at_random();
		for (unsigned i = 0; i < 6; i++)
			args[i] = random_value();

		struct prr_syscall_view view = prr_syscall_view(nr, args);

		OK(prr_outputs_enter(&view, getpid(), args, &entry, &error));
		OK(prr_outputs_collect(&view, getpid(), &entry, result, &ranges, &error));
		(void)prr_scratch_need(&view, getpid(), &entry);
		OK(prr_scratch_redirect(&view, getpid(), &entry, &scratch, new_args, &error));
		CHECK(scratch.used <= scratch.size);
		OK(prr_scratch_finish(&view, getpid(), &entry, &scratch, &result, &ranges, &error));
		for (size_t i = 0; i < ranges.count; i++)
			CHECK(ranges.items[i].len && ranges.items[i].len <= 0x7ffff000);
		prr_scratch_deinit(&scratch);
		prr_ranges_deinit(&ranges);
		prr_outputs_entry_deinit(&entry);
	}
}

/* Every message of an array by itself: the second one's buffer has a hole. */
static void test_messages_with_a_hole(void)
{
	struct steps steps;
	struct mmsghdr *array = at(0);
	static uint8_t image[ARENA_SIZE];

	memset(&steps, 0, sizeof(steps));
	scenario_reset();
	recvmmsg_three(&steps.call);
	steps.call.args[4] = 0; /* the time left varies */
	array[1].msg_hdr.msg_iov->iov_base = at(ARENA_SIZE - 2);
	steps.view = prr_syscall_view(steps.call.nr, steps.call.args);
	steps.scratch.base = (uint64_t)(uintptr_t)scratch_memory;
	steps.scratch.size = SCRATCH_SIZE;
	OK(prr_outputs_enter(&steps.view, getpid(), steps.call.args, &steps.entry, &error));
	OK(prr_scratch_redirect(
		&steps.view, getpid(), &steps.entry, &steps.scratch, steps.args, &error));
	CHECK(steps.scratch.guard_count == 1);
	memcpy(image, arena, ARENA_SIZE);
	guard(&steps.scratch, true);
	steps.result = make(steps.call.nr, steps.args);
	CHECK(memcmp(image, arena, ARENA_SIZE) == 0);
	finish(&steps);
	guard(&steps.scratch, false);
	memcpy(before, arena, ARENA_SIZE);
	end(&steps);

	scenario_reset();
	recvmmsg_three(&steps.call);
	steps.call.args[4] = 0;
	memcpy(arena, image, ARENA_SIZE);
	CHECK(make(steps.call.nr, steps.call.args) == steps.result);
	CHECK(memcmp(before, arena, ARENA_SIZE) == 0);
}

/* The kernel wrote a part before a fault, another task a part of what it did not. */
static void test_others_writes_survive_a_fault(void)
{
	struct steps steps;

	memset(&steps, 0, sizeof(steps));
	scenario_reset();
	readv_with_a_hole(&steps.call);
	steps.view = prr_syscall_view(steps.call.nr, steps.call.args);
	steps.scratch.base = (uint64_t)(uintptr_t)scratch_memory;
	steps.scratch.size = SCRATCH_SIZE;
	OK(prr_outputs_enter(&steps.view, getpid(), steps.call.args, &steps.entry, &error));
	OK(prr_scratch_redirect(
		&steps.view, getpid(), &steps.entry, &steps.scratch, steps.args, &error));
	guard(&steps.scratch, true);
	steps.result = make(steps.call.nr, steps.args);
	memcpy(at(200), "other", 5);
	finish(&steps);
	guard(&steps.scratch, false);
	CHECK(memcmp(at(100), "hel", 3) == 0 && memcmp(at(200), "other", 5) == 0);
	end(&steps);
}

int main(void)
{
	arena_init();
	scratch_memory = mmap(NULL, LARGE_SIZE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(scratch_memory != MAP_FAILED);
	for (size_t i = 0; i < SCENARIO_COUNT; i++)
		run_scenario(&scenarios[i]);
	scenario_reset();
	test_others_writes_survive();
	test_others_writes_survive_a_fault();
	test_messages_with_a_hole();
	test_no_room();
	test_not_writable();
	test_finish_again();
	test_alignment();
	test_anything();
	return 0;
}
