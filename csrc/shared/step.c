/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "step.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "insn.h"
#include "mem.h"
#include "ptrace.h"
#include "regs.h"

static bool is_event(const ZydisDecodedInstruction *insn, const uint8_t *bytes)
{
	uint32_t length;

	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
		return true;
	default:
		break;
	}
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_XBEGIN:
		return true;
	default:
		return prr_insn_classify(bytes, insn->length, &length) != 0;
	}
}

static bool is_repeated(const ZydisDecodedInstruction *insn)
{
	return (insn->attributes &
		       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) !=
		0;
}

static uint64_t general_register(const struct prr_regs *regs, ZydisRegister wanted)
{
	switch (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, wanted)) {
	case ZYDIS_REGISTER_RAX:
		return regs->rax;
	case ZYDIS_REGISTER_RCX:
		return regs->rcx;
	case ZYDIS_REGISTER_RDX:
		return regs->rdx;
	case ZYDIS_REGISTER_RBX:
		return regs->rbx;
	case ZYDIS_REGISTER_RSP:
		return regs->rsp;
	case ZYDIS_REGISTER_RBP:
		return regs->rbp;
	case ZYDIS_REGISTER_RSI:
		return regs->rsi;
	case ZYDIS_REGISTER_RDI:
		return regs->rdi;
	case ZYDIS_REGISTER_R8:
		return regs->r8;
	case ZYDIS_REGISTER_R9:
		return regs->r9;
	case ZYDIS_REGISTER_R10:
		return regs->r10;
	case ZYDIS_REGISTER_R11:
		return regs->r11;
	case ZYDIS_REGISTER_R12:
		return regs->r12;
	case ZYDIS_REGISTER_R13:
		return regs->r13;
	case ZYDIS_REGISTER_R14:
		return regs->r14;
	case ZYDIS_REGISTER_R15:
		return regs->r15;
	default:
		return 0;
	}
}

/* False for operands whose address is no sum of general registers (gathers). */
static bool operand_address(const struct prr_regs *regs, const ZydisDecodedInstruction *insn,
	const ZydisDecodedOperandMem *mem, uint64_t *ret)
{
	uint64_t addr = (uint64_t)mem->disp.value;

	if (mem->type != ZYDIS_MEMOP_TYPE_MEM)
		return false; /* lea computes only, gathers are many */
	if (mem->base == ZYDIS_REGISTER_RIP)
		addr += regs->rip + insn->length;
	else
		addr += general_register(regs, mem->base);
	addr += general_register(regs, mem->index) * mem->scale;
	if (insn->address_width == 32)
		addr &= 0xffffffffu;
	if (mem->segment == ZYDIS_REGISTER_FS)
		addr += regs->fs_base;
	else if (mem->segment == ZYDIS_REGISTER_GS)
		addr += regs->gs_base;
	*ret = addr;
	return true;
}

bool prr_step_look(pid_t tid, const struct prr_regs *regs, struct prr_next_insn *ret)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	memset(ret, 0, sizeof(*ret));
	ret->known = prr_mem_peek_some(tid, prr_remote(regs->rip), ret->bytes, sizeof(ret->bytes));
	if (ret->known == 0)
		return false;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, ret->bytes,
		    ret->known < PRR_INSN_BYTES ? ret->known : PRR_INSN_BYTES, &insn, operands))) {
		ret->is_event = true; /* SIGILL */
		return true;
	}
	ret->length = insn.length;
	ret->is_event = is_event(&insn, ret->bytes);
	ret->is_repeated = is_repeated(&insn);
	ret->pushes_flags =
		insn.mnemonic == ZYDIS_MNEMONIC_PUSHFQ || insn.mnemonic == ZYDIS_MNEMONIC_PUSHF;
	for (size_t i = 0; i < insn.operand_count && ret->operand_count < PRR_OPERANDS_MAX; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			operand_address(
				regs, &insn, &operands[i].mem, &ret->operands[ret->operand_count]))
			ret->operand_count++;
	return true;
}

/* The image that pushf left has the TF of the step in it. */
static void clean_pushed_flags(pid_t tid, const struct prr_regs *before, const struct prr_regs *now)
{
	uint8_t high;

	if ((before->rflags & PRR_FLAG_TF) ||
		!prr_mem_read(tid, prr_remote(now->rsp + 1), &high, 1))
		return;
	high &= (uint8_t)~(PRR_FLAG_TF >> 8);
	prr_mem_write(tid, prr_remote(now->rsp + 1), &high, 1);
}

/* From popf and iret on, until the task is resumed otherwise, the kernel takes the TF of
 * our steps for the program's own (enable_single_step(), arch/x86/kernel/step.c). */
static void forget_step(pid_t tid, const struct prr_regs *before, struct prr_regs *now)
{
	if ((before->rflags & PRR_FLAG_TF) || !(now->rflags & PRR_FLAG_TF))
		return;
	now->rflags &= ~PRR_FLAG_TF;
	(void)prr_ptrace_set_regs(tid, now);
}

enum prr_step_result prr_step(
	pid_t tid, const struct prr_next_insn *insn, struct prr_regs *regs, int *status)
{
	struct prr_regs before = *regs;
	pid_t got;

	/* ESRCH: killed; the wait tells. */
	(void)prr_ptrace_resume(tid, PRR_RESUME_STEP, 0);
	do
		got = waitpid(tid, status, __WALL);
	while (got < 0 && errno == EINTR);
	if (got != tid || !WIFSTOPPED(*status) || !prr_ptrace_get_regs(tid, regs))
		return PRR_STEP_OTHER;
	if (WSTOPSIG(*status) != SIGTRAP || prr_status_event(*status) != 0) {
		forget_step(tid, &before, regs);
		return PRR_STEP_OTHER;
	}
	if (insn->pushes_flags)
		clean_pushed_flags(tid, &before, regs);
	if (!insn->pops_flags)
		forget_step(tid, &before, regs);
	return PRR_STEP_DONE;
}
