/* SPDX-License-Identifier: GPL-2.0-or-later
 * See probe_code.h: the machine code of a stub.
 *
 * No instruction here changes flags, and none uses the stack but a displaced one.
 * Encodings: Intel SDM, volume 2; offsets in the XSAVE area: volume 1, 13.4 and 13.5. */
#include "probe_code.h"

#include <string.h>

#include "probe_form.h"

/* Offsets in the data page, besides the counter. */
enum {
	DATA_RCX = PRR_PROBE_DATA_RCX,
	DATA_VECTOR = 128, /* 16 bytes of a vector register */
	DATA_FXSAVE = 512
};

enum { RCX = 1, RSP = 4 };

/* The XSAVE area: x87 and mxcsr, xmm0..15, high halves of ymm0..15; struct
 * prr_probe_cpu says where the rest is. */
enum {
	MXCSR_OFFSET = 24,
	FPREGS_OFFSET = 32,
	XMM_OFFSET = 160,
	XMM_END = 416,
	YMM_HIGH_OFFSET = 576,
	YMM_HIGH_LEN = 256,
	OPMASK_LEN = 64,
	ZMM_HIGH_LEN = 512,
	ZMM_16_LEN = 1024
};

struct emitter {
	uint8_t *code;
	size_t len;
	uint64_t code_addr, data_addr;
	bool failed;       /* something is out of room or reach */
	bool has_fxsave;   /* DATA_FXSAVE holds the program's */
	uint32_t vector;   /* XSAVE offset of what DATA_VECTOR holds; 0: nothing */
};

/* ------------------------------------------------------------ instructions */

static void put_bytes(struct emitter *out, const void *bytes, size_t len)
{
	if (len > PRR_PROBE_CODE_MAX - out->len) {
		out->failed = true;
		return;
	}
	memcpy(out->code + out->len, bytes, len);
	out->len += len;
}

#define PUT(out, ...) \
	put_bytes(out, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* Displacement to `target` from the end of an instruction that goes on for `tail` bytes
 * behind the displacement. */
static void put_rel32(struct emitter *out, uint64_t target, unsigned int tail)
{
	int64_t distance = (int64_t)(target - (out->code_addr + out->len + 4 + tail));
	int32_t rel = (int32_t)distance;

	if (rel != distance)
		out->failed = true;
	put_bytes(out, &rel, sizeof rel);
}

static void put_jmp(struct emitter *out, uint64_t target)
{
	PUT(out, 0xe9);
	put_rel32(out, target, 0);
}

static void put_jmp_to_offset(struct emitter *out, size_t offset)
{
	put_jmp(out, out->code_addr + offset);
}

/* jrcxz to where `land` is called with the offset returned. */
static size_t put_jrcxz(struct emitter *out)
{
	PUT(out, 0xe3, 0);
	return out->len;
}

static void land(struct emitter *out, size_t from)
{
	if (out->failed || out->len - from > INT8_MAX) {
		out->failed = true;
		return;
	}
	out->code[from - 1] = (uint8_t)(out->len - from);
}

static void put_load_rcx(struct emitter *out, unsigned int data_offset)
{
	PUT(out, 0x48, 0x8b, 0x0d);
	put_rel32(out, out->data_addr + data_offset, 0);
}

static void put_load_ecx(struct emitter *out, unsigned int data_offset)
{
	PUT(out, 0x8b, 0x0d);
	put_rel32(out, out->data_addr + data_offset, 0);
}

static void put_store_rcx(struct emitter *out, unsigned int data_offset)
{
	PUT(out, 0x48, 0x89, 0x0d);
	put_rel32(out, out->data_addr + data_offset, 0);
}

/* lea ecx,[reg - value]: rcx gets 0 if bits 0..31 of reg are `value`. */
static void put_compare(struct emitter *out, unsigned int reg, uint32_t value)
{
	uint32_t disp = -value;

	if (reg >= 8)
		PUT(out, 0x41);
	PUT(out, 0x8d, (uint8_t)(0x80 | RCX << 3 | (reg & 7)));
	if ((reg & 7) == RSP)
		PUT(out, 0x24);
	put_bytes(out, &disp, sizeof disp);
}

/* Takes 1 off the counter; leaves it in rcx. */
static void put_count_down(struct emitter *out)
{
	put_load_rcx(out, PRR_PROBE_DATA_COUNTER);
	PUT(out, 0x48, 0x8d, 0x49, 0xff); /* lea rcx,[rcx - 1] */
	put_store_rcx(out, PRR_PROBE_DATA_COUNTER);
}

/* ------------------------------------------------------------------- tests */

/* bswap rcx: the high half comes down with its bytes reversed. */
static void put_compare_rcx_high(struct emitter *out, uint32_t value)
{
	PUT(out, 0x48, 0x0f, 0xc9);
	put_compare(out, RCX, __builtin_bswap32(value));
}

static void put_test_high(struct emitter *out, const struct prr_probe_test *test)
{
	unsigned int reg = test->index;

	if (reg == RCX) {
		put_load_ecx(out, DATA_RCX + 4);
		put_compare(out, RCX, test->value);
		return;
	}
	PUT(out, reg >= 8 ? 0x4c : 0x48, 0x89, (uint8_t)(0xc0 | (reg & 7) << 3 | RCX)); /* mov */
	put_compare_rcx_high(out, test->value);
}

/* Is the byte at `index` of a component that begins at `start`? */
static bool is_within(uint32_t index, uint32_t start, uint32_t len)
{
	return index >= start && index - start < len;
}

/* 4 of the 8 bytes of an opmask: `at` within the component. */
static void put_test_opmask(struct emitter *out, uint32_t at, uint32_t value, bool avx512bw)
{
	uint8_t modrm = (uint8_t)(0xc0 | RCX << 3 | at / 8);

	if (at % 8 != 0) {
		PUT(out, 0xc4, 0xe1, 0xfb, 0x93, modrm); /* kmovq rcx, k */
		put_compare_rcx_high(out, value);
		return;
	}
	PUT(out, 0xc5, avx512bw ? 0xfb : 0xf8, 0x93, modrm); /* kmovd or kmovw ecx, k */
	put_compare(out, RCX, value);
}

/* vextracti32x4 [vector], zmm, lane */
static void put_store_lane(struct emitter *out, unsigned int reg, unsigned int lane)
{
	uint8_t high = (uint8_t)((reg & 8 ? 0 : 0x80) | (reg & 16 ? 0 : 0x10));

	PUT(out, 0x62, 0x63 | high, 0x7d, 0x48, 0x39, (uint8_t)((reg & 7) << 3 | 5));
	put_rel32(out, out->data_addr + DATA_VECTOR, 1);
	PUT(out, (uint8_t)lane);
}

/* Stores 16 bytes that begin at this offset of the XSAVE area. */
static void put_store_vector(struct emitter *out, uint32_t offset, const struct prr_probe_cpu *cpu)
{
	uint32_t at_high = offset - cpu->zmm_high_at, at_16 = offset - cpu->zmm_16_at;
	bool is_high = offset >= YMM_HIGH_OFFSET;
	unsigned int reg = (offset - (is_high ? YMM_HIGH_OFFSET : XMM_OFFSET)) / 16;
	uint8_t modrm = (uint8_t)((reg & 7) << 3 | 5);

	if (out->vector == offset)
		return;
	out->vector = offset;
	if (cpu->avx512 && is_within(offset, cpu->zmm_high_at, ZMM_HIGH_LEN)) {
		put_store_lane(out, at_high / 32, 2 + at_high % 32 / 16);
		return;
	}
	if (cpu->avx512 && is_within(offset, cpu->zmm_16_at, ZMM_16_LEN)) {
		put_store_lane(out, 16 + at_16 / 64, at_16 % 64 / 16);
		return;
	}
	if (is_high) { /* vextractf128 [vector], ymm, 1 */
		PUT(out, 0xc4, reg >= 8 ? 0x63 : 0xe3, 0x7d, 0x19, modrm);
		put_rel32(out, out->data_addr + DATA_VECTOR, 1);
		PUT(out, 1);
		return;
	}
	if (cpu->avx) /* vmovups [vector], xmm: as fast with the high halves in use */
		PUT(out, 0xc5, reg >= 8 ? 0x78 : 0xf8, 0x11, modrm);
	else if (reg >= 8)
		PUT(out, 0x44, 0x0f, 0x11, modrm);
	else
		PUT(out, 0x0f, 0x11, modrm);
	put_rel32(out, out->data_addr + DATA_VECTOR, 0);
}

static void put_test_xstate(
	struct emitter *out, const struct prr_probe_test *test, const struct prr_probe_cpu *cpu)
{
	if (cpu->avx512 && is_within(test->index, cpu->opmask_at, OPMASK_LEN)) {
		put_test_opmask(out, test->index - cpu->opmask_at, test->value, cpu->avx512bw);
		return;
	}
	if (test->index >= XMM_OFFSET) {
		put_store_vector(out, test->index & ~15U, cpu);
		put_load_ecx(out, DATA_VECTOR + (test->index & 15));
	} else {
		if (!out->has_fxsave) {
			PUT(out, 0x48, 0x0f, 0xae, 0x05); /* fxsave64 [...] */
			put_rel32(out, out->data_addr + DATA_FXSAVE, 0);
		}
		out->has_fxsave = true;
		put_load_ecx(out, DATA_FXSAVE + test->index);
	}
	put_compare(out, RCX, test->value);
}

/* rcx gets 0 if the test holds. */
static void put_test(
	struct emitter *out, const struct prr_probe_test *test, const struct prr_probe_cpu *cpu)
{
	switch (test->kind) {
	case PRR_PROBE_TEST_REG:
		if (test->index == RCX)
			put_load_ecx(out, DATA_RCX);
		put_compare(out, test->index, test->value);
		break;
	case PRR_PROBE_TEST_REG_HIGH:
		put_test_high(out, test);
		break;
	case PRR_PROBE_TEST_WORD:
		PUT(out, 0x48, 0xb9); /* mov rcx, imm64 */
		put_bytes(out, &test->addr, sizeof test->addr);
		PUT(out, 0x8b, 0x09); /* mov ecx,[rcx]; a wider load may stall on a store */
		put_compare(out, RCX, test->value);
		break;
	default:
		put_test_xstate(out, test, cpu);
		break;
	}
}

/* Do the 4 bytes at `index` lie within one of a component's elements of 16 bytes? */
static bool in_element(uint32_t index, uint32_t start, uint32_t len)
{
	return is_within(index, start, len) && (index - start) % 16 <= 12;
}

static bool can_test_avx512(uint32_t index, const struct prr_probe_cpu *cpu)
{
	if (is_within(index, cpu->opmask_at, OPMASK_LEN))
		return (index - cpu->opmask_at) % (cpu->avx512bw ? 4 : 8) == 0;
	return in_element(index, cpu->zmm_high_at, ZMM_HIGH_LEN) ||
		in_element(index, cpu->zmm_16_at, ZMM_16_LEN);
}

bool prr_probe_can_test(const struct prr_probe_test *test, const struct prr_probe_cpu *cpu)
{
	uint32_t index = test->index;

	switch (test->kind) {
	case PRR_PROBE_TEST_REG:
	case PRR_PROBE_TEST_REG_HIGH:
		return index < 16;
	case PRR_PROBE_TEST_WORD:
		return true;
	case PRR_PROBE_TEST_XSTATE:
		/* Not fop, fip, fdp (6..23): CPUs differ in when they keep them. */
		return index <= 2 || index == MXCSR_OFFSET ||
			in_element(index, FPREGS_OFFSET, XMM_OFFSET - FPREGS_OFFSET) ||
			in_element(index, XMM_OFFSET, XMM_END - XMM_OFFSET) ||
			(cpu->avx && in_element(index, YMM_HIGH_OFFSET, YMM_HIGH_LEN)) ||
			(cpu->avx512 && can_test_avx512(index, cpu));
	default:
		return false;
	}
}

/* ------------------------------------------------------------------- stubs */

/* A direct call: pushes the program's own return address in one instruction, so that
 * whoever stops in between, or at a stack overflow, finds what a call leaves. */
static void put_call(struct emitter *out, const struct prr_probe_insn *insn,
	const struct prr_probe_form *form, struct prr_probe_stub *ret)
{
	uint64_t return_addr = insn->addr + insn->length;

	PUT(out, 0xff, 0x35, 7, 0, 0, 0); /* push qword [literal] */
	put_jmp(out, form->target);
	ret->displaced_end = (uint32_t)out->len;
	/* Never executed; its immediate is the literal, so disassemblers stay in step. */
	PUT(out, 0x48, 0xb9);
	put_bytes(out, &return_addr, sizeof return_addr);
}

static void put_displaced(struct emitter *out, const struct prr_probe_insn *insn,
	const struct prr_probe_form *form, struct prr_probe_stub *ret)
{
	ret->displaced = (uint32_t)out->len;
	switch (form->kind) {
	case PRR_PROBE_FORM_CALL:
		put_call(out, insn, form, ret);
		return;
	case PRR_PROBE_FORM_JMP:
		put_jmp(out, form->target);
		break;
	case PRR_PROBE_FORM_JCC:
		PUT(out, 0x0f, (uint8_t)(0x80 | form->condition));
		put_rel32(out, form->target, 0);
		break;
	default:
		if (form->disp_offset == 0) {
			put_bytes(out, insn->bytes, insn->length);
			break;
		}
		put_bytes(out, insn->bytes, form->disp_offset);
		put_rel32(out, form->target, insn->length - form->disp_offset - 4U);
		put_bytes(out, insn->bytes + form->disp_offset + 4,
			insn->length - form->disp_offset - 4U);
		break;
	}
	ret->displaced_end = (uint32_t)out->len;
	if (form->kind == PRR_PROBE_FORM_PLAIN || form->kind == PRR_PROBE_FORM_JCC)
		put_jmp(out, insn->addr + insn->length);
}

static void put_trap(struct emitter *out, struct prr_probe_stub *ret)
{
	put_load_rcx(out, DATA_RCX);
	PUT(out, 0xcc);
	ret->after_trap = (uint32_t)out->len;
}

static void put_count(struct emitter *out, const struct prr_probe_request *request,
	const struct prr_probe_form *form, struct prr_probe_stub *ret)
{
	size_t zero;

	put_store_rcx(out, DATA_RCX);
	ret->saved = (uint32_t)out->len;
	put_count_down(out);
	ret->counted = (uint32_t)out->len;
	zero = put_jrcxz(out);
	put_load_rcx(out, DATA_RCX);
	put_displaced(out, request->insn, form, ret);
	land(out, zero);
	ret->trap = (uint32_t)out->len;
	put_trap(out, ret);
	put_jmp_to_offset(out, ret->displaced);
}

/* The way of a hit whose first test fails, the usual one, has no jump but the last. */
static void put_match(struct emitter *out, const struct prr_probe_request *request,
	const struct prr_probe_form *form, struct prr_probe_stub *ret)
{
	size_t no_match = 0;

	put_store_rcx(out, DATA_RCX);
	for (size_t i = 0; i < request->test_count; ++i) {
		size_t holds;

		put_test(out, &request->tests[i], &request->cpu);
		holds = put_jrcxz(out);
		if (i == 0) {
			no_match = out->len;
			put_load_rcx(out, DATA_RCX);
			put_displaced(out, request->insn, form, ret);
		} else {
			put_jmp_to_offset(out, no_match);
		}
		land(out, holds);
	}
	put_trap(out, ret);
	if (request->test_count == 0)
		put_displaced(out, request->insn, form, ret);
	else
		put_jmp_to_offset(out, ret->displaced);
}

/* False: the jump would need other bytes than those behind the instruction. */
static bool make_patch(
	const struct prr_probe_insn *insn, uint64_t code_addr, struct prr_probe_stub *ret)
{
	int64_t distance = (int64_t)(code_addr - (insn->addr + PRR_PROBE_JUMP_LEN));
	int32_t rel = (int32_t)distance;

	if (rel != distance)
		return false;
	ret->patch[0] = 0xe9;
	memcpy(ret->patch + 1, &rel, sizeof rel);
	ret->patch_len = PRR_PROBE_JUMP_LEN;
	if (insn->length >= PRR_PROBE_JUMP_LEN)
		return true;
	ret->patch_len = insn->length;
	return insn->known >= PRR_PROBE_JUMP_LEN &&
		memcmp(ret->patch + insn->length, insn->bytes + insn->length,
			PRR_PROBE_JUMP_LEN - insn->length) == 0;
}

bool prr_probe_generate(const struct prr_probe_request *request, struct prr_probe_stub *ret)
{
	const struct prr_probe_insn *insn = request->insn;
	struct emitter out = {
		.code = ret->code, .code_addr = request->code_addr, .data_addr = request->data_addr
	};
	struct prr_probe_form form;

	memset(ret, 0, sizeof *ret);
	if (!prr_probe_form_of(insn->addr, insn->bytes, insn->known, &form) ||
		form.length != insn->length || !make_patch(insn, request->code_addr, ret))
		return false;
	switch (request->kind) {
	case PRR_PROBE_COUNT:
		put_count(&out, request, &form, ret);
		break;
	case PRR_PROBE_MATCH:
		if (request->test_count > PRR_PROBE_TESTS_MAX)
			return false;
		for (size_t i = 0; i < request->test_count; ++i) {
			if (!prr_probe_can_test(&request->tests[i], &request->cpu))
				return false;
		}
		put_match(&out, request, &form, ret);
		break;
	default:
		return false;
	}
	ret->code_len = out.len;
	return !out.failed;
}
