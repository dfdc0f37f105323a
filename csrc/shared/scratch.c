/* SPDX-License-Identifier: GPL-2.0-or-later
 * Scratch: see outputs.h and PITFALLS A1.
 *
 * While a call sleeps, the kernel may write its outputs in the middle of another
 * task's slice. So before it runs, its out pointers are replaced by places in
 * the task's scratch area, and at its exit exactly the bytes that the kernel
 * wrote go to the program's own places.
 *
 * One function lays the call out: measuring says how much scratch it needs, placing
 * does it. What a call may leave unwritten in the middle of a place (padding between
 * control messages, a timeout) is filled from the target beforehand, so that giving
 * it back changes nothing.
 *
 * If one target is not wholly writable, the call may fail half way, and what it
 * has written until then must be where a bare run would have it. Then it is laid
 * out once more, carefully: a place begins at the same offset in its page as its
 * target, and its pages have the target's protection (guards), up to the first
 * that cannot be accessed, so that the kernel faults at the same byte. All places
 * are images of their targets, and at the end the bytes that differ from the image
 * go back: those are what the kernel wrote, whatever the result says. (A byte that it
 * wrote and that did not change needs no writing: if another task has written there
 * meanwhile, the order is made up in which the kernel came first.) */
#include "syscall_types.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "error.h"
#include "layout.h"
#include "scratch_plan.h"

enum { PAGE = 4096, SECTOR = 512, ALIGNMENT = 16 };
/* Of all images of a call: the supervisor holds them. */
#define IMAGES_MAX ((uint64_t)256 << 20)

struct layout {
	const struct prr_syscall_view *view;
	const struct prr_outputs_entry *entry;
	pid_t tid;
	struct prr_scratch *scratch;   /* NULL: measuring */
	struct prr_scratch_plan *plan; /* NULL: measuring */
	uint64_t need;
	bool no_memory;
	bool careful;
	bool unwritable; /* a target is: has to be done carefully */
};

void prr_scratch_deinit(struct prr_scratch *scratch)
{
	struct prr_scratch_plan *plan = scratch->state;

	if (plan) {
		for (size_t i = 0; i < plan->image_count; i++)
			free(plan->images[i].bytes);
		free(plan->images);
		free(plan->pieces);
		free(plan->kept_bytes);
	}
	free(plan);
	scratch->state = NULL;
	scratch->used = scratch->moved = scratch->wanted_size = scratch->wanted_stack = 0;
	scratch->guard_count = 0;
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

static bool is_room(const struct prr_scratch *scratch, uint64_t place, uint64_t len)
{
	return place + len <= scratch->base + scratch->size;
}

/* Room in scratch; false when there is none left. Carefully, it is counted on. */
static bool reserve(struct layout *layout, uint64_t len, uint64_t alignment, uint64_t *place)
{
	struct prr_scratch *scratch = layout->scratch;

	if (is_measuring(layout)) {
		layout->need += len + alignment - 1;
		*place = 0;
		return true;
	}

	uint64_t at = (scratch->base + scratch->used + alignment - 1) & ~(alignment - 1);

	if (!layout->careful && !is_room(scratch, at, len))
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

/* Files may end before their mapping does, so memory is asked; not what cannot be read,
 * which is taken to be there. */
static bool is_surely_writable(const struct prr_field_mapping *m)
{
	bool backed = m->kind == PRR_MAPPING_ANON || m->kind == PRR_MAPPING_STACK ||
		m->kind == PRR_MAPPING_HEAP;

	return (m->prot & PROT_WRITE) && (backed || !(m->prot & PROT_READ));
}

/* For how many bytes from addr on is the model sure that the kernel can write them? */
static uint64_t surely_writable(const struct layout *layout, uint64_t addr, uint64_t len)
{
	const struct prr_mappings *mappings = layout->scratch->mappings;
	const struct prr_field_mapping *m = mappings ? prr_mappings_find(mappings, addr) : NULL;

	if (!m || !is_surely_writable(m))
		return 0;

	uint64_t rest = m->start + m->len - addr;

	return rest < len ? rest : len;
}

static bool is_writable(const struct layout *layout, uint64_t addr, uint64_t len)
{
	return surely_writable(layout, addr, len) == len ||
		prr_mem_is_writable(layout->tid, prr_remote(addr), len);
}

/* Can the kernel write the target? If so, and if asked, its bytes are copied to
 * its place. */
static bool prepare(const struct layout *layout, const struct piece *piece)
{
	prr_remote_addr target = prr_remote(piece->target);

	if (piece->filled)
		return prr_mem_copy_writable(
			layout->tid, target, prr_remote(piece->place), piece->len);
	return is_writable(layout, piece->target, piece->len);
}

/* --------------------------------------------------------------- carefully */

static uint64_t writable_len(const struct layout *layout, uint64_t addr, uint64_t len)
{
	uint64_t done = 0, sure;

	while (done < len && (sure = surely_writable(layout, addr + done, len - done)))
		done += sure;
	return done + prr_mem_writable_len(layout->tid, prr_remote(addr + done), len - done);
}

/* Would a write there make a stack grow? */
static bool is_below_stack(const struct layout *layout, uint64_t addr)
{
	const struct prr_mappings *mappings = layout->scratch->mappings;
	const struct prr_field_mapping *next =
		mappings ? prr_mappings_overlap(mappings, addr, PRR_TASK_SIZE - addr) : NULL;

	return next && addr < next->start && addr != layout->scratch->stack_refused &&
		(next->kind == PRR_MAPPING_STACK || (next->flags & MAP_GROWSDOWN));
}

/* What of a target the kernel can access, and where not to write. */
struct shape {
	uint64_t len;
	bool whole; /* all of the target; else its next page cannot be accessed */
	struct prr_scratch_guard guards[PRR_SCRATCH_GUARDS]; /* at the target */
	size_t guard_count;
};

static bool add_guard(struct prr_scratch_guard guards[PRR_SCRATCH_GUARDS], size_t *count,
	struct prr_scratch_guard guard)
{
	if (*count == PRR_SCRATCH_GUARDS)
		return false;
	guards[(*count)++] = guard;
	return true;
}

static bool guard_page(struct shape *shape, uint64_t page, uint32_t prot)
{
	struct prr_scratch_guard *last = shape->guards + shape->guard_count;

	if (shape->guard_count && last[-1].addr + last[-1].len == page && last[-1].prot == prot) {
		last[-1].len += PRR_PAGE_SIZE;
		return true;
	}
	return add_guard(shape->guards, &shape->guard_count,
		(struct prr_scratch_guard){ page, PRR_PAGE_SIZE, prot });
}

/* False where that is too much. `reads`: the kernel reads the target, too. */
static bool find_shape(
	struct layout *layout, uint64_t target, uint64_t len, bool reads, struct shape *shape)
{
	uint64_t at = target, end = target + len;

	memset(shape, 0, sizeof(*shape));
	while (at < end) {
		uint64_t page;
		char byte;

		at += writable_len(layout, at, end - at);
		if (at - target > IMAGES_MAX)
			return false;
		if (at >= end)
			break;
		page = prr_page_down(at);
		if (is_below_stack(layout, page)) {
			layout->scratch->wanted_stack = page;
			return false;
		}
		if (!reads || !prr_mem_read(layout->tid, prr_remote(at), &byte, 1))
			break;
		if (!guard_page(shape, page, PROT_READ))
			return false;
		at = page + PRR_PAGE_SIZE;
	}
	shape->whole = at >= end;
	shape->len = shape->whole ? len : at - target;
	return shape->whole || guard_page(shape, prr_page_down(at), PROT_NONE);
}

static bool overlaps_image(const struct prr_scratch_plan *plan, uint64_t target, uint64_t len)
{
	for (size_t i = 0; i < plan->image_count; i++)
		if (target < plan->images[i].target + plan->images[i].len &&
			plan->images[i].target < target + len)
			return true;
	return false;
}

/* Writes `len` bytes to the place, the target's or those given, and remembers them.
 * False where that cannot be: two images of the same memory, for one. */
static bool add_image(
	struct layout *layout, const struct piece *piece, uint64_t len, const void *bytes)
{
	struct prr_scratch_plan *plan = layout->plan;
	struct image image = { piece->target, piece->place, len, NULL };
	size_t got;

	if (len == 0 || !is_room(layout->scratch, piece->place, len))
		return true;
	if (len > IMAGES_MAX - plan->image_bytes || overlaps_image(plan, piece->target, len))
		return false;
	if (plan->image_count == plan->image_capacity) {
		size_t capacity = plan->image_capacity ? plan->image_capacity * 2 : 8;
		struct image *images = reallocarray(plan->images, capacity, sizeof(*images));

		if (!images)
			return false;
		plan->images = images;
		plan->image_capacity = capacity;
	}
	image.bytes = malloc(len);
	if (!image.bytes)
		return false;
	plan->images[plan->image_count++] = image;
	plan->image_bytes += len;
	if (bytes) {
		memcpy(image.bytes, bytes, len);
	} else {
		got = prr_mem_read_some(layout->tid, prr_remote(piece->target), image.bytes, len);
		if (got < len) /* may be written, not read */
			got += prr_mem_peek_some(layout->tid, prr_remote(piece->target + got),
				image.bytes + got, len - got);
		if (got < len)
			return false;
	}
	return prr_mem_poke(layout->tid, prr_remote(piece->place), image.bytes, len);
}

/* Room for a target of that shape, pages with guards its own. */
static bool reserve_shape(
	struct layout *layout, const struct shape *shape, uint64_t target, uint64_t *place)
{
	uint64_t first = prr_page_down(target), base;
	uint64_t end = prr_page_up(target + shape->len) + (shape->whole ? 0 : PRR_PAGE_SIZE);

	if (shape->guard_count == 0)
		return reserve(layout, shape->len, alignment_for(target, shape->len), place);
	reserve(layout, end - first, PRR_PAGE_SIZE, &base);
	*place = base + (target - first);
	for (size_t i = 0; i < shape->guard_count; i++) {
		struct prr_scratch_guard guard = shape->guards[i];

		guard.addr += base - first;
		if (!add_guard(layout->scratch->guards, &layout->scratch->guard_count, guard))
			return false;
	}
	return true;
}

/* `reads`: the kernel reads the target, too; `bytes`: what it is to find there, NULL:
 * the target's. */
static uint64_t put_carefully(
	struct layout *layout, struct piece *piece, bool reads, const void *bytes)
{
	struct shape shape;

	if (!find_shape(layout, piece->target, piece->len, reads, &shape) ||
		!reserve_shape(layout, &shape, piece->target, &piece->place) ||
		!add_image(layout, piece, shape.len, bytes) || !add_piece(layout, *piece))
		return leave_in_place(layout, piece->target);
	return piece->place;
}

static bool is_reading(const struct layout *layout, unsigned arg, uint64_t key)
{
	const struct prr_arg_spec *spec = &layout->view->args[arg];

	return key == PRR_PLACE_WHOLE && spec->direction == PRR_DIR_INOUT;
}

/* Redirects one place. Returns the address for the kernel: in scratch, or the
 * target itself where it has to stay. */
static uint64_t put(struct layout *layout, unsigned arg, uint64_t key, uint64_t target,
	uint64_t len, bool filled)
{
	struct piece piece = { target, 0, len, key, (uint8_t)arg, filled };
	bool optional = layout->view->args[arg].when == PRR_WHEN_IF_WRITABLE;

	if (len == 0 || target == 0)
		return target;
	if (target >= PRR_TASK_SIZE || len > PRR_TASK_SIZE - target)
		return leave_in_place(layout, target);
	if (layout->careful && !optional)
		return put_carefully(layout, &piece, is_reading(layout, arg, key), NULL);
	if (!reserve(layout, len, alignment_for(target, len), &piece.place))
		return leave_in_place(layout, target);
	if (is_measuring(layout))
		return target;
	if (layout->careful && !is_room(layout->scratch, piece.place, len))
		return target; /* more is wanted anyway */
	if (!prepare(layout, &piece)) {
		/* A timeout in read-only memory: the kernel fails to write it and
		 * goes on, as it does there without us. */
		layout->unwritable |= !optional;
		return target;
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
	if (layout->careful && !is_room(layout->scratch, place, len))
		return place; /* more is wanted anyway */
	return prr_mem_poke(layout->tid, prr_remote(place), bytes, len) ? place : 0;
}

/* Redirects the buffers and returns the address of an iovec array that names
 * their places; `array` where nothing could be redirected. */
static uint64_t put_iovecs(struct layout *layout, unsigned arg, size_t message, uint64_t array,
	const struct iovec_copy *data)
{
	struct prr_range items[PRR_IOV_MAX];
	uint64_t moved, left = PRR_RW_MAX;

	if (!data)
		return array;
	for (size_t i = 0; i < data->count; i++) {
		const struct prr_range *item = &data->items[i];

		if (item->addr >= PRR_TASK_SIZE || item->len > PRR_TASK_SIZE - item->addr)
			return leave_in_place(layout, array);
		/* The kernel shortens them in the same way. */
		items[i].len = item->len < left ? item->len : left;
		left -= items[i].len;
		items[i].addr = put(layout, arg, prr_place_key(message, PRR_PLACE_DATA + i),
			item->addr, items[i].len, false);
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

	struct piece piece = { addr, 0, sizeof(header), 0, (uint8_t)arg, false };

	put_message_parts(layout, arg, 0, &header);
	if (layout->careful)
		return put_carefully(layout, &piece, true, &header);

	uint64_t place = put_bytes(layout, &header, sizeof(header));

	piece.place = place;
	if (is_measuring(layout))
		return addr;
	if (!is_writable(layout, addr, sizeof(header)))
		layout->unwritable = true;
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
	if (is_measuring(layout) || layout->unwritable)
		return true;
	return prr_mem_write(layout->tid, prr_remote(array + offset), &header, sizeof(header)) &&
		add_piece(layout, piece);
}

/* The same; the array's copy is kept here until all of it is known. */
static uint64_t put_messages_carefully(
	struct layout *layout, unsigned arg, uint64_t addr, uint64_t count)
{
	const struct prr_outputs_state *state = layout->entry->state;
	const uint64_t len = count * sizeof(struct mmsghdr);
	struct piece piece = { addr, 0, len, prr_place_key(0, PRR_PLACE_WHOLE), (uint8_t)arg,
		false };
	struct mmsghdr *array = malloc(len);
	bool done = array && prr_mem_read(layout->tid, prr_remote(addr), array, len);

	for (size_t i = 0; done && i < count; i++) {
		struct prr_remote_msghdr header = state->messages[i].header;

		put_message_parts(layout, arg, i, &header);
		memcpy(&array[i].msg_hdr, &header, sizeof(header));
	}
	uint64_t place =
		done ? put_carefully(layout, &piece, true, array) : leave_in_place(layout, addr);

	free(array);
	for (size_t i = 1; done && i < count; i++) {
		uint64_t offset = i * sizeof(struct mmsghdr);

		done = add_piece(layout,
			(struct piece){ addr + offset, place + offset, sizeof(struct mmsghdr),
				prr_place_key(i, PRR_PLACE_WHOLE), (uint8_t)arg, false });
	}
	return done ? place : leave_in_place(layout, addr);
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
	if (layout->careful)
		return put_messages_carefully(layout, arg, addr, count);
	if (!reserve(layout, len, ALIGNMENT, &array))
		return leave_in_place(layout, addr);
	if (!is_measuring(layout) &&
		!prr_mem_copy_writable(layout->tid, prr_remote(addr), prr_remote(array), len)) {
		layout->unwritable = true;
		return addr;
	}
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

/* A buffer of so many bytes that the kernel moves fewer anyway. That all of them are
 * user addresses it asks all the same: must be so there if it is so here. */
static uint64_t put_large(struct layout *layout, unsigned i, uint64_t addr, uint64_t len)
{
	uint64_t place;

	if (addr >= PRR_TASK_SIZE || len > PRR_TASK_SIZE - addr)
		return leave_in_place(layout, addr);
	place = put(layout, i, PRR_PLACE_WHOLE, addr, PRR_RW_MAX, false);
	if (!is_measuring(layout) && len > PRR_TASK_SIZE - place)
		return leave_in_place(layout, addr);
	return place;
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
	case PRR_SIZE_FROM_RESULT:
		if (!spec->arg_is_int && layout->entry->args[spec->arg] > PRR_RW_MAX)
			return put_large(layout, i, addr, layout->entry->args[spec->arg]);
		/* fall through */
	case PRR_SIZE_FIXED:
	case PRR_SIZE_ARG:
	case PRR_SIZE_ARG_TIMES:
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
	/* Fails after it has written its data. */
	if (layout->entry->socklen_negative && !is_measuring(layout) && !layout->careful) {
		layout->unwritable = true;
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

static enum prr_status lay_out_anew(
	struct layout *layout, uint64_t new_args[6], struct prr_error *err)
{
	prr_scratch_deinit(layout->scratch);
	memcpy(new_args, layout->entry->args, sizeof(layout->entry->args));
	layout->plan = calloc(1, sizeof(*layout->plan));
	layout->scratch->state = layout->plan;
	if (layout->plan) {
		layout->plan->careful = layout->careful;
		lay_out(layout, new_args);
	}
	if (!layout->plan || layout->no_memory)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL,
			"no memory to plan the scratch places of %s", layout->view->name);
	return PRR_OK;
}

enum prr_status prr_scratch_redirect(const struct prr_syscall_view *view, pid_t tid,
	const struct prr_outputs_entry *entry, struct prr_scratch *scratch, uint64_t new_args[6],
	struct prr_error *err)
{
	struct layout layout = { .view = view, .entry = entry, .tid = tid, .scratch = scratch };

	PRR_TRY(lay_out_anew(&layout, new_args, err));
	if (layout.unwritable && !scratch->left_in_place) {
		layout.careful = true;
		PRR_TRY(lay_out_anew(&layout, new_args, err));
	}
	if (!scratch->left_in_place && scratch->used <= scratch->size)
		return PRR_OK;

	uint64_t stack = scratch->wanted_stack;
	uint64_t size = scratch->left_in_place ? 0 : scratch->used;

	prr_scratch_deinit(scratch);
	memcpy(new_args, entry->args, sizeof(entry->args));
	scratch->left_in_place = true;
	scratch->wanted_stack = stack;
	scratch->wanted_size = size;
	return PRR_OK;
}
