/* SPDX-License-Identifier: GPL-2.0-or-later
 * See probe_code.h: which instructions can be displaced, and where stubs go.
 *
 * Decoding is Zydis's. What an instruction does that depends on its place, and what
 * tells a program its place, follows the Intel SDM, volumes 1 (8.1.8: the x87
 * instruction pointer) and 2. */
#include "probe_code.h"

#include <Zydis/Zydis.h>
#include <string.h>

#include "probe_form.h"

#define LOWEST_ADDRESS 0x10000U
#define HIGHEST_ADDRESS 0x7ffffffff000U
/* Of a jump or of a rip-relative operand; the margin is for instructions' lengths. */
#define REACH ((UINT64_C(2) << 30) - (UINT64_C(64) << 10))
#define NEAR (UINT64_C(16) << 20) /* a stub that may stand anywhere keeps this far from its site */
#define STEP (UINT64_C(64) << 10)

enum { MAX_LENGTH = 15 };

/* -------------------------------------------------- what can be displaced */

/* Stops the task, enters the kernel or another machine state, or yields what differs
 * from run to run: the recorder handles those itself, at the program's own address. */
static bool has_bad_category(const ZydisDecodedInstruction *insn)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_KEYLOCKER:
	case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
	case ZYDIS_CATEGORY_PADLOCK:
	case ZYDIS_CATEGORY_RDPID:
	case ZYDIS_CATEGORY_RDPRU:
	case ZYDIS_CATEGORY_RDRAND:
	case ZYDIS_CATEGORY_RDSEED:
	case ZYDIS_CATEGORY_SEGOP:
	case ZYDIS_CATEGORY_SGX:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM: /* rdtsc, rdtscp, rdpmc, sgdt, smsw, ... */
	case ZYDIS_CATEGORY_TSX_LDTRK:
	case ZYDIS_CATEGORY_UINTR:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_WAITPKG:
		return true;
	default:
		return false;
	}
}

static bool has_bad_mnemonic(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_MONITORX:
	case ZYDIS_MNEMONIC_MWAITX:
	case ZYDIS_MNEMONIC_STI:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_XGETBV:
		return true;
	default:
		return false;
	}
}

static bool is_refused(const ZydisDecodedInstruction *insn)
{
	const uint64_t attributes = ZYDIS_ATTRIB_IS_PRIVILEGED | ZYDIS_ATTRIB_HAS_REP |
		ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;

	if ((insn->attributes & attributes) || has_bad_category(insn) || has_bad_mnemonic(insn))
		return true;
	/* The CPU keeps the address of the last x87 instruction; fnstenv, fxsave and xsave,
	 * also the kernel's for a signal frame, show it to the program. */
	return insn->meta.category == ZYDIS_CATEGORY_X87_ALU ||
		insn->meta.category == ZYDIS_CATEGORY_FCMOV;
}

/* Branches, calls and returns. */
static bool branch_form(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
	struct prr_probe_form *form)
{
	bool direct = operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	/* With an operand size prefix CPUs of different makers disagree. */
	if ((insn->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) ||
		insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return false;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_RET:
		form->kind = PRR_PROBE_FORM_AWAY;
		return insn->opcode == 0xc2 || insn->opcode == 0xc3; /* else far */
	case ZYDIS_MNEMONIC_JMP:
		form->kind = direct ? PRR_PROBE_FORM_JMP : PRR_PROBE_FORM_AWAY;
		return true;
	case ZYDIS_MNEMONIC_CALL:
		form->kind = PRR_PROBE_FORM_CALL;
		return direct;
	default:
		break;
	}
	form->kind = PRR_PROBE_FORM_JCC;
	form->condition = insn->opcode & 0xf;
	/* The others are loop, loopcc, jecxz and jrcxz. */
	return (insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (insn->opcode & 0xf0) == 0x70) ||
		(insn->opcode_map == ZYDIS_OPCODE_MAP_0F && (insn->opcode & 0xf0) == 0x80);
}

/* A rip-relative operand, if there is one. False: one by eip. */
static bool find_rip_operand(uint64_t addr, const ZydisDecodedInstruction *insn,
	const ZydisDecodedOperand *operands, struct prr_probe_form *form)
{
	for (size_t i = 0; i < insn->operand_count; ++i) {
		if (operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		if (operands[i].mem.base == ZYDIS_REGISTER_EIP)
			return false;
		if (operands[i].mem.base != ZYDIS_REGISTER_RIP)
			continue;
		if (insn->raw.disp.size != 32)
			return false;
		form->disp_offset = insn->raw.disp.offset;
		form->has_target = true;
		form->target = addr + insn->length + (uint64_t)insn->raw.disp.value;
	}
	return true;
}

bool prr_probe_form_of(uint64_t addr, const uint8_t *bytes, size_t len, struct prr_probe_form *ret)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	bool is_branch;

	memset(ret, 0, sizeof *ret);
	if (len == 0)
		return false;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
		    &decoder, bytes, len < MAX_LENGTH ? len : MAX_LENGTH, &insn, operands)) ||
		is_refused(&insn))
		return false;
	ret->length = insn.length;
	ret->writes_code_like = insn.raw.disp.size >= 32 || insn.raw.imm[0].size >= 32 ||
		insn.raw.imm[1].size >= 32;
	if (!find_rip_operand(addr, &insn, operands, ret))
		return false;
	is_branch = insn.meta.category == ZYDIS_CATEGORY_COND_BR ||
		insn.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		insn.meta.category == ZYDIS_CATEGORY_CALL;
	ret->writes_code_like |= is_branch;
	if ((is_branch || insn.meta.category == ZYDIS_CATEGORY_RET) &&
		!branch_form(&insn, operands, ret))
		return false;
	if (insn.raw.imm[0].is_relative) {
		if (ret->kind == PRR_PROBE_FORM_PLAIN)
			return false;
		ret->has_target = true;
		ret->target = addr + insn.length + (uint64_t)insn.raw.imm[0].value.s;
	}
	return true;
}

bool prr_probe_decode(uint64_t addr, const uint8_t *bytes, size_t len, struct prr_probe_insn *ret)
{
	struct prr_probe_form form;

	memset(ret, 0, sizeof *ret);
	if (!prr_probe_form_of(addr, bytes, len, &form))
		return false;
	ret->addr = addr;
	ret->known = (uint8_t)(len < sizeof ret->bytes ? len : sizeof ret->bytes);
	memcpy(ret->bytes, bytes, ret->known);
	ret->length = form.length;
	ret->writes_code_like = form.writes_code_like;
	return true;
}

/* -------------------------------------------------------- where stubs go */

struct search {
	const struct prr_probe_insn *insn;
	const struct prr_probe_form *form;
	uint64_t len;
	bool (*is_free)(void *context, uint64_t start, uint64_t len);
	void *context;
};

static uint64_t page_down(uint64_t address)
{
	return address & ~(uint64_t)(PRR_PROBE_PAGE - 1);
}

static bool within_reach(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= REACH;
}

/* Would a stub whose code begins at code_addr reach all it has to, and is there room? */
static bool is_place(const struct search *search, uint64_t code_addr)
{
	uint64_t start = page_down(code_addr);
	uint64_t end = start + search->len;

	if (start < LOWEST_ADDRESS || start >= HIGHEST_ADDRESS ||
		search->len > HIGHEST_ADDRESS - start)
		return false;
	if (!within_reach(start, search->insn->addr) || !within_reach(end, search->insn->addr))
		return false;
	if (search->form->has_target &&
		(!within_reach(start, search->form->target) ||
			!within_reach(end, search->form->target)))
		return false;
	return search->is_free(search->context, start, search->len);
}

/* Below the site from near to far; above it, where heaps grow, from far to near. */
static bool place_anywhere(const struct search *search, uint64_t *code_addr)
{
	uint64_t site = page_down(search->insn->addr);

	for (uint64_t distance = NEAR; distance < REACH;) {
		*code_addr = site - distance;
		if (distance < site && is_place(search, *code_addr))
			return true;
		*code_addr = page_down(site + REACH - distance);
		if (is_place(search, *code_addr))
			return true;
		distance += distance / NEAR * STEP;
	}
	return false;
}

/* The displacement's high bytes are those that follow the instruction. */
static bool place_punned(const struct search *search, uint64_t *code_addr)
{
	const struct prr_probe_insn *insn = search->insn;
	uint64_t choices = UINT64_C(1) << (8 * (insn->length - 1));
	uint64_t step = insn->length == 4 ? STEP / 4 : PRR_PROBE_PAGE;
	uint64_t first;
	uint32_t fixed = 0;

	if (insn->known < PRR_PROBE_JUMP_LEN)
		return false;
	for (unsigned int i = insn->length; i < PRR_PROBE_JUMP_LEN; ++i)
		fixed |= (uint32_t)insn->bytes[i] << (8 * (i - 1));
	first = insn->addr + PRR_PROBE_JUMP_LEN + (uint64_t)(int64_t)(int32_t)fixed;
	for (uint64_t i = 0; i < choices;) {
		*code_addr = first + i;
		if (is_place(search, *code_addr))
			return true;
		i = page_down(first + i) + step - first;
	}
	return false;
}

bool prr_probe_place(const struct prr_probe_insn *insn, uint64_t len,
	bool (*is_free)(void *context, uint64_t start, uint64_t len), void *context,
	uint64_t *code_addr)
{
	struct prr_probe_form form;
	struct search search = {
		.insn = insn, .form = &form, .len = len, .is_free = is_free, .context = context
	};

	if (insn->addr >= HIGHEST_ADDRESS ||
		!prr_probe_form_of(insn->addr, insn->bytes, insn->known, &form) ||
		form.length != insn->length)
		return false;
	return insn->length < PRR_PROBE_JUMP_LEN ? place_punned(&search, code_addr)
						 : place_anywhere(&search, code_addr);
}
