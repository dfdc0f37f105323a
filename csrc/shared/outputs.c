/* SPDX-License-Identifier: GPL-2.0-or-later
 * See outputs.h. What must be known before the call runs is read by
 * prr_outputs_enter; prr_outputs_walk then goes through the places that the
 * finished call wrote, in the order of the kernel's own writes. */
#include "syscall_types.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "outputs_walk.h"

_Static_assert(sizeof(struct prr_remote_msghdr) == sizeof(struct msghdr), "msghdr");
_Static_assert(sizeof(struct prr_range) == sizeof(struct iovec), "iovec");

enum { PAGE = 4096 };

/* ------------------------------------------------------------------ ranges */

void prr_ranges_deinit(struct prr_ranges *ranges)
{
	free(ranges->items);
	memset(ranges, 0, sizeof(*ranges));
}

enum prr_status prr_ranges_add(
	struct prr_ranges *ranges, uint64_t addr, uint64_t len, struct prr_error *err)
{
	if (len == 0)
		return PRR_OK;
	if (ranges->count == ranges->capacity) {
		size_t capacity = ranges->capacity ? ranges->capacity * 2 : 8;
		struct prr_range *items = realloc(ranges->items, capacity * sizeof(*items));

		if (!items)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL,
				"no memory for %zu output ranges", capacity);
		ranges->items = items;
		ranges->capacity = capacity;
	}
	ranges->items[ranges->count++] = (struct prr_range){ addr, len };
	return PRR_OK;
}

/* ------------------------------------------------------------------- entry */

static enum prr_status no_memory(struct prr_error *err)
{
	return prr_fail(
		err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory for a system call's arguments");
}

/* *ret stays NULL where the kernel will refuse the array. */
static enum prr_status read_iovecs(
	pid_t tid, uint64_t addr, uint64_t count, struct iovec_copy **ret, struct prr_error *err)
{
	struct iovec_copy *copy;

	*ret = NULL;
	if (addr == 0 || count == 0 || count > PRR_IOV_MAX)
		return PRR_OK;
	copy = malloc(sizeof(*copy) + count * sizeof(copy->items[0]));
	if (!copy)
		return no_memory(err);
	copy->count = count;
	copy->total = 0;
	if (!prr_mem_read(tid, prr_remote(addr), copy->items, count * sizeof(copy->items[0]))) {
		free(copy);
		return PRR_OK;
	}
	for (size_t i = 0; i < count; i++) {
		if (copy->items[i].len > INT64_MAX) { /* EINVAL */
			free(copy);
			return PRR_OK;
		}
		if (copy->items[i].len > PRR_RW_MAX - copy->total)
			copy->total = PRR_RW_MAX;
		else
			copy->total += copy->items[i].len;
	}
	*ret = copy;
	return PRR_OK;
}

static struct prr_outputs_state *entry_state(struct prr_outputs_entry *entry)
{
	if (!entry->state)
		entry->state = calloc(1, sizeof(struct prr_outputs_state));
	return entry->state;
}

/* Reads `count` headers that stand `stride` bytes apart, and their iovecs. */
static enum prr_status read_messages(pid_t tid, uint64_t addr, uint64_t count, size_t stride,
	struct prr_outputs_entry *entry, struct prr_error *err)
{
	struct prr_outputs_state *state = entry_state(entry);

	if (!state)
		return no_memory(err);
	if (count == 0)
		return PRR_OK;
	if (count > PRR_MESSAGES_MAX)
		count = PRR_MESSAGES_MAX;
	state->messages = calloc(count, sizeof(*state->messages));
	if (!state->messages)
		return no_memory(err);
	for (size_t i = 0; i < count; i++) {
		struct prr_message *message = &state->messages[i];
		struct prr_remote_msghdr *header = &message->header;

		if (!prr_mem_read(tid, prr_remote(addr + i * stride), header, sizeof(*header)))
			break;
		PRR_TRY(read_iovecs(tid, header->iov, header->iov_count, &message->data, err));
		state->message_count = i + 1;
	}
	return PRR_OK;
}

static enum prr_status read_small_header(pid_t tid, const struct prr_arg_spec *spec, uint64_t addr,
	struct prr_outputs_entry *entry, struct prr_error *err)
{
	struct prr_outputs_state *state = entry_state(entry);
	struct ifconf conf;

	if (!state)
		return no_memory(err);
	if (spec->size == PRR_SIZE_COUNTED) {
		prr_mem_read(
			tid, prr_remote(addr + spec->arg), &state->counted, sizeof(state->counted));
	} else if (prr_mem_read(tid, prr_remote(addr), &conf, sizeof(conf))) {
		state->ifconf_len = conf.ifc_len > 0 ? (uint32_t)conf.ifc_len : 0;
		state->ifconf_buf = (uint64_t)(uintptr_t)conf.ifc_buf;
	}
	return PRR_OK;
}

static uint64_t arg_value(const struct prr_arg_spec *spec, const struct prr_outputs_entry *entry)
{
	uint64_t value = entry->args[spec->arg];

	if (!spec->arg_is_int)
		return value;
	return (int32_t)value > 0 ? (uint32_t)value : 0;
}

static enum prr_status enter_arg(const struct prr_arg_spec *spec, pid_t tid, unsigned i,
	struct prr_outputs_entry *entry, struct prr_error *err)
{
	uint64_t addr = entry->args[i];
	int32_t len;

	switch ((enum prr_size_kind)spec->size) {
	case PRR_SIZE_FROM_POINTEE:
		if (prr_mem_read(tid, prr_remote(entry->args[spec->arg]), &len, sizeof(len))) {
			entry->socklen[i] = len > 0 ? (uint32_t)len : 0;
			entry->socklen_valid[i] = true;
			entry->socklen_negative |= len < 0;
		}
		return PRR_OK;
	case PRR_SIZE_IOVEC:
		return read_iovecs(tid, addr, arg_value(spec, entry), &entry->iov[i], err);
	case PRR_SIZE_MSGHDR:
		return read_messages(tid, addr, 1, sizeof(struct msghdr), entry, err);
	case PRR_SIZE_MMSGHDR:
		return read_messages(
			tid, addr, arg_value(spec, entry), sizeof(struct mmsghdr), entry, err);
	case PRR_SIZE_COUNTED:
	case PRR_SIZE_IFCONF:
		return read_small_header(tid, spec, addr, entry, err);
	case PRR_SIZE_FIXED:
	case PRR_SIZE_ARG:
	case PRR_SIZE_ARG_TIMES:
	case PRR_SIZE_FROM_RESULT:
	case PRR_SIZE_RESULT_TIMES:
	case PRR_SIZE_CSTRING:
	case PRR_SIZE_FDSET:
	case PRR_SIZE_STRING_ARRAY:
	case PRR_SIZE_IOC:
	case PRR_SIZE_POLLFDS:
	case PRR_SIZE_MMSGHDR_SENT:
	case PRR_SIZE_PAGE_BYTES:
		break;
	}
	return PRR_OK;
}

void prr_outputs_entry_deinit(struct prr_outputs_entry *entry)
{
	struct prr_outputs_state *state = entry->state;

	for (unsigned i = 0; i < 6; i++)
		free(entry->iov[i]);
	if (state) {
		for (size_t i = 0; i < state->message_count; i++)
			free(state->messages[i].data);
		free(state->messages);
		free(state);
	}
	memset(entry, 0, sizeof(*entry));
}

enum prr_status prr_outputs_enter(const struct prr_syscall_view *view, pid_t tid,
	const uint64_t args[6], struct prr_outputs_entry *entry, struct prr_error *err)
{
	prr_outputs_entry_deinit(entry);
	memcpy(entry->args, args, sizeof(entry->args));
	for (unsigned i = 0; i < 6; i++)
		if (prr_is_output(&view->args[i]) && args[i])
			PRR_TRY(enter_arg(&view->args[i], tid, i, entry, err));
	return PRR_OK;
}

/* -------------------------------------------------------------------- room */

static uint64_t scaled(uint64_t value, uint64_t n)
{
	return n && value > PRR_RW_MAX / n ? PRR_RW_MAX : value * n;
}

uint64_t prr_outputs_room(
	const struct prr_syscall_view *view, const struct prr_outputs_entry *entry, unsigned i)
{
	const struct prr_arg_spec *spec = &view->args[i];
	const struct prr_outputs_state *state = entry->state;
	uint64_t room = 0;

	switch ((enum prr_size_kind)spec->size) {
	case PRR_SIZE_FIXED:
		return spec->n;
	case PRR_SIZE_ARG:
		room = arg_value(spec, entry);
		break;
	case PRR_SIZE_FROM_RESULT:
		room = scaled(arg_value(spec, entry), 1) + spec->n;
		break;
	case PRR_SIZE_ARG_TIMES:
	case PRR_SIZE_RESULT_TIMES:
		room = scaled(arg_value(spec, entry), spec->n);
		break;
	case PRR_SIZE_FROM_POINTEE:
		room = entry->socklen[i];
		if (spec->n && room > spec->n)
			room = spec->n;
		break;
	case PRR_SIZE_FDSET:
		room = scaled(arg_value(spec, entry) / 64 + (arg_value(spec, entry) % 64 != 0), 8);
		break;
	case PRR_SIZE_IOC:
		room = entry->args[spec->arg] >> _IOC_SIZESHIFT & _IOC_SIZEMASK;
		break;
	case PRR_SIZE_POLLFDS:
		room = scaled(arg_value(spec, entry), sizeof(struct pollfd));
		break;
	case PRR_SIZE_MMSGHDR_SENT:
		room = scaled(arg_value(spec, entry), sizeof(struct mmsghdr));
		break;
	case PRR_SIZE_PAGE_BYTES:
		room = arg_value(spec, entry) / PAGE + (arg_value(spec, entry) % PAGE != 0);
		break;
	case PRR_SIZE_COUNTED:
		room = (spec->n & 0xffff) + scaled(state ? state->counted : 0, spec->n >> 16);
		break;
	case PRR_SIZE_IFCONF:
		return sizeof(struct ifconf);
	case PRR_SIZE_CSTRING:
	case PRR_SIZE_IOVEC:
	case PRR_SIZE_MSGHDR:
	case PRR_SIZE_MMSGHDR:
	case PRR_SIZE_STRING_ARRAY:
		break;
	}
	return room < PRR_RW_MAX ? room : PRR_RW_MAX;
}

/* -------------------------------------------------------------------- walk */

static bool is_interrupted(int64_t result)
{
	/* -512..-516: linux/errno.h, ERESTARTSYS to ERESTART_RESTARTBLOCK. */
	return result == -EINTR || (result <= -512 && result >= -516);
}

/* After EFAULT the kernel may have written any part of any output. */
static bool is_full(const struct prr_walk *walk)
{
	return walk->result == -EFAULT ||
		(walk->result == -EINVAL && walk->entry->socklen_negative);
}

static bool is_written(const struct prr_walk *walk, const struct prr_arg_spec *spec)
{
	if (is_full(walk))
		return true;
	switch ((enum prr_when)spec->when) {
	case PRR_WHEN_SUCCESS:
		return walk->result >= 0;
	case PRR_WHEN_POSITIVE:
		return walk->result > 0;
	case PRR_WHEN_EINTR:
		return is_interrupted(walk->result);
	case PRR_WHEN_ALWAYS:
	case PRR_WHEN_IF_WRITABLE:
		break;
	}
	return true;
}

static enum prr_status emit(
	struct prr_walk *walk, unsigned arg, uint64_t key, uint64_t addr, uint64_t len)
{
	if (len == 0 || addr == 0)
		return PRR_OK;
	if (walk->plan)
		return prr_scratch_give_back(walk, arg, key, addr, len);
	return prr_ranges_add(walk->ranges, addr, len, walk->err);
}

/* Reads what the kernel left at `addr`, or in its stead in scratch. */
static bool read_back(const struct prr_walk *walk, unsigned arg, uint64_t key, uint64_t addr,
	void *buf, size_t len)
{
	uint64_t from = walk->plan ? prr_scratch_where(walk, arg, key, addr) : addr;

	return prr_mem_read(walk->tid, prr_remote(from), buf, len);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t pointee_len(const struct prr_walk *walk, unsigned i, uint64_t room)
{
	const struct prr_arg_spec *spec = &walk->view->args[i];
	uint64_t len_addr = walk->entry->args[spec->arg];
	int32_t len;

	if (is_full(walk) ||
		!read_back(walk, spec->arg, PRR_PLACE_WHOLE, len_addr, &len, sizeof(len)))
		return room;
	return len > 0 ? least(room, (uint64_t)len) : 0;
}

/* `len` bytes were spread over the buffers, in their order. */
static enum prr_status walk_iovecs(struct prr_walk *walk, unsigned arg, size_t message,
	const struct iovec_copy *data, uint64_t len)
{
	if (!data)
		return PRR_OK;
	len = is_full(walk) ? data->total : least(len, data->total);
	for (size_t i = 0; i < data->count && len; i++) {
		uint64_t part = least(len, data->items[i].len);

		PRR_TRY(emit(walk, arg, prr_place_key(message, PRR_PLACE_DATA + i),
			data->items[i].addr, part));
		len -= part;
	}
	return PRR_OK;
}

/* A received message whose header stands at `addr`: net/socket.c,
 * ____sys_recvmsg. The name's length is written only with a name. */
static enum prr_status walk_message(
	struct prr_walk *walk, unsigned arg, size_t index, uint64_t addr, uint64_t data_len)
{
	const struct prr_outputs_state *state = walk->entry->state;
	const struct prr_message *message = &state->messages[index];
	struct prr_remote_msghdr old = message->header, now;
	uint64_t key = prr_place_key(index, PRR_PLACE_WHOLE);
	uint64_t name_len = (int32_t)old.name_len > 0 ? old.name_len : 0;
	uint64_t control_len = least(old.control_len, PRR_RW_MAX);

	if (!is_full(walk) && read_back(walk, arg, key, addr, &now, sizeof(now))) {
		name_len = least(name_len, now.name_len);
		control_len = least(control_len, now.control_len);
	}
	name_len = least(name_len, sizeof(struct sockaddr_storage));
	PRR_TRY(walk_iovecs(walk, arg, index, message->data, data_len));
	PRR_TRY(emit(walk, arg, prr_place_key(index, PRR_PLACE_CONTROL), old.control, control_len));
	if (old.name) {
		PRR_TRY(emit(walk, arg, prr_place_key(index, PRR_PLACE_NAME), old.name, name_len));
		PRR_TRY(emit(walk, arg, key, addr + offsetof(struct prr_remote_msghdr, name_len),
			sizeof(old.name_len)));
	}
	return emit(walk, arg, key, addr + offsetof(struct prr_remote_msghdr, control_len),
		sizeof(old.control_len) + sizeof(old.flags));
}

static enum prr_status walk_messages(struct prr_walk *walk, unsigned arg, uint64_t addr)
{
	const struct prr_outputs_state *state = walk->entry->state;
	size_t count = state ? state->message_count : 0;

	if (!is_full(walk))
		count = least(count, (uint64_t)walk->result);
	for (size_t i = 0; i < count; i++) {
		uint64_t header = addr + i * sizeof(struct mmsghdr);
		uint64_t key = prr_place_key(i, PRR_PLACE_WHOLE);
		uint32_t len = 0;

		if (!read_back(walk, arg, key, header + offsetof(struct mmsghdr, msg_len), &len,
			    sizeof(len)))
			len = PRR_RW_MAX;
		PRR_TRY(walk_message(walk, arg, i, header, len));
		PRR_TRY(emit(
			walk, arg, key, header + offsetof(struct mmsghdr, msg_len), sizeof(len)));
	}
	return PRR_OK;
}

/* sendmmsg(2): the kernel writes each msg_len, and nothing else. */
static enum prr_status walk_sent(struct prr_walk *walk, unsigned arg, uint64_t addr)
{
	uint64_t room = prr_outputs_room(walk->view, walk->entry, arg);
	uint64_t len =
		is_full(walk) ? room : least(room, (uint64_t)walk->result * sizeof(struct mmsghdr));

	if (!walk->plan)
		return emit(walk, arg, PRR_PLACE_WHOLE, addr, len);
	for (uint64_t at = 0; at < len; at += sizeof(struct mmsghdr))
		PRR_TRY(emit(walk, arg, PRR_PLACE_WHOLE,
			addr + at + offsetof(struct mmsghdr, msg_len), sizeof(unsigned int)));
	return PRR_OK;
}

static enum prr_status walk_ifconf(struct prr_walk *walk, unsigned arg, uint64_t addr)
{
	const struct prr_outputs_state *state = walk->entry->state;
	struct ifconf now;
	uint64_t len = state ? state->ifconf_len : 0;

	if (!is_full(walk) && read_back(walk, arg, PRR_PLACE_WHOLE, addr, &now, sizeof(now)))
		len = now.ifc_len > 0 ? least(len, (uint64_t)now.ifc_len) : 0;
	if (state)
		PRR_TRY(emit(walk, arg, PRR_PLACE_DATA, state->ifconf_buf, len));
	return emit(walk, arg, PRR_PLACE_WHOLE, addr, sizeof(now));
}

static enum prr_status walk_arg(struct prr_walk *walk, unsigned i)
{
	const struct prr_arg_spec *spec = &walk->view->args[i];
	uint64_t addr = walk->entry->args[i];
	uint64_t room = prr_outputs_room(walk->view, walk->entry, i);
	uint64_t result = walk->result > 0 ? (uint64_t)walk->result : 0;

	switch ((enum prr_size_kind)spec->size) {
	case PRR_SIZE_FIXED:
	case PRR_SIZE_ARG:
	case PRR_SIZE_ARG_TIMES:
	case PRR_SIZE_FDSET:
	case PRR_SIZE_IOC:
	case PRR_SIZE_PAGE_BYTES:
	case PRR_SIZE_COUNTED:
		return emit(walk, i, PRR_PLACE_WHOLE, addr, room);
	case PRR_SIZE_FROM_RESULT:
		if (!is_full(walk))
			room = least(room, result + spec->n);
		return emit(walk, i, PRR_PLACE_WHOLE, addr, room);
	case PRR_SIZE_RESULT_TIMES:
		if (!is_full(walk))
			room = least(room, scaled(result, spec->n));
		return emit(walk, i, PRR_PLACE_WHOLE, addr, room);
	case PRR_SIZE_FROM_POINTEE:
		if (!walk->entry->socklen_valid[i])
			return PRR_OK;
		return emit(walk, i, PRR_PLACE_WHOLE, addr, pointee_len(walk, i, room));
	case PRR_SIZE_POLLFDS:
		if (walk->plan)
			return prr_scratch_give_back_revents(walk, i, addr, room);
		return emit(walk, i, PRR_PLACE_WHOLE, addr, room);
	case PRR_SIZE_IOVEC:
		return walk_iovecs(walk, i, 0, walk->entry->iov[i], result);
	case PRR_SIZE_MSGHDR:
		if (!walk->entry->state ||
			((struct prr_outputs_state *)walk->entry->state)->message_count == 0)
			return PRR_OK;
		return walk_message(walk, i, 0, addr, result);
	case PRR_SIZE_MMSGHDR:
		return walk_messages(walk, i, addr);
	case PRR_SIZE_MMSGHDR_SENT:
		return walk_sent(walk, i, addr);
	case PRR_SIZE_IFCONF:
		return walk_ifconf(walk, i, addr);
	case PRR_SIZE_CSTRING:
	case PRR_SIZE_STRING_ARRAY:
		break;
	}
	return PRR_OK;
}

enum prr_status prr_outputs_walk(struct prr_walk *walk)
{
	for (unsigned i = 0; i < 6; i++) {
		const struct prr_arg_spec *spec = &walk->view->args[i];

		if (prr_is_output(spec) && walk->entry->args[i] && is_written(walk, spec))
			PRR_TRY(walk_arg(walk, i));
	}
	return PRR_OK;
}

enum prr_status prr_outputs_collect(const struct prr_syscall_view *view, pid_t tid,
	const struct prr_outputs_entry *entry, int64_t result, struct prr_ranges *ranges,
	struct prr_error *err)
{
	struct prr_walk walk = {
		.view = view,
		.entry = entry,
		.tid = tid,
		.result = result,
		.ranges = ranges,
		.err = err,
	};

	return prr_outputs_walk(&walk);
}
