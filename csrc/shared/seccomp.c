/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout.h"

#define IP_LOW (offsetof(struct seccomp_data, instruction_pointer))
#define IP_HIGH (IP_LOW + 4)
#define VSYSCALL_PAGE 0xffffffffff600000ull

static int install(struct sock_filter *filter, unsigned short count)
{
	struct sock_fprog program = { count, filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return errno;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		return errno;
	return 0;
}

int prr_seccomp_install(void)
{
	struct sock_filter filter[] = {
		/* int 0x80: numbers of another table. No stop tells the two apart
		 * cheaply, so there are no such calls, as on kernels built without
		 * IA32_EMULATION; replay answers alike. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP_LOW),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)PRR_CODE_AFTER_SYSCALL, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP_HIGH),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(PRR_CODE_AFTER_SYSCALL >> 32), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
	};

	return install(filter, sizeof(filter) / sizeof(filter[0]));
}

int prr_seccomp_install_vsyscall(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP_HIGH),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(VSYSCALL_PAGE >> 32), 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP_LOW),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xfffff000u),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)VSYSCALL_PAGE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install(filter, sizeof(filter) / sizeof(filter[0]));
}
