/* sources: shared/probe_code.c shared/probe_emit.c libs: -lZydis -lZycore */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * Which instructions a probe takes and where its stub goes; stubs for all of libc's
 * instructions, decoded again. test_probe_code.c runs some.
 * PYRR_TEST_SEED chooses other random cases. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <Zydis/Zydis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_code.h"

static uint64_t seed = 1;
static uint64_t site_now; /* of the probe being tested */

#define CHECK(condition)                                                                     \
	do {                                                                                 \
		if (!(condition)) {                                                          \
			fprintf(stderr, "%s:%d: %s: not true: %s (site %#llx, seed %llu)\n", \
				__FILE__, __LINE__, __func__, #condition,                    \
				(unsigned long long)site_now, (unsigned long long)seed);     \
			exit(1);                                                             \
		}                                                                            \
	} while (0)
#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
#define SITE UINT64_C(0x200000000000)

enum { PAGE = 4096, STUB_PAGES = 4 };

static uint64_t random_state;

static uint64_t random_next(void) /* xorshift64 */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* ------------------------------------------------------------------ decode */

static void expect_decode(const uint8_t *bytes, size_t len, bool good, bool writes_code_like)
{
	struct prr_probe_insn insn;

	for (size_t cut = 0; cut < len; ++cut)
		CHECK(!prr_probe_decode(0x400000, bytes, cut, &insn));
	CHECK(prr_probe_decode(0x400000, bytes, len, &insn) == good);
	if (good)
		CHECK(insn.length == len && insn.writes_code_like == writes_code_like);
}

static void test_decode(void)
{
	expect_decode(BYTES(0xff, 0xd0), false, false);                         /* call rax */
	expect_decode(BYTES(0xff, 0x15, 1, 0, 0, 0), false, false);             /* call [rip] */
	expect_decode(BYTES(0xff, 0x1b), false, false);                         /* call far */
	expect_decode(BYTES(0xff, 0x2b), false, false);                         /* jmp far */
	expect_decode(BYTES(0xcb), false, false);                               /* retf */
	expect_decode(BYTES(0xca, 1, 0), false, false);                         /* retf 1 */
	expect_decode(BYTES(0x48, 0xcf), false, false);                         /* iretq */
	expect_decode(BYTES(0xe0, 0), false, false);                            /* loopne */
	expect_decode(BYTES(0xe2, 0), false, false);                            /* loop */
	expect_decode(BYTES(0xe3, 0), false, false);                            /* jrcxz */
	expect_decode(BYTES(0x67, 0xe3, 0), false, false);                      /* jecxz */
	expect_decode(BYTES(0xf3, 0xa4), false, false);                         /* rep movsb */
	expect_decode(BYTES(0xf2, 0xae), false, false);                         /* repne scasb */
	expect_decode(BYTES(0xf3, 0xa6), false, false);                         /* repe cmpsb */
	expect_decode(BYTES(0x0f, 0x05), false, false);                         /* syscall */
	expect_decode(BYTES(0x0f, 0x34), false, false);                         /* sysenter */
	expect_decode(BYTES(0xcd, 0x80), false, false);                         /* int 0x80 */
	expect_decode(BYTES(0xcc), false, false);                               /* int3 */
	expect_decode(BYTES(0xf1), false, false);                               /* int1 */
	expect_decode(BYTES(0x0f, 0x0b), false, false);                         /* ud2 */
	expect_decode(BYTES(0x0f, 0xb9, 0xc0), false, false);                   /* ud1 */
	expect_decode(BYTES(0x0f, 0xff, 0xc0), false, false);                   /* ud0 */
	expect_decode(BYTES(0xf4), false, false);                               /* hlt */
	expect_decode(BYTES(0xe4, 1), false, false);                            /* in */
	expect_decode(BYTES(0x6e), false, false);                               /* outsb */
	expect_decode(BYTES(0xfa), false, false);                               /* cli */
	expect_decode(BYTES(0x0f, 0xa2), false, false);                         /* cpuid */
	expect_decode(BYTES(0x0f, 0x31), false, false);                         /* rdtsc */
	expect_decode(BYTES(0x0f, 0x01, 0xf9), false, false);                   /* rdtscp */
	expect_decode(BYTES(0x0f, 0x33), false, false);                         /* rdpmc */
	expect_decode(BYTES(0x0f, 0x01, 0xd0), false, false);                   /* xgetbv */
	expect_decode(BYTES(0x0f, 0xc7, 0xf0), false, false);                   /* rdrand */
	expect_decode(BYTES(0x0f, 0xc7, 0xf8), false, false);                   /* rdseed */
	expect_decode(BYTES(0xf3, 0x0f, 0xc7, 0xf8), false, false);             /* rdpid */
	expect_decode(BYTES(0xc7, 0xf8, 0, 0, 0, 0), false, false);             /* xbegin */
	expect_decode(BYTES(0xc6, 0xf8, 1), false, false);                      /* xabort */
	expect_decode(BYTES(0x0f, 0x01, 0xd5), false, false);                   /* xend */
	expect_decode(BYTES(0x67, 0x8b, 0x05, 0, 0, 0, 0), false, false);       /* [eip] */
	expect_decode(BYTES(0x66, 0xe9, 0, 0, 0, 0), false, false);             /* jmp, 66 */
	expect_decode(BYTES(0x66, 0x74, 0), false, false);                      /* je, 66 */
	expect_decode(BYTES(0x66, 0xc3), false, false);                         /* ret, 66 */
	expect_decode(BYTES(0xd9, 0xc0), false, false);                         /* fld st0 */
	expect_decode(BYTES(0xdb, 0xc1), false, false);                         /* fcmovnb */
	expect_decode(BYTES(0xd9, 0x33), false, false);                         /* fnstenv */
	expect_decode(BYTES(0x06), false, false);                               /* undefined */
	expect_decode(BYTES(0x90), true, false);
	expect_decode(BYTES(0xc3), true, false);
	expect_decode(BYTES(0xff, 0xe0), true, true);                           /* jmp rax */
	expect_decode(BYTES(0x74, 0x10), true, true);
	expect_decode(BYTES(0xe8, 0, 0, 0, 0), true, true);
	expect_decode(BYTES(0x48, 0x83, 0xc0, 1), true, false);
	expect_decode(BYTES(0x48, 0x81, 0xc0, 1, 0, 0, 0), true, true);
	expect_decode(BYTES(0x48, 0x8b, 0x05, 1, 0, 0, 0), true, true);
	expect_decode(BYTES(0x48, 0x8b, 0x43, 8), true, false);
	expect_decode(BYTES(0x0f, 0xae, 0x03), true, false);                    /* fxsave */
}

/* ------------------------------------------------------------------- place */

struct asked {
	unsigned int calls;
	uint64_t lowest, highest, only; /* `only`: what is free, if not 0 */
};

static bool ask(void *context, uint64_t start, uint64_t len)
{
	struct asked *asked = context;

	++asked->calls;
	CHECK(start % PAGE == 0 && start >= 0x10000 && start + len <= 0x7ffffffff000);
	if (start < asked->lowest)
		asked->lowest = start;
	if (start + len > asked->highest)
		asked->highest = start + len;
	return asked->only != 0 && start <= asked->only && asked->only < start + len;
}

static void place_at(
	uint64_t addr, const uint8_t *bytes, size_t len, struct asked *asked, bool good)
{
	struct prr_probe_insn insn;
	uint64_t code_addr;
	uint64_t only = asked->only;

	*asked = (struct asked){ .lowest = UINT64_MAX, .only = only };
	CHECK(prr_probe_decode(addr, bytes, len, &insn));
	CHECK(prr_probe_place(&insn, STUB_PAGES * PAGE, ask, asked, &code_addr) == good);
	CHECK(asked->calls <= 4096);
}

static void test_place(void)
{
	enum { MIB = 1 << 20 };
	const uint64_t gib = 1U << 30;
	struct asked asked = { .only = 0 };
	struct prr_probe_insn insn;
	uint64_t code_addr;

	place_at(gib * 1024, BYTES(0xb8, 0, 0, 0, 0), &asked, false);
	CHECK(asked.calls > 1000);
	CHECK(asked.lowest < gib * 1022 + 64 * MIB && asked.highest > gib * 1026 - 64 * MIB);
	CHECK(asked.lowest >= gib * 1022 && asked.highest <= gib * 1026);
	/* The start and the end of the address space. */
	place_at(0x400000, BYTES(0xb8, 0, 0, 0, 0), &asked, false);
	place_at(0x7fffffffe000, BYTES(0xb8, 0, 0, 0, 0), &asked, false);
	/* An operand at the far end of its reach keeps the stub to one side. */
	place_at(gib * 1024, BYTES(0x48, 0x8b, 0x05, 0, 0, 0, 0x80), &asked, false);
	CHECK(asked.highest <= gib * 1024);
	place_at(gib * 1024, BYTES(0x48, 0x8b, 0x05, 0, 0, 0xf0, 0x7f), &asked, false);
	CHECK(asked.lowest >= gib * 1024 - 17 * MIB);
	/* Punned: within the 2^24, 2^16, 2^8 or 1 addresses that there are. */
	place_at(gib * 1024, BYTES(0x48, 0x83, 0xc0, 1, 0x05), &asked, false);
	CHECK(asked.lowest >= gib * 1024 + 80 * MIB && asked.highest <= gib * 1024 + 97 * MIB);
	CHECK(asked.calls >= 256);
	place_at(gib * 1024, BYTES(0x48, 0x01, 0xc1, 0x00, 0xf0), &asked, false);
	CHECK(asked.calls >= 16 && asked.calls <= 17);
	CHECK(asked.lowest >= gib * 1024 - 256 * MIB);
	CHECK(asked.highest <= gib * 1024 - 255 * MIB);
	place_at(gib * 1024, BYTES(0x31, 0xc9, 0x80, 0x00, 0x01), &asked, false);
	CHECK(asked.calls == 1 && asked.lowest == gib * 1024 + 16 * MIB + 0x8000);
	place_at(gib * 1024, BYTES(0x90, 0x34, 0x12, 0x00, 0x01), &asked, false);
	CHECK(asked.calls == 1 && asked.lowest == gib * 1024 + 16 * MIB + 0x1000);
	asked.only = asked.lowest;
	place_at(gib * 1024, BYTES(0x90, 0x34, 0x12, 0x00, 0x01), &asked, true);
	/* Out of the address space; bytes behind unknown. */
	place_at(0x400000, BYTES(0x90, 0, 0, 0, 0x80), &asked, false);
	CHECK(asked.calls == 0);
	CHECK(prr_probe_decode(gib * 1024, BYTES(0x90, 0x34, 0x12, 0x00), &insn));
	CHECK(!prr_probe_place(&insn, STUB_PAGES * PAGE, ask, &asked, &code_addr));
	CHECK(asked.calls == 0);
}

static void test_generate_refuses(void)
{
	static struct prr_probe_stub stub;
	struct prr_probe_test tests[PRR_PROBE_TESTS_MAX + 1] = { { .kind = PRR_PROBE_TEST_REG } };
	struct prr_probe_insn insn;
	struct prr_probe_request request = { .insn = &insn,
		.kind = PRR_PROBE_MATCH,
		.tests = tests,
		.test_count = PRR_PROBE_TESTS_MAX,
		.code_addr = SITE + (1 << 24),
		.data_addr = SITE + (1 << 24) + 3 * PAGE };

	CHECK(prr_probe_decode(SITE, BYTES(0x48, 0x8b, 0x05, 0, 0, 0, 0x80), &insn));
	CHECK(!prr_probe_generate(&request, &stub)); /* the operand is too far */
	CHECK(prr_probe_decode(SITE, BYTES(0x48, 0x8b, 0x05, 0, 0, 0, 0), &insn));
	CHECK(prr_probe_generate(&request, &stub));
	request.test_count = PRR_PROBE_TESTS_MAX + 1;
	CHECK(!prr_probe_generate(&request, &stub));
	request.test_count = 1;
	tests[0] = (struct prr_probe_test){ .kind = PRR_PROBE_TEST_XSTATE, .index = 576 };
	CHECK(!prr_probe_generate(&request, &stub));
	request.cpu.avx = true;
	CHECK(prr_probe_generate(&request, &stub));
	request.data_addr = SITE + (UINT64_C(3) << 30);
	CHECK(!prr_probe_generate(&request, &stub));
	request.data_addr = request.code_addr + 3 * PAGE;
	CHECK(prr_probe_decode(SITE, BYTES(0x90, 0x34, 0x12, 0, 1), &insn));
	CHECK(!prr_probe_generate(&request, &stub)); /* other bytes follow */
	request.code_addr = SITE + 5 + 0x1001234;
	CHECK(prr_probe_generate(&request, &stub));
	CHECK(stub.patch_len == 1 && stub.patch[0] == 0xe9);
	request.kind = 2;
	CHECK(!prr_probe_generate(&request, &stub));
}

/* ------------------------------------------------------------------ XSTATE */

static ZydisDecoder decoder;

/* Where makers have the components. */
static const struct prr_probe_cpu intel = { true, true, true, 1088, 1152, 1664 };
static const struct prr_probe_cpu amd = { true, true, true, 832, 896, 1408 };

static void test_can_test(const struct prr_probe_cpu *cpu)
{
	struct prr_probe_test test = { .kind = PRR_PROBE_TEST_XSTATE };

	for (uint32_t i = test.index = 0; i < 3000; test.index = ++i) {
		bool in_register = i % 16 <= 12;
		bool can = i <= 2 || i == 24 || (i >= 32 && i < 416 && in_register);

		if (cpu->avx)
			can |= i >= 576 && i < 832 && in_register;
		if (cpu->avx512) {
			can |= i >= cpu->zmm_high_at && i < cpu->zmm_high_at + 512 && in_register;
			can |= i >= cpu->zmm_16_at && i < cpu->zmm_16_at + 1024 && in_register;
			can |= i >= cpu->opmask_at && i < cpu->opmask_at + 64 &&
				i % (cpu->avx512bw ? 4 : 8) == 0;
		}
		CHECK(prr_probe_can_test(&test, cpu) == can);
	}
	for (test.kind = PRR_PROBE_TEST_REG; test.kind <= PRR_PROBE_TEST_REG_HIGH; ++test.kind) {
		for (test.index = 0; test.index < 40; ++test.index)
			CHECK(prr_probe_can_test(&test, cpu) == (test.index < 16));
	}
	test.kind = 4;
	CHECK(!prr_probe_can_test(&test, cpu));
}

/* The instruction that fetches what the test looks at: the second of a stub. */
static void expect_fetch(const struct prr_probe_cpu *cpu, uint32_t index, ZydisMnemonic mnemonic,
	ZydisRegister from, unsigned int lane)
{
	static struct prr_probe_stub stub;
	enum { FETCH = 7 }; /* behind mov [rcx's place], rcx */
	struct prr_probe_test test = { .kind = PRR_PROBE_TEST_XSTATE, .index = index };
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction fetch;
	struct prr_probe_insn insn;
	struct prr_probe_request request = { .insn = &insn,
		.kind = PRR_PROBE_MATCH,
		.tests = &test,
		.test_count = 1,
		.cpu = *cpu,
		.code_addr = SITE + (1 << 24),
		.data_addr = SITE + (1 << 24) + 3 * PAGE };
	size_t source = 1;

	CHECK(prr_probe_decode(SITE, BYTES(0x48, 0x8b, 0x05, 0, 0, 0, 0), &insn));
	CHECK(prr_probe_generate(&request, &stub));
	CHECK(ZYAN_SUCCESS(ZydisDecoderDecodeFull(
		&decoder, stub.code + FETCH, stub.code_len - FETCH, &fetch, operands)));
	CHECK(fetch.mnemonic == mnemonic);
	if (mnemonic == ZYDIS_MNEMONIC_VEXTRACTI32X4) {
		CHECK(operands[0].mem.base == ZYDIS_REGISTER_RIP && operands[0].size == 128);
		CHECK(operands[1].reg.value == ZYDIS_REGISTER_K0); /* no mask */
		source = 2;
		CHECK(operands[3].imm.value.u == lane);
	}
	CHECK(operands[source].reg.value == from);
}

static void test_fetches(const struct prr_probe_cpu *cpu)
{
	struct prr_probe_cpu narrow = *cpu;

	narrow.avx512bw = false;
	for (uint32_t i = 0; i < 16; ++i) {
		expect_fetch(cpu, cpu->opmask_at + 4 * i,
			i % 2 ? ZYDIS_MNEMONIC_KMOVQ : ZYDIS_MNEMONIC_KMOVD,
			ZYDIS_REGISTER_K0 + i / 2, 0);
		if (i % 2 == 0)
			expect_fetch(&narrow, cpu->opmask_at + 4 * i, ZYDIS_MNEMONIC_KMOVW,
				ZYDIS_REGISTER_K0 + i / 2, 0);
	}
	for (uint32_t i = 0; i < 128; ++i)
		expect_fetch(&narrow, cpu->zmm_high_at + 4 * i, ZYDIS_MNEMONIC_VEXTRACTI32X4,
			ZYDIS_REGISTER_ZMM0 + i / 8, 2 + i % 8 / 4);
	for (uint32_t i = 0; i < 256; ++i)
		expect_fetch(cpu, cpu->zmm_16_at + 4 * i, ZYDIS_MNEMONIC_VEXTRACTI32X4,
			ZYDIS_REGISTER_ZMM16 + i / 16, i % 16 / 4);
}

/* --------------------------------------------------------------- real code */

static void random_test(struct prr_probe_test *test, const struct prr_probe_cpu *cpu)
{
	do {
		test->kind = random_next() % 4;
		test->index = random_next() % (test->kind == PRR_PROBE_TEST_XSTATE ? 2688 : 16);
		test->addr = random_next();
		test->value = (uint32_t)random_next();
	} while (!prr_probe_can_test(test, cpu));
}

/* The classes that must be refused, by what they are called. */
static bool must_refuse(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	static const char *const names[] = { "syscall", "sysenter", "int", "int1", "int3", "ud0",
		"ud1", "ud2", "hlt", "iret", "iretd", "iretq", "in", "out", "xbegin", "xabort",
		"xend", "cpuid", "rdtsc", "rdtscp", "rdpmc", "rdrand", "rdseed", "rdpid", "xgetbv",
		"loop", "loope", "loopne", "jrcxz", "jecxz", "retf" };
	const char *name = ZydisMnemonicGetString(insn->mnemonic);
	bool is_branch = insn->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE;

	for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	if (insn->meta.category == ZYDIS_CATEGORY_STRINGOP && insn->raw.prefix_count > 0) {
		for (size_t i = 0; i < insn->raw.prefix_count; ++i) {
			if (insn->raw.prefixes[i].value == 0xf2 ||
				insn->raw.prefixes[i].value == 0xf3)
				return true;
		}
	}
	for (size_t i = 0; i < insn->operand_count; ++i) {
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			operands[i].mem.base == ZYDIS_REGISTER_EIP)
			return true;
	}
	return insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ||
		(is_branch && (insn->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE)) ||
		(insn->mnemonic == ZYDIS_MNEMONIC_CALL &&
			operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) ||
		strncmp(ZydisCategoryGetString(insn->meta.category), "X87", 3) == 0;
}

/* What the instruction's relative operand names, or 0. */
static uint64_t named_address(
	const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands, uint64_t address)
{
	ZyanU64 result;

	for (size_t i = 0; i < insn->operand_count_visible; ++i) {
		bool relative = operands[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE
			? operands[i].imm.is_relative
			: operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
				operands[i].mem.base == ZYDIS_REGISTER_RIP;

		if (relative &&
			ZYAN_SUCCESS(
				ZydisCalcAbsoluteAddress(insn, &operands[i], address, &result)))
			return result;
	}
	return 0;
}

/* An instruction of the stub's own changes no flag, no register but rcx, no stack. */
static void check_own(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	if (insn->cpu_flags && insn->mnemonic != ZYDIS_MNEMONIC_INT3)
		CHECK((insn->cpu_flags->modified | insn->cpu_flags->set_0 | insn->cpu_flags->set_1 |
			      insn->cpu_flags->undefined) == 0);
	for (size_t i = 0; i < insn->operand_count_visible; ++i) {
		const ZydisDecodedOperand *operand = &operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
			(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			CHECK(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
				      operand->reg.value) == ZYDIS_REGISTER_RCX);
		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
			(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			CHECK(operand->mem.base == ZYDIS_REGISTER_RIP);
	}
}

/* Decodes the stub from start to end: all it names is its own or the program's. */
static void check_stub(const struct prr_probe_request *request, const struct prr_probe_stub *stub,
	uint64_t program_names)
{
	uint64_t next = request->insn->addr + request->insn->length;
	uint64_t end = request->code_addr + stub->code_len, named[256];
	bool starts[PRR_PROBE_CODE_MAX + 1] = { false };
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	size_t count = 0;

	for (size_t at = 0; at < stub->code_len; at += insn.length) {
		uint64_t address = request->code_addr + at, name;

		CHECK(ZYAN_SUCCESS(ZydisDecoderDecodeFull(
			&decoder, stub->code + at, stub->code_len - at, &insn, operands)));
		CHECK(at + insn.length <= stub->code_len);
		starts[at] = true;
		name = named_address(&insn, operands, address);
		if (at == stub->displaced && program_names != 0 && insn.opcode != 0xff)
			CHECK(name == program_names);
		if (at < stub->displaced || at >= stub->displaced_end) {
			check_own(&insn, operands);
			if (name != 0 && name != next && name - request->data_addr >= 1024) {
				CHECK(count < 256 && name >= request->code_addr && name < end);
				named[count++] = name - request->code_addr;
			}
		}
	}
	CHECK(starts[stub->displaced] && starts[stub->after_trap]);
	CHECK(starts[stub->displaced_end] || stub->displaced_end == stub->code_len);
	CHECK(stub->code[stub->after_trap - 1] == 0xcc);
	for (size_t i = 0; i < count; ++i)
		CHECK(starts[named[i]]);
}

static bool not_near(void *context, uint64_t start, uint64_t len)
{
	(void)context;
	return start + len + (1 << 20) < site_now || start > site_now + (1 << 20);
}

static void generate_and_check(const struct prr_probe_insn *insn, uint64_t names)
{
	static struct prr_probe_stub stub;
	struct prr_probe_test tests[12];
	struct prr_probe_request request = { .insn = insn,
		.kind = random_next() % 2,
		.tests = tests,
		.test_count = random_next() % 12,
		.cpu = random_next() % 2 ? amd : intel };

	if (!prr_probe_place(insn, STUB_PAGES * PAGE, not_near, NULL, &request.code_addr)) {
		CHECK(insn->length < 5 ||
			names - site_now + (UINT64_C(2) << 30) > UINT64_C(4) << 30);
		return;
	}
	request.data_addr = request.code_addr / PAGE * PAGE + (STUB_PAGES - 1) * PAGE;
	for (size_t i = 0; i < request.test_count; ++i)
		random_test(&tests[i], &request.cpu);
	CHECK(prr_probe_generate(&request, &stub));
	check_stub(&request, &stub, names);
}

/* libc's code: from every byte on, whatever that is. */
static void test_real_code(void)
{
	unsigned long start = 0, end = 0, accepted = 0, refused = 0;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	struct prr_probe_insn ours;
	FILE *maps = fopen("/proc/self/maps", "r");
	const uint8_t *code;
	char line[512];

	CHECK(maps);
	while (fgets(line, sizeof line, maps)) {
		if (strstr(line, " r-xp ") && strstr(line, "/libc."))
			CHECK(sscanf(line, "%lx-%lx", &start, &end) == 2);
	}
	fclose(maps);
	CHECK(end > start);
	code = (const uint8_t *)start;
	for (size_t at = 0, next = 0; at < end - start; ++at) {
		size_t len = end - start - at;
		bool decodes;

		site_now = start + at;
		decodes = ZYAN_SUCCESS(ZydisDecoderDecodeFull(
			&decoder, code + at, len < 15 ? len : 15, &insn, operands));
		if (!prr_probe_decode(start + at, code + at, len, &ours)) {
			refused += decodes;
			next += at == next ? (decodes ? insn.length : 1U) : 0;
			continue;
		}
		++accepted;
		CHECK(decodes && ours.length == insn.length);
		CHECK(!must_refuse(&insn, operands));
		if (at == next || at % 16 == 0)
			generate_and_check(&ours, named_address(&insn, operands, start + at));
		next += at == next ? insn.length : 0;
	}
	CHECK(accepted > refused);
	printf("real code: %lu bytes, %lu can hold a probe, %lu decode but cannot\n", end - start,
		accepted, refused);
}

int main(void)
{
	const char *chosen = getenv("PYRR_TEST_SEED");

	if (chosen)
		seed = strtoull(chosen, NULL, 0);
	random_state = 88172645463325252U ^ (seed * 0x9e3779b97f4a7c15U);
	printf("seed %llu\n", (unsigned long long)seed);
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	test_decode();
	test_place();
	test_generate_refuses();
	test_can_test(&(struct prr_probe_cpu){ .avx = false });
	test_can_test(&(struct prr_probe_cpu){ .avx = true });
	test_can_test(&(struct prr_probe_cpu){ true, true, false, 1088, 1152, 1664 });
	test_can_test(&intel);
	test_can_test(&amd);
	test_fetches(&intel);
	test_fetches(&amd);
	test_real_code();
	return 0;
}
