/* SPDX-License-Identifier: GPL-2.0-or-later
 * Candidates for counted sites: instructions that are certain to be such, since they
 * were executed just now or control flow leads from there to them (a patch in the middle
 * of an instruction would corrupt the program; words on the stack that look like return
 * addresses are no proof). How often each is reached is measured afterwards. */
#include <Zydis/Zydis.h>
#include <string.h>
#include <sys/mman.h>

#include "counting.h"

enum {
	WINDOW = 1 << 15,   /* bytes of code around rip that flow is followed in */
	FOLLOWED_MAX = 1500, /* instructions */
	BRANCHES_MAX = 128,
	LOOPS = 4,
	APART = 16 /* bytes between two sites */
};

struct list {
	uint64_t *sites;
	size_t count, room;
};

static bool may_stand(const struct prr_record_task *t, uint64_t addr)
{
	const struct prr_field_mapping *m = prr_mappings_find(&t->as->mappings, addr);

	return m && m->kind == PRR_MAPPING_FILE_PRIVATE && (m->prot & PROT_EXEC) &&
		!(m->prot & PROT_WRITE) && !prr_patch_find(&t->as->patches, addr);
}

static void add(const struct prr_record_task *t, struct list *list, uint64_t addr)
{
	/* A punned jump needs the bytes behind its instruction as they are. */
	for (size_t i = 0; i < list->count; i++)
		if (addr - list->sites[i] + APART < 2 * APART)
			return;
	if (list->count < list->room && may_stand(t, addr))
		list->sites[list->count++] = addr;
}

/* ------------------------------------------------------------------ following flow */

struct flow {
	uint64_t base;           /* address of code[0] */
	uint8_t code[WINDOW];
	size_t len;
	uint8_t seen[WINDOW / 8]; /* bit i: an instruction begins at code[i] */
	size_t followed;
	uint32_t pending[BRANCHES_MAX]; /* offsets */
	size_t pending_count;
	struct loop {
		uint64_t end, head; /* a jump back over rip, and its target */
	} loops[BRANCHES_MAX];
	size_t loop_count;
};

static bool mark(struct flow *flow, uint64_t at)
{
	if (at >= flow->len || (flow->seen[at / 8] >> at % 8 & 1))
		return false;
	flow->seen[at / 8] |= (uint8_t)(1u << at % 8);
	return ++flow->followed <= FOLLOWED_MAX;
}

static void branch(struct flow *flow, uint64_t rip, uint64_t from, uint64_t to)
{
	if (to <= rip && from >= rip && flow->loop_count < BRANCHES_MAX)
		flow->loops[flow->loop_count++] = (struct loop){ from, to };
	if (to - flow->base < flow->len && flow->pending_count < BRANCHES_MAX)
		flow->pending[flow->pending_count++] = (uint32_t)(to - flow->base);
}

/* From one place to where the flow ends or has been. */
static void follow(struct flow *flow, const ZydisDecoder *decoder, uint64_t rip, uint64_t at)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	for (; mark(flow, at); at += insn.length) {
		uint64_t addr = flow->base + at, target;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
			    decoder, flow->code + at, flow->len - at, &insn, operands)))
			return;
		bool jumps = insn.meta.category == ZYDIS_CATEGORY_UNCOND_BR;

		if ((jumps || insn.meta.category == ZYDIS_CATEGORY_COND_BR) &&
			operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&insn, &operands[0], addr, &target)))
			branch(flow, rip, addr, target);
		if (jumps || insn.meta.category == ZYDIS_CATEGORY_RET ||
			insn.mnemonic == ZYDIS_MNEMONIC_UD2 || insn.mnemonic == ZYDIS_MNEMONIC_HLT)
			return;
	}
}

/* Jumps back over rip end the loops around it. The tightest first: each further one
 * encloses it. */
static void add_loops(const struct prr_record_task *t, struct list *list, struct flow *flow)
{
	uint64_t length = 0;

	for (int found = 0; found < LOOPS; found++) {
		const struct loop *next = NULL;

		for (size_t i = 0; i < flow->loop_count; i++) {
			const struct loop *loop = &flow->loops[i];

			if (loop->end - loop->head > length &&
				(!next || loop->end - loop->head < next->end - next->head))
				next = loop;
		}
		if (!next)
			return;
		length = next->end - next->head;
		add(t, list, next->end);
		add(t, list, next->head);
	}
}

static void follow_all(const struct prr_record_task *t, struct flow *flow)
{
	ZydisDecoder decoder;
	const struct prr_field_mapping *m = prr_mappings_find(&t->as->mappings, t->regs.rip);

	if (!m)
		return;
	flow->base = t->regs.rip - m->start > WINDOW / 2 ? t->regs.rip - WINDOW / 2 : m->start;
	flow->len = prr_mem_read_some(
		t->uid.tid, prr_remote(flow->base), flow->code, sizeof(flow->code));
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	follow(flow, &decoder, t->regs.rip, t->regs.rip - flow->base);
	while (flow->pending_count)
		follow(flow, &decoder, t->regs.rip, flow->pending[--flow->pending_count]);
}

size_t prr_record_sites(const struct prr_record_task *t, const uint64_t *executed,
	size_t executed_count, uint64_t *sites, size_t room)
{
	static _Thread_local struct flow flow;
	struct list list = { sites, 0, room };

	memset(&flow, 0, sizeof(flow));
	follow_all(t, &flow);
	list.room = room / 2;
	add_loops(t, &list, &flow);
	/* The rest: where jumps led, the latest first. */
	list.room = room;
	for (size_t i = executed_count; i-- > 1 && list.count < room;)
		if (executed[i] - executed[i - 1] > 15)
			add(t, &list, executed[i]);
	add(t, &list, t->regs.rip);
	return list.count;
}
