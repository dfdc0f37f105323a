/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A4: after a system call rcx is the return address and r11 the flags; all other
 * registers are as before. The trap flag is in neither r11 nor a pushed flags
 * word, also right after instructions that the recorder handles.
 * Wrong: the recorder stepped the program and left TF, or its own rcx and r11.
 */
#include "check.h"
#include "insns.h"

struct after {
	uint64_t rax, rcx, r11, label, rbx, rdx, rsi, rdi, r8, r9, r10;
};

static struct after call(long number)
{
	struct after a;
	register uint64_t r8 __asm__("r8") = 0x8888;
	register uint64_t r9 __asm__("r9") = 0x9999;
	register uint64_t r10 __asm__("r10") = 0x1010;
	uint64_t rdx = 0xdddd, rsi = 0x5151, rdi = 0xd1d1, rbx = 0xbbbb, rax = (uint64_t)number;
	uint64_t rcx, flags, label;

	__asm__ volatile("leaq 1f(%%rip), %%rcx\n\t"
			 "movq %%rcx, %[label]\n\t"
			 "xorl %%ecx, %%ecx\n\t"
			 "stc\n\t"
			 "syscall\n"
			 "1:\tmovq %%r11, %[flags]"
		: [label] "=&m"(label), [flags] "=&m"(flags), "+a"(rax), "=&c"(rcx), "+b"(rbx),
		"+d"(rdx), "+S"(rsi), "+D"(rdi), "+r"(r8), "+r"(r9), "+r"(r10)
		:
		: "r11", "memory", "cc");
	a = (struct after){ .rax = rax,
		.rcx = rcx,
		.r11 = flags,
		.label = label,
		.rbx = rbx,
		.rdx = rdx,
		.rsi = rsi,
		.rdi = rdi,
		.r8 = r8,
		.r9 = r9,
		.r10 = r10 };
	return a;
}

static void check_call(const char *name, long number)
{
	struct after a = call(number);

	CHECK(a.rcx == a.label);
	CHECK((a.r11 & FLAG_TRAP) == 0);
	CHECK((a.r11 & 1) == 1);
	CHECK(a.rbx == 0xbbbb && a.rdx == 0xdddd && a.rsi == 0x5151 && a.rdi == 0xd1d1);
	CHECK(a.r8 == 0x8888 && a.r9 == 0x9999 && a.r10 == 0x1010);
	CHECK((insn_pushf() & FLAG_TRAP) == 0);
	say("%s: %ld, rcx %lx, r11 %lx\n", name, (long)a.rax, a.rcx, a.r11);
}

int main(void)
{
	check_call("getpid", SYS_getpid);
	check_call("sched_yield", SYS_sched_yield);
	check_call("clone3 of rubbish", SYS_clone3);
	check_call("rseq", SYS_rseq);
	check_call("no such call", 5000);
	for (int i = 0; i < 20; i++) {
		uint64_t tsc = insn_rdtsc(), flags = insn_pushf();

		CHECK((flags & FLAG_TRAP) == 0);
		(void)insn_cpuid(0, 0);
		CHECK((insn_pushf() & FLAG_TRAP) == 0);
		if (i == 0)
			say("tsc %lu, flags %lx\n", tsc, flags);
	}
	return 0;
}
