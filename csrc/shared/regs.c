/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "regs.h"

#include <string.h>
#include <sys/syscall.h>

void prr_regs_syscall_args(const struct prr_regs *regs, uint64_t args[6])
{
	args[0] = regs->rdi;
	args[1] = regs->rsi;
	args[2] = regs->rdx;
	args[3] = regs->r10;
	args[4] = regs->r8;
	args[5] = regs->r9;
}

void prr_regs_set_syscall_args(struct prr_regs *regs, const uint64_t args[6])
{
	regs->rdi = args[0];
	regs->rsi = args[1];
	regs->rdx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	regs->r9 = args[5];
}

bool prr_is_restart(int64_t result)
{
	return result == -PRR_ERESTARTSYS || result == -PRR_ERESTARTNOINTR ||
		result == -PRR_ERESTARTNOHAND || result == -PRR_ERESTART_RESTARTBLOCK;
}

void prr_regs_restart(struct prr_regs *regs, int64_t result, uint64_t nr)
{
	regs->rip -= 2;
	regs->rax = result == -PRR_ERESTART_RESTARTBLOCK ? SYS_restart_syscall : nr;
	regs->orig_rax = (uint64_t)-1;
}

void prr_regs_encoded(const struct prr_regs *regs, uint64_t ret[16])
{
	const uint64_t values[16] = { regs->rax, regs->rcx, regs->rdx, regs->rbx, regs->rsp,
		regs->rbp, regs->rsi, regs->rdi, regs->r8, regs->r9, regs->r10, regs->r11,
		regs->r12, regs->r13, regs->r14, regs->r15 };

	memcpy(ret, values, sizeof(values));
}

void prr_regs_canonical_syscall(struct prr_regs *regs)
{
	regs->rflags &= ~PRR_FLAG_RF;
	regs->rcx = regs->rip;
	regs->r11 = regs->rflags;
}

struct named_register {
	const char *name;
	size_t offset;
};

#define REGISTER(name) { #name, offsetof(struct prr_regs, name) }
static const struct named_register compared[] = {
	REGISTER(rip),
	REGISTER(orig_rax),
	REGISTER(rax),
	REGISTER(rdi),
	REGISTER(rsi),
	REGISTER(rdx),
	REGISTER(r10),
	REGISTER(r8),
	REGISTER(r9),
	REGISTER(rsp),
	REGISTER(rbp),
	REGISTER(rbx),
	REGISTER(r12),
	REGISTER(r13),
	REGISTER(r14),
	REGISTER(r15),
	REGISTER(rcx),
	REGISTER(r11),
	REGISTER(rflags),
	REGISTER(fs_base),
	REGISTER(gs_base),
	REGISTER(cs),
	REGISTER(ss),
};

static uint64_t value_of(const struct prr_regs *regs, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)regs + offset, sizeof(value));
	if (offset == offsetof(struct prr_regs, rflags) || offset == offsetof(struct prr_regs, r11))
		value &= ~(PRR_FLAG_TF | PRR_FLAG_RF);
	return value;
}

const char *prr_regs_difference(const struct prr_regs *expected, const struct prr_regs *actual,
	uint64_t *expected_value, uint64_t *actual_value)
{
	for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++) {
		uint64_t want = value_of(expected, compared[i].offset);
		uint64_t got = value_of(actual, compared[i].offset);

		if (want != got) {
			*expected_value = want;
			*actual_value = got;
			return compared[i].name;
		}
	}
	return NULL;
}
