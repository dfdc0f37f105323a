/* SPDX-License-Identifier: GPL-2.0-or-later
 * Machine code of probes: an instruction of the program is replaced by a jump to
 * a stub, which decides without a stop whether the task is to stop there, and
 * else executes the displaced instruction and jumps back.
 *
 * Pure: works on bytes and addresses, touches no tracee (probe.h does).
 *
 * Invariants
 *  - The patch lies within ONE instruction: 5 bytes of `jmp rel32`, or, where the
 *    instruction is shorter, a *punned* jump, whose high displacement bytes are the bytes that
 *    follow the instruction, unchanged. So no branch target and no other task's rip can
 *    lie inside what is written.
 *  - A stub changes no register, flag, or byte of stack (red zone included) of the
 *    program; it uses rcx, saved in its data page, and flag-free instructions
 *    (mov, lea, jrcxz). At the trap and at the displaced instruction all of the
 *    program's registers hold the program's values, rip apart. */
#ifndef PRR_PROBE_CODE_H
#define PRR_PROBE_CODE_H

#include "pyrr_core.h"

enum {
	PRR_PROBE_CODE_MAX = 8192, /* bytes of a stub's code */
	PRR_PROBE_TESTS_MAX = 96,
	PRR_PROBE_PATCH_MAX = 5
};

/* The instruction at a site, and what is known of the bytes behind it. */
struct prr_probe_insn {
	uint64_t addr;
	uint8_t bytes[24];
	uint8_t known;  /* of `bytes` */
	uint8_t length; /* of the instruction */
	bool writes_code_like; /* branch, call, or with an immediate or displacement of 4
				* bytes or more: what JITs patch in place */
};

/* Decodes the instruction whose program bytes are given. False: it cannot be
 * displaced (indirect call, loop, jrcxz, rep, syscall, int, ud2, hlt, undecodable,
 * enter/leave of far code, xbegin, ...), so no probe can stand there. */
bool prr_probe_decode(uint64_t addr, const uint8_t *bytes, size_t len, struct prr_probe_insn *ret);

/* Looks for room for a stub: calls is_free for ranges of `len` bytes (whole pages)
 * until it says yes. *code_addr gets where the stub's code must begin (anywhere in the
 * range's first page; the range is [code_addr rounded down to a page, +len)). False:
 * none is in reach. */
bool prr_probe_place(const struct prr_probe_insn *insn, uint64_t len,
	bool (*is_free)(void *context, uint64_t start, uint64_t len), void *context,
	uint64_t *code_addr);

enum prr_probe_test_kind {
	PRR_PROBE_TEST_REG,      /* bits 0..31 of general register `index`, numbered as encoded:
				  * rax rcx rdx rbx rsp rbp rsi rdi r8..r15 */
	PRR_PROBE_TEST_REG_HIGH, /* bits 32..63 of it */
	PRR_PROBE_TEST_WORD,     /* the 4 bytes at `addr`, which are readable */
	PRR_PROBE_TEST_XSTATE    /* the 4 bytes at offset `index` of the XSAVE area in standard
				  * format, as PTRACE_GETREGSET(NT_X86_XSTATE) shows it */
};
struct prr_probe_test {
	uint32_t kind; /* enum prr_probe_test_kind */
	uint32_t index;
	uint64_t addr;
	uint32_t value;
};

/* What stubs may use. AVX-512's state components stand elsewhere in the XSAVE area of
 * every maker's CPUs. */
struct prr_probe_cpu {
	bool avx;      /* the CPU has AVX and XCR0 enables it */
	bool avx512;   /* so AVX512F; the offsets are known */
	bool avx512bw; /* opmasks have 64 bits; else 16 */
	uint32_t opmask_at;   /* k0..7, 8 bytes each */
	uint32_t zmm_high_at; /* the high halves of zmm0..15, 32 bytes each */
	uint32_t zmm_16_at;   /* zmm16..31, 64 bytes each */
};
/* Of this CPU (cpu.c). */
void prr_probe_cpu(struct prr_probe_cpu *ret);

/* Can a stub test this? XSTATE: xmm0..15, x87 registers, control words and mxcsr; the
 * high halves of ymm0..15 where `avx`; all of zmm0..31 and the opmasks where `avx512`
 * (where not avx512bw, opmasks' bits 0..15: they have no others). */
bool prr_probe_can_test(const struct prr_probe_test *test, const struct prr_probe_cpu *cpu);

enum prr_probe_kind {
	PRR_PROBE_COUNT, /* takes 1 off the counter at each hit; traps when it gets 0 */
	PRR_PROBE_MATCH  /* traps when all tests hold, in the order given */
};

/* Offsets in the data page: the program's rcx while rip is in the stub, the counter. */
#define PRR_PROBE_DATA_RCX 0
#define PRR_PROBE_DATA_COUNTER 64 /* uint64_t, of COUNT */

struct prr_probe_request {
	const struct prr_probe_insn *insn;
	uint32_t kind; /* enum prr_probe_kind */
	const struct prr_probe_test *tests; /* MATCH only */
	size_t test_count;
	struct prr_probe_cpu cpu;
	uint64_t code_addr; /* from prr_probe_place */
	uint64_t data_addr; /* page-aligned, rw-, 4096 bytes, within 2 GiB of the code */
};

struct prr_probe_stub {
	uint8_t code[PRR_PROBE_CODE_MAX];
	size_t code_len;
	/* Offsets in code. */
	uint32_t after_trap;    /* rip that the int3's SIGTRAP shows; resuming there goes on */
	uint32_t displaced; /* the displaced instruction begins: registers are the program's */
	uint32_t displaced_end;
	/* COUNT only: rcx is saved from here on, the counter is stored from here on, and
	 * the part that traps begins here. */
	uint32_t saved, counted, trap;
	uint8_t patch[PRR_PROBE_PATCH_MAX]; /* to write at the site */
	uint8_t patch_len;
};
/* False: does not fit (a rip-relative operand out of the stub's reach, too many
 * tests). */
bool prr_probe_generate(const struct prr_probe_request *request, struct prr_probe_stub *ret);

#endif
