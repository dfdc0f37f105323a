/* SPDX-License-Identifier: GPL-2.0-or-later
 * Finding a named place: the task runs with a probe at the site, until the state there
 * is the place's.
 *
 * By fingerprint a candidate passes, from cheap to dear: the stub's tests, without a
 * stop; all registers and XSTATE; the pages that told earlier candidates apart; all
 * pages. What a candidate failed by is learned, and put first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../shared/probe.h"
#include "../shared/step.h"
#include "search.h"

enum {
	PAGES_LEARNED = 16,
	REPLANTS_MAX = 20,
	PROBES_APART = 16, /* bytes */
	WORDS_LEARNED = 8, /* from one candidate */
	XSTATE_MAX = 16384,
	/* Of the XSAVE area (Intel SDM vol. 1, 13.4). */
	FOP_AT = 6,
	FDP_END = 24,             /* addresses of the last x87 instruction */
	MXCSR_MASK_AT = 28,
	MXCSR_MASK_END = 32,
	SOFTWARE_AT = 464,
	HEADER_END = 576   /* reserved bytes, XSTATE_BV */
};

/* For getting from a trap to somewhere else, when the time is up already. */
#define GRACE_NS 100000ull

struct search {
	const struct prr_search_target *target;
	const struct prr_fingerprint_view *place;
	struct prr_search_result *result;
	struct prr_probe_test tests[PRR_PROBE_TESTS_MAX];
	size_t test_count;
	uint64_t pages[PAGES_LEARNED];
	size_t page_count;
	uint64_t guard, guard_len; /* pages made read-only: the probe lies in them; 0 none */
	unsigned replants;         /* after the program wrote there */
	struct prr_probe probe;
	struct prr_probe end; /* counts to the end of the slice, where a count ends it */
	uint8_t here[XSTATE_MAX];
};

/* ------------------------------------------------------------------- tests */

static void add_test(struct search *search, const struct prr_probe_test *test)
{
	if (search->test_count < PRR_PROBE_TESTS_MAX &&
		prr_probe_can_test(test, &search->probe.cpu))
		search->tests[search->test_count++] = *test;
}

/* A test that told a candidate apart comes first from now on. */
static bool learn_test(struct search *search, const struct prr_probe_test *test)
{
	if (!prr_probe_can_test(test, &search->probe.cpu))
		return false;
	for (size_t i = 0; i < search->test_count; i++)
		if (memcmp(&search->tests[i], test, sizeof(*test)) == 0)
			return false;
	if (search->test_count == PRR_PROBE_TESTS_MAX)
		search->test_count--;
	memmove(&search->tests[1], &search->tests[0],
		search->test_count * sizeof(search->tests[0]));
	search->tests[0] = *test;
	search->test_count++;
	return true;
}

static void add_registers(struct search *search, const uint64_t regs[16], bool varying)
{
	for (uint32_t i = 0; i < 16; i++)
		if ((search->place->point->varying >> i & 1) == varying)
			add_test(search,
				&(struct prr_probe_test){ .kind = PRR_PROBE_TEST_REG,
					.index = i,
					.value = (uint32_t)regs[i] });
}

static void add_words(struct search *search, pid_t tid, bool varying)
{
	uint32_t now;

	for (size_t i = 0; i < search->place->word_count; i++) {
		const struct prr_field_word *word = &search->place->words[i];

		/* The stub reads it: it must be mapped, for all of the slice. */
		if ((word->varying != 0) == varying &&
			prr_mem_read(tid, prr_remote(word->addr), &now, sizeof(now)))
			add_test(search,
				&(struct prr_probe_test){ .kind = PRR_PROBE_TEST_WORD,
					.addr = word->addr,
					.value = word->value });
	}
}

/* ------------------------------------------------------------- differences */

static bool counts(size_t offset)
{
	return !(offset >= FOP_AT && offset < FDP_END) &&
		!(offset >= MXCSR_MASK_AT && offset < MXCSR_MASK_END) &&
		!(offset >= SOFTWARE_AT && offset < HEADER_END);
}

/* The first differing offset, rounded down to 4; or -1. */
static int64_t xstate_difference(struct search *search, pid_t tid)
{
	size_t len;

	if (!search->place->xstate ||
		!prr_ptrace_get_xstate(tid, search->here, sizeof(search->here), &len))
		return -1;
	if (len > search->place->xstate_len)
		len = search->place->xstate_len;
	for (size_t i = 0; i < len; i++)
		if (search->here[i] != search->place->xstate[i] && counts(i))
			return (int64_t)(i & ~(size_t)3);
	return -1;
}

static void learn_register(struct search *search, const struct prr_regs *expected,
	const struct prr_regs *actual, bool *learned)
{
	uint64_t x[16], y[16];

	prr_regs_encoded(expected, x);
	prr_regs_encoded(actual, y);
	for (uint32_t i = 0; i < 16; i++)
		if (x[i] >> 32 != y[i] >> 32)
			*learned |= learn_test(search,
				&(struct prr_probe_test){ .kind = PRR_PROBE_TEST_REG_HIGH,
					.index = i,
					.value = (uint32_t)(x[i] >> 32) });
}

static bool words_differ(const struct search *search, pid_t tid)
{
	uint32_t now;

	for (size_t i = 0; i < search->place->word_count; i++)
		if (!prr_mem_read(
			    tid, prr_remote(search->place->words[i].addr), &now, sizeof(now)) ||
			now != search->place->words[i].value)
			return true;
	return false;
}

/* Registers, XSTATE, words. *learned: the stub can sift more from now on. */
static bool state_differs(struct prr_replay_task *t, struct search *search, bool *learned)
{
	uint64_t expected, actual;

	if (prr_regs_difference(search->place->regs, &t->regs, &expected, &actual)) {
		learn_register(search, search->place->regs, &t->regs, learned);
		return true;
	}
	int64_t offset = xstate_difference(search, t->tid);

	if (offset >= 0) {
		struct prr_probe_test test = { .kind = PRR_PROBE_TEST_XSTATE,
			.index = (uint32_t)offset };

		memcpy(&test.value, search->place->xstate + offset, sizeof(test.value));
		*learned = learn_test(search, &test);
		return true;
	}
	return words_differ(search, t->tid);
}

static enum prr_status pages_differ(struct prr_replay *s, struct prr_replay_task *t,
	struct search *search, bool *differs, bool *learned, struct prr_error *err)
{
	struct prr_field_word words[WORDS_LEARNED];
	size_t count;

	PRR_TRY(prr_replay_words_differ(s, t, search->place, words, WORDS_LEARNED, &count, err));
	*differs = count > 0;
	for (size_t i = 0; i < count; i++)
		*learned |= learn_test(search,
			&(struct prr_probe_test){ .kind = PRR_PROBE_TEST_WORD,
				.addr = words[i].addr,
				.value = words[i].value });
	return PRR_OK;
}

static enum prr_status memory_differs(struct prr_replay *s, struct prr_replay_task *t,
	struct search *search, bool *differs, struct prr_error *err)
{
	uint64_t page;

	*differs = false;
	for (size_t i = 0; i < search->page_count && !*differs; i++)
		PRR_TRY(prr_replay_page_differs(
			s, t, search->place, search->pages[i], differs, err));
	if (*differs || !search->place->has_hashes)
		return PRR_OK;
	search->result->hashed++;
	PRR_TRY(prr_replay_memory_differs(s, t, search->place, &page, err));
	*differs = page != 0;
	if (page && search->page_count < PAGES_LEARNED)
		search->pages[search->page_count++] = page;
	return PRR_OK;
}

/* --------------------------------------------------------------- the search */

/* Code that is not yet, or not always, what it is at the place must be left alone. */
static bool code_is_settled(const struct prr_replay_task *t, const struct search *search)
{
	const struct prr_field_point *point = search->place->point;
	const struct prr_field_mapping *m = prr_mappings_find(&t->as->mappings, search->probe.site);
	uint8_t code[sizeof(point->code)];
	size_t len = point->code_len < sizeof(code) ? point->code_len : sizeof(code);

	/* Shared code may be written through another mapping, which no guard sees. */
	return !search->target->careful && !(point->flags & PRR_POINT_CODE_TOUCHED) && m &&
		!prr_mapping_is_shared(m) &&
		prr_mem_peek_some(t->tid, prr_remote(search->probe.site), code, len) == len &&
		memcmp(code, point->code, len) == 0;
}

/* Changes the protection of the pages that the patch lies in. */
static enum prr_status protect(struct prr_replay *s, struct prr_replay_task *t,
	const struct search *search, uint32_t prot, struct prr_error *err)
{
	uint64_t args[6] = { search->guard, search->guard_len, prot };
	int64_t result;

	return prr_replay_syscall(s, t, SYS_mprotect, args, &result, err);
}

/* Code that may be written: who writes where a stub is planted is to be seen doing it. */
static enum prr_status guard(struct prr_replay *s, struct prr_replay_task *t, struct search *search,
	struct prr_error *err)
{
	uint64_t site = search->probe.site;
	const struct prr_field_mapping *m = prr_mappings_find(&t->as->mappings, site);

	if (!search->probe.has_stub || search->guard || !m || !(m->prot & PROT_WRITE))
		return PRR_OK;
	search->guard = prr_page_down(site);
	search->guard_len = prr_page_up(site + search->probe.patch_len) - search->guard;
	return protect(s, t, search, m->prot & ~(uint32_t)PROT_WRITE, err);
}

static enum prr_status unguard(struct prr_replay *s, struct prr_replay_task *t,
	struct search *search, struct prr_error *err)
{
	const struct prr_field_mapping *m = prr_mappings_find(&t->as->mappings, search->guard);

	if (!search->guard || !m)
		return PRR_OK;
	PRR_TRY(protect(s, t, search, m->prot, err));
	search->guard = 0;
	return PRR_OK;
}

static bool arm(struct prr_replay_task *t, struct search *search)
{
	if (search->place->point->method == PRR_POINT_COUNT)
		return prr_probe_arm_count(&search->probe, t->tid, search->target->hits);
	return prr_probe_arm_match(&search->probe, t->tid, search->tests, search->test_count);
}

static enum prr_status lose(struct search *search, const char *why)
{
	search->result->end = PRR_SEARCH_LOST;
	search->result->why = why;
	return PRR_OK;
}

static enum prr_status arm_or_lose(struct prr_replay_task *t, struct search *search)
{
	return arm(t, search) ? PRR_OK : lose(search, "the site is gone");
}

/* Executes the instruction at the site, nothing being armed. */
static enum prr_status step_over(struct prr_replay_task *t, struct search *search)
{
	struct prr_next_insn insn;
	enum prr_step_result result;
	int status;

	if (!prr_ptrace_set_regs(t->tid, &t->regs) || !prr_step_look(t->tid, &t->regs, &insn))
		return lose(search, "the code there cannot be read");
	do /* a request to stop that came late is no step's end */
		result = prr_step(t->tid, &insn, &t->regs, &status);
	while (result == PRR_STEP_OTHER && WIFSTOPPED(status) &&
		prr_status_event(status) == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP);
	t->regs_dirty = false;
	if (result == PRR_STEP_DONE)
		return PRR_OK;
	if (!WIFSTOPPED(status) || prr_status_event(status) != 0)
		return lose(search, "the instruction there could not be stepped");
	search->result->end = PRR_SEARCH_ARRIVED;
	search->result->arrival = PRR_ARRIVAL_SIGNAL;
	search->result->signo = WSTOPSIG(status);
	return PRR_OK;
}

/* Goes on from a candidate that was not it. */
static enum prr_status pass(struct prr_replay *s, struct prr_replay_task *t, struct search *search,
	struct prr_error *err)
{
	if (search->probe.has_stub && search->probe.armed) {
		/* Behind the trap the stub executes the instruction. */
		t->regs.rip = search->probe.code_addr + search->probe.stub.after_trap;
		t->regs_dirty = true;
		return PRR_OK;
	}
	bool settled = search->probe.hardware && search->replants < REPLANTS_MAX &&
		code_is_settled(t, search);

	if (search->probe.hardware && search->probe.armed && !settled)
		return PRR_OK; /* the kernel has set RF: it does not trap again here */
	(void)prr_probe_disarm(&search->probe, t->tid);
	if (settled) { /* the code is there now */
		search->replants++;
		PRR_TRY(prr_probe_close(&search->probe, t->tid, err));
		PRR_TRY(prr_probe_open(
			&search->probe, t->tid, &t->as->mappings, search->target->site, err));
	}
	PRR_TRY(step_over(t, search));
	if (search->result->end != PRR_SEARCH_GOES_ON)
		return PRR_OK;
	if (!arm(t, search))
		return lose(search, "the site is gone");
	return guard(s, t, search, err);
}

/* t stands at the site, its registers the program's. */
static enum prr_status judge(struct prr_replay *s, struct prr_replay_task *t, struct search *search,
	struct prr_error *err)
{
	bool learned = false, differs = false;

	search->result->candidates++;
	if (state_differs(t, search, &learned)) {
		/* A new stub begins with its test: t arrives at the site once more. */
		if (learned && search->probe.has_stub)
			return arm_or_lose(t, search);
		return pass(s, t, search, err);
	}
	/* The probe itself may lie in memory that is hashed: code that is written. */
	(void)prr_probe_disarm(&search->probe, t->tid);
	PRR_TRY(pages_differ(s, t, search, &differs, &learned, err));
	if (!differs)
		PRR_TRY(memory_differs(s, t, search, &differs, err));
	if (!differs) {
		search->result->end = PRR_SEARCH_FOUND;
		return PRR_OK;
	}
	if (search->probe.has_stub && !arm(t, search))
		return lose(search, "the site is gone");
	return learned && search->probe.has_stub ? PRR_OK : pass(s, t, search, err);
}

/* A stub has counted by itself; a breakpoint stops each time. */
static enum prr_status count(struct prr_replay *s, struct prr_replay_task *t, struct search *search,
	struct prr_error *err)
{
	search->result->candidates++;
	if (!search->probe.has_stub && search->result->candidates != search->target->hits)
		return pass(s, t, search, err);
	int64_t offset = xstate_difference(search, t->tid);

	if (offset >= 0)
		return prr_replay_diverged(s, t, err,
			"XSTATE differs from the recorded one at byte %lld", (long long)offset);
	search->result->end = PRR_SEARCH_FOUND;
	return PRR_OK;
}

/* t stands where it writes into the code that holds the probe: the debug register does
 * until the code is what it is to be. */
static enum prr_status let_write(struct prr_replay *s, struct prr_replay_task *t,
	struct search *search, bool *handled, struct prr_error *err)
{
	siginfo_t info;

	*handled = search->guard && prr_ptrace_get_siginfo(t->tid, &info) &&
		(uint64_t)(uintptr_t)info.si_addr - search->guard < search->guard_len;
	if (!*handled)
		return PRR_OK;
	/* The displaced instruction itself may be the one that writes. */
	if (prr_probe_is_inside(&search->probe, t->regs.rip))
		t->regs.rip = search->probe.site;
	t->regs.rflags &= ~PRR_FLAG_RF;
	t->regs.orig_rax = (uint64_t)-1;
	(void)prr_probe_disarm(&search->probe, t->tid);
	PRR_TRY(unguard(s, t, search, err));
	t->regs_dirty = true;
	PRR_TRY(prr_probe_close(&search->probe, t->tid, err));
	prr_probe_use_hardware(&search->probe);
	return arm_or_lose(t, search);
}

/* Leaves the program's own registers behind, as if there was no probe. */
static void leave(struct prr_replay_task *t, struct search *search)
{
	t->regs.orig_rax = (uint64_t)-1;
	t->regs.rflags &= ~PRR_FLAG_RF;
	t->regs_dirty = true;
	if ((prr_probe_is_inside(&search->probe, t->regs.rip) &&
		    !prr_probe_leave(&search->probe, t->tid, &t->regs)) ||
		(prr_probe_is_inside(&search->end, t->regs.rip) &&
			!prr_probe_leave(&search->end, t->tid, &t->regs)))
		(void)lose(search, "the stub could not be left");
}

/* t has stopped, but not at the probe's trap. */
static enum prr_status end_with(
	struct prr_replay_task *t, struct search *search, enum prr_arrival arrival, int signo)
{
	struct prr_search_result *result = search->result;

	result->end = arrival == PRR_ARRIVAL_LATE ? PRR_SEARCH_LATE : PRR_SEARCH_ARRIVED;
	result->arrival = arrival;
	result->signo = signo;
	if (arrival != PRR_ARRIVAL_SYSCALL)
		leave(t, search); /* the displaced instruction may be the one that faults */
	return PRR_OK;
}

static enum prr_status next_stop(struct prr_replay *s, struct prr_replay_task *t,
	struct search *search, struct prr_error *err)
{
	enum prr_arrival arrival;
	int signo = 0;

	PRR_TRY(prr_replay_advance_past_int80(s, t, &arrival, &signo, err));
	/* A request to stop is reported before the trap that has just come: that first. */
	if (arrival == PRR_ARRIVAL_LATE &&
		(prr_probe_is_trap(&search->probe, &t->regs) ||
			prr_probe_is_trap(&search->end, &t->regs))) {
		s->deadline_ns = prr_now() + GRACE_NS;
		return PRR_OK;
	}
	if (arrival != PRR_ARRIVAL_SIGNAL)
		return end_with(t, search, arrival, 0);
	if (signo == SIGTRAP && search->target->end_hits &&
		prr_probe_is_trap(&search->end, &t->regs)) {
		t->regs.rip = search->end.site;
		search->result->at_end = true;
		return end_with(t, search, arrival, signo);
	}
	if (signo == SIGSEGV) {
		bool handled;

		PRR_TRY(let_write(s, t, search, &handled, err));
		if (handled)
			return PRR_OK;
	}
	if (signo != SIGTRAP || !prr_probe_is_trap(&search->probe, &t->regs))
		return end_with(t, search, arrival, signo);
	t->regs.rip = search->probe.site;
	t->regs.orig_rax = (uint64_t)-1;
	t->regs.rflags &= ~PRR_FLAG_RF;
	t->regs_dirty = !search->probe.hardware;
	return search->place->point->method == PRR_POINT_COUNT ? count(s, t, search, err)
							       : judge(s, t, search, err);
}

static enum prr_status run(struct prr_replay *s, struct prr_replay_task *t, struct search *search,
	struct prr_error *err)
{
	uint64_t regs[16];

	prr_regs_encoded(search->place->regs, regs);
	for (int varying = 1; varying >= 0; varying--) {
		add_registers(search, regs, varying);
		add_words(search, t->tid, varying);
	}
	if (search->target->careful ||
		(search->place->point->method == PRR_POINT_FINGERPRINT &&
			!code_is_settled(t, search)))
		prr_probe_use_hardware(&search->probe);
	if (!arm(t, search))
		return lose(search, "no probe can be planted");
	PRR_TRY(guard(s, t, search, err));
	while (search->result->end == PRR_SEARCH_GOES_ON)
		PRR_TRY(next_stop(s, t, search, err));
	return PRR_OK;
}

/* Counts to the end of the slice beside the probe at the place. */
static enum prr_status watch_end(struct prr_replay_task *t, struct search *search)
{
	const struct prr_field_mapping *m =
		prr_mappings_find(&t->as->mappings, search->target->end_site);

	/* Patches may not touch (PITFALLS A20). Nothing guards this one, and memory is hashed with
	 * it in place. */
	if (search->target->site - search->target->end_site + PROBES_APART < 2 * PROBES_APART ||
		!m || (m->prot & PROT_WRITE) || !search->end.has_stub ||
		!prr_probe_arm_count(&search->end, t->tid, search->target->end_hits) ||
		!search->end.has_stub)
		return lose(search, "the slice's end cannot be watched meanwhile");
	return PRR_OK;
}

static void read_count(struct prr_replay_task *t, struct search *search)
{
	struct prr_search_result *result = search->result;
	const struct prr_search_target *target = search->target;

	if (target->end_hits)
		(void)prr_probe_counter(&search->end, t->tid, &result->hits_left);
	else if (search->place->point->method == PRR_POINT_COUNT && !search->probe.has_stub)
		result->hits_left = target->hits - result->candidates;
	else if (search->place->point->method == PRR_POINT_COUNT)
		(void)prr_probe_counter(&search->probe, t->tid, &result->hits_left);
}

static enum prr_status find(struct prr_replay *s, struct prr_replay_task *t, struct search *search,
	struct prr_error *err)
{
	const struct prr_search_target *target = search->target;
	const struct prr_mappings *mappings = &t->as->mappings;

	PRR_TRY(prr_probe_open(&search->probe, t->tid, mappings, target->site, err));
	if (target->end_hits) {
		PRR_TRY(prr_probe_open(&search->end, t->tid, mappings, target->end_site, err));
		PRR_TRY(watch_end(t, search));
	}
	t->regs_dirty = true; /* calls were injected */
	if (search->result->end == PRR_SEARCH_GOES_ON)
		PRR_TRY(run(s, t, search, err));
	PRR_TRY(unguard(s, t, search, err));
	read_count(t, search);
	search->result->hardware = search->probe.hardware;
	PRR_TRY(prr_probe_close(&search->probe, t->tid, err));
	if (target->end_hits)
		PRR_TRY(prr_probe_close(&search->end, t->tid, err));
	t->regs_dirty = true;
	return PRR_OK;
}

enum prr_status prr_replay_search(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_search_target *target, struct prr_search_result *ret,
	struct prr_error *err)
{
	struct search *search = calloc(1, sizeof(*search));

	memset(ret, 0, sizeof(*ret));
	if (!search)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	search->target = target;
	search->place = &target->place;
	search->result = ret;
	enum prr_status status = find(s, t, search, err);

	free(search);
	return status;
}

enum prr_status prr_replay_stands_at(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_search_target *target, bool *ret, struct prr_error *err)
{
	struct search *search = calloc(1, sizeof(*search));
	struct prr_search_result result = { 0 };
	bool learned = false, differs = true;
	enum prr_status status = PRR_OK;

	if (!search)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
	search->target = target;
	search->place = &target->place;
	search->result = &result;
	if (!state_differs(t, search, &learned))
		status = pages_differ(s, t, search, &differs, &learned, err);
	if (status == PRR_OK && !differs)
		status = memory_differs(s, t, search, &differs, err);
	*ret = !differs;
	free(search);
	return status;
}
