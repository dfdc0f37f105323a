/* SPDX-License-Identifier: GPL-2.0-or-later
 * Register conventions of x86-64 Linux (AMD64 ABI, syscall(2)). */
#ifndef PRR_REGS_H
#define PRR_REGS_H

#include "pyrr_core.h"

/* EFLAGS.TF and .RF: debugging state, never the program's business. */
#define PRR_FLAG_TF 0x100ull
#define PRR_FLAG_RF 0x10000ull

void prr_regs_syscall_args(const struct prr_regs *regs, uint64_t args[6]);
void prr_regs_set_syscall_args(struct prr_regs *regs, const uint64_t args[6]);

/* The kernel's internal restart codes (include/linux/errno.h), seen at exit
 * stops only; the program sees EINTR or a repeated call. */
#define PRR_ERESTARTSYS 512
#define PRR_ERESTARTNOINTR 513
#define PRR_ERESTARTNOHAND 514
#define PRR_ERESTART_RESTARTBLOCK 516
bool prr_is_restart(int64_t result);

/* Makes `regs`, standing after a syscall instruction with a restart code, what
 * the kernel makes of them when no handler runs: before the instruction again,
 * rax = the number to restart with. */
void prr_regs_restart(struct prr_regs *regs, int64_t result, uint64_t nr);

/* The general registers as instructions number them: rax rcx rdx rbx rsp rbp rsi rdi
 * r8 .. r15. */
void prr_regs_encoded(const struct prr_regs *regs, uint64_t ret[16]);

/* What the syscall instruction itself leaves behind, canonical in recording and
 * replay: rcx = rip, r11 = flags without RF (PITFALLS A4). The kernel hides a tracer's TF
 * from it: one that is there is the program's own. */
void prr_regs_canonical_syscall(struct prr_regs *regs);

/* Names the first differing register of two states at a syscall entry or trap;
 * NULL when equal. RF and TF are ignored, so is rax at a syscall entry where it
 * is -ENOSYS on both sides. */
const char *prr_regs_difference(const struct prr_regs *expected, const struct prr_regs *actual,
	uint64_t *expected_value, uint64_t *actual_value);

#endif
