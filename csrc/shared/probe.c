/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "inject.h"
#include "layout.h"
#include "mem.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
	DATA_LEN = PRR_PAGE_SIZE,
	REGION_LEN = PRR_PROBE_REGION_LEN, /* a stub may begin anywhere in the first page */
	SITE_BYTES = 24
};
_Static_assert(PRR_PROBE_CODE_MAX + PRR_PAGE_SIZE + DATA_LEN <= REGION_LEN, "a stub fits");
static const uint8_t int3 = 0xcc;

struct search { /* for room */
	pid_t tid;
	const struct prr_mappings *mappings;
	enum prr_status status;
	struct prr_error *err;
};

/* Maps the region if nothing is there. The model does not know scratch and grown
 * stacks: the kernel says no to those. */
static bool claim(void *context, uint64_t start, uint64_t len)
{
	struct search *search = context;
	uint64_t args[6] = { start, len, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0 };
	int64_t result = -1;

	if (search->status != PRR_OK || start < PRR_PAGE_SIZE || start + len > PRR_TASK_SIZE ||
		prr_hits_layout(start, len) || prr_mappings_overlap(search->mappings, start, len))
		return false;
	search->status = prr_inject_one(search->tid, SYS_mmap, args, &result, search->err);
	return search->status == PRR_OK && (uint64_t)result == start;
}

enum prr_status prr_probe_open(struct prr_probe *probe, pid_t tid,
	const struct prr_mappings *mappings, uint64_t site, struct prr_error *err)
{
	struct search search = { tid, mappings, PRR_OK, err };
	uint8_t bytes[SITE_BYTES];
	size_t known = prr_mem_peek_some(tid, prr_remote(site), bytes, sizeof(bytes));

	memset(probe, 0, sizeof(*probe));
	probe->site = site;
	if (known == 0)
		return PRR_OK; /* arming fails */
	memcpy(probe->original, bytes,
		known < sizeof(probe->original) ? known : sizeof(probe->original));
	prr_probe_cpu(&probe->cpu);
	if (!prr_probe_decode(site, bytes, known, &probe->insn) ||
		!prr_probe_place(&probe->insn, REGION_LEN, claim, &search, &probe->code_addr))
		return search.status;
	probe->region = prr_page_down(probe->code_addr);
	probe->data_addr = probe->region + REGION_LEN - DATA_LEN;
	probe->has_stub = true;
	return search.status;
}

enum prr_status prr_probe_close(struct prr_probe *probe, pid_t tid, struct prr_error *err)
{
	uint64_t args[6] = { probe->region, REGION_LEN };
	int64_t result;

	(void)prr_probe_disarm(probe, tid);
	if (!probe->region)
		return PRR_OK;
	probe->region = 0;
	return prr_inject_one(tid, SYS_munmap, args, &result, err);
}

void prr_probe_use_hardware(struct prr_probe *probe)
{
	probe->hardware = true;
	probe->has_stub = false;
}

/* Debug register 0 as an execution breakpoint (Intel SDM vol. 3, 18.2). */
static bool set_hardware(pid_t tid, uint64_t addr, bool on)
{
	enum { DR7_L0 = 1 };

	return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[0]), addr) == 0 &&
		ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[7]),
			on ? (long)DR7_L0 : 0l) == 0;
}

static bool arm(struct prr_probe *probe, pid_t tid, struct prr_probe_request *request)
{
	const uint8_t *patch = &int3;

	if (probe->armed && !prr_probe_disarm(probe, tid))
		return false;
	if (probe->hardware && set_hardware(tid, probe->site, true)) {
		probe->armed = true;
		return true;
	}
	probe->hardware = false;
	probe->patch_len = 1;
	request->insn = &probe->insn;
	request->cpu = probe->cpu;
	request->code_addr = probe->code_addr;
	request->data_addr = probe->data_addr;
	/* A stub that cannot reach what its instruction refers to: int3 it is. */
	probe->has_stub = probe->region && prr_probe_generate(request, &probe->stub);
	if (probe->has_stub) {
		if (!prr_mem_poke(tid, prr_remote(probe->code_addr), probe->stub.code,
			    probe->stub.code_len))
			return false;
		patch = probe->stub.patch;
		probe->patch_len = probe->stub.patch_len;
	}
	probe->armed = prr_mem_poke(tid, prr_remote(probe->site), patch, probe->patch_len);
	return probe->armed;
}

bool prr_probe_arm_match(
	struct prr_probe *probe, pid_t tid, const struct prr_probe_test *tests, size_t count)
{
	struct prr_probe_request request = {
		.kind = PRR_PROBE_MATCH, .tests = tests, .test_count = count
	};

	return arm(probe, tid, &request);
}

bool prr_probe_arm_count(struct prr_probe *probe, pid_t tid, uint64_t hits)
{
	struct prr_probe_request request = { .kind = PRR_PROBE_COUNT };

	return arm(probe, tid, &request) &&
		(!probe->has_stub || prr_probe_set_counter(probe, tid, hits));
}

bool prr_probe_counter(const struct prr_probe *probe, pid_t tid, uint64_t *ret)
{
	return prr_mem_read(
		tid, prr_remote(probe->data_addr + PRR_PROBE_DATA_COUNTER), ret, sizeof(*ret));
}

bool prr_probe_set_counter(const struct prr_probe *probe, pid_t tid, uint64_t value)
{
	return prr_mem_poke(
		tid, prr_remote(probe->data_addr + PRR_PROBE_DATA_COUNTER), &value, sizeof(value));
}

bool prr_probe_disarm(struct prr_probe *probe, pid_t tid)
{
	if (!probe->armed)
		return true;
	probe->armed = false;
	if (probe->hardware)
		return set_hardware(tid, probe->site, false);
	return prr_mem_poke(tid, prr_remote(probe->site), probe->original, probe->patch_len);
}

bool prr_probe_is_trap(const struct prr_probe *probe, const struct prr_regs *regs)
{
	if (!probe->armed)
		return false;
	if (probe->hardware)
		return regs->rip == probe->site;
	return regs->rip ==
		(probe->has_stub ? probe->code_addr + probe->stub.after_trap : probe->site + 1);
}

bool prr_probe_is_inside(const struct prr_probe *probe, uint64_t rip)
{
	return probe->has_stub && rip >= probe->code_addr &&
		rip < probe->code_addr + probe->stub.code_len;
}

bool prr_probe_rearm(struct prr_probe *probe, pid_t tid)
{
	probe->armed = probe->has_stub &&
		prr_mem_poke(tid, prr_remote(probe->site), probe->stub.patch, probe->patch_len);
	return probe->armed;
}

/* Where the jump at this offset of the stub leads. */
static uint64_t jump_target(const struct prr_probe *probe, uint64_t offset)
{
	enum { JUMP = 0xe9, LENGTH = 5 };
	int32_t distance;

	if (offset + LENGTH > probe->stub.code_len || probe->stub.code[offset] != JUMP)
		return 0;
	memcpy(&distance, probe->stub.code + offset + 1, sizeof(distance));
	return probe->code_addr + offset + LENGTH + (uint64_t)(int64_t)distance;
}

/* Of a MATCH stub: only its displaced instruction has to be behind. */
static bool leave_match(const struct prr_probe *probe, pid_t tid, struct prr_regs *regs)
{
	const struct prr_probe_stub *stub = &probe->stub;
	uint64_t offset = regs->rip - probe->code_addr;

	if (offset > stub->displaced && offset <= stub->displaced_end &&
		jump_target(probe, offset) != 0) {
		regs->rip = jump_target(probe, offset);
		return true;
	}
	/* Saved by the first instruction; where rcx is loaded again already it is the same. */
	if (offset > 0 &&
		!prr_mem_read(tid, prr_remote(probe->data_addr + PRR_PROBE_DATA_RCX), &regs->rcx,
			sizeof(regs->rcx)))
		return false;
	regs->rip = probe->site;
	return true;
}

bool prr_probe_leave(const struct prr_probe *probe, pid_t tid, struct prr_regs *regs)
{
	const struct prr_probe_stub *stub = &probe->stub;
	uint64_t offset = regs->rip - probe->code_addr, counter;
	bool in_trap = offset >= stub->trap && offset < stub->after_trap;

	if (stub->saved == 0)
		return leave_match(probe, tid, regs);
	if (offset > stub->displaced && !in_trap && offset != stub->after_trap) {
		regs->rip = jump_target(probe, offset);
		return regs->rip != 0;
	}
	if (((offset >= stub->saved && offset < stub->displaced) || in_trap) &&
		!prr_mem_read(tid, prr_remote(probe->data_addr + PRR_PROBE_DATA_RCX), &regs->rcx,
			sizeof(regs->rcx)))
		return false;
	if (offset >= stub->counted &&
		!(prr_probe_counter(probe, tid, &counter) &&
			prr_probe_set_counter(probe, tid, counter + 1)))
		return false;
	regs->rip = probe->site;
	return true;
}
