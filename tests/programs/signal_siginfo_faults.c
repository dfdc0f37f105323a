/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What siginfo and the saved context tell of real faults: SIGSEGV (no mapping,
 * no permission, a non-canonical address, execution), SIGFPE, SIGILL, SIGBUS,
 * SIGTRAP by int3, by int1 and by the trap flag.
 * Wrong: code, address, trap number or error code differ from bare.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static sigjmp_buf back;
static volatile siginfo_t last;
static volatile long long trap_number, error_code, cr2, rip;

static void handler(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	last = *info;
	trap_number = u->uc_mcontext.gregs[REG_TRAPNO];
	error_code = u->uc_mcontext.gregs[REG_ERR];
	cr2 = u->uc_mcontext.gregs[REG_CR2];
	rip = u->uc_mcontext.gregs[REG_RIP];
	siglongjmp(back, signo);
}

static void show(const char *what, int signo, int code)
{
	say("%s: code %d, address %p, trap %lld, error %lld, rip %llx\n", what, last.si_code,
		last.si_addr, trap_number, error_code, rip);
	CHECK(last.si_signo == signo && last.si_code == code);
}

#define FAULT(code)                            \
	do {                                   \
		if (sigsetjmp(back, 1) == 0) { \
			code;                  \
			CHECK(!"no fault");    \
		}                              \
	} while (0)

static void memory_faults(void)
{
	volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("short", O_RDWR | O_CREAT, 0600);
	volatile char *past = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	FAULT(*(volatile char *)64 = 1);
	show("store to 64", SIGSEGV, SEGV_MAPERR);
	CHECK(last.si_addr == (void *)64 && cr2 == 64);
	FAULT(page[100] = 1);
	show("store to a read-only page", SIGSEGV, SEGV_ACCERR);
	CHECK(last.si_addr == (const void *)(page + 100) && (error_code & 6) == 6);
	FAULT((void)*(volatile char *)0x8000000000000000);
	show("non-canonical load", SIGSEGV, SI_KERNEL);
	FAULT(((void (*)(void))(uintptr_t)page)());
	show("execution", SIGSEGV, SEGV_ACCERR);
	CHECK(rip == (long long)(uintptr_t)page);
	FAULT((void)*past);
	show("past the end of a file", SIGBUS, BUS_ADRERR);
}

static void other_faults(void)
{
	FAULT(__asm__ volatile(
		"xorl %%edx,%%edx\n\txorl %%ecx,%%ecx\n\tmovl $1,%%eax\n\tidivl %%ecx" :: : "eax",
		"ecx", "edx"));
	show("division", SIGFPE, FPE_INTDIV);
	FAULT(__asm__ volatile("ud2"));
	show("ud2", SIGILL, ILL_ILLOPN);
	FAULT(__asm__ volatile("int3"));
	show("int3", SIGTRAP, SI_KERNEL);
	FAULT(__asm__ volatile("hlt"));
	show("hlt", SIGSEGV, SI_KERNEL);
	FAULT(__asm__ volatile("int $0x99"));
	show("int 0x99", SIGSEGV, SI_KERNEL);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER };
	const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };

	for (int i = 0; i < 5; i++)
		CHECK(sigaction(signals[i], &action, NULL) == 0);
	for (int i = 0; i < 3; i++) {
		memory_faults();
		other_faults();
	}
	return 0;
}
