/* sources: shared/in[js]*.c shared/[mr]*.c shared/p[rt]*.c shared/e*.c shared/cpu.c libs:-lZydis */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * A task that is stopped anywhere in a stub is moved to where it would be without: it is
 * single-stepped through stubs, and looked at after each step. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem.h"
#include "probe.h"
#include "ptrace.h"
#include "regs.h"

static const char *subject = "-";

#define CHECK(condition)                                                                  \
	do {                                                                              \
		if (!(condition)) {                                                       \
			fprintf(stderr, "%s:%d: not true: %s (%s)\n", __FILE__, __LINE__, \
				#condition, subject);                                     \
			exit(1);                                                          \
		}                                                                         \
	} while (0)

enum { PAGE = 4096, SITE = 0x200, LEN = 3 * PAGE, STEPS_MAX = 200 };
#define PROGRAM UINT64_C(0x200000000000)

static const struct {
	const char *name;
	uint8_t bytes[16];
	size_t len;
} forms[] = {
	{ "inc rax", { 0x48, 0xff, 0xc0, 0x0f, 0x1f, 0x44, 0, 0 }, 3 },
	{ "mov rcx, imm32", { 0x48, 0xc7, 0xc1, 5, 0, 0, 0 }, 7 },
	{ "jmp", { 0xe9, 0x10, 0, 0, 0 }, 5 },
	{ "jz, taken", { 0x0f, 0x84, 0x10, 0, 0, 0 }, 6 },
	{ "jnz, not taken", { 0x0f, 0x85, 0x10, 0, 0, 0 }, 6 },
	{ "call", { 0xe8, 0x10, 0, 0, 0 }, 5 },
	{ "mov rax, [rip]", { 0x48, 0x8b, 0x05, 0, 0, 0, 0 }, 7 },
};
enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static pid_t child;

static struct prr_regs step(void)
{
	struct prr_regs regs;
	int status;

	CHECK(ptrace(PTRACE_SINGLESTEP, child, 0, 0) == 0);
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
	CHECK(WSTOPSIG(status) == SIGTRAP);
	CHECK(prr_ptrace_get_regs(child, &regs));
	return regs;
}

static bool same(const struct prr_regs *a, const struct prr_regs *b)
{
	uint64_t x, y;

	return a->rip == b->rip && prr_regs_difference(a, b, &x, &y) == NULL;
}

static bool map_region(void *context, uint64_t start, uint64_t len)
{
	(void)context;
	return mmap((void *)(uintptr_t)start, len, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != MAP_FAILED;
}

/* Arms a stub of this kind at the site, in memory that the child gets by fork. */
static void prepare(struct prr_probe *probe, const struct prr_probe_test *tests, size_t count)
{
	struct prr_probe_request request = { .kind = tests ? PRR_PROBE_MATCH : PRR_PROBE_COUNT,
		.tests = tests,
		.test_count = count };
	uint8_t *site = (uint8_t *)(uintptr_t)(PROGRAM + SITE);

	memset(probe, 0, sizeof(*probe));
	probe->site = PROGRAM + SITE;
	CHECK(prr_probe_decode(probe->site, site, 24, &probe->insn));
	CHECK(prr_probe_place(
		&probe->insn, PRR_PROBE_REGION_LEN, map_region, NULL, &probe->code_addr));
	probe->region = probe->code_addr & ~(uint64_t)(PAGE - 1);
	probe->data_addr = probe->region + PRR_PROBE_REGION_LEN - PAGE;
	request.insn = &probe->insn;
	request.code_addr = probe->code_addr;
	request.data_addr = probe->data_addr;
	CHECK(prr_probe_generate(&request, &probe->stub));
	probe->has_stub = probe->armed = true;
	memcpy((void *)(uintptr_t)probe->code_addr, probe->stub.code, probe->stub.code_len);
	*(uint64_t *)(uintptr_t)(probe->data_addr + PRR_PROBE_DATA_COUNTER) = count;
}

static void start_child(void)
{
	int status;

	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
}

/* Through the stub, step by step: from each it leads to before or behind the instruction. */
static void walk(struct prr_probe *probe, const struct prr_regs *start)
{
	struct prr_regs behind, now, left;
	int inside = 0;

	CHECK(prr_ptrace_set_regs(child, start));
	behind = step();
	CHECK(prr_ptrace_set_regs(child, start));
	CHECK(prr_mem_poke(
		child, prr_remote(probe->site), probe->stub.patch, probe->stub.patch_len));
	for (int i = 0; i < STEPS_MAX; i++) {
		now = step();
		if (!prr_probe_is_inside(probe, now.rip)) {
			CHECK(inside > 0 && same(&now, &behind));
			return;
		}
		inside++;
		left = now;
		CHECK(prr_probe_leave(probe, child, &left));
		CHECK(same(&left, start) || same(&left, &behind));
		/* Once more before the site would execute it twice. */
		if (now.rip > probe->code_addr + probe->stub.displaced &&
			now.rip <= probe->code_addr + probe->stub.displaced_end &&
			probe->stub.code[now.rip - probe->code_addr] == 0xe9)
			CHECK(same(&left, &behind));
	}
	CHECK(!"the stub is left");
}

static void try_stub(size_t form, const struct prr_probe_test *tests, size_t count)
{
	uint8_t *program = mmap((void *)(uintptr_t)PROGRAM, LEN, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	struct prr_probe probe;
	struct prr_regs start;

	CHECK(program != MAP_FAILED);
	memset(program, 0x90, PAGE);
	memcpy(program + SITE, forms[form].bytes, sizeof(forms[form].bytes));
	subject = forms[form].name;
	prepare(&probe, tests, count);
	start_child();
	CHECK(prr_ptrace_get_regs(child, &start));
	start.rip = PROGRAM + SITE;
	start.rsp = PROGRAM + LEN - 256;
	start.orig_rax = (uint64_t)-1;
	start.rax = 0x1111222233334444;
	start.rcx = 0x5555666677778888;
	start.rdx = 0x99;
	start.rflags |= 0x40; /* ZF */
	walk(&probe, &start);
	kill(child, SIGKILL);
	CHECK(waitpid(child, NULL, 0) == child);
	CHECK(munmap((void *)(uintptr_t)probe.region, PRR_PROBE_REGION_LEN) == 0);
}

int main(void)
{
	static const struct prr_probe_test holds = {
		.kind = PRR_PROBE_TEST_REG, .index = 1, .value = 0x77778888
	};
	static const struct prr_probe_test fails = {
		.kind = PRR_PROBE_TEST_REG, .index = 2, .value = 0x98
	};
	const struct prr_probe_test lists[][2] = { { fails, holds }, { holds, fails },
		{ holds, holds } };

	for (size_t form = 0; form < FORMS; form++) {
		try_stub(form, NULL, 1);
		try_stub(form, NULL, 2);
		try_stub(form, lists[0], 0);
		for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
			try_stub(form, lists[i], 2);
	}
	return 0;
}
