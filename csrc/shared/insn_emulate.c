/* SPDX-License-Identifier: GPL-2.0-or-later
 * See insn.h. Sources: Intel SDM volume 2 (CPUID, RDRAND, RDSEED, RDPID), AMD
 * APM volume 3 (CPUID, appendix E.4 for the extended leaves). */
#include "insn.h"

#include <Zydis/Zydis.h>
#include <cpuid.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "error.h"

enum { MAX_LENGTH = 15 };

static bool decode(const uint8_t *bytes, size_t len, ZydisDecodedInstruction *insn)
{
	ZydisDecoder decoder;

	if (!bytes || len == 0)
		return false;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
		&decoder, NULL, bytes, len < MAX_LENGTH ? len : MAX_LENGTH, insn));
}

static uint32_t kind_of(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_RDTSC:
		return PRR_INSTRUCTION_RDTSC;
	case ZYDIS_MNEMONIC_RDTSCP:
		return PRR_INSTRUCTION_RDTSCP;
	case ZYDIS_MNEMONIC_CPUID:
		return PRR_INSTRUCTION_CPUID;
	case ZYDIS_MNEMONIC_RDRAND:
		return PRR_INSTRUCTION_RDRAND;
	case ZYDIS_MNEMONIC_RDSEED:
		return PRR_INSTRUCTION_RDSEED;
	case ZYDIS_MNEMONIC_RDPID:
		return PRR_INSTRUCTION_RDPID;
	default:
		return 0;
	}
}

uint32_t prr_insn_classify(const uint8_t *bytes, size_t len, uint32_t *length)
{
	ZydisDecodedInstruction insn;
	uint32_t kind;

	*length = 0;
	if (!decode(bytes, len, &insn))
		return 0;
	kind = kind_of(&insn);
	if (kind)
		*length = insn.length;
	return kind;
}

/* ------------------------------------------------------------------- cpuid */

enum {
	FEATURE_ECX_RDRAND = 1 << 30, /* leaf 1 ecx */
	STRUCTURED_EBX_HLE = 1 << 4,  /* leaf 7.0 */
	STRUCTURED_EBX_RTM = 1 << 11,
	STRUCTURED_EBX_RDSEED = 1 << 18,
	STRUCTURED_ECX_WAITPKG = 1 << 5,
	STRUCTURED_ECX_RDPID = 1 << 22,
	STRUCTURED_EDX_TSXLDTRK = 1 << 16,
	XSAVE_EAX_XSAVEOPT = 1 << 0, /* leaf 0xd.1 */
	XSAVE_EAX_XSAVEC = 1 << 1,
	AMD_EBX_RDPRU = 1 << 4 /* leaf 0x80000008 */
};

struct prr_cpuid prr_cpuid_read(uint32_t leaf, uint32_t subleaf)
{
	struct prr_cpuid ret;

	__cpuid_count(leaf, subleaf, ret.eax, ret.ebx, ret.ecx, ret.edx);
	return ret;
}

static bool same_cpuid(const struct prr_cpuid *a, const struct prr_cpuid *b)
{
	return a->eax == b->eax && a->ebx == b->ebx && a->ecx == b->ecx && a->edx == b->edx;
}

/* The leaf whose data this is: Intel CPUs answer a leaf beyond the highest one
 * of its range with the data of the highest basic leaf (SDM, CPUID, "If a value
 * entered for CPUID.EAX is higher than the maximum"). AMD's answer zeros. */
static uint32_t effective_leaf(uint32_t leaf, uint32_t subleaf, const struct prr_cpuid *data)
{
	uint32_t max_basic = prr_cpuid_read(0, 0).eax;
	struct prr_cpuid highest;

	if (leaf <= max_basic)
		return leaf;
	highest = prr_cpuid_read(max_basic, subleaf);
	return same_cpuid(&highest, data) ? max_basic : leaf;
}

/* Takes out what differs between runs or cores. */
void prr_cpuid_mask(uint32_t leaf, uint32_t subleaf, struct prr_cpuid *data)
{
	switch (leaf) {
	case 1:
		data->ecx &= ~(uint32_t)FEATURE_ECX_RDRAND;
		data->ebx &= 0x00ffffffU; /* 31:24: initial APIC id */
		break;
	case 7:
		if (subleaf != 0)
			break;
		data->ebx &= ~(
			uint32_t)(STRUCTURED_EBX_HLE | STRUCTURED_EBX_RTM | STRUCTURED_EBX_RDSEED);
		data->ecx &= ~(uint32_t)(STRUCTURED_ECX_WAITPKG | STRUCTURED_ECX_RDPID);
		data->edx &= ~(uint32_t)STRUCTURED_EDX_TSXLDTRK;
		break;
	case 0xD:
		/* What xsavec and xsaveopt leave out depends on XINUSE, which a context switch may
		 * change: ld.so's lazy binding would leave other bytes on the stack than when
		 * it was recorded, and a later function has them as uninitialised locals.
		 * xsave writes all. */
		if (subleaf == 1)
			data->eax &= ~(uint32_t)(XSAVE_EAX_XSAVEC | XSAVE_EAX_XSAVEOPT);
		break;
	case 0xB: /* extended topology */
	case 0x1F: /* V2 extended topology */
	case 0x80000026: /* AMD's extended CPU topology */
		data->edx = 0; /* x2APIC id */
		break;
	case 0x80000008:
		data->ebx &= ~(uint32_t)AMD_EBX_RDPRU;
		break;
	case 0x8000001E:
		data->eax = 0; /* extended APIC id */
		data->ebx &= ~(uint32_t)0xff; /* 7:0: core or compute unit id */
		data->ecx &= ~(uint32_t)0xff; /* 7:0: node id */
		break;
	default:
		break;
	}
}

static void emulate_cpuid(struct prr_regs *regs)
{
	uint32_t leaf = (uint32_t)regs->rax, subleaf = (uint32_t)regs->rcx;
	struct prr_cpuid data = prr_cpuid_read(leaf, subleaf);

	prr_cpuid_mask(effective_leaf(leaf, subleaf, &data), subleaf, &data);
	/* 64-bit mode: bits 63:32 of all four are cleared (SDM, CPUID). */
	regs->rax = data.eax;
	regs->rbx = data.ebx;
	regs->rcx = data.ecx;
	regs->rdx = data.edx;
}

/* --------------------------------------------------- rdrand, rdseed, rdpid */

static uint64_t *general_register(struct prr_regs *regs, unsigned int number)
{
	switch (number & 15) {
	case 0:
		return &regs->rax;
	case 1:
		return &regs->rcx;
	case 2:
		return &regs->rdx;
	case 3:
		return &regs->rbx;
	case 4:
		return &regs->rsp;
	case 5:
		return &regs->rbp;
	case 6:
		return &regs->rsi;
	case 7:
		return &regs->rdi;
	case 8:
		return &regs->r8;
	case 9:
		return &regs->r9;
	case 10:
		return &regs->r10;
	case 11:
		return &regs->r11;
	case 12:
		return &regs->r12;
	case 13:
		return &regs->r13;
	case 14:
		return &regs->r14;
	default:
		return &regs->r15;
	}
}

/* The system call itself: the C library may ask the vdso (glibc 2.41), whose
 * generator reads the TSC on some kernels, and the TSC is off in this thread. */
static bool random_bytes(void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		long n = syscall(SYS_getrandom, (char *)buf + done, len - done, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* An instruction with a register operand in modrm.rm and REX.B. */
static uint64_t *operand_register(const ZydisDecodedInstruction *insn, struct prr_regs *regs)
{
	return general_register(regs, insn->raw.modrm.rm | (unsigned int)(insn->raw.rex.B ? 8 : 0));
}

static enum prr_status emulate_random(
	const ZydisDecodedInstruction *insn, struct prr_regs *regs, struct prr_error *err)
{
	enum { CF = 1, PF = 4, AF = 0x10, ZF = 0x40, SF = 0x80, OF = 0x800 };
	uint64_t *operand = operand_register(insn, regs);
	uint64_t value = 0;

	if (!random_bytes(&value, sizeof value))
		return prr_fail_errno(err, "getrandom for an emulated rdrand failed");
	switch (insn->operand_width) {
	case 16:
		*operand = (*operand & ~(uint64_t)0xffff) | (value & 0xffff);
		break;
	case 32:
		*operand = value & 0xffffffffU;
		break;
	default:
		*operand = value;
		break;
	}
	regs->rflags &= ~(uint64_t)(PF | AF | ZF | SF | OF);
	regs->rflags |= CF;
	return PRR_OK;
}

enum prr_status prr_insn_emulate(uint32_t instruction, const uint8_t *bytes, size_t len,
	uint32_t core, struct prr_regs *regs, struct prr_error *err)
{
	/* A fault saves RF set, and an instruction that completes clears it (SDM
	 * volume 3, 17.3.1.1): record and replay see the same rflags. */
	const uint64_t rf = 1U << 16;
	ZydisDecodedInstruction insn;

	if (!decode(bytes, len, &insn) || kind_of(&insn) != instruction)
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"the %zu bytes at %#llx are not the instruction %u to emulate", len,
			(unsigned long long)regs->rip, instruction);
	switch (instruction) {
	case PRR_INSTRUCTION_CPUID:
		emulate_cpuid(regs);
		break;
	case PRR_INSTRUCTION_RDRAND:
	case PRR_INSTRUCTION_RDSEED:
		PRR_TRY(emulate_random(&insn, regs, err));
		break;
	case PRR_INSTRUCTION_RDPID:
		*operand_register(&insn, regs) = core;
		break;
	default:
		return prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
			"instruction %u is not emulated here", instruction);
	}
	regs->rip += insn.length;
	regs->rflags &= ~rf;
	return PRR_OK;
}
