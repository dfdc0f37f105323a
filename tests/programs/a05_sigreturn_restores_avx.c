/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A5: vector registers live across a handler that uses them all, and a handler
 * that edits the saved context changes what comes back: general registers, an
 * xmm register and the upper half of a ymm register.
 * Wrong: rt_sigreturn in the replay does not restore XSTATE from the frame.
 * pyrr-test: needs=cpu:avx
 */
#include "check.h"

#include <signal.h>

typedef struct {
	uint64_t word[4];
} ymm;

static volatile int edit;

static void handler(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)signo;
	(void)info;
	__asm__ volatile("vpcmpeqb %%xmm0,%%xmm0,%%xmm0\n\tvmovdqa %%xmm0,%%xmm7\n\tvzeroall" ::
			: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
	if (edit) {
		unsigned char *area = (unsigned char *)u->uc_mcontext.fpregs;
		uint64_t upper = 0xfeedfacefeedface;

		u->uc_mcontext.fpregs->_xmm[7].element[0] = 0x12345678;
		memcpy(area + 576 + 7 * 16, &upper, sizeof(upper)); /* AVX component */
		u->uc_mcontext.gregs[REG_R12] = 0x4242;
	}
}

/* Loads ymm3 and ymm7, sends the signal by a bare tgkill, stores them again. */
static uint64_t across(const ymm *in, ymm *out3, ymm *out7)
{
	long pid = getpid(), tid = gettid(), number = SYS_tgkill;
	uint64_t r12;

	__asm__ volatile("vmovdqu %[in3], %%ymm3\n\t"
			 "vmovdqu %[in7], %%ymm7\n\t"
			 "movl $7, %%r12d\n\t"
			 "syscall\n\t"
			 "vmovdqu %%ymm3, %[o3]\n\t"
			 "vmovdqu %%ymm7, %[o7]\n\t"
			 "movq %%r12, %[r12]\n\t"
			 "vzeroupper"
		: "+a"(number), [o3] "=m"(*out3), [o7] "=m"(*out7), [r12] "=m"(r12)
		: [in3] "m"(in[0]), [in7] "m"(in[1]), "D"(pid), "S"(tid), "d"((long)SIGUSR1)
		: "rcx", "r11", "r12", "xmm3", "xmm7", "memory", "cc");
	CHECK(number == 0);
	return r12;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	ymm in[2], three, seven;

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 4; i++) {
			in[0].word[i] = 0x0101010101010101u * (unsigned)(round + i + 1);
			in[1].word[i] = ~in[0].word[i];
		}
		edit = round % 2;
		CHECK(across(in, &three, &seven) == (edit ? 0x4242 : 7));
		CHECK(memcmp(&three, &in[0], 32) == 0);
		if (edit) {
			CHECK((uint32_t)seven.word[0] == 0x12345678);
			CHECK(seven.word[2] == 0xfeedfacefeedface);
			CHECK(seven.word[3] == in[1].word[3]);
		} else {
			CHECK(memcmp(&seven, &in[1], 32) == 0);
		}
	}
	say("ymm7 %016lx %016lx\n", seven.word[0], seven.word[2]);
	return 0;
}
