/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fingerprint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "mem.h"
#include "probe.h"
#include "ptrace.h"
#include "regs.h"
#include "step.h"

enum {
	STEPS = 32,      /* of the trajectory */
	MORE_STEPS = 24, /* until a probe can stand at the place */
	NEAR_CODE = 64,  /* bytes */
	PROBES_APART = 16,
	XSTATE_MAX = 16384
};
_Static_assert(STEPS + MORE_STEPS <= PRR_FINGERPRINT_STEPS_MAX, "a trajectory fits");
/* Below this the stack is dead: what stands there may depend on the CPU's XINUSE. */
#define RED_ZONE 128
/* Of what may be mapped: vm.mmap_min_addr. */
#define LOWEST 0x10000
#define DEAD_STACK (256ull << 10)

void prr_fingerprint_deinit(struct prr_fingerprint *fingerprint)
{
	prr_page_hashes_deinit(&fingerprint->hashes);
	free(fingerprint->xstate);
	free(fingerprint->pages);
	memset(fingerprint, 0, sizeof(*fingerprint));
}

void prr_fingerprint_reset(struct prr_fingerprint *fingerprint)
{
	struct prr_fingerprint kept = *fingerprint;

	memset(fingerprint, 0, sizeof(*fingerprint));
	fingerprint->hashes = kept.hashes;
	fingerprint->hashes.count = 0;
	fingerprint->xstate = kept.xstate;
	fingerprint->pages = kept.pages;
}

void prr_fingerprint_look(
	const struct prr_fingerprint *fingerprint, struct prr_fingerprint_view *ret)
{
	*ret = (struct prr_fingerprint_view){ .regs = &fingerprint->regs,
		.point = &fingerprint->point,
		.words = fingerprint->words,
		.word_count = fingerprint->word_count,
		.xstate = fingerprint->xstate_len ? fingerprint->xstate : NULL,
		.xstate_len = fingerprint->xstate_len,
		.hashes = fingerprint->hashes.items,
		.hash_count = fingerprint->hashes.count,
		.has_hashes = fingerprint->has_hashes,
		.page_count = fingerprint->page_count };
	for (size_t i = 0; i < fingerprint->page_count; i++)
		ret->pages[i] = &fingerprint->pages[i];
}

/* ------------------------------------------------------------ the trajectory */

static void note_word(struct prr_fingerprint *path, pid_t tid, uint64_t addr)
{
	struct prr_field_word *word = &path->words[path->word_count];

	addr &= ~3ull; /* never across pages, and exact for what is aligned */
	for (size_t i = 0; i < path->word_count; i++)
		if (path->words[i].addr == addr)
			return;
	if (path->word_count == PRR_FINGERPRINT_WORDS_MAX ||
		!prr_mem_read(tid, prr_remote(addr), &word->value, sizeof(word->value)))
		return;
	word->addr = addr;
	word->varying = 0;
	path->word_count++;
}

static uint32_t changed_registers(const struct prr_regs *a, const struct prr_regs *b)
{
	uint64_t x[16], y[16];
	uint32_t changed = 0;

	prr_regs_encoded(a, x);
	prr_regs_encoded(b, y);
	for (int i = 0; i < 16; i++)
		if (x[i] != y[i])
			changed |= 1u << i;
	return changed;
}

/* Runs to behind a repeated string instruction, by a breakpoint there. */
static enum prr_status pass_repeated(const struct prr_fingerprint_walk *walk,
	const struct prr_next_insn *insn, bool *go_on, struct prr_error *err)
{
	static const uint8_t int3 = 0xcc;
	uint64_t next = walk->regs->rip + insn->length;
	uint8_t original;
	int status;

	*go_on = false;
	if (prr_mem_peek_some(walk->tid, prr_remote(next), &original, 1) != 1 ||
		!prr_mem_poke(walk->tid, prr_remote(next), &int3, 1))
		return PRR_OK;
	enum prr_status result = PRR_OK;

	do {
		(void)prr_ptrace_resume(walk->tid, PRR_RESUME_CONT, 0);
		pid_t got;

		do
			got = waitpid(walk->tid, &status, __WALL);
		while (got < 0 && errno == EINTR);
		if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP &&
			prr_status_event(status) == 0 &&
			prr_ptrace_get_regs(walk->tid, walk->regs) && walk->regs->rip == next + 1) {
			walk->regs->rip = next;
			*go_on = prr_ptrace_set_regs(walk->tid, walk->regs);
			break;
		}
		result = walk->other_stop(walk->context, status, go_on, err);
	} while (*go_on && result == PRR_OK);
	(void)prr_mem_poke(walk->tid, prr_remote(next), &original, 1);
	return result;
}

static bool is_free(void *context, uint64_t start, uint64_t len)
{
	const struct prr_mappings *mappings = context;

	return start >= LOWEST && start + len <= PRR_TASK_SIZE && !prr_hits_layout(start, len) &&
		!prr_mappings_overlap(mappings, start, len);
}

static bool is_near(const struct prr_fingerprint_walk *walk)
{
	return walk->avoid && walk->regs->rip - walk->avoid + PROBES_APART < 2 * PROBES_APART;
}

/* Will whoever looks for the place be able to put a stub there? */
static bool can_stand(const struct prr_fingerprint_walk *walk, const struct prr_next_insn *insn)
{
	struct prr_probe_insn probe;
	uint64_t addr;

	return prr_probe_decode(walk->regs->rip, insn->bytes, insn->known, &probe) &&
		prr_probe_place(&probe, PRR_PROBE_REGION_LEN, is_free,
			(void *)(uintptr_t)walk->mappings, &addr);
}

enum prr_status prr_fingerprint_walk(const struct prr_fingerprint_walk *walk,
	struct prr_fingerprint *ret, bool *there, struct prr_error *err)
{
	const uint64_t first = walk->regs->rip;
	int wanted = STEPS;
	bool go_on = true;

	*there = false;
	while (go_on) {
		struct prr_next_insn insn;
		struct prr_regs before = *walk->regs;
		int status;

		/* With TF each instruction is a SIGTRAP of the program's own. */
		if (!prr_step_look(walk->tid, walk->regs, &insn) || insn.is_event ||
			(walk->regs->rflags & PRR_FLAG_TF))
			return PRR_OK;
		if (walk->brief && ret->steps > 0 && walk->regs->rip == first)
			wanted = ret->steps < wanted ? ret->steps : wanted;
		*there = ret->steps >= wanted && !insn.is_repeated && !is_near(walk) &&
			(ret->steps >= wanted + MORE_STEPS || can_stand(walk, &insn));
		if (*there || (ret->steps >= wanted + MORE_STEPS && is_near(walk)) ||
			(walk->is_end && walk->is_end(walk->context, ret)))
			return PRR_OK;
		if (insn.is_repeated) {
			PRR_TRY(pass_repeated(walk, &insn, &go_on, err));
			continue;
		}
		for (size_t i = 0; i < insn.operand_count; i++)
			note_word(ret, walk->tid, insn.operands[i]);
		if (prr_step(walk->tid, &insn, walk->regs, &status) == PRR_STEP_DONE) {
			ret->executed[ret->steps++] = before.rip;
			ret->point.varying |= changed_registers(&before, walk->regs);
		} else {
			PRR_TRY(walk->other_stop(walk->context, status, &go_on, err));
			if (go_on && !prr_ptrace_get_regs(walk->tid, walk->regs))
				return PRR_OK;
		}
	}
	return PRR_OK;
}

/* ---------------------------------------------------------------- the place */

static int varying_first(const void *a, const void *b)
{
	const struct prr_field_word *x = a, *y = b;

	if (x->varying != y->varying)
		return x->varying > y->varying ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The words as they are at the place. */
static void settle_words(const struct prr_fingerprint_walk *walk, struct prr_fingerprint *path)
{
	size_t kept = 0;

	for (size_t i = 0; i < path->word_count; i++) {
		struct prr_field_word *word = &path->words[i];
		const struct prr_field_mapping *m = prr_mappings_find(walk->mappings, word->addr);
		uint32_t before = word->value;

		if (word->addr < walk->regs->rsp - RED_ZONE &&
			walk->regs->rsp - word->addr < DEAD_STACK)
			continue;
		if (m && !(m->prot & PROT_WRITE))
			continue;
		if (!prr_mem_read(
			    walk->tid, prr_remote(word->addr), &word->value, sizeof(word->value)))
			continue;
		word->varying = word->value != before;
		path->words[kept++] = *word;
	}
	path->word_count = kept;
	qsort(path->words, kept, sizeof(path->words[0]), varying_first);
}

static void describe_code(const struct prr_fingerprint_walk *walk, struct prr_fingerprint *path)
{
	struct prr_field_point *point = &path->point;
	uint64_t rip = walk->regs->rip;

	point->code_len = (uint32_t)prr_mem_peek_some(
		walk->tid, prr_remote(rip), point->code, sizeof(point->code));
	for (size_t i = 0; i < path->word_count; i++)
		if (path->words[i].addr - rip + NEAR_CODE < 2 * NEAR_CODE)
			point->flags |= PRR_POINT_CODE_TOUCHED;
}

enum prr_status prr_fingerprint_take(
	const struct prr_fingerprint_walk *walk, struct prr_fingerprint *ret, struct prr_error *err)
{
	ret->regs = *walk->regs;
	ret->point.method = PRR_POINT_FINGERPRINT;
	describe_code(walk, ret);
	settle_words(walk, ret);
	if (!ret->xstate)
		ret->xstate = malloc(XSTATE_MAX);
	if (!ret->xstate)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	if (!prr_ptrace_get_xstate(walk->tid, ret->xstate, XSTATE_MAX, &ret->xstate_len))
		ret->xstate_len = 0;
	return PRR_OK;
}

static void add_page(uint64_t *pages, size_t *count, uint64_t page)
{
	for (size_t i = 0; i < *count; i++)
		if (pages[i] == page)
			return;
	if (*count < PRR_FINGERPRINT_PAGES_MAX)
		pages[(*count)++] = page;
}

enum prr_status prr_fingerprint_pages(const struct prr_memory_view *view, const uint64_t *busy,
	size_t busy_count, struct prr_fingerprint *ret, struct prr_error *err)
{
	uint64_t pages[PRR_FINGERPRINT_PAGES_MAX];
	size_t count = 0;

	add_page(pages, &count, prr_page_down(ret->regs.rsp));
	for (size_t i = 0; i < ret->word_count &&
		count < PRR_FINGERPRINT_PAGES_MAX - PRR_FINGERPRINT_BUSY_PAGES;
		i++)
		add_page(pages, &count, prr_page_down(ret->words[i].addr));
	for (size_t i = 0; i < busy_count; i++)
		add_page(pages, &count, busy[i]);
	if (!ret->pages)
		ret->pages = calloc(PRR_FINGERPRINT_PAGES_MAX, sizeof(*ret->pages));
	if (!ret->pages)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	for (size_t i = 0; i < count; i++) {
		const struct prr_field_mapping *m = prr_page_hash_mapping(view, pages[i]);
		struct prr_page_image *image = &ret->pages[ret->page_count];

		image->head.addr = pages[i];
		if (m && (m->prot & PROT_WRITE) && prr_page_read(view, pages[i], image->bytes))
			ret->page_count++;
	}
	return PRR_OK;
}
