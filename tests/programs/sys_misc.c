/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Calls that programs make at their start or on the side: prctl, arch_prctl,
 * capget, set_tid_address, membarrier, getcpu, personality, umask, resource
 * limits, credentials set to what they are, sysctl-like reads, numbers that do
 * not exist, rseq.
 */
#include "check.h"

#include <asm/prctl.h>
#include <linux/capability.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static void tell(const char *what, long result)
{
	say("%s: %ld%s%s\n", what, result, result == -1 ? " " : "",
		result == -1 ? strerror(errno) : "");
}

int main(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	unsigned long base = 0;
	uid_t real, effective, saved;
	int old, value = 0;

	CHECK(syscall(SYS_arch_prctl, ARCH_GET_FS, &base) == 0 && base != 0);
	say("fs base %lx\n", base);
	CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, 0x123450000ul) == 0);
	CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == 0x123450000ul);
	tell("capget", syscall(SYS_capget, &header, data));
	say("effective capabilities %x\n", data[0].effective);
	tell("set_tid_address", syscall(SYS_set_tid_address, &value) == getpid() ? 0 : -1);
	tell("membarrier query", syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) >= 0);
	tell("register", syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
	tell("use", syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
	tell("personality", syscall(SYS_personality, 0xffffffff));
	CHECK(getresuid(&real, &effective, &saved) == 0 && setresuid(real, effective, saved) == 0);
	CHECK(setfsuid(real) == (int)effective);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	CHECK(prctl(PR_SET_DUMPABLE, 1) == 0 && prctl(PR_GET_DUMPABLE) == 1);
	CHECK(prctl(PR_SET_TIMERSLACK, 12345) == 0 && prctl(PR_GET_TIMERSLACK) == 12345);
	tell("pkey_alloc", syscall(SYS_pkey_alloc, 0, 0) >= 0);
	tell("landlock version", syscall(444, NULL, 0, 1));
	tell("keyctl", syscall(SYS_keyctl, 0, -3, 0) != 0);
	tell("call 999", syscall(999));
	tell("call -1", syscall(-1));
	CHECK(pthread_setcancelstate(0, &old) == 0);
	return 0;
}
