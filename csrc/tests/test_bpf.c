/* sources: shared/bpf.c libs: */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * The seccomp interpreter against the kernel's: random programs are installed in
 * forked children, and what the kernel does with random syscalls is compared. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s: not true: %s\n", __FILE__, __LINE__, __func__, \
				#condition);                                                       \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static uint64_t random_state = 88172645463325252U;

static uint32_t random_below(uint32_t limit) /* xorshift64: the same every run */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % limit;
}

/* Mostly values at which something changes. */
static uint32_t random_value(void)
{
	static const uint32_t edges[] = { 0, 1, 2, 3, 4, 8, 15, 16, 20, 31, 32, 33, 60, 61, 63, 64,
		1000, 1001, 0x7fffffff, 0x80000000, 0xfffff000, 0xffffffff, AUDIT_ARCH_X86_64 };

	if (random_below(3) == 0)
		return (uint32_t)random_state;
	return edges[random_below(sizeof edges / sizeof *edges)];
}

/* ------------------------------------------------------- programs by chance */

enum {
	FIRST_NR = 1000, /* no syscall has such a number: ENOSYS, harmless */
	HEAD = 3,        /* instructions that let all real syscalls through */
	TAIL = 3,        /* and that return ERRNO with 12 bits of A */
	MAX_BODY = 40,
	MAX_PROGRAM = HEAD + MAX_BODY + TAIL
};

static const struct sock_filter head[HEAD] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_NR, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static const struct sock_filter tail[TAIL] = {
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xfff),
	BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO),
	BPF_STMT(BPF_RET | BPF_A, 0),
};

static uint32_t random_result(void)
{
	static const uint32_t actions[] = { SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD,
		SECCOMP_RET_TRAP, SECCOMP_RET_ERRNO, SECCOMP_RET_ERRNO, SECCOMP_RET_ERRNO,
		SECCOMP_RET_USER_NOTIF, SECCOMP_RET_TRACE, SECCOMP_RET_ALLOW, 0x12340000,
		0xffff0000, 0x7ffe0000 };

	return actions[random_below(sizeof actions / sizeof *actions)] | random_below(0x1200);
}

/* A word of the data that the parent can foretell: not the instruction pointer. */
static uint32_t random_offset(void)
{
	uint32_t offset = 4 * random_below(14);

	return offset >= offsetof(struct seccomp_data, instruction_pointer) ? offset + 8 : offset;
}

/* One instruction that is valid at `left` instructions before the tail. */
static struct sock_filter random_valid(uint32_t left)
{
	static const uint16_t alu[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND, BPF_OR,
		BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG };
	static const uint16_t jumps[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
	uint16_t source = random_below(2) ? BPF_X : BPF_K, op;
	uint32_t k = random_value();

	switch (random_below(12)) {
	case 0:
	case 1:
	case 2:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, random_offset());
	case 3:
		return (struct sock_filter)BPF_STMT((random_below(2) ? BPF_LD : BPF_LDX) |
				(random_below(2) ? BPF_IMM : BPF_LEN),
			k);
	case 4:
		return (struct sock_filter)BPF_STMT(
			random_below(2) ? BPF_ST : BPF_STX, random_below(3));
	case 5:
		return (struct sock_filter)BPF_STMT(
			(random_below(2) ? BPF_LD : BPF_LDX) | BPF_MEM, random_below(3));
	case 6:
		return (struct sock_filter)BPF_STMT(
			BPF_MISC | (random_below(2) ? BPF_TAX : BPF_TXA), 0);
	case 7:
		if (random_below(4) == 0)
			return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, random_result());
		return (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, random_below(left));
	case 8:
	case 9:
		op = jumps[random_below(4)];
		return (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | op | source), k,
			(uint8_t)random_below(left), (uint8_t)random_below(left));
	default:
		op = alu[random_below(10)];
		if (op == BPF_NEG)
			source = BPF_K;
		if (source == BPF_K && (op == BPF_LSH || op == BPF_RSH))
			k %= 32;
		if (source == BPF_K && op == BPF_DIV && k == 0)
			k = 7;
		return (struct sock_filter)BPF_STMT((uint16_t)(BPF_ALU | op | source), k);
	}
}

/* Head, body, tail; valid but for loads of scratch words not stored. */
static size_t random_program(struct sock_filter *program)
{
	uint32_t body = 1 + random_below(MAX_BODY);
	size_t count = HEAD;

	memcpy(program, head, sizeof head);
	if (random_below(2)) /* so that loads are often valid */
		for (uint32_t word = 0; word < 3 && body > 1; ++word, --body)
			program[count++] = (struct sock_filter)BPF_STMT(BPF_ST, word);
	for (; body > 0; --body)
		program[count++] = random_valid(body);
	memcpy(program + count, tail, sizeof tail);
	return count + TAIL;
}

/* Anything at all in one instruction after the head. */
static void break_program(struct sock_filter *program, size_t count)
{
	static const uint16_t others[] = { BPF_ALU | BPF_MOD | BPF_K, BPF_ALU | BPF_MOD | BPF_X,
		BPF_LD | BPF_H | BPF_ABS, BPF_LD | BPF_B | BPF_ABS, BPF_LD | BPF_W | BPF_IND,
		BPF_LDX | BPF_B | BPF_MSH, BPF_RET | BPF_X, BPF_JMP | BPF_JA | BPF_X,
		BPF_ALU | BPF_NEG | BPF_X, BPF_ST | BPF_W | BPF_MEM, 0x100, 0xffff };
	struct sock_filter *insn = &program[HEAD + random_below((uint32_t)(count - HEAD))];

	switch (random_below(5)) {
	case 0:
		insn->code = (uint16_t)random_below(0x100);
		break;
	case 1:
		insn->code = others[random_below(sizeof others / sizeof *others)];
		break;
	case 2:
		insn->k = random_value();
		break;
	case 3:
		insn->jt = (uint8_t)random_value();
		break;
	default:
		insn->jf = (uint8_t)random_value();
		break;
	}
}

/* -------------------------------------------------------------- the kernel's */

/* 0 or the errno of installing the program in this process. */
static int install(const struct sock_filter *program, size_t count)
{
	struct sock_fprog fprog = { (unsigned short)count, (struct sock_filter *)program };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog) == 0 ? 0 : errno;
}

static void random_data(struct seccomp_data *data)
{
	memset(data, 0, sizeof *data);
	data->nr = FIRST_NR + (int)random_below(3);
	data->arch = AUDIT_ARCH_X86_64;
	for (int i = 0; i < 6; ++i)
		data->args[i] = (uint64_t)random_value() << 32 | random_value();
}

/* What a syscall came to: its errno (0: it returned 0), or one of these. */
enum { KILLED = -1 };

static int outcome_expected(uint32_t result)
{
	switch (result & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ERRNO:
		return (int)(result & SECCOMP_RET_DATA);
	case SECCOMP_RET_USER_NOTIF: /* nobody listens */
	case SECCOMP_RET_TRACE:      /* nobody traces */
	case SECCOMP_RET_LOG:
	case SECCOMP_RET_ALLOW:
		return ENOSYS;
	default:
		return KILLED;
	}
}

static int call(const struct seccomp_data *data)
{
	long ret = syscall(data->nr, data->args[0], data->args[1], data->args[2], data->args[3],
		data->args[4], data->args[5]);

	return ret == 0 ? 0 : errno;
}

/* In a process of its own, since it may be killed. */
static void expect_killed(const struct seccomp_data *data)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		call(data);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

/* In a child: installs one to three programs both ways and compares. Never
 * returns. */
static void compare_in_child(uint64_t seed)
{
	struct prr_seccomp_filters filters;
	struct sock_filter program[MAX_PROGRAM];
	struct seccomp_data data;

	random_state = seed;
	prr_seccomp_filters_init(&filters);
	for (uint32_t n = 1 + random_below(3); n > 0; --n) {
		size_t count = random_program(program);
		int ours;

		if (random_below(3) == 0)
			break_program(program, count);
		ours = prr_seccomp_filters_add(&filters, program, count);
		CHECK(install(program, count) == ours);
	}
	for (int i = 0; i < 60; ++i) {
		int expected;

		random_data(&data);
		expected = outcome_expected(prr_seccomp_evaluate(&filters, &data));
		if (expected == KILLED)
			expect_killed(&data);
		else
			CHECK(call(&data) == expected);
	}
	prr_seccomp_filters_deinit(&filters);
	_exit(0);
}

static void test_against_kernel(void)
{
	for (int i = 0; i < 400; ++i) {
		uint64_t seed = ((uint64_t)random_value() << 32 | random_value()) + 1 + (uint64_t)i;
		int status;
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0)
			compare_in_child(seed);
		CHECK(waitpid(pid, &status, 0) == pid);
		if (status != 0)
			fprintf(stderr, "seed %#llx: wait status %#x\n", (unsigned long long)seed,
				status);
		CHECK(status == 0);
	}
}

/* Validity alone, of many more programs: one child tries them all, since the
 * kernel keeps none that it refuses, and what it accepts is let through. */
static void test_check_against_kernel(void)
{
	struct sock_filter program[MAX_PROGRAM];
	unsigned int accepted = 0, refused = 0;
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		while (refused < 3000) {
			size_t count = random_program(program);

			for (uint32_t n = 1 + random_below(2); n > 0; --n)
				break_program(program, count);
			if (prr_bpf_check(program, count)) {
				if (accepted == 300) /* the kernel keeps each */
					continue;
				++accepted;
				CHECK(install(program, count) == 0);
			} else {
				++refused;
				CHECK(install(program, count) == EINVAL);
			}
		}
		_exit(accepted == 300 ? 0 : 2);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(status == 0);
}

/* Each opcode with each small operand, which covers every bound, in one child. */
static void test_bounds_against_kernel(void)
{
	static const uint16_t codes[] = {
		BPF_LD | BPF_W | BPF_ABS,
		BPF_LD | BPF_MEM,
		BPF_LDX | BPF_MEM,
		BPF_ST,
		BPF_STX,
		BPF_ALU | BPF_DIV | BPF_K,
		BPF_ALU | BPF_LSH | BPF_K,
		BPF_ALU | BPF_RSH | BPF_K,
		BPF_JMP | BPF_JA,
	};
	struct sock_filter program[HEAD + 3 + TAIL];
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		memcpy(program, head, sizeof head);
		program[HEAD] = (struct sock_filter)BPF_STMT(BPF_ST, 15);
		program[HEAD + 2] = tail[0];
		memcpy(program + HEAD + 3, tail, sizeof tail);
		for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i) {
			for (uint32_t k = 0; k < 70; ++k) {
				bool valid;

				program[HEAD + 1] = (struct sock_filter)BPF_STMT(codes[i], k);
				valid = prr_bpf_check(program, HEAD + 3 + TAIL);
				CHECK(install(program, HEAD + 3 + TAIL) == (valid ? 0 : EINVAL));
			}
		}
		for (uint8_t k = 0; k < 16; ++k) { /* either branch of a jump */
			bool valid;

			program[HEAD + 1] = (struct sock_filter)BPF_JUMP(
				BPF_JMP | BPF_JSET | BPF_X, 0, k / 2, k % 2 ? 0 : k / 2);
			valid = prr_bpf_check(program, HEAD + 3 + TAIL);
			CHECK(install(program, HEAD + 3 + TAIL) == (valid ? 0 : EINVAL));
		}
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(status == 0);
}

/* ------------------------------------------------------------- known answers */

static uint32_t run_one(const struct sock_filter *program, size_t count)
{
	struct seccomp_data data = {
		.nr = 39,
		.arch = AUDIT_ARCH_X86_64,
		.instruction_pointer = 0x1122334455667788,
		.args = { 0xa0a1a2a3a4a5a6a7 },
	};

	CHECK(prr_bpf_check(program, count));
	return prr_bpf_run(program, count, &data);
}

static void test_known_programs(void)
{
	const struct sock_filter pointer[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 8),
		BPF_STMT(BPF_RET | BPF_A, 0) };
	const struct sock_filter argument[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 20),
		BPF_STMT(BPF_RET | BPF_A, 0) };
	const struct sock_filter divide[] = { BPF_STMT(BPF_LD | BPF_IMM, 5),
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_filter scratch[] = { BPF_STMT(BPF_LD | BPF_MEM, 3),
		BPF_STMT(BPF_RET | BPF_A, 0) };
	const struct sock_filter loop[] = { BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff),
		BPF_STMT(BPF_RET | BPF_K, 0) };
	struct seccomp_data data = { 0 };

	CHECK(run_one(pointer, 2) == 0x55667788);
	CHECK(run_one(argument, 2) == 0xa0a1a2a3);
	CHECK(run_one(divide, 3) == SECCOMP_RET_KILL_THREAD);
	CHECK(!prr_bpf_check(scratch, 2));
	CHECK(!prr_bpf_check(loop, 2));
	CHECK(!prr_bpf_check(loop, 1));
	CHECK(!prr_bpf_check(loop, 0));
	/* Unchecked, they still stay inside and end. */
	CHECK(prr_bpf_run(loop, 2, &data) == SECCOMP_RET_KILL_PROCESS);
	CHECK(prr_bpf_run(scratch, 2, &data) == 0);
	CHECK(prr_bpf_run(scratch, 1, &data) == SECCOMP_RET_KILL_PROCESS);
	CHECK(prr_bpf_run(NULL, 0, &data) == SECCOMP_RET_KILL_PROCESS);
}

/* Never checked, run all the same: stays inside, ends (ASan watches). */
static void test_unchecked_programs(void)
{
	struct sock_filter program[MAX_BODY];
	struct seccomp_data data;

	for (int i = 0; i < 20000; ++i) {
		for (size_t pc = 0; pc < MAX_BODY; ++pc)
			program[pc] = (struct sock_filter){ (uint16_t)random_value(),
				(uint8_t)random_value(), (uint8_t)random_value(), random_value() };
		random_data(&data);
		(void)prr_bpf_check(program, MAX_BODY);
		(void)prr_bpf_run(program, MAX_BODY, &data);
	}
}

static void add_result(struct prr_seccomp_filters *filters, uint32_t result)
{
	const struct sock_filter program[] = { BPF_STMT(BPF_RET | BPF_K, result) };

	CHECK(prr_seccomp_filters_add(filters, program, 1) == 0);
}

static void test_precedence(void)
{
	static const uint32_t rising[] = { SECCOMP_RET_ALLOW, SECCOMP_RET_LOG, SECCOMP_RET_TRACE,
		SECCOMP_RET_USER_NOTIF, SECCOMP_RET_ERRNO, SECCOMP_RET_TRAP,
		SECCOMP_RET_KILL_THREAD, SECCOMP_RET_KILL_PROCESS };
	struct prr_seccomp_filters filters;
	struct seccomp_data data = { 0 };

	prr_seccomp_filters_init(&filters);
	CHECK(prr_seccomp_evaluate(&filters, &data) == SECCOMP_RET_ALLOW);
	for (uint32_t i = 1; i < sizeof rising / sizeof *rising; ++i) {
		add_result(&filters, rising[i] | i);
		CHECK(prr_seccomp_evaluate(&filters, &data) == (rising[i] | i));
		add_result(&filters, rising[i - 1] | 0x77); /* newer, but weaker */
		CHECK(prr_seccomp_evaluate(&filters, &data) == (rising[i] | i));
		add_result(&filters, rising[i] | 0x100 | i); /* a tie: the newest */
		CHECK(prr_seccomp_evaluate(&filters, &data) == (rising[i] | 0x100 | i));
	}
	prr_seccomp_filters_deinit(&filters);
	add_result(&filters, SECCOMP_RET_ERRNO | 0xffff);
	CHECK(prr_seccomp_evaluate(&filters, &data) == (SECCOMP_RET_ERRNO | 4095));
	add_result(&filters, 0x12345678); /* unknown, weaker than ERRNO */
	CHECK(prr_seccomp_evaluate(&filters, &data) == (SECCOMP_RET_ERRNO | 4095));
	add_result(&filters, 0x00045678); /* stronger than ERRNO, unknown */
	CHECK(prr_seccomp_evaluate(&filters, &data) == (SECCOMP_RET_KILL_PROCESS | 0x5678));
	prr_seccomp_filters_deinit(&filters);
}

static void test_sharing(void)
{
	struct prr_seccomp_filters parent, child, other;
	struct seccomp_data data = { 0 };

	prr_seccomp_filters_init(&parent);
	prr_seccomp_filters_init(&child);
	prr_seccomp_filters_init(&other);
	CHECK(prr_seccomp_filters_extend(&parent, &child));
	add_result(&parent, SECCOMP_RET_ERRNO | 1);
	prr_seccomp_filters_share(&child, &parent);
	CHECK(prr_seccomp_filters_extend(&child, &parent));
	add_result(&child, SECCOMP_RET_ERRNO | 2);
	add_result(&parent, SECCOMP_RET_ERRNO | 3);
	CHECK(prr_seccomp_evaluate(&child, &data) == (SECCOMP_RET_ERRNO | 2));
	CHECK(prr_seccomp_evaluate(&parent, &data) == (SECCOMP_RET_ERRNO | 3));
	CHECK(!prr_seccomp_filters_extend(&child, &parent));
	CHECK(prr_seccomp_filters_extend(&child, &other));
	CHECK(!prr_seccomp_filters_extend(&other, &child));
	prr_seccomp_filters_share(&parent, &parent);
	prr_seccomp_filters_deinit(&parent);
	CHECK(prr_seccomp_evaluate(&child, &data) == (SECCOMP_RET_ERRNO | 2));
	prr_seccomp_filters_share(&child, &other);
	CHECK(prr_seccomp_evaluate(&child, &data) == SECCOMP_RET_ALLOW);
	prr_seccomp_filters_deinit(&child);
	prr_seccomp_filters_deinit(&other);
}

static void test_path_limit(void)
{
	struct prr_seccomp_filters filters;
	struct sock_filter program[BPF_MAXINSNS];
	int added = 0;

	prr_seccomp_filters_init(&filters);
	for (size_t i = 0; i < BPF_MAXINSNS; ++i)
		program[i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	while (prr_seccomp_filters_add(&filters, program, BPF_MAXINSNS) == 0)
		++added;
	CHECK(added == 7); /* 8 * 4096 and the penalties are over 32768 */
	CHECK(prr_seccomp_filters_add(&filters, program, BPF_MAXINSNS) == ENOMEM);
	CHECK(prr_seccomp_filters_add(&filters, program, BPF_MAXINSNS + 1) == EINVAL);
	CHECK(prr_seccomp_filters_add(&filters, program, 1) == 0);
	prr_seccomp_filters_deinit(&filters);
}

static bool can_install(void)
{
	const struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(install(allow, 1) == 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	return status != 0;
}

int main(void)
{
	test_known_programs();
	test_unchecked_programs();
	test_precedence();
	test_sharing();
	test_path_limit();
	if (!can_install()) {
		fprintf(stderr,
			"test_bpf: skipped the comparison: "
			"seccomp filters are forbidden here\n");
		return 0;
	}
	test_bounds_against_kernel();
	test_check_against_kernel();
	test_against_kernel();
	return 0;
}
