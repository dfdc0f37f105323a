/* SPDX-License-Identifier: GPL-2.0-or-later
 * Single-stepping: the only place that does it (PITFALLS A4), and what an
 * instruction is about to touch. */
#ifndef PRR_STEP_H
#define PRR_STEP_H

#include <sys/types.h>

#include "pyrr_core.h"

enum { PRR_INSN_BYTES = 15, PRR_OPERANDS_MAX = 4 };

/* The instruction at a place, as the program has it. */
struct prr_next_insn {
	uint8_t bytes[PRR_INSN_BYTES + 9]; /* some of what follows, too */
	size_t known;
	uint8_t length;    /* 0: undecodable */
	bool is_event; /* syscall, rdtsc, cpuid, int, ud2, ...: reaching it is an event itself */
	bool is_repeated; /* a string instruction with a rep prefix */
	bool pushes_flags; /* pushf */
	bool pops_flags;   /* popf, iret */
	/* Addresses of its memory operands. */
	uint64_t operands[PRR_OPERANDS_MAX];
	size_t operand_count;
};

/* Looks at what `regs` are about to execute. False: its bytes cannot be read. */
bool prr_step_look(pid_t tid, const struct prr_regs *regs, struct prr_next_insn *ret);

enum prr_step_result {
	PRR_STEP_DONE, /* *regs are the new ones; t stands at the SIGTRAP's signal-delivery-stop */
	PRR_STEP_OTHER /* something else came: *status says what, *regs are of that stop */
};
/* Executes one instruction, which must not be `is_event` nor `is_repeated`, in a
 * stopped task whose kernel registers are *regs. The trap of the step itself has done
 * what PITFALLS A2 says to the disposition and mask of SIGTRAP: the caller's to
 * restore. */
enum prr_step_result prr_step(
	pid_t tid, const struct prr_next_insn *insn, struct prr_regs *regs, int *status);

#endif
