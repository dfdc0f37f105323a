/* SPDX-License-Identifier: GPL-2.0-or-later
 * Naming a place inside user code: the PREEMPT event.
 *
 * By fingerprint: a few instructions are stepped, to learn which registers and
 * words of memory change here; where that ends is the place. It is the first one
 * since the task's last event at which all registers, XSTATE and all writable
 * memory are what they are now: a state that has all of this in common goes on in the
 * same way, so any such place is as good. The changing registers and words let
 * replay sift the many passes through the place without a stop each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../shared/probe.h"
#include "../shared/step.h"
#include "counting.h"
#include "session.h"

enum {
	STEPS = 32,      /* of the trajectory */
	STEPS_SPINNING = 2, /* nothing changes in it */
	SPINNING_RATIO = 4,
	MORE_STEPS = 24, /* until a probe can stand at the place */
	WORDS_MAX = 48,
	NEAR_CODE = 64, /* bytes */
	BUSY_PAGES = 12,
	PAGES_MAX = 24
};
/* Below this the stack is dead: what stands there may depend on the CPU's XINUSE. */
#define RED_ZONE 128
/* After an attempt that came to nothing. */
#define RETRY_NS 1000000ull
/* Of what may be mapped: vm.mmap_min_addr. */
#define LOWEST 0x10000
#define DEAD_STACK (256ull << 10)

struct trajectory {
	struct prr_field_word words[WORDS_MAX];
	size_t word_count;
	uint32_t varying;
	uint64_t executed[STEPS + MORE_STEPS]; /* rip of each step */
	int steps;
};

static void note_word(struct trajectory *path, pid_t tid, uint64_t addr)
{
	struct prr_field_word *word = &path->words[path->word_count];

	addr &= ~3ull; /* never across pages, and exact for what is aligned */
	for (size_t i = 0; i < path->word_count; i++)
		if (path->words[i].addr == addr)
			return;
	if (path->word_count == WORDS_MAX ||
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

/* A stop that is no step's: signals are held, all else ends the attempt. */
static enum prr_status other_stop(
	struct prr_record_task *t, int status, bool *go_on, struct prr_error *err)
{
	siginfo_t info;

	*go_on = false;
	if (WIFSTOPPED(status) && prr_status_event(status) == PTRACE_EVENT_STOP &&
		WSTOPSIG(status) == SIGTRAP) {
		*go_on = true;
		return PRR_OK;
	}
	if (WIFSTOPPED(status) && prr_status_event(status) == 0 &&
		prr_ptrace_get_siginfo(t->uid.tid, &info) &&
		!prr_record_is_fault(WSTOPSIG(status), &info)) {
		*go_on = true;
		return prr_record_hold(t, &info, err);
	}
	t->status = status;
	t->has_status = true;
	return PRR_OK;
}

/* Runs to behind a repeated string instruction, by a breakpoint there. */
static enum prr_status pass_repeated(struct prr_record_task *t, const struct prr_next_insn *insn,
	bool *go_on, struct prr_error *err)
{
	static const uint8_t int3 = 0xcc;
	uint64_t next = t->regs.rip + insn->length;
	uint8_t original;
	int status;

	*go_on = false;
	if (prr_mem_peek_some(t->uid.tid, prr_remote(next), &original, 1) != 1 ||
		!prr_mem_poke(t->uid.tid, prr_remote(next), &int3, 1))
		return PRR_OK;
	enum prr_status result = PRR_OK;

	do {
		(void)prr_ptrace_resume(t->uid.tid, PRR_RESUME_CONT, 0);
		pid_t got;

		do
			got = waitpid(t->uid.tid, &status, __WALL);
		while (got < 0 && errno == EINTR);
		if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP &&
			prr_status_event(status) == 0 &&
			prr_ptrace_get_regs(t->uid.tid, &t->regs) && t->regs.rip == next + 1) {
			t->regs.rip = next;
			*go_on = prr_ptrace_set_regs(t->uid.tid, &t->regs);
			break;
		}
		result = other_stop(t, status, go_on, err);
	} while (*go_on && result == PRR_OK);
	(void)prr_mem_poke(t->uid.tid, prr_remote(next), &original, 1);
	return result;
}

static bool is_free(void *context, uint64_t start, uint64_t len)
{
	const struct prr_mappings *mappings = context;

	return start >= LOWEST && start + len <= PRR_TASK_SIZE && !prr_hits_layout(start, len) &&
		!prr_mappings_overlap(mappings, start, len);
}

/* Will replay be able to put a stub there? */
static bool can_stand(struct prr_record_task *t, const struct prr_next_insn *insn)
{
	struct prr_probe_insn probe;
	uint64_t addr;

	return prr_probe_decode(t->regs.rip, insn->bytes, insn->known, &probe) &&
		prr_probe_place(&probe, PRR_PROBE_REGION_LEN, is_free, &t->as->mappings, &addr);
}

/* Steps to the place. *there: t stands at it, its registers read. */
static enum prr_status walk(
	struct prr_record_task *t, struct trajectory *path, bool *there, struct prr_error *err)
{
	int wanted = t->spinning ? STEPS_SPINNING : STEPS;
	bool go_on = true;

	*there = false;
	while (go_on) {
		struct prr_next_insn insn;
		struct prr_regs before = t->regs;
		int status;

		/* With TF each instruction is a SIGTRAP of the program's own. */
		if (!prr_step_look(t->uid.tid, &t->regs, &insn) || insn.is_event ||
			(t->regs.rflags & PRR_FLAG_TF))
			return PRR_OK;
		*there = path->steps >= wanted && !insn.is_repeated &&
			(path->steps >= wanted + MORE_STEPS || can_stand(t, &insn));
		if (*there)
			return PRR_OK;
		if (insn.is_repeated) {
			PRR_TRY(pass_repeated(t, &insn, &go_on, err));
			continue;
		}
		for (size_t i = 0; i < insn.operand_count; i++)
			note_word(path, t->uid.tid, insn.operands[i]);
		if (prr_step(t->uid.tid, &insn, &t->regs, &status) == PRR_STEP_DONE) {
			path->executed[path->steps++] = before.rip;
			path->varying |= changed_registers(&before, &t->regs);
		} else {
			PRR_TRY(other_stop(t, status, &go_on, err));
			if (go_on && !prr_ptrace_get_regs(t->uid.tid, &t->regs))
				return PRR_OK;
		}
	}
	return PRR_OK;
}

static int varying_first(const void *a, const void *b)
{
	const struct prr_field_word *x = a, *y = b;

	if (x->varying != y->varying)
		return x->varying > y->varying ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The words as they are at the place. */
static void settle_words(struct prr_record_task *t, struct trajectory *path)
{
	size_t kept = 0;

	for (size_t i = 0; i < path->word_count; i++) {
		struct prr_field_word *word = &path->words[i];
		const struct prr_field_mapping *m = prr_mappings_find(&t->as->mappings, word->addr);
		uint32_t before = word->value;

		if (word->addr < t->regs.rsp - RED_ZONE && t->regs.rsp - word->addr < DEAD_STACK)
			continue;
		if (m && !(m->prot & PROT_WRITE))
			continue;
		if (!prr_mem_read(
			    t->uid.tid, prr_remote(word->addr), &word->value, sizeof(word->value)))
			continue;
		word->varying = word->value != before;
		path->words[kept++] = *word;
	}
	path->word_count = kept;
	qsort(path->words, kept, sizeof(path->words[0]), varying_first);
}

static void add_page(uint64_t *pages, size_t *count, uint64_t page)
{
	for (size_t i = 0; i < *count; i++)
		if (pages[i] == page)
			return;
	if (*count < PAGES_MAX)
		pages[(*count)++] = page;
}

/* What stands in the pages that the trajectory touched, the stack's first, and in those that
 * change often. */
static enum prr_status append_pages(struct prr_record *s, struct prr_record_task *t,
	const struct trajectory *path, struct prr_error *err)
{
	struct {
		struct prr_field_page head;
		uint8_t page[PRR_PAGE_SIZE];
	} field;
	uint64_t pages[PAGES_MAX], busy[BUSY_PAGES];
	struct prr_memory_view view;
	size_t count = 0, busy_count = prr_page_history_busy(t->as->history, busy, BUSY_PAGES);
	enum prr_status status = PRR_OK;

	add_page(pages, &count, prr_page_down(t->regs.rsp));
	for (size_t i = 0; i < path->word_count && count < PAGES_MAX - BUSY_PAGES; i++)
		add_page(pages, &count, prr_page_down(path->words[i].addr));
	for (size_t i = 0; i < busy_count; i++)
		add_page(pages, &count, busy[i]);
	PRR_TRY(prr_record_memory_view(s, t, &view, err));
	for (size_t i = 0; i < count && status == PRR_OK; i++) {
		const struct prr_field_mapping *m = prr_page_hash_mapping(&view, pages[i]);

		field.head.addr = pages[i];
		if (m && (m->prot & PROT_WRITE) && prr_page_read(&view, pages[i], field.page))
			status = prr_event_field(s, PRR_FIELD_PAGE, &field, sizeof(field), err);
	}
	free((void *)(uintptr_t)view.stack_pointers);
	return status;
}

static void describe_code(const struct prr_record_task *t, const struct trajectory *path,
	struct prr_field_point *point)
{
	point->code_len = (uint32_t)prr_mem_peek_some(
		t->uid.tid, prr_remote(t->regs.rip), point->code, sizeof(point->code));
	for (size_t i = 0; i < path->word_count; i++)
		if (path->words[i].addr - t->regs.rip + NEAR_CODE < 2 * NEAR_CODE)
			point->flags |= PRR_POINT_CODE_TOUCHED;
}

static enum prr_status append(struct prr_record *s, struct prr_record_task *t,
	struct trajectory *path, struct prr_error *err)
{
	struct prr_position position = { .site = t->regs.rip };
	struct prr_field_point point = { .method = PRR_POINT_FINGERPRINT,
		.varying = path->varying };
	size_t len;

	describe_code(t, path, &point);
	settle_words(t, path);
	prr_event_begin_at(s, t, PRR_EVENT_PREEMPT, PRR_ORIGIN_POLICY, &t->regs, &position);
	PRR_TRY(prr_event_field(s, PRR_FIELD_POINT, &point, sizeof(point), err));
	if (path->word_count)
		PRR_TRY(prr_event_field(s, PRR_FIELD_WORDS, path->words,
			path->word_count * sizeof(path->words[0]), err));
	if (prr_ptrace_get_xstate(t->uid.tid, s->xstate, sizeof(s->xstate), &len))
		PRR_TRY(prr_event_field(s, PRR_FIELD_XSTATE_AFTER, s->xstate, len, err));
	PRR_TRY(prr_record_point_hashes(s, t, err));
	PRR_TRY(append_pages(s, t, path, err));
	return prr_event_commit(s, err);
}

/* What the stop itself has left in the registers is no business of the program. */
static void normalise(struct prr_record_task *t)
{
	t->regs.orig_rax = (uint64_t)-1;
	t->regs.rflags &= ~PRR_FLAG_RF;
	t->regs_dirty = true;
}

/* What finding places may take of the time: at most 1/ratio. */
static void account(struct prr_record *s, uint64_t began_ns)
{
	uint64_t now = prr_now();

	s->points.stats.points++;
	s->points.stats.hashed++;
	s->points.stats.spent_ns += now - began_ns;
	if (!s->options->point_ratio)
		return;
	s->points.next_ns = now + (now - began_ns) * (s->options->point_ratio - 1);
	/* Spinning is lost time anyway. */
	s->points.next_spinning_ns = now + (now - began_ns) * SPINNING_RATIO;
}

enum prr_status prr_record_point(
	struct prr_record *s, struct prr_record_task *t, bool *made, struct prr_error *err)
{
	struct trajectory path = { 0 };
	uint64_t began_ns = prr_now();

	t->moved = true;
	*made = false;
	/* Steps start from what the kernel has. ESRCH: killed, the next stop tells. */
	if (t->regs_dirty && prr_ptrace_set_regs(t->uid.tid, &t->regs))
		t->regs_dirty = false;
	if (prr_record_trap_is_pending(t))
		PRR_TRY(prr_record_take_traps(t, err));
	PRR_TRY(walk(t, &path, made, err));
	if (*made) {
		normalise(t);
		PRR_TRY(append(s, t, &path, err));
		t->vague_place = true;
		t->state = PRR_TASK_READY;
		if (!t->spinning)
			PRR_TRY(prr_counting_plant(t, path.executed, (size_t)path.steps, err));
		account(s, began_ns);
	} else { /* not at once again */
		s->points.next_ns = s->points.next_spinning_ns = prr_now() + RETRY_NS;
	}
	if (t->has_status)
		return PRR_OK; /* what came instead is treated next, with its own state */
	PRR_TRY(prr_record_restore_after_trap(s, t, SIGTRAP, err));
	PRR_TRY(prr_record_give_traps_back(t, err));
	if (!*made)
		prr_slice_go_on(s, t);
	return PRR_OK;
}

enum prr_status prr_record_counted_point(
	struct prr_record *s, struct prr_record_task *t, uint64_t hits, struct prr_error *err)
{
	struct prr_position position = { .site = t->regs.rip, .hits = hits };
	struct prr_field_point point = { .method = PRR_POINT_COUNT };
	uint64_t began_ns = prr_now();
	size_t len;

	normalise(t);
	prr_event_begin_at(s, t, PRR_EVENT_PREEMPT, PRR_ORIGIN_POLICY, &t->regs, &position);
	PRR_TRY(prr_event_field(s, PRR_FIELD_POINT, &point, sizeof(point), err));
	if (prr_ptrace_get_xstate(t->uid.tid, s->xstate, sizeof(s->xstate), &len))
		PRR_TRY(prr_event_field(s, PRR_FIELD_XSTATE_AFTER, s->xstate, len, err));
	PRR_TRY(prr_record_hashes(s, t, PRR_HASH_IF_DUE, err));
	PRR_TRY(prr_event_commit(s, err));
	t->vague_place = true;
	t->state = PRR_TASK_READY;
	s->points.stats.points++;
	s->points.stats.counted++;
	s->points.stats.spent_ns += prr_now() - began_ns;
	PRR_TRY(prr_record_restore_after_trap(s, t, SIGTRAP, err));
	return prr_record_after_point(s, t, err);
}
