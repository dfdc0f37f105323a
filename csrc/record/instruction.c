/* SPDX-License-Identifier: GPL-2.0-or-later
 * Instructions whose result is nondeterministic: rdtsc and rdtscp fault with
 * SIGSEGV (PR_SET_TSC), cpuid and its like were patched to ud2 and fault with
 * SIGILL, or fault themselves where the CPU has CPUID faulting. */
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <x86intrin.h>

#include "session.h"

/* The supervisor may not run rdtsc itself (TSD is on here too): a few
 * instructions with it off. */
static uint64_t read_tsc(void)
{
	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	uint64_t value = __rdtsc();

	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	return value;
}

static void set_tsc(struct prr_record *s, struct prr_regs *regs, bool with_core)
{
	uint64_t value = read_tsc();

	regs->rax = value & 0xffffffffu;
	regs->rdx = value >> 32;
	if (with_core)
		regs->rcx = (uint64_t)s->options->cpu;
}

/* The bytes of the instruction as the program has them: under a patch, its
 * original ones. Returns how many are known. */
static size_t original_bytes(struct prr_record_task *t, uint8_t bytes[15])
{
	const struct prr_field_patch *patch = prr_patch_find(&t->as->patches, t->regs.rip);
	size_t len = prr_mem_read_some(t->uid.tid, prr_remote(t->regs.rip), bytes, 15);

	if (patch)
		memcpy(bytes, patch->original, patch->length);
	return len;
}

enum prr_status prr_record_instruction(struct prr_record *s, struct prr_record_task *t, int signo,
	const siginfo_t *info, bool *handled, struct prr_error *err)
{
	uint8_t bytes[15];
	struct prr_field_instruction field = { 0 };
	struct prr_regs before = t->regs;

	(void)info;
	*handled = false;
	if (signo != SIGSEGV && signo != SIGILL)
		return PRR_OK;
	if (signo == SIGILL && !prr_patch_find(&t->as->patches, t->regs.rip))
		return PRR_OK;
	size_t len = original_bytes(t, bytes);

	field.instruction = prr_insn_classify(bytes, len, &field.length);
	switch (field.instruction) {
	case 0:
		return PRR_OK;
	case PRR_INSTRUCTION_RDTSC:
	case PRR_INSTRUCTION_RDTSCP:
		if (t->tsc_mode != PR_TSC_ENABLE)
			return PRR_OK; /* the program asked for the fault */
		set_tsc(s, &t->regs, field.instruction == PRR_INSTRUCTION_RDTSCP);
		t->regs.rip += field.length;
		break;
	default:
		PRR_TRY(prr_insn_emulate(
			field.instruction, bytes, len, (uint32_t)s->options->cpu, &t->regs, err));
		break;
	}
	*handled = true;
	t->regs.rflags &= ~PRR_FLAG_RF;
	before.rflags &= ~PRR_FLAG_RF;
	prr_event_begin(s, t, PRR_EVENT_INSTRUCTION, PRR_ORIGIN_POLICY, &before);
	PRR_TRY(prr_event_field(s, PRR_FIELD_INSTRUCTION, &field, sizeof(field), err));
	PRR_TRY(prr_event_regs_after(s, t, false, err));
	PRR_TRY(prr_event_commit(s, err));
	t->regs_dirty = true;
	t->vague_place = false;
	t->state = PRR_TASK_READY;
	PRR_TRY(prr_record_restore_after_trap(s, t, signo, err));
	prr_record_after_event(s, false);
	return PRR_OK;
}
