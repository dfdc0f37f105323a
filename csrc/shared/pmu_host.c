/* SPDX-License-Identifier: GPL-2.0-or-later
 * The self-test's machine: this one, and code whose branches are known. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cpuid.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmu_check.h"

/* ------------------------------------------------------------------- its code */

/* Functions that retire no conditional branches but those of the assembly. */

static void branches(void *context, uint64_t count)
{
	(void)context;
	__asm__ volatile("1: dec %0\n\t"
			 "jnz 1b"
		: "+r"(count)
		:
		: "cc");
}

/* A 32-bit xorshift decides: no branch predictor learns it. Two branches a round. */
static void locked(void *context, uint64_t count)
{
	static uint32_t word; /* not on the stack: sanitizers would add branches */
	uint32_t random = 0x9e3779b9, scratch;
	uint64_t rounds = count / 2;

	(void)context;
	__asm__ volatile("1: mov %k1, %k2\n\t"
			 "shl $13, %k2\n\t"
			 "xor %k2, %k1\n\t"
			 "mov %k1, %k2\n\t"
			 "shr $17, %k2\n\t"
			 "xor %k2, %k1\n\t"
			 "mov %k1, %k2\n\t"
			 "shl $5, %k2\n\t"
			 "xor %k2, %k1\n\t"
			 "test $1, %b1\n\t"
			 "jz 2f\n\t"
			 "lock incl %3\n"
			 "2: dec %0\n\t"
			 "jnz 1b"
		: "+r"(rounds), "+r"(random), "=&r"(scratch), "+m"(word)
		:
		: "cc");
}

/* xbegin goes to its operand when the transaction is aborted, eax saying why. */
static void aborted(void *context, uint64_t count)
{
	uint64_t inside = count;

	(void)context;
	__asm__ volatile("xbegin 3f\n"
			 "2: dec %1\n\t"
			 "jnz 2b\n\t"
			 "xabort $1\n"
			 "3: dec %0\n\t"
			 "jnz 3b"
		: "+r"(count), "+r"(inside)
		:
		: "rax", "cc", "memory");
}

static void lock_once(void *context)
{
	uint32_t word = 0;

	(void)context;
	__asm__ volatile("lock incl %0" : "+m"(word) : : "cc");
}

/* Where the handler finds the counter; the self-test runs in a child of its own. */
static const struct prr_pmu_counter *volatile signalled;
static volatile sig_atomic_t signal_came;
static volatile uint64_t signal_at;

static void on_overflow(int signo)
{
	const struct prr_perf *perf = &signalled->perf;
	uint64_t value;

	(void)signo;
	if (signal_came || perf->ops->read(perf->context, signalled->measure, &value) != 0)
		return;
	signal_at = value;
	signal_came = 1;
	/* Else it comes again and again, too often for kernel.perf_event_max_sample_rate. */
	(void)perf->ops->set_period(perf->context, signalled->overflow, PRR_PMU_NEVER);
}

static bool interrupted(
	void *context, const struct prr_pmu_counter *counter, uint64_t count, uint64_t *at)
{
	struct sigaction action = { .sa_handler = on_overflow, .sa_flags = SA_RESTART };
	sigset_t mine;

	signalled = counter;
	signal_came = 0;
	sigaction(PRR_PMU_SIGNAL, &action, NULL);
	sigemptyset(&mine);
	sigaddset(&mine, PRR_PMU_SIGNAL);
	sigprocmask(SIG_UNBLOCK, &mine, NULL);
	branches(context, count);
	*at = signal_at;
	return signal_came != 0;
}

static bool read_msr(void *context, uint32_t msr, uint64_t *ret)
{
	char path[48];
	int fd;
	bool ok;

	(void)context;
	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", sched_getcpu());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ok = pread(fd, ret, sizeof(*ret), msr) == sizeof(*ret);
	close(fd);
	return ok;
}

/* ------------------------------------------------------------------ its facts */

/* Family and model as both makers combine them: Intel SDM vol. 2A, CPUID; AMD APM vol. 3. */
static void read_identity(struct prr_cpu_id *id)
{
	uint32_t eax, ebx, ecx, edx, top;

	memset(id, 0, sizeof(*id));
	__cpuid(0, top, ebx, ecx, edx);
	memcpy(id->vendor, &ebx, 4);
	memcpy(id->vendor + 4, &edx, 4);
	memcpy(id->vendor + 8, &ecx, 4);
	__cpuid(1, eax, ebx, ecx, edx);
	id->family = eax >> 8 & 0xf;
	id->model = eax >> 4 & 0xf;
	if (id->family == 6 || id->family == 15)
		id->model |= (eax >> 16 & 0xf) << 4;
	if (id->family == 15)
		id->family += eax >> 20 & 0xff;
	if (top < 7)
		return;
	__cpuid_count(7, 0, eax, ebx, ecx, edx);
	id->transactions = (ebx >> 11 & 1) != 0; /* RTM */
	if ((edx >> 15 & 1) && top >= 0x1a) {    /* hybrid */
		__cpuid_count(0x1a, 0, eax, ebx, ecx, edx);
		id->efficiency_core = eax >> 24 == 0x20;
	}
}

static int read_setting(const char *path, int otherwise)
{
	char text[16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return otherwise;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return otherwise;
	text[len] = '\0';
	return (int)strtol(text, NULL, 10);
}

void prr_pmu_host(struct prr_pmu_machine *ret)
{
	static const struct prr_pmu_work work = {
		.branches = branches,
		.locked = locked,
		.aborted = aborted,
		.lock_once = lock_once,
		.interrupted = interrupted,
		.read_msr = read_msr,
	};

	memset(ret, 0, sizeof(*ret));
	read_identity(&ret->cpu);
	ret->perf = prr_perf_kernel();
	ret->paranoid =
		read_setting("/proc/sys/kernel/perf_event_paranoid", PRR_PMU_PARANOID_UNKNOWN);
	ret->freeze_on_smi = read_setting("/sys/devices/cpu/freeze_on_smi", -1);
	if (ret->freeze_on_smi < 0) /* a hybrid CPU's performance cores */
		ret->freeze_on_smi = read_setting("/sys/devices/cpu_core/freeze_on_smi", -1);
	ret->tid = (pid_t)syscall(SYS_gettid);
	ret->work = &work;
}
