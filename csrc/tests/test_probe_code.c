/* sources: shared/cpu.c shared/e*.c shared/insn_*.c shared/probe_[ce]*.c libs: -lZydis -lZycore */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * Stubs of probes, run in this very process: with and without one an instruction does
 * the same to all registers, flags and memory, and traps come exactly when asked for.
 * PYRR_TEST_SEED chooses other random cases. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cpuid.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "probe_code.h"

static const char *subject = "-"; /* what is being tested */
static uint64_t seed = 1;

#define CHECK(condition)                                                                       \
	do {                                                                                   \
		if (!(condition)) {                                                            \
			fprintf(stderr, "%s:%d: %s: not true: %s (%s, seed %llu)\n", __FILE__, \
				__LINE__, __func__, #condition, subject,                       \
				(unsigned long long)seed);                                     \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

static uint64_t random_state;

static uint64_t random_next(void) /* xorshift64 */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void random_fill(void *at, size_t len)
{
	for (size_t i = 0; i < len; ++i)
		((uint8_t *)at)[i] = (uint8_t)(random_next() >> 24);
}

/* ------------------------------------------------- running code of the test's */

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R15 = 15, GPRS = 16 };
enum { XSAVE_LEN = 4096, MXCSR = 24, OPMASKS = 64, ZMM_HIGHS = 512, ZMM_16S = 1024 };
enum { CF = 1, TRAP_MAX = 8 };

/* Named by the assembly below, hence not static. */
uint64_t test_in[GPRS + 1], test_out[GPRS + 1]; /* the last: flags */
uint8_t test_in_xsave[XSAVE_LEN] __attribute__((aligned(64)));
uint8_t test_out_xsave[XSAVE_LEN] __attribute__((aligned(64)));
uint8_t test_host_xsave[XSAVE_LEN] __attribute__((aligned(64)));
uint64_t test_host_rsp, test_site;
uint32_t test_mask; /* of state components: 3, with AVX 7, with AVX-512 0xe7 */
static struct prr_probe_cpu cpu, use; /* what there is; what stubs are to use of it */

void test_enter(void); /* loads test_in, jumps to test_site; returns by test_leave */
void test_leave(void); /* to be jumped to */

__asm__(".text\n"
	"test_enter:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	mov %rsp, test_host_rsp(%rip)\n"
	"	mov test_mask(%rip), %eax; xor %edx, %edx\n"
	"	xsave64 test_host_xsave(%rip)\n"
	"	xrstor64 test_in_xsave(%rip)\n"
	"	push test_in+128(%rip); popfq\n"
	"	mov test_in(%rip), %rax; mov test_in+8(%rip), %rcx\n"
	"	mov test_in+16(%rip), %rdx; mov test_in+24(%rip), %rbx\n"
	"	mov test_in+32(%rip), %rsp; mov test_in+40(%rip), %rbp\n"
	"	mov test_in+48(%rip), %rsi; mov test_in+56(%rip), %rdi\n"
	"	mov test_in+64(%rip), %r8; mov test_in+72(%rip), %r9\n"
	"	mov test_in+80(%rip), %r10; mov test_in+88(%rip), %r11\n"
	"	mov test_in+96(%rip), %r12; mov test_in+104(%rip), %r13\n"
	"	mov test_in+112(%rip), %r14; mov test_in+120(%rip), %r15\n"
	"	jmp *test_site(%rip)\n"
	"test_leave:\n"
	"	mov %rax, test_out(%rip); mov %rcx, test_out+8(%rip)\n"
	"	mov %rdx, test_out+16(%rip); mov %rbx, test_out+24(%rip)\n"
	"	mov %rsp, test_out+32(%rip); mov %rbp, test_out+40(%rip)\n"
	"	mov %rsi, test_out+48(%rip); mov %rdi, test_out+56(%rip)\n"
	"	mov %r8, test_out+64(%rip); mov %r9, test_out+72(%rip)\n"
	"	mov %r10, test_out+80(%rip); mov %r11, test_out+88(%rip)\n"
	"	mov %r12, test_out+96(%rip); mov %r13, test_out+104(%rip)\n"
	"	mov %r14, test_out+112(%rip); mov %r15, test_out+120(%rip)\n"
	"	mov test_host_rsp(%rip), %rsp\n"
	"	pushfq; pop test_out+128(%rip)\n"
	"	cld\n"
	"	mov test_mask(%rip), %eax; xor %edx, %edx\n"
	"	xsave64 test_out_xsave(%rip)\n"
	"	xrstor64 test_host_xsave(%rip)\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n");

/* A page of code, one of data, one of stack: far from everything else. */
enum { PAGE = 4096, DATA = PAGE, STACK = 2 * PAGE, PROGRAM_LEN = 3 * PAGE };
enum {
	SITE = 0x200,
	TAKEN = 0x250, /* the branch target */
	RETURNS = 0x270,
	LEAVE_POINTER = DATA,
	PATH = DATA + 16,
	TAKEN_POINTER = DATA + 32,
	SCRATCH = DATA + 2048 /* the instruction's memory operand */
};
#define PROGRAM UINT64_C(0x200000000000)
#define STUB_PAGES 4

static uint8_t *program;
static uint8_t program_memory[2 * PAGE]; /* what data and stack hold at the start */

/* Bytes that the program goes on with behind the instruction: punned displacements. */
static const struct {
	uint8_t len, bytes[5];
} fillers[] = {
	{ 0, { 0 } },
	{ 1, { 0x90 } },
	{ 2, { 0x66, 0x90 } },
	{ 3, { 0x0f, 0x1f, 0x00 } },
	{ 5, { 0x0f, 0x1f, 0x44, 0, 0 } },
};

enum fix { NONE, TO_DATA, TO_POINTER, TO_TAKEN8, TO_TAKEN, TO_RETURNS };
enum special { RCX_TAKEN = 1, STACK_FLAGS = 2, NEEDS_AVX = 4 };

static const struct form {
	const char *name;
	uint8_t bytes[15], len;
	uint8_t fix, fix_at; /* a displacement to fill in */
	uint8_t special;
} forms[] = {
	{ "nop", { 0x90 }, 1, NONE, 0, 0 },
	{ "push rcx", { 0x51 }, 1, NONE, 0, 0 },
	{ "pop rcx", { 0x59 }, 1, NONE, 0, 0 },
	{ "push rsp", { 0x54 }, 1, NONE, 0, 0 },
	{ "pushfq", { 0x9c }, 1, NONE, 0, 0 },
	{ "popfq", { 0x9d }, 1, NONE, 0, STACK_FLAGS },
	{ "leave", { 0xc9 }, 1, NONE, 0, 0 },
	{ "ret", { 0xc3 }, 1, NONE, 0, 0 },
	{ "ret 16", { 0xc2, 16, 0 }, 3, NONE, 0, 0 },
	{ "rep ret", { 0xf3, 0xc3 }, 2, NONE, 0, 0 },
	{ "movsb", { 0xa4 }, 1, NONE, 0, 0 },
	{ "stosq", { 0x48, 0xab }, 2, NONE, 0, 0 },
	{ "xchg ecx, eax", { 0x91 }, 1, NONE, 0, 0 },
	{ "stc", { 0xf9 }, 1, NONE, 0, 0 },
	{ "push 5", { 0x6a, 5 }, 2, NONE, 0, 0 },
	{ "xor ecx, ecx", { 0x31, 0xc9 }, 2, NONE, 0, 0 },
	{ "mov al, 3", { 0xb0, 3 }, 2, NONE, 0, 0 },
	{ "jmp rcx", { 0xff, 0xe1 }, 2, NONE, 0, RCX_TAKEN },
	{ "notrack jmp rcx", { 0x3e, 0xff, 0xe1 }, 3, NONE, 0, RCX_TAKEN },
	{ "jmp short", { 0xeb }, 2, TO_TAKEN8, 1, 0 },
	{ "jo short", { 0x70 }, 2, TO_TAKEN8, 1, 0 },
	{ "jc short", { 0x72 }, 2, TO_TAKEN8, 1, 0 },
	{ "je short", { 0x74 }, 2, TO_TAKEN8, 1, 0 },
	{ "jne short", { 0x75 }, 2, TO_TAKEN8, 1, 0 },
	{ "ja short", { 0x77 }, 2, TO_TAKEN8, 1, 0 },
	{ "js short", { 0x78 }, 2, TO_TAKEN8, 1, 0 },
	{ "jp short", { 0x7a }, 2, TO_TAKEN8, 1, 0 },
	{ "jg short", { 0x7f }, 2, TO_TAKEN8, 1, 0 },
	{ "hinted jl short", { 0x2e, 0x7c }, 3, TO_TAKEN8, 2, 0 },
	{ "bnd jc near", { 0xf2, 0x0f, 0x82 }, 7, TO_TAKEN, 3, 0 },
	{ "jbe near", { 0x0f, 0x86 }, 6, TO_TAKEN, 2, 0 },
	{ "jnl near", { 0x0f, 0x8d }, 6, TO_TAKEN, 2, 0 },
	{ "jmp near", { 0xe9 }, 5, TO_TAKEN, 1, 0 },
	{ "call", { 0xe8 }, 5, TO_TAKEN, 1, 0 },
	{ "call that returns", { 0xe8 }, 5, TO_RETURNS, 1, 0 },
	{ "bnd call", { 0xf2, 0xe8 }, 6, TO_TAKEN, 2, 0 },
	{ "jmp [rip]", { 0xff, 0x25 }, 6, TO_POINTER, 2, 0 },
	{ "push [rip]", { 0xff, 0x35 }, 6, TO_DATA, 2, 0 },
	{ "add rcx, rax", { 0x48, 0x01, 0xc1 }, 3, NONE, 0, 0 },
	{ "sbb rcx, rdx", { 0x48, 0x19, 0xd1 }, 3, NONE, 0, 0 },
	{ "mul rcx", { 0x48, 0xf7, 0xe1 }, 3, NONE, 0, 0 },
	{ "shl rdx, cl", { 0x48, 0xd3, 0xe2 }, 3, NONE, 0, 0 },
	{ "sete cl", { 0x0f, 0x94, 0xc1 }, 3, NONE, 0, 0 },
	{ "bswap rcx", { 0x48, 0x0f, 0xc9 }, 3, NONE, 0, 0 },
	{ "xchg [rbx], rcx", { 0x48, 0x87, 0x0b }, 3, NONE, 0, 0 },
	{ "cmovc rcx, r9", { 0x49, 0x0f, 0x42, 0xc9 }, 4, NONE, 0, 0 },
	{ "add rsp, 8", { 0x48, 0x83, 0xc4, 8 }, 4, NONE, 0, 0 },
	{ "enter 32, 0", { 0xc8, 32, 0, 0 }, 4, NONE, 0, 0 },
	{ "adc rdx, 1", { 0x48, 0x83, 0xd2, 1 }, 4, NONE, 0, 0 },
	{ "endbr64", { 0xf3, 0x0f, 0x1e, 0xfa }, 4, NONE, 0, 0 },
	{ "paddd xmm1, xmm2", { 0x66, 0x0f, 0xfe, 0xca }, 4, NONE, 0, 0 },
	{ "vzeroupper", { 0xc5, 0xf8, 0x77 }, 3, NONE, 0, NEEDS_AVX },
	{ "vxorps ymm3, ymm4, ymm5", { 0xc5, 0xdc, 0x57, 0xdd }, 4, NONE, 0, NEEDS_AVX },
	{ "lock xadd [rbx], rcx", { 0xf0, 0x48, 0x0f, 0xc1, 0x0b }, 5, NONE, 0, 0 },
	{ "cmpxchg [rbx], rcx", { 0x48, 0x0f, 0xb1, 0x0b }, 4, NONE, 0, 0 },
	{ "mov rcx, [rsp - 8]", { 0x48, 0x8b, 0x4c, 0x24, 0xf8 }, 5, NONE, 0, 0 },
	{ "mov [rsp - 128], rcx", { 0x48, 0x89, 0x4c, 0x24, 0x80 }, 5, NONE, 0, 0 },
	{ "push imm32", { 0x68, 1, 2, 3, 0x84 }, 5, NONE, 0, 0 },
	{ "mov ecx, imm32", { 0xb9, 1, 2, 3, 4 }, 5, NONE, 0, 0 },
	{ "lea rcx, [rip]", { 0x48, 0x8d, 0x0d }, 7, TO_DATA, 3, 0 },
	{ "mov rcx, [rip]", { 0x48, 0x8b, 0x0d }, 7, TO_DATA, 3, 0 },
	{ "cmp byte [rip], 7", { 0x80, 0x3d, 0, 0, 0, 0, 7 }, 7, TO_DATA, 2, 0 },
	{ "add qword [rip], -3", { 0x48, 0x83, 0x05, 0, 0, 0, 0, 0xfd }, 8, TO_DATA, 3, 0 },
	{ "mov dword [rip], imm", { 0xc7, 0x05, 0, 0, 0, 0, 9, 8, 7, 6 }, 10, TO_DATA, 2, 0 },
	{ "movups xmm9, [rip]", { 0x44, 0x0f, 0x10, 0x0d }, 8, TO_DATA, 4, 0 },
	{ "vpaddd ymm2, ymm1, [rip]", { 0xc5, 0xf5, 0xfe, 0x15 }, 8, TO_DATA, 4, NEEDS_AVX },
	{ "mov rcx, imm64", { 0x48, 0xb9, 1, 2, 3, 4, 5, 6, 7, 8 }, 10, NONE, 0, 0 },
	{ "mov eax, fs:[0]", { 0x64, 0x8b, 0x04, 0x25, 0, 0, 0, 0 }, 8, NONE, 0, 0 },
	{ "15 bytes", { 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 1, 0, 0 },
		15, NONE, 0, 0 },
};
enum { FORM_COUNT = sizeof forms / sizeof forms[0] };

static void put32(size_t at, uint32_t value)
{
	memcpy(program + at, &value, sizeof value);
}

/* path = value; jmp [leave] */
static void build_exit(size_t at, uint32_t path)
{
	program[at] = 0xc7;
	program[at + 1] = 0x05;
	put32(at + 2, (uint32_t)(PATH - (at + 10)));
	put32(at + 6, path);
	program[at + 10] = 0xff;
	program[at + 11] = 0x25;
	put32(at + 12, (uint32_t)(LEAVE_POINTER - (at + 16)));
}

static void build_program(const struct form *form)
{
	static const uint16_t targets[] = { [TO_DATA] = SCRATCH,
		[TO_POINTER] = TAKEN_POINTER,
		[TO_TAKEN8] = TAKEN,
		[TO_TAKEN] = TAKEN,
		[TO_RETURNS] = RETURNS };
	size_t end = SITE + form->len;
	size_t filler = random_next() % (sizeof fillers / sizeof fillers[0]);

	memset(program, 0xcc, PAGE);
	memcpy(program + SITE, form->bytes, form->len);
	if (form->fix == TO_TAKEN8)
		program[SITE + form->fix_at] = (uint8_t)(TAKEN - end);
	else if (form->fix != NONE)
		put32(SITE + form->fix_at, (uint32_t)(targets[form->fix] - end));
	memcpy(program + end, fillers[filler].bytes, fillers[filler].len);
	build_exit(end + fillers[filler].len, 1);
	build_exit(TAKEN, 2);
	program[RETURNS] = 0xc3;
}

/* AVX-512's components are in their initial state, or not. */
static void make_components(void)
{
	uint32_t present = test_mask;

	if (cpu.avx512 && random_next() % 4 == 0)
		present &= ~((uint32_t)random_next() & 0xe0);
	if (cpu.avx512 && !(present & 0x20))
		memset(test_in_xsave + cpu.opmask_at, 0, OPMASKS);
	if (cpu.avx512 && !(present & 0x40))
		memset(test_in_xsave + cpu.zmm_high_at, 0, ZMM_HIGHS);
	if (cpu.avx512 && !(present & 0x80))
		memset(test_in_xsave + cpu.zmm_16_at, 0, ZMM_16S);
	for (size_t i = 0; cpu.avx512 && !cpu.avx512bw && i < OPMASKS; i += 8)
		memset(test_in_xsave + cpu.opmask_at + i + 2, 0, 6);
	memcpy(test_in_xsave + 512, &present, sizeof present);
}

/* Random registers and memory, but for pointers that the forms use. */
static void make_input(const struct form *form)
{
	uint64_t leave = (uint64_t)(uintptr_t)test_leave, taken = PROGRAM + TAKEN;
	uint16_t fcw = 0x37f, fsw = (uint16_t)random_next() & 0x7f3f, zero = 0;
	uint32_t mxcsr = 0x1f80 | (random_next() & 0xe03f);
	uint64_t *stack;

	random_fill(program_memory, sizeof program_memory);
	random_fill(test_in, sizeof test_in);
	test_in[RBX] = PROGRAM + SCRATCH + random_next() % 64;
	test_in[RSI] = PROGRAM + SCRATCH - random_next() % 64;
	test_in[RDI] = PROGRAM + SCRATCH + 256 + random_next() % 64;
	test_in[RBP] = PROGRAM + STACK + 2048;
	test_in[RSP] = PROGRAM + STACK + 1024 + random_next() % 64 * 8;
	if (form->special & RCX_TAKEN)
		test_in[RCX] = taken;
	test_in[GPRS] = (test_in[GPRS] & 0xcd5) | 0x202; /* status flags and DF */
	memcpy(program_memory + LEAVE_POINTER - DATA, &leave, sizeof leave);
	memcpy(program_memory + TAKEN_POINTER - DATA, &taken, sizeof taken);
	stack = (uint64_t *)(program_memory + (test_in[RSP] - PROGRAM - DATA));
	*stack = form->special & STACK_FLAGS ? (random_next() & 0xcd5) | 0x202 : taken;

	random_fill(test_in_xsave, sizeof test_in_xsave);
	memset(test_in_xsave, 0, 32);
	memset(test_in_xsave + 416, 0, 576 - 416);
	memcpy(test_in_xsave, &fcw, sizeof fcw);
	memcpy(test_in_xsave + 2, &fsw, sizeof fsw);
	test_in_xsave[4] = (uint8_t)random_next();
	memcpy(test_in_xsave + MXCSR, &mxcsr, sizeof mxcsr);
	for (size_t i = 0; i < 8; ++i)
		for (size_t j = 10; j < 16; j += 2)
			memcpy(test_in_xsave + 32 + 16 * i + j, &zero, sizeof zero);
	make_components();
}

struct outcome {
	uint64_t regs[GPRS + 1];
	uint8_t xsave[XSAVE_LEN];
	uint8_t memory[2 * PAGE];
};

static void run(struct outcome *ret)
{
	memcpy(program + DATA, program_memory, sizeof program_memory);
	test_site = PROGRAM + SITE;
	test_enter();
	memset(ret, 0, sizeof *ret);
	memcpy(ret->regs, test_out, sizeof test_out);
	memcpy(ret->memory, program + DATA, sizeof ret->memory);
	memcpy(ret->xsave, test_out_xsave, sizeof test_out_xsave);
	memset(ret->xsave + 6, 0, 18);
	memset(ret->xsave + 416, 0, 576 - 416);
}

/* ------------------------------------------------------------------- traps */

static struct {
	unsigned int count;
	uint64_t rip[TRAP_MAX], regs[TRAP_MAX][GPRS + 1];
} traps;

static void on_trap(int signal, siginfo_t *info, void *data)
{
	static const int order[GPRS + 1] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
		REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14,
		REG_R15, REG_EFL };
	const greg_t *regs = ((const ucontext_t *)data)->uc_mcontext.gregs;

	(void)signal;
	(void)info;
	if (traps.count < TRAP_MAX) {
		traps.rip[traps.count] = (uint64_t)regs[REG_RIP];
		for (size_t i = 0; i <= GPRS; ++i)
			traps.regs[traps.count][i] = (uint64_t)regs[order[i]];
	}
	++traps.count;
}

static void handle_traps(void)
{
	static uint8_t stack[1 << 16];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	CHECK(sigaltstack(&other, NULL) == 0);
	CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
}

/* ------------------------------------------------------------------ probes */

struct space {
	unsigned int calls, refuse; /* the first `refuse` calls find nothing */
	uint64_t start, len;
};

static bool map_if_free(void *context, uint64_t start, uint64_t len)
{
	struct space *space = context;
	void *want = (void *)(uintptr_t)start, *got;

	if (space->calls++ < space->refuse)
		return false;
	CHECK(start % PAGE == 0 && len == STUB_PAGES * PAGE);
	got = mmap(want, len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (got != want) {
		if (got != MAP_FAILED)
			munmap(got, len);
		return false;
	}
	space->start = start;
	space->len = len;
	return true;
}

struct probe { /* one that stands at the program's site */
	struct prr_probe_insn insn;
	struct prr_probe_stub stub;
	struct space space;
	uint64_t code_addr;
	uint64_t *counter;
	uint8_t original[PRR_PROBE_PATCH_MAX];
};

static void plant(struct probe *probe, uint32_t kind, const struct prr_probe_test *tests,
	size_t test_count, uint64_t counter)
{
	struct prr_probe_request request = { .insn = &probe->insn,
		.kind = kind,
		.tests = tests,
		.test_count = test_count,
		.cpu = use };
	uint8_t *at = program + (probe->insn.addr - PROGRAM);

	CHECK(prr_probe_place(
		&probe->insn, STUB_PAGES * PAGE, map_if_free, &probe->space, &probe->code_addr));
	CHECK(probe->code_addr / PAGE * PAGE == probe->space.start);
	request.code_addr = probe->code_addr;
	request.data_addr = probe->space.start + (STUB_PAGES - 1) * PAGE;
	CHECK(prr_probe_generate(&request, &probe->stub));
	CHECK(probe->code_addr + probe->stub.code_len <= request.data_addr);
	memcpy((void *)(uintptr_t)probe->code_addr, probe->stub.code, probe->stub.code_len);
	CHECK(mprotect((void *)(uintptr_t)probe->space.start, (STUB_PAGES - 1) * PAGE,
		      PROT_READ | PROT_EXEC) == 0);
	probe->counter = (uint64_t *)(uintptr_t)(request.data_addr + PRR_PROBE_DATA_COUNTER);
	*probe->counter = counter;
	memcpy(probe->original, at, sizeof probe->original);
	CHECK(probe->stub.patch_len <= probe->insn.length && probe->stub.patch_len <= 5);
	CHECK(memcmp(at + probe->stub.patch_len, probe->stub.patch + probe->stub.patch_len,
		      5U - probe->stub.patch_len) == 0 ||
		probe->stub.patch_len == 5);
	memcpy(at, probe->stub.patch, probe->stub.patch_len);
}

static void remove_probe(struct probe *probe)
{
	memcpy(program + (probe->insn.addr - PROGRAM), probe->original, sizeof probe->original);
	CHECK(munmap((void *)(uintptr_t)probe->space.start, probe->space.len) == 0);
}

static void init_probe(struct probe *probe, size_t offset)
{
	memset(probe, 0, sizeof *probe);
	CHECK(prr_probe_decode(PROGRAM + offset, program + offset, 24, &probe->insn));
	CHECK(probe->insn.known == 24);
}

static void expect_trap(const struct probe *probe)
{
	CHECK(traps.count == 1);
	CHECK(traps.rip[0] == probe->code_addr + probe->stub.after_trap);
	CHECK(memcmp(traps.regs[0], test_in, sizeof test_in) == 0);
}

static void try_count(const struct form *form)
{
	struct outcome expected, got;
	struct probe probe;
	unsigned int hits = 1 + random_next() % 5;

	build_program(form);
	make_input(form);
	run(&expected);
	init_probe(&probe, SITE);
	CHECK(probe.insn.length == form->len);
	probe.space.refuse = form->len >= 4 ? random_next() % 20 : 0;
	plant(&probe, PRR_PROBE_COUNT, NULL, 0, hits);
	for (unsigned int hit = 1; hit <= hits + 2; ++hit) {
		traps.count = 0;
		run(&got);
		CHECK(memcmp(&got, &expected, sizeof got) == 0);
		CHECK(*probe.counter == (uint64_t)hits - hit);
		if (hit == hits)
			expect_trap(&probe);
		else
			CHECK(traps.count == 0);
	}
	remove_probe(&probe);
	run(&got);
	CHECK(memcmp(&got, &expected, sizeof got) == 0);
}

/* What a test of this finds: 16 bits of an opmask if there are no more. */
static uint32_t xsave_word(uint32_t index)
{
	uint32_t ret;

	memcpy(&ret, test_in_xsave + index, sizeof ret);
	if (use.avx512 && !use.avx512bw && index - use.opmask_at < OPMASKS)
		ret &= 0xffff;
	return ret;
}

/* Less than there is, now and then. */
static void choose_use(void)
{
	use = cpu;
	if (random_next() % 4 == 0)
		use.avx = false;
	if (random_next() % 8 == 0)
		use.avx512 = false;
	if (random_next() % 8 == 0)
		use.avx512bw = false;
}

/* One that holds. */
static void random_test(struct prr_probe_test *test)
{
	uint32_t words[] = { 0, 1, 2, MXCSR };

	memset(test, 0, sizeof *test);
	test->kind = random_next() % 4;
	test->index = random_next() % 16;
	switch (test->kind) {
	case PRR_PROBE_TEST_REG:
		test->value = (uint32_t)test_in[test->index];
		break;
	case PRR_PROBE_TEST_REG_HIGH:
		test->value = (uint32_t)(test_in[test->index] >> 32);
		break;
	case PRR_PROBE_TEST_WORD:
		test->addr = PROGRAM + DATA + random_next() % (2 * PAGE - 3);
		memcpy(&test->value, program_memory + (test->addr - PROGRAM - DATA), 4);
		break;
	default:
		switch (random_next() % (use.avx512 ? 8 : 4)) {
		case 0:
			test->index = 32 + random_next() % 32 * 4;
			break;
		case 1:
			test->index = words[random_next() % 4];
			break;
		default:
			test->index = 160 + random_next() % 64 * 4;
			break;
		case 3:
			test->index = (use.avx ? 576 : 160) + random_next() % 64 * 4;
			break;
		case 4:
			test->index = use.opmask_at + random_next() % 8 * 8;
			test->index += use.avx512bw ? random_next() % 2 * 4 : 0;
			break;
		case 5:
			test->index = use.zmm_high_at + random_next() % (ZMM_HIGHS / 4) * 4;
			break;
		case 6:
			test->index = use.zmm_16_at + random_next() % (ZMM_16S / 4) * 4;
			break;
		}
		test->value = xsave_word(test->index);
		break;
	}
	CHECK(prr_probe_can_test(test, &use));
}

static void try_match(const struct form *form)
{
	struct prr_probe_test tests[PRR_PROBE_TESTS_MAX];
	bool holds = random_next() % 2;
	size_t count = random_next() % (random_next() % 8 ? 12 : PRR_PROBE_TESTS_MAX + 1);
	struct outcome expected, got;
	struct probe probe;

	build_program(form);
	make_input(form);
	run(&expected);
	choose_use();
	for (size_t i = 0; i < count; ++i)
		random_test(&tests[i]);
	if (count == 0)
		holds = true;
	else if (!holds)
		tests[random_next() % count].value ^= 1U << random_next() % 32;
	init_probe(&probe, SITE);
	plant(&probe, PRR_PROBE_MATCH, tests, count, 7);
	for (unsigned int hit = 1; hit <= 2; ++hit) {
		traps.count = 0;
		run(&got);
		CHECK(memcmp(&got, &expected, sizeof got) == 0);
		CHECK(*probe.counter == 7);
		if (holds)
			expect_trap(&probe);
		else
			CHECK(traps.count == 0);
	}
	remove_probe(&probe);
}

static bool can_run(const struct form *form)
{
	subject = form->name;
	return !(form->special & NEEDS_AVX) || (test_mask & 4);
}

static void test_forms(void)
{
	for (size_t i = 0; i < FORM_COUNT; ++i) {
		for (int repeat = 0; can_run(&forms[i]) && repeat < 8; ++repeat) {
			try_count(&forms[i]);
			try_match(&forms[i]);
		}
	}
}

static void test_random(void)
{
	for (int i = 0; i < 4000; ++i) {
		const struct form *form = &forms[random_next() % FORM_COUNT];

		if (!can_run(form))
			continue;
		if (random_next() % 4 == 0)
			try_count(form);
		else
			try_match(form);
	}
	subject = "-";
}

/* Every test in turn holds alone, and fails with each of its bits. */
static void try_single(const struct prr_probe_test *test, bool holds)
{
	struct outcome got;
	struct probe probe;

	init_probe(&probe, SITE);
	plant(&probe, PRR_PROBE_MATCH, test, 1, 0);
	traps.count = 0;
	run(&got);
	CHECK(traps.count == (holds ? 1 : 0));
	remove_probe(&probe);
}

static void try_bits(struct prr_probe_test *test)
{
	try_single(test, true);
	for (unsigned int bit = 0; bit < 32; ++bit) {
		test->value ^= 1U << bit;
		try_single(test, false);
		test->value ^= 1U << bit;
	}
}

static void test_single_tests(bool avx512bw)
{
	struct prr_probe_test test;

	build_program(&forms[0]);
	do
		make_input(&forms[0]);
	while (memcmp(test_in_xsave + 512, &test_mask, sizeof test_mask) != 0);
	use = cpu;
	use.avx512bw = avx512bw;
	for (size_t i = 0; i < 32; ++i) {
		uint32_t kind = i < 16 ? PRR_PROBE_TEST_REG : PRR_PROBE_TEST_REG_HIGH;

		test = (struct prr_probe_test){ .kind = kind, .index = i % 16 };
		test.value = (uint32_t)(test_in[i % 16] >> (i < 16 ? 0 : 32));
		try_bits(&test);
	}
	for (uint32_t i = 0; i < XSAVE_LEN; ++i) {
		test = (struct prr_probe_test){ .kind = PRR_PROBE_TEST_XSTATE, .index = i };
		if (prr_probe_can_test(&test, &use) && (i % 4 == 0 || i % 16 <= 3)) {
			test.value = xsave_word(i);
			try_bits(&test);
		}
	}
}

/* ------------------------------------------------------------------- costs */

static double loop_seconds(void)
{
	double best = 1e9;

	for (int i = 0; i < 5; ++i) {
		struct timespec from, to;
		double seconds;

		clock_gettime(CLOCK_MONOTONIC, &from);
		test_enter();
		clock_gettime(CLOCK_MONOTONIC, &to);
		seconds = (double)(to.tv_sec - from.tv_sec) +
			(double)(to.tv_nsec - from.tv_nsec) / 1e9;
		best = seconds < best ? seconds : best;
	}
	return best;
}

/* Prints what a hit costs in a loop of three instructions: for comparison, no test. */
static void print_costs(void)
{
	static const uint8_t loop[] = { 0x48, 0x81, 0xc2, 1, 0, 0, 0, /* add rdx, 1 */
		0x48, 0xff, 0xc8, /* dec rax */ 0x75, 0xf4, /* jne */ 0xff, 0x25 };
	enum { XSTATE = PRR_PROBE_TEST_XSTATE };
	const struct {
		const char *name;
		size_t at; /* of the probe: the add, or the jne */
		struct prr_probe_test test;
	} cases[] = { { "COUNT", 0, { .kind = 99 } }, { "COUNT, punned jne", 10, { .kind = 99 } },
		{ "MATCH reg", 0, { .kind = PRR_PROBE_TEST_REG, .index = RBX } },
		{ "MATCH reg, punned jne", 10, { .kind = PRR_PROBE_TEST_REG, .index = RBX } },
		{ "MATCH rcx", 0, { .kind = PRR_PROBE_TEST_REG, .index = RCX } },
		{ "MATCH reg high", 0, { .kind = PRR_PROBE_TEST_REG_HIGH, .index = RBX } },
		{ "MATCH word", 0, { .kind = PRR_PROBE_TEST_WORD, .addr = PROGRAM + SCRATCH } },
		{ "MATCH xmm", 0, { .kind = XSTATE, .index = 164 } },
		{ "MATCH x87", 0, { .kind = XSTATE, .index = 36 } },
		{ "MATCH ymm high", 0, { .kind = XSTATE, .index = 596 } },
		{ "MATCH zmm high", 0, { .kind = XSTATE, .index = cpu.zmm_high_at + 20 } },
		{ "MATCH zmm17", 0, { .kind = XSTATE, .index = cpu.zmm_16_at + 124 } },
		{ "MATCH k", 0, { .kind = XSTATE, .index = cpu.opmask_at + 8 } },
		{ "MATCH k high", 0, { .kind = XSTATE, .index = cpu.opmask_at + 12 } } };
	enum { ROUNDS = 2000000 };
	double base;

	make_input(&forms[0]);
	memset(program, 0xcc, PAGE);
	memcpy(program + SITE, loop, sizeof loop);
	put32(SITE + sizeof loop, (uint32_t)(LEAVE_POINTER - (SITE + sizeof loop + 4)));
	memcpy(program + DATA, program_memory, sizeof program_memory);
	test_site = PROGRAM + SITE;
	test_in[RAX] = ROUNDS;
	use = cpu;
	base = loop_seconds();
	printf("bare loop: %.2f ns a round\n", base / ROUNDS * 1e9);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0] - (cpu.avx512 ? 0 : 4); ++i) {
		struct prr_probe_test test = cases[i].test;
		struct probe probe;
		uint32_t now = (uint32_t)test_in[test.index % 16];

		if (test.kind == PRR_PROBE_TEST_REG_HIGH)
			now = (uint32_t)(test_in[test.index] >> 32);
		else if (test.kind == PRR_PROBE_TEST_WORD)
			memcpy(&now, program_memory + SCRATCH - DATA, sizeof now);
		else if (test.kind == PRR_PROBE_TEST_XSTATE)
			now = xsave_word(test.index);
		test.value = ~now;
		if (test.kind != 99 && !prr_probe_can_test(&test, &use))
			continue;
		init_probe(&probe, SITE + cases[i].at);
		traps.count = 0;
		plant(&probe, test.kind == 99 ? PRR_PROBE_COUNT : PRR_PROBE_MATCH, &test, 1,
			1U << 30);
		printf("%-22s %6.2f ns a hit more\n", cases[i].name,
			(loop_seconds() - base) / ROUNDS * 1e9);
		CHECK(traps.count == 0);
		remove_probe(&probe);
	}
}

int main(void)
{
	const char *chosen = getenv("PYRR_TEST_SEED");
	uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;

	if (chosen)
		seed = strtoull(chosen, NULL, 0);
	random_state = 88172645463325252U ^ (seed * 0x9e3779b97f4a7c15U);
	printf("seed %llu\n", (unsigned long long)seed);
	__cpuid(1, eax, ebx, ecx, edx);
	if (!(ecx & bit_OSXSAVE)) {
		printf("skipped: no xsave\n");
		return 0;
	}
	prr_probe_cpu(&cpu);
	CHECK(cpu.avx == (__builtin_cpu_supports("avx") != 0));
	CHECK(cpu.avx512 == (__builtin_cpu_supports("avx512f") != 0));
	test_mask = 3U | (cpu.avx ? 4 : 0) | (cpu.avx512 ? 0xe0 : 0);
	if (!cpu.avx512)
		printf("not tested: AVX-512, this machine has none\n");
	program = mmap((void *)(uintptr_t)PROGRAM, PROGRAM_LEN, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(program == (void *)(uintptr_t)PROGRAM);
	handle_traps();
	test_forms();
	test_random();
	test_single_tests(cpu.avx512bw);
	if (cpu.avx512bw)
		test_single_tests(false);
	print_costs();
	return 0;
}
