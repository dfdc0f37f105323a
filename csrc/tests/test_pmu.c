/* sources: shared/pmu*.c shared/clock.c shared/error.c */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * The branch counter and its self-test, over PMUs with known faults. What this machine's
 * own PMU is like is only printed: most have none. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_pmu.h"

static const struct prr_cpu_id skylake = { "GenuineIntel", 6, 0x5e, false, false };
static const struct prr_cpu_id zen = { "AuthenticAMD", 0x19, 0x11, false, false };

/* ------------------------------------------------------------------- its work */

/* The measuring itself has branches, too. */
static void work_branches(void *context, uint64_t count)
{
	fake_retire(context, count + 3, false);
}

static void work_locked(void *context, uint64_t count)
{
	struct fake *f = context;

	fake_retire(f, count + 3, false);
	if (f->rolls_back_locks)
		fake_add(f, count / 500, false);
}

static void work_aborted(void *context, uint64_t count)
{
	fake_retire(context, count, true);
	fake_retire(context, count + 3, false);
}

static void work_lock_once(void *context)
{
	struct fake *f = context;

	for (size_t i = 0; i < FAKE_EVENTS; i++)
		if (f->events[i].open && f->events[i].config == FAKE_SPEC_LOCK)
			f->events[i].value += f->counts_spec_locks;
}

static bool work_interrupted(
	void *context, const struct prr_pmu_counter *counter, uint64_t count, uint64_t *at)
{
	struct fake *f = context;

	(void)counter;
	f->came = f->is_due = false;
	fake_retire(f, count, false);
	*at = f->came_at;
	return f->came;
}

static bool work_read_msr(void *context, uint32_t msr, uint64_t *ret)
{
	struct fake *f = context;

	assert(msr == 0xc0011020);
	*ret = f->msr;
	return f->has_msr;
}

static const struct prr_pmu_work work = { work_branches, work_locked, work_aborted, work_lock_once,
	work_interrupted, work_read_msr };

/* ----------------------------------------------------------------- verdicts */

static struct prr_pmu_machine machine_of(struct fake *f, const struct prr_cpu_id *id)
{
	return (struct prr_pmu_machine){ .cpu = *id,
		.perf = fake_perf(f),
		.paranoid = 2,
		.freeze_on_smi = -1,
		.tid = FAKE_TID,
		.work = &work,
		.context = f };
}

/* Says what is wrong before it aborts. */
static void expect(bool holds, const struct prr_pmu_verdict *v, const char *wanted)
{
	if (holds)
		return;
	fprintf(stderr, "expected %s, got usable=%d: %s (%s)\n", wanted, v->usable, v->reason,
		v->remedy);
	exit(1);
}

static void judge(const struct prr_pmu_machine *m, const char *reason, const char *remedy)
{
	struct prr_pmu_verdict v;
	const struct fake *f = m->context;

	prr_pmu_check(m, &v);
	expect(!v.usable && strstr(v.reason, reason) && strstr(v.remedy, remedy), &v, reason);
	assert(fake_open_events(f) == 0);
}

/* `fault` with this CPU is refused for that reason. */
static void refused(
	struct fake fault, const struct prr_cpu_id *id, const char *reason, const char *remedy)
{
	struct prr_pmu_machine m = machine_of(&fault, id);

	judge(&m, reason, remedy);
}

static void accepted(struct fake f, const struct prr_cpu_id *id, const char *name)
{
	struct prr_pmu_machine m = machine_of(&f, id);
	struct prr_pmu_verdict v;

	prr_pmu_check(&m, &v);
	expect(v.usable && strstr(v.reason, "exact in all of") && !v.remedy[0], &v, name);
	assert(strcmp(v.cpu, name) == 0);
	assert(fake_open_events(&f) == 0);
}

static void sound_counters(void)
{
	struct prr_cpu_id tsx = skylake;
	struct prr_cpu_id lion_cove = { "GenuineIntel", 6, 0xbd, false, false };

	accepted((struct fake){ .skid = 0 }, &skylake, "Intel Skylake");
	accepted((struct fake){ .skid = 100 }, &skylake, "Intel Skylake");
	accepted((struct fake){ .skid = 100 }, &lion_cove, "Intel Lunar Lake");
	accepted((struct fake){ .skid = 9000 }, &zen, "AMD Zen 4");
	tsx.transactions = true;
	accepted((struct fake){ .skid = 50 }, &tsx, "Intel Skylake");
}

static void unknown_cpus(void)
{
	struct prr_cpu_id id = { "GenuineIntel", 6, 0xfe, false, false };
	struct prr_pmu_machine m;
	struct fake f = { 0 };

	refused(f, &id, "GenuineIntel family 6 model 254", "");
	id = (struct prr_cpu_id){ "HygonGenuine", 0x18, 1, false, false };
	refused(f, &id, "HygonGenuine family 24 model 1", "");
	id = (struct prr_cpu_id){ "GenuineIntel", 6, 0x17, false, false };
	refused(f, &id, "Penryn", "");
	id = (struct prr_cpu_id){ "GenuineIntel", 6, 0x97, true, false };
	refused(f, &id, "efficiency core of Intel Alder Lake", "taskset");
	id.efficiency_core = false;
	m = machine_of(&f, &id);
	m.freeze_on_smi = 0;
	judge(&m, "system management", "freeze_on_smi");
}

static void no_counter(void)
{
	struct fake f = { .open_error = ENOENT };
	struct prr_pmu_machine m;

	refused(f, &skylake, "this CPU or hypervisor has none", "virtual machine");
	refused((struct fake){ .open_error = EPERM }, &skylake,
		"forbidden (kernel.perf_event_paranoid is 2)", "seccomp=unconfined");
	refused((struct fake){ .open_error = EMFILE }, &skylake, "Too many open files", "");
	refused((struct fake){ .stolen = true }, &skylake, "taken away", "nmi_watchdog");
	f.open_error = EACCES;
	m = machine_of(&f, &skylake);
	m.paranoid = 4;
	judge(&m, "kernel.perf_event_paranoid is 4", "sysctl kernel.perf_event_paranoid=2");
	m.paranoid = PRR_PMU_PARANOID_UNKNOWN;
	judge(&m, "forbidden", "");
}

static void inexact_counters(void)
{
	/* Seldom and regular, so that it does not look like a constant. */
	refused((struct fake){ .extra_every = 9999999 }, &skylake, "not exact: +1 of 5000000", "");
	refused((struct fake){ .extra_every = 2 }, &skylake, "not exact", "");
	refused((struct fake){ .extra_at_overflow = true }, &skylake, "with overflow interrupts",
		"");
}

static void speculative_locks(void)
{
	struct fake f = { .rolls_back_locks = true, .counts_spec_locks = true };

	refused(f, &zen, "SpecLockMap is on", "0xc0011020");
	/* A hypervisor that shows the event as 0: the behaviour tells. */
	f.counts_spec_locks = false;
	refused(f, &zen, "not exact: +4 of 2000 branches with lock", "0xc0011020");
	f.without_spec_event = true;
	refused(f, &zen, "cannot be told", "0xc0011020");
	f.has_msr = true;
	refused(f, &zen, "SpecLockMap is on", "0xc0011020");
	f.msr = 1ull << 54;
	refused(f, &zen, "with lock instructions", "0xc0011020");
	f.rolls_back_locks = false;
	accepted(f, &zen, "AMD Zen 4");
}

static void transactions(void)
{
	struct prr_cpu_id tsx = skylake;

	tsx.transactions = true;
	refused((struct fake){ .without_txcp = true }, &tsx, "leaves out transactions", "");
	refused((struct fake){ .txcp_undercounts = true }, &tsx, "not exact: -1", "");
	/* On a CPU without, nobody asks for the flag. */
	accepted((struct fake){ .without_txcp = true }, &skylake, "Intel Skylake");
}

static void overflows(void)
{
	refused((struct fake){ .loses_overflows = true }, &skylake, "no overflow signal", "");
	refused((struct fake){ .skid = 300 }, &skylake, "300 branches late; at most 100", "");
	refused((struct fake){ .skid = 30000 }, &zen, "late; at most 10000", "");
	refused((struct fake){ .halves_periods = true }, &skylake,
		"came after 64 branches instead of 128", "");
	refused((struct fake){ .keeps_old_period = true }, &skylake, "no overflow signal", "");
}

/* ------------------------------------------------------------------ a counter */

static struct prr_error err;

static void ok(enum prr_status status)
{
	if (status == PRR_OK)
		return;
	fprintf(stderr, "failed: %s\n", err.message);
	exit(1);
}

static void one_counter(void)
{
	struct fake f = { .skid = 5 };
	struct prr_cpu_id tsx = skylake;
	struct prr_perf perf = fake_perf(&f);
	struct prr_pmu_counter c;
	uint64_t ticks;
	siginfo_t info = { 0 };

	tsx.transactions = true;
	ok(prr_pmu_open(&c, &perf, prr_pmu_find(&tsx), &tsx, FAKE_TID, &err));
	assert(fake_open_events(&f) == 2 && c.measure != c.overflow);
	ok(prr_pmu_notify(&c, FAKE_TID, &err));
	fake_retire(&f, 40, false);
	fake_retire(&f, 7, true);
	ok(prr_pmu_ticks(&c, &ticks, &err));
	assert(ticks == 40);
	ok(prr_pmu_reset(&c, &err));
	ok(prr_pmu_arm(&c, 100, &err));
	fake_retire(&f, 104, false);
	assert(!f.came);
	fake_retire(&f, 1, false);
	assert(f.came && f.came_at == 105);
	f.came = false;
	ok(prr_pmu_arm(&c, PRR_PMU_NEVER, &err));
	fake_retire(&f, 1000000, false);
	assert(!f.came);
	info.si_signo = PRR_PMU_SIGNAL;
	info.si_code = POLL_IN;
	info.si_fd = c.overflow;
	assert(prr_pmu_is_overflow(&c, &info));
	info.si_code = SI_USER;
	assert(!prr_pmu_is_overflow(&c, &info));
	prr_pmu_close(&c);
	prr_pmu_close(&c);
	assert(fake_open_events(&f) == 0);
}

/* ------------------------------------------------------------- the real thing */

static bool is_conditional(long word)
{
	uint8_t first = (uint8_t)word, second = (uint8_t)(word >> 8);

	return (first >= 0x70 && first <= 0x7f) || (first >= 0xe0 && first <= 0xe3) ||
		(first == 0x0f && second >= 0x80 && second <= 0x8f);
}

/* Conditional branches that a call retires, counted in single steps up to an int3. */
static uint64_t stepped(void (*call)(void *, uint64_t), uint64_t count)
{
	uint64_t seen = 0;
	int status;
	pid_t child = fork();

	assert(child >= 0);
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		__asm__ volatile("int3");
		call(NULL, count);
		__asm__ volatile("int3");
		_exit(0);
	}
	assert(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
	for (;;) {
		struct user_regs_struct regs;
		long word;

		ptrace(PTRACE_GETREGS, child, NULL, &regs);
		word = ptrace(PTRACE_PEEKTEXT, child, (void *)(uintptr_t)regs.rip, NULL);
		if ((uint8_t)word == 0xcc)
			break;
		seen += is_conditional(word);
		ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
		assert(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
	}
	ptrace(PTRACE_KILL, child, NULL, NULL);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return seen;
}

/* The self-test's own code has the branches it says. */
static void known_branches(void)
{
	struct prr_pmu_machine m;
	uint64_t besides, at;
	struct prr_pmu_counter none = { .overflow = -1, .measure = -1 };

	prr_pmu_host(&m);
	besides = stepped(m.work->branches, 1) - 1;
	assert(besides < 4);
	assert(stepped(m.work->branches, 37) == 37 + besides);
	assert(stepped(m.work->locked, 2) == 2 + besides);
	assert(stepped(m.work->locked, 200) == 200 + besides);
	m.work->lock_once(NULL);
	assert(!m.work->interrupted(NULL, &none, 1000, &at));
}

/* The kernel's side of struct prr_perf_ops, by an event that needs no PMU: page faults. */
enum { PAGES = 200, PAGE = 4096 };

static void touch_pages(volatile uint32_t *touched, int disposition)
{
	volatile uint8_t *pages = mmap(
		NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise((void *)pages, PAGES * PAGE, MADV_NOHUGEPAGE);
	signal(PRR_PMU_SIGNAL, disposition ? SIG_IGN : SIG_DFL);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	for (unsigned int i = 0; i < PAGES; i++) {
		pages[i * PAGE] = 1;
		*touched = i + 1;
	}
	_exit(0);
}

static int open_page_faults(const struct prr_perf *perf, pid_t tid)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = PRR_PMU_NEVER,
		.pinned = 1,
		.exclude_kernel = 1,
		.exclude_guest = 1 };

	return perf->ops->open(perf->context, &attr, tid, -1);
}

/* The signal stops the tracee where it stands, ignored or not, and nothing else sees it. */
static void signal_to_the_tracee(int disposition)
{
	struct prr_perf perf = prr_perf_kernel();
	volatile uint32_t *touched =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct prr_pmu_counter c = { .perf = perf };
	siginfo_t info;
	uint64_t faults;
	int status;
	pid_t child = fork();

	assert(child >= 0);
	if (child == 0)
		touch_pages(touched, disposition);
	assert(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
	c.overflow = c.measure = open_page_faults(&perf, child);
	if (c.overflow < 0) {
		printf("signals not tried: perf_event_open: %s\n", strerror(-c.overflow));
	} else {
		ok(prr_pmu_notify(&c, child, &err));
		ok(prr_pmu_reset(&c, &err));
		ok(prr_pmu_arm(&c, 50, &err));
		ptrace(PTRACE_CONT, child, NULL, NULL);
		assert(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
		assert(WSTOPSIG(status) == PRR_PMU_SIGNAL);
		ptrace(PTRACE_GETSIGINFO, child, NULL, &info);
		assert(prr_pmu_is_overflow(&c, &info));
		ok(prr_pmu_ticks(&c, &faults, &err));
		assert(faults == 50 && *touched > 0 && *touched <= 50);
		ok(prr_pmu_arm(&c, PRR_PMU_NEVER, &err));
	}
	ptrace(PTRACE_CONT, child, NULL, NULL);
	assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
	assert(WEXITSTATUS(status) == 0 && *touched == PAGES);
	if (c.overflow >= 0) {
		ok(prr_pmu_ticks(&c, &faults, &err));
		assert(faults >= PAGES);
	}
	prr_pmu_close(&c);
	munmap((void *)touched, PAGE);
}

static void this_machine(void)
{
	struct prr_clock_facts facts;
	struct prr_pmu_verdict apart = { 0 };

	prr_clock_facts(-1, &facts);
	prr_pmu_check_apart(-1, &apart);
	assert(strcmp(apart.cpu, facts.cpu) == 0 && apart.reason[0]);
	assert(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
	assert(facts.cpu[0] && facts.reason[0]);
	printf("%s: %s: %s\n", facts.cpu, facts.pmu_usable ? "usable" : "not usable", facts.reason);
}

int main(void)
{
	prr_error_init(&err);
	sound_counters();
	unknown_cpus();
	no_counter();
	inexact_counters();
	speculative_locks();
	transactions();
	overflows();
	one_counter();
	known_branches();
	signal_to_the_tracee(0);
	signal_to_the_tracee(1);
	this_machine();
	return 0;
}
