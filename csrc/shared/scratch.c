/* SPDX-License-Identifier: GPL-2.0-or-later
 * Scratch: see outputs.h and PITFALLS A1.
 *
 * While a call sleeps, the kernel may write its outputs in the middle of another
 * task's slice. So before it runs, its out pointers are replaced by places in
 * the task's scratch area, and at its exit exactly the bytes that the kernel
 * wrote go to the program's own places.
 *
 * One function lays the call out, in two modes: measuring says how much scratch
 * it needs, placing does it. If one target is not wholly writable, the whole call
 * stays in place: it may fail half way, and what it has written until then must
 * be where a bare run would have it. What a call may leave unwritten in the
 * middle of a place (padding between control messages, a timeout) is filled from
 * the target beforehand, so that giving it back changes nothing. */
#include "syscall_types.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "outputs_walk.h"

enum { PAGE = 4096, SECTOR = 512, ALIGNMENT = 16, COPY_CHUNK = 65536, SMALL = 512 };
/* A larger place stays where it is: two copies of it would cost more than
 * letting the call finish alone. */
#define PLACE_MAX ((uint64_t)256 << 20)

struct piece {
	uint64_t target, place, len;
	uint64_t key;
	uint8_t arg;
	bool filled; /* from the target: giving back all of it is harmless */
};

struct prr_scratch_plan {
	size_t count, capacity;
	struct piece *pieces; /* owned */
	size_t cursor;        /* the last one found: the walk goes in their order */
};

struct layout {
	const struct prr_syscall_view *view;
	const struct prr_outputs_entry *entry;
	pid_t tid;
	struct prr_scratch *scratch;   /* NULL: measuring */
	struct prr_scratch_plan *plan; /* NULL: measuring */
	uint64_t need;
	bool no_memory;
};

void prr_scratch_deinit(struct prr_scratch *scratch)
{
	struct prr_scratch_plan *plan = scratch->state;

	if (plan)
		free(plan->pieces);
	free(plan);
	scratch->state = NULL;
	scratch->used = 0;
	scratch->left_in_place = false;
}

/* ------------------------------------------------------------------ layout */

static bool is_measuring(const struct layout *layout)
{
	return !layout->scratch;
}

/* O_DIRECT wants buffers aligned as the program aligned them. */
static uint64_t alignment_for(uint64_t target, uint64_t len)
{
	if (len < SECTOR || target % SECTOR)
		return ALIGNMENT;
	return target % PAGE ? SECTOR : PAGE;
}

/* Room in scratch; false when there is none left. */
static bool reserve(struct layout *layout, uint64_t len, uint64_t alignment, uint64_t *place)
{
	struct prr_scratch *scratch = layout->scratch;

	if (is_measuring(layout)) {
		layout->need += len + alignment - 1;
		*place = 0;
		return true;
	}

	uint64_t at = (scratch->base + scratch->used + alignment - 1) & ~(alignment - 1);

	if (at + len > scratch->base + scratch->size)
		return false;
	scratch->used = at + len - scratch->base;
	*place = at;
	return true;
}

static uint64_t leave_in_place(struct layout *layout, uint64_t target)
{
	if (layout->scratch)
		layout->scratch->left_in_place = true;
	return target;
}

static bool add_piece(struct layout *layout, struct piece piece)
{
	struct prr_scratch_plan *plan = layout->plan;

	if (plan->count == plan->capacity) {
		size_t capacity = plan->capacity ? plan->capacity * 2 : 8;
		struct piece *pieces = realloc(plan->pieces, capacity * sizeof(*pieces));

		if (!pieces) {
			layout->no_memory = true;
			return false;
		}
		plan->pieces = pieces;
		plan->capacity = capacity;
	}
	plan->pieces[plan->count++] = piece;
	return true;
}

/* Can the kernel write the target? If so, and if asked, its bytes are copied to
 * its place. */
static bool prepare(const struct layout *layout, const struct piece *piece)
{
	prr_remote_addr target = prr_remote(piece->target);

	if (piece->filled)
		return prr_mem_copy_writable(
			layout->tid, target, prr_remote(piece->place), piece->len);
	return prr_mem_is_writable(layout->tid, target, piece->len);
}

/* Redirects one place. Returns the address for the kernel: in scratch, or the
 * target itself where it has to stay. */
static uint64_t put(struct layout *layout, unsigned arg, uint64_t key, uint64_t target,
	uint64_t len, bool filled)
{
	struct piece piece = { target, 0, len, key, (uint8_t)arg, filled };

	if (len == 0 || target == 0)
		return target;
	if (len > PLACE_MAX || !reserve(layout, len, alignment_for(target, len), &piece.place))
		return leave_in_place(layout, target);
	if (is_measuring(layout))
		return target;
	if (!prepare(layout, &piece)) {
		/* A timeout in read-only memory: the kernel fails to write it and
		 * goes on, as it does there without us. */
		if (layout->view->args[arg].when == PRR_WHEN_IF_WRITABLE)
			return target;
		return leave_in_place(layout, target);
	}
	if (!add_piece(layout, piece))
		return leave_in_place(layout, target);
	return piece.place;
}

/* Puts bytes of our own making (iovecs, headers) into scratch; 0: no room. */
static uint64_t put_bytes(struct layout *layout, const void *bytes, uint64_t len)
{
	uint64_t place;

	if (!reserve(layout, len, ALIGNMENT, &place) || is_measuring(layout))
		return 0;
	return prr_mem_write(layout->tid, prr_remote(place), bytes, len) ? place : 0;
}

/* Redirects the buffers and returns the address of an iovec array that names
 * their places; `array` where nothing could be redirected. */
static uint64_t put_iovecs(struct layout *layout, unsigned arg, size_t message, uint64_t array,
	const struct iovec_copy *data)
{
	struct prr_range items[PRR_IOV_MAX];
	uint64_t moved;

	if (!data)
		return array;
	if (data->total > PLACE_MAX)
		return leave_in_place(layout, array);
	for (size_t i = 0; i < data->count; i++) {
		items[i] = data->items[i];
		items[i].addr = put(layout, arg, prr_place_key(message, PRR_PLACE_DATA + i),
			data->items[i].addr, data->items[i].len, false);
	}
	moved = put_bytes(layout, items, data->count * sizeof(items[0]));
	return moved ? moved : leave_in_place(layout, array);
}

/* Redirects what a message header points to; *header gets the new pointers. */
static void put_message_parts(
	struct layout *layout, unsigned arg, size_t index, struct prr_remote_msghdr *header)
{
	const struct prr_outputs_state *state = layout->entry->state;
	const struct prr_message *message = &state->messages[index];
	uint64_t name_len = header->name_len;

	if (header->iov_count && !message->data)
		return; /* refused by the kernel */
	if (name_len > sizeof(struct sockaddr_storage))
		name_len = sizeof(struct sockaddr_storage);
	header->name = put(
		layout, arg, prr_place_key(index, PRR_PLACE_NAME), header->name, name_len, false);
	header->control = put(layout, arg, prr_place_key(index, PRR_PLACE_CONTROL), header->control,
		header->control_len, true);
	header->iov = put_iovecs(layout, arg, index, header->iov, message->data);
}

static uint64_t put_message(struct layout *layout, unsigned arg, uint64_t addr)
{
	const struct prr_outputs_state *state = layout->entry->state;

	if (!state || state->message_count == 0)
		return addr; /* EFAULT */

	struct prr_remote_msghdr header = state->messages[0].header;

	put_message_parts(layout, arg, 0, &header);

	uint64_t place = put_bytes(layout, &header, sizeof(header));
	struct piece piece = { addr, place, sizeof(header), 0, (uint8_t)arg, false };

	if (is_measuring(layout))
		return addr;
	if (!place || !add_piece(layout, piece))
		return leave_in_place(layout, addr);
	return place;
}

/* One message of an array, whose copy in scratch begins at `array`. */
static bool put_array_message(
	struct layout *layout, unsigned arg, uint64_t addr, uint64_t array, size_t index)
{
	const struct prr_outputs_state *state = layout->entry->state;
	struct prr_remote_msghdr header = state->messages[index].header;
	uint64_t offset = index * sizeof(struct mmsghdr);
	struct piece piece = { addr + offset, array + offset, sizeof(struct mmsghdr),
		prr_place_key(index, PRR_PLACE_WHOLE), (uint8_t)arg, false };

	put_message_parts(layout, arg, index, &header);
	if (is_measuring(layout))
		return true;
	return prr_mem_write(layout->tid, prr_remote(array + offset), &header, sizeof(header)) &&
		add_piece(layout, piece);
}

static uint64_t put_messages(struct layout *layout, unsigned arg, uint64_t addr)
{
	const struct prr_outputs_state *state = layout->entry->state;
	uint64_t count = (uint32_t)layout->entry->args[layout->view->args[arg].arg];
	uint64_t array, len = count * sizeof(struct mmsghdr);

	if (count == 0)
		return addr;
	if (!state || state->message_count != count)
		return leave_in_place(layout, addr);
	if (!reserve(layout, len, ALIGNMENT, &array))
		return leave_in_place(layout, addr);
	if (!is_measuring(layout) &&
		!prr_mem_copy_writable(layout->tid, prr_remote(addr), prr_remote(array), len))
		return leave_in_place(layout, addr);
	for (size_t i = 0; i < count; i++)
		if (!put_array_message(layout, arg, addr, array, i))
			return leave_in_place(layout, addr);
	return is_measuring(layout) ? addr : array;
}

/* Is every byte that is given back for this kind one that the kernel wrote? If
 * not, its place is filled from the target first. */
static bool is_exact(const struct prr_arg_spec *spec)
{
	return spec->direction == PRR_DIR_OUT &&
		(spec->size == PRR_SIZE_FROM_RESULT || spec->size == PRR_SIZE_RESULT_TIMES ||
			spec->size == PRR_SIZE_FROM_POINTEE);
}

static uint64_t put_arg(struct layout *layout, unsigned i)
{
	const struct prr_arg_spec *spec = &layout->view->args[i];
	uint64_t addr = layout->entry->args[i];

	switch ((enum prr_size_kind)spec->size) {
	case PRR_SIZE_IOVEC:
		return put_iovecs(layout, i, 0, addr, layout->entry->iov[i]);
	case PRR_SIZE_MSGHDR:
		return put_message(layout, i, addr);
	case PRR_SIZE_MMSGHDR:
		return put_messages(layout, i, addr);
	case PRR_SIZE_IFCONF:
		return leave_in_place(layout, addr);
	case PRR_SIZE_FIXED:
	case PRR_SIZE_ARG:
	case PRR_SIZE_ARG_TIMES:
	case PRR_SIZE_FROM_RESULT:
	case PRR_SIZE_RESULT_TIMES:
	case PRR_SIZE_FROM_POINTEE:
	case PRR_SIZE_FDSET:
	case PRR_SIZE_IOC:
	case PRR_SIZE_POLLFDS:
	case PRR_SIZE_MMSGHDR_SENT:
	case PRR_SIZE_PAGE_BYTES:
	case PRR_SIZE_COUNTED:
		return put(layout, i, PRR_PLACE_WHOLE, addr,
			prr_outputs_room(layout->view, layout->entry, i), !is_exact(spec));
	case PRR_SIZE_CSTRING:
	case PRR_SIZE_STRING_ARRAY:
		break;
	}
	return addr;
}

static bool moves(const struct prr_arg_spec *spec)
{
	return spec->direction == PRR_DIR_OUT || spec->direction == PRR_DIR_INOUT;
}

static void lay_out(struct layout *layout, uint64_t new_args[6])
{
	if (layout->entry->socklen_negative) {
		leave_in_place(layout, 0);
		return;
	}
	for (unsigned i = 0; i < 6; i++)
		if (moves(&layout->view->args[i]) && layout->entry->args[i])
			new_args[i] = put_arg(layout, i);
}

uint64_t prr_scratch_need(
	const struct prr_syscall_view *view, pid_t tid, const struct prr_outputs_entry *entry)
{
	struct layout layout = { .view = view, .entry = entry, .tid = tid };
	uint64_t ignored[6];

	lay_out(&layout, ignored);
	return layout.need;
}

enum prr_status prr_scratch_redirect(const struct prr_syscall_view *view, pid_t tid,
	const struct prr_outputs_entry *entry, struct prr_scratch *scratch, uint64_t new_args[6],
	struct prr_error *err)
{
	struct layout layout = { .view = view, .entry = entry, .tid = tid, .scratch = scratch };

	prr_scratch_deinit(scratch);
	memcpy(new_args, entry->args, sizeof(entry->args));
	layout.plan = calloc(1, sizeof(*layout.plan));
	scratch->state = layout.plan;
	if (layout.plan)
		lay_out(&layout, new_args);
	if (!layout.plan || layout.no_memory)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL,
			"no memory to plan the scratch places of %s", view->name);
	if (scratch->left_in_place) {
		memcpy(new_args, entry->args, sizeof(entry->args));
		layout.plan->count = 0;
		scratch->used = 0;
	}
	return PRR_OK;
}

/* ------------------------------------------------------------------ finish */

static const struct piece *find_piece(
	const struct prr_walk *walk, unsigned arg, uint64_t key, uint64_t addr)
{
	struct prr_scratch_plan *plan = walk->plan;

	for (size_t n = 0; n < plan->count; n++) {
		size_t i = (plan->cursor + n) % plan->count;
		const struct piece *piece = &plan->pieces[i];

		if (piece->arg == arg && piece->key == key && addr >= piece->target &&
			addr - piece->target < piece->len) {
			plan->cursor = i;
			return piece;
		}
	}
	return NULL;
}

uint64_t prr_scratch_where(const struct prr_walk *walk, unsigned arg, uint64_t key, uint64_t addr)
{
	const struct piece *piece = find_piece(walk, arg, key, addr);

	return piece ? piece->place + (addr - piece->target) : addr;
}

/* Copies inside the tracee. The target was writable at the entry. If it no longer
 * is, another thread changed it while the call slept: then the order is made up
 * in which the kernel wrote before that change, for the data is taken from its
 * source already. */
static void copy_back(pid_t tid, uint64_t place, uint64_t target, uint64_t len)
{
	uint8_t small[SMALL];
	uint64_t done = 0;
	size_t chunk = len < COPY_CHUNK ? len : COPY_CHUNK;
	uint8_t *buf = chunk <= sizeof(small) ? small : malloc(chunk);

	while (buf && done < len) {
		size_t want = len - done < chunk ? len - done : chunk;
		size_t got = prr_mem_read_some(tid, prr_remote(place + done), buf, want);

		if (got)
			(void)prr_mem_poke(tid, prr_remote(target + done), buf, got);
		done += got;
		if (got < want)
			break; /* the task is gone */
	}
	if (buf != small)
		free(buf);
}

enum prr_status prr_scratch_give_back(
	struct prr_walk *walk, unsigned arg, uint64_t key, uint64_t addr, uint64_t len)
{
	const struct piece *piece = find_piece(walk, arg, key, addr);

	if (piece) {
		/* After EFAULT nobody knows what of it the kernel wrote. */
		if (walk->result == -EFAULT && !piece->filled)
			return PRR_OK;
		if (len > piece->len - (addr - piece->target))
			len = piece->len - (addr - piece->target);
		copy_back(walk->tid, piece->place + (addr - piece->target), addr, len);
	}
	return prr_ranges_add(walk->ranges, addr, len, walk->err);
}

static void merge_revents(struct pollfd *own, const struct pollfd *kernel, size_t count)
{
	for (size_t i = 0; i < count; i++)
		own[i].revents = kernel[i].revents;
}

enum prr_status prr_scratch_give_back_revents(
	struct prr_walk *walk, unsigned arg, uint64_t addr, uint64_t len)
{
	const struct piece *piece = find_piece(walk, arg, PRR_PLACE_WHOLE, addr);
	struct pollfd *own;

	if (!piece)
		return prr_ranges_add(walk->ranges, addr, len, walk->err);
	own = malloc(2 * len);
	if (!own)
		return prr_fail(walk->err, PRR_ERR_SYSTEM, ENOMEM, NULL,
			"no memory for %llu bytes of pollfd", (unsigned long long)len);

	struct pollfd *kernel = own + len / sizeof(*own);

	if (prr_mem_read(walk->tid, prr_remote(addr), own, len) &&
		prr_mem_read(walk->tid, prr_remote(piece->place), kernel, len)) {
		merge_revents(own, kernel, len / sizeof(*own));
		(void)prr_mem_poke(walk->tid, prr_remote(addr), own, len);
	}
	free(own);
	return prr_ranges_add(walk->ranges, addr, len, walk->err);
}

enum prr_status prr_scratch_finish(const struct prr_syscall_view *view, pid_t tid,
	const struct prr_outputs_entry *entry, struct prr_scratch *scratch, const int64_t *result,
	struct prr_ranges *ranges, struct prr_error *err)
{
	struct prr_walk walk = {
		.view = view,
		.entry = entry,
		.tid = tid,
		.result = *result,
		.plan = scratch->state,
		.ranges = ranges,
		.err = err,
	};

	return prr_outputs_walk(&walk);
}
