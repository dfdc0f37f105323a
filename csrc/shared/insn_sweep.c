/* SPDX-License-Identifier: GPL-2.0-or-later
 * See insn_sweep.h. Decoding is Zydis's; lengths and flow follow the Intel SDM,
 * volume 2 (an instruction has at most 15 bytes: section 2.3.11). */
#include "insn_sweep.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

enum {
	MAX_LENGTH = 15,
	/* prr_field_patch keeps 8 bytes of the original. */
	MAX_SITE_LENGTH = 8
};

/* Marks of a byte: an instruction starts at it, or it lies inside one, as seen
 * by strong flow (from the function's start) or weak flow (from a gap). */
enum mark { START_STRONG = 1, INSIDE_STRONG = 2, START_WEAK = 4, INSIDE_WEAK = 8 };

struct code { /* bytes being decoded, and what it may still cost */
	const uint8_t *bytes;
	size_t len;
	uint64_t *budget;
	ZydisDecoder decoder;
};

static void code_init(struct code *code, const uint8_t *bytes, size_t len, uint64_t *budget)
{
	code->bytes = bytes;
	code->len = len;
	code->budget = budget;
	ZydisDecoderInit(&code->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

static bool decode(struct code *code, size_t at, ZydisDecodedInstruction *insn)
{
	size_t left = at < code->len ? code->len - at : 0;

	if (left == 0 || *code->budget == 0)
		return false;
	--*code->budget;
	if (left > MAX_LENGTH)
		left = MAX_LENGTH;
	return ZYAN_SUCCESS(
		ZydisDecoderDecodeInstruction(&code->decoder, NULL, code->bytes + at, left, insn));
}

/* Whether execution never goes on to the next instruction. */
static bool ends_flow(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3:
		return true;
	default:
		return insn->meta.category == ZYDIS_CATEGORY_RET ||
			insn->meta.category == ZYDIS_CATEGORY_UNCOND_BR;
	}
}

/* Instructions that user code does not execute, or hardly; in decoded data they
 * abound. */
static bool is_odd(const ZydisDecodedInstruction *insn)
{
	if (insn->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
		return true;
	/* add [mem], r8 with opcode 00: zeros of a table. */
	if (insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && insn->opcode == 0)
		return true;
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_SEGOP:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_VTX:
		return true;
	case ZYDIS_CATEGORY_INTERRUPT:
		return insn->mnemonic != ZYDIS_MNEMONIC_INT3;
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_UNCOND_BR:
		return insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
	default:
		break;
	}
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_STI:
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return true;
	default:
		return false;
	}
}

/* ------------------------------------------------------- neighbours of a site */

/* Whether the instruction at `at` replaces eax or rax by a visible operand. */
static bool sets_eax(struct code *code, size_t at)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	size_t left = code->len - at < MAX_LENGTH ? code->len - at : MAX_LENGTH;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
		    &code->decoder, code->bytes + at, left, &insn, operands)))
		return false;
	for (size_t i = 0; i < insn.operand_count_visible; ++i) {
		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
			(operands[i].reg.value == ZYDIS_REGISTER_EAX ||
				operands[i].reg.value == ZYDIS_REGISTER_RAX))
			return true;
	}
	return false;
}

/* Decodes on from `at`: nothing undefined or odd for a while. With `want_carry`
 * the carry flag must be tested before anything changes it. */
static bool sane_after(struct code *code, size_t at, bool want_carry)
{
	enum { LOOK = 10, CARRY_LOOK = 6 };
	ZydisDecodedInstruction insn;
	bool carry = !want_carry;

	for (int i = 0; i < LOOK; ++i) {
		if (!decode(code, at, &insn) || is_odd(&insn))
			return false;
		if (!carry && insn.cpu_flags) {
			if (i < CARRY_LOOK && (insn.cpu_flags->tested & ZYDIS_CPUFLAG_CF))
				carry = true;
			else if ((insn.cpu_flags->modified | insn.cpu_flags->set_0 |
					 insn.cpu_flags->set_1 | insn.cpu_flags->undefined) &
				ZYDIS_CPUFLAG_CF)
				return false;
		}
		if (ends_flow(&insn))
			break;
		at += insn.length;
	}
	return carry;
}

/* starts[0..count): the starts of the instructions before the site, nearest
 * first. */
static bool plausible(
	struct code *code, const size_t *starts, size_t count, const struct prr_insn_site *site)
{
	size_t at = (size_t)site->file_offset;
	bool is_cpuid = site->instruction == PRR_INSTRUCTION_CPUID;
	bool has_eax = false;
	ZydisDecodedInstruction insn;

	/* Nothing that a weakly reached rdpid should look like is known. */
	if (site->instruction == PRR_INSTRUCTION_RDPID)
		return false;
	for (size_t i = 0; i < count; ++i) {
		if (!decode(code, starts[i], &insn))
			return false;
		/* Before padding or the end of a flow stands other code, or data. */
		if (ends_flow(&insn) || insn.meta.category == ZYDIS_CATEGORY_NOP ||
			insn.meta.category == ZYDIS_CATEGORY_WIDENOP)
			break;
		if (is_odd(&insn))
			return false;
		has_eax = has_eax || (is_cpuid && sets_eax(code, starts[i]));
	}
	if (is_cpuid && !has_eax)
		return false;
	return sane_after(code, at + site->length, !is_cpuid);
}

/* Whether the instruction that starts at `start` is the one whose 0f byte is
 * `opcode`: what stands between are its prefixes. */
static bool is_site(
	const uint8_t *code, size_t len, size_t start, size_t opcode, struct prr_insn_site *site)
{
	uint32_t length = 0;
	uint32_t kind;
	size_t suffix;

	if (start > opcode || start >= len)
		return false;
	kind = prr_insn_classify(code + start, len - start, &length);
	switch (kind) {
	case PRR_INSTRUCTION_CPUID:
		suffix = 2;
		break;
	case PRR_INSTRUCTION_RDRAND:
	case PRR_INSTRUCTION_RDSEED:
	case PRR_INSTRUCTION_RDPID:
		suffix = 3;
		break;
	default:
		return false;
	}
	if (length > MAX_SITE_LENGTH || start + length != opcode + suffix)
		return false;
	*site = (struct prr_insn_site){
		.file_offset = start, .length = (uint8_t)length, .instruction = (uint8_t)kind
	};
	return true;
}

/* ------------------------------------------------------- flow in a function */

void prr_sweep_init(struct prr_sweep *sweep, uint64_t budget)
{
	memset(sweep, 0, sizeof *sweep);
	sweep->budget = budget;
}

void prr_sweep_deinit(struct prr_sweep *sweep)
{
	free(sweep->marks);
	free(sweep->stack);
	memset(sweep, 0, sizeof *sweep);
}

static bool push_target(struct prr_sweep *sweep, size_t target)
{
	if (sweep->stack_count == sweep->stack_capacity) {
		size_t capacity = sweep->stack_capacity ? sweep->stack_capacity * 2 : 256;
		uint32_t *stack = realloc(sweep->stack, capacity * sizeof *stack);

		if (!stack)
			return false;
		sweep->stack = stack;
		sweep->stack_capacity = capacity;
	}
	sweep->stack[sweep->stack_count++] = (uint32_t)target;
	return true;
}

/* Direct target of a relative branch or call inside the code; false: none. */
static bool branch_target(const ZydisDecodedInstruction *insn, size_t at, size_t len, size_t *ret)
{
	int64_t target;

	if (!insn->raw.imm[0].is_relative)
		return false;
	target = (int64_t)at + insn->length + insn->raw.imm[0].value.s;
	if (target < 0 || target >= (int64_t)len)
		return false;
	*ret = (size_t)target;
	return true;
}

/* Decodes from `at` until the flow ends, meets an instruction it has seen or, if
 * weak, one that strong flow has seen; then from each branch target. */
static bool follow(struct prr_sweep *sweep, struct code *code, size_t at, bool strong)
{
	uint8_t start = strong ? START_STRONG : START_WEAK;
	uint8_t inside = strong ? INSIDE_STRONG : INSIDE_WEAK;
	ZydisDecodedInstruction insn;
	size_t target;

	for (;;) {
		while (at < sweep->len &&
			!(sweep->marks[at] & (strong ? START_STRONG : START_STRONG | START_WEAK)) &&
			decode(code, at, &insn)) {
			sweep->marks[at] |= start;
			for (size_t i = 1; i < insn.length; ++i)
				sweep->marks[at + i] |= inside;
			if (branch_target(&insn, at, sweep->len, &target) &&
				!(sweep->marks[target] & (start | START_STRONG)) &&
				!push_target(sweep, target))
				return false;
			if (ends_flow(&insn))
				break;
			at += insn.length;
		}
		if (sweep->stack_count == 0)
			return true;
		at = sweep->stack[--sweep->stack_count];
	}
}

enum prr_status prr_sweep_function(struct prr_sweep *sweep, const uint8_t *code_bytes, size_t len,
	bool entry_only, struct prr_error *err)
{
	struct code code;

	sweep->len = 0;
	if (len > PRR_SWEEP_MAX)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"a function of %zu bytes is too long to sweep", len);
	if (len > sweep->marks_capacity) {
		uint8_t *marks = realloc(sweep->marks, len);

		if (!marks)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL,
				"cannot allocate %zu bytes", len);
		sweep->marks = marks;
		sweep->marks_capacity = len;
	}
	if (len)
		memset(sweep->marks, 0, len);
	sweep->code = code_bytes;
	sweep->len = len;
	sweep->stack_count = 0;
	code_init(&code, code_bytes, len, &sweep->budget);
	if (!follow(sweep, &code, 0, true))
		goto out_of_memory;
	for (size_t at = 0; !entry_only && at < len; ++at) {
		if (sweep->marks[at] == 0 && !follow(sweep, &code, at, false))
			goto out_of_memory;
	}
	return PRR_OK;

out_of_memory:
	sweep->len = 0;
	return prr_fail(
		err, PRR_ERR_SYSTEM, ENOMEM, NULL, "cannot allocate the stack of branch targets");
}

/* The starts of up to `max` instructions before `at`, nearest first, as marked:
 * those that decode up to exactly the next one. */
static size_t starts_before(
	struct prr_sweep *sweep, struct code *code, size_t at, size_t *starts, size_t max)
{
	ZydisDecodedInstruction insn;
	size_t count = 0;

	while (count < max) {
		size_t found = at;

		for (size_t back = 1; back <= MAX_LENGTH && back <= at; ++back) {
			if ((sweep->marks[at - back] & (START_STRONG | START_WEAK)) &&
				decode(code, at - back, &insn) && insn.length == back) {
				found = at - back;
				break;
			}
		}
		if (found == at)
			break;
		starts[count++] = found;
		at = found;
	}
	return count;
}

bool prr_sweep_verdict(struct prr_sweep *sweep, size_t opcode, struct prr_insn_site *site)
{
	enum { LOOK = 10 };
	size_t starts[LOOK];
	size_t count, first;
	struct code code;
	uint8_t seen = 0;

	if (opcode >= sweep->len)
		return false;
	first = opcode;
	while (first > 0 && opcode - first < MAX_SITE_LENGTH &&
		!(sweep->marks[first] & (START_STRONG | START_WEAK)))
		--first;
	if (!is_site(sweep->code, sweep->len, first, opcode, site))
		return false;
	for (size_t i = 1; i < site->length; ++i)
		seen |= sweep->marks[first + i];
	/* Seen otherwise by another flow: overlapping code or data. */
	if ((sweep->marks[first] & INSIDE_STRONG) || (seen & START_STRONG))
		return false;
	if (sweep->marks[first] & START_STRONG)
		return true;
	if ((sweep->marks[first] & INSIDE_WEAK) || (seen & (START_WEAK | INSIDE_STRONG)))
		return false;
	code_init(&code, sweep->code, sweep->len, &sweep->budget);
	count = starts_before(sweep, &code, first, starts, LOOK);
	return plausible(&code, starts, count, site);
}

/* ----------------------------------------------------- bytes of no function */

/* What a decoding from each offset of the window comes to. */
enum arrival {
	ARRIVES_NOT = 0, /* undefined instruction on the way */
	ARRIVES = 1,     /* an instruction starts at the site */
	ARRIVES_PAST = 2 /* an instruction covers the site's first byte */
};

/* The start nearest before `opcode` from which is_site holds and that most
 * decodings from further back reach; votes for and against in *yes, *no.
 * lengths, arrivals: one a byte of the window before `site`. */
static void vote(struct code *code, size_t site, uint8_t *lengths, uint8_t *arrivals, size_t *yes,
	size_t *no)
{
	enum { NEAR = 32 }; /* decodings this short may not have synchronised */
	ZydisDecodedInstruction insn;
	size_t first = site > PRR_SWEEP_BEFORE ? site - PRR_SWEEP_BEFORE : 0;

	*yes = *no = 0;
	for (size_t at = site; at-- > first;) {
		size_t i = at - first;

		lengths[i] = decode(code, at, &insn) ? insn.length : 0;
		if (lengths[i] == 0)
			arrivals[i] = ARRIVES_NOT;
		else if (at + lengths[i] >= site)
			arrivals[i] = at + lengths[i] == site ? ARRIVES : ARRIVES_PAST;
		else
			arrivals[i] = arrivals[i + lengths[i]];
		if (site - at <= NEAR)
			continue;
		*yes += arrivals[i] == ARRIVES;
		*no += arrivals[i] == ARRIVES_PAST;
	}
}

bool prr_sweep_resync(struct prr_sweep *sweep, const uint8_t *bytes, size_t len, size_t opcode,
	struct prr_insn_site *site)
{
	enum { LOOK = 10, MIN_VOTES = 24, MAJORITY = 16 };
	uint8_t lengths[PRR_SWEEP_BEFORE], arrivals[PRR_SWEEP_BEFORE];
	size_t starts[LOOK];
	size_t yes, no, count, start, first, at;
	struct code code;

	sweep->len = 0;
	code_init(&code, bytes, len, &sweep->budget);
	/* With its prefixes: the longest instruction that ends in this opcode and
	 * that the decodings agree on. */
	for (size_t prefixes = 4;; --prefixes) {
		if (opcode >= prefixes && is_site(bytes, len, opcode - prefixes, opcode, site)) {
			start = opcode - prefixes;
			vote(&code, start, lengths, arrivals, &yes, &no);
			if (yes >= MIN_VOTES && yes >= no * MAJORITY)
				break;
		}
		if (prefixes == 0)
			return false;
	}
	first = start > PRR_SWEEP_BEFORE ? start - PRR_SWEEP_BEFORE : 0;
	/* Walk the agreed decoding; keep its last LOOK starts. */
	for (at = first; arrivals[at - first] != ARRIVES; ++at)
		;
	count = 0;
	while (at < start) {
		memmove(starts + 1, starts, (LOOK - 1) * sizeof *starts);
		starts[0] = at;
		if (count < LOOK)
			++count;
		at += lengths[at - first];
	}
	return plausible(&code, starts, count, site);
}
