/* SPDX-License-Identifier: GPL-2.0-or-later
 * Calls cut short by a hole in their buffers.
 *
 * The kernel copies in chunks; when one of them faults half way, the call returns
 * what the chunks before it came to, and the bytes that the failing chunk wrote
 * before the hole stay written behind the result (seen with readv on a socket
 * whose second vector points nowhere: result 1, 349 bytes written). So where a
 * result is short and the room for it has a hole, all of the room is recorded. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "session.h"

/* Can a fault cut this argument's output short? */
static bool is_chunked(const struct prr_arg_spec *spec)
{
	if (spec->direction != PRR_DIR_OUT && spec->direction != PRR_DIR_INOUT)
		return false;
	switch (spec->size) {
	case PRR_SIZE_FROM_RESULT:
	case PRR_SIZE_RESULT_TIMES:
	case PRR_SIZE_FROM_POINTEE:
	case PRR_SIZE_IOVEC:
	case PRR_SIZE_MSGHDR:
	case PRR_SIZE_MMSGHDR:
		return true;
	default:
		return false;
	}
}

/* The main stack grows by faults, unseen: what lies between the stack pointer
 * and the mapping's known start is stack by now. */
static bool is_grown_stack(const struct prr_record_task *t, uint64_t addr)
{
	const struct prr_field_mapping *next =
		prr_mappings_overlap(&t->as->mappings, addr, PRR_TASK_SIZE - addr);

	return next && (next->kind == PRR_MAPPING_STACK || (next->flags & MAP_GROWSDOWN)) &&
		addr >= prr_page_down(t->regs.rsp);
}

static bool has_hole(const struct prr_record_task *t, const struct prr_range *range)
{
	uint64_t addr = range->addr, end = range->addr + range->len;

	while (addr < end) {
		const struct prr_field_mapping *m = prr_mappings_find(&t->as->mappings, addr);

		if (m && (m->prot & PROT_WRITE))
			addr = m->start + m->len;
		else if (!m && is_grown_stack(t, addr))
			addr = prr_page_down(addr) + PRR_PAGE_SIZE;
		else
			return true;
	}
	return false;
}

enum prr_status prr_record_cut_short(struct prr_record *s, struct prr_record_task *t,
	int64_t result, struct prr_ranges *ranges, struct prr_error *err)
{
	struct prr_ranges *room = &s->room;
	bool chunked = false, hole = false;

	for (int i = 0; i < 6 && result > 0 && !chunked; i++)
		chunked = is_chunked(&t->view.args[i]);
	if (!chunked)
		return PRR_OK;
	room->count = 0;
	/* As after EFAULT: every output at its full size. */
	PRR_TRY(prr_outputs_collect(&t->view, t->uid.tid, &t->outputs, -EFAULT, room, err));
	for (size_t i = 0; i < room->count && !hole; i++)
		hole = has_hole(t, &room->items[i]);
	for (size_t i = 0; i < room->count && hole; i++)
		PRR_TRY(prr_ranges_add(ranges, room->items[i].addr, room->items[i].len, err));
	return PRR_OK;
}
