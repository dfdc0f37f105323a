/* SPDX-License-Identifier: GPL-2.0-or-later
 * Scratch, at a call's exit: see scratch.c. */
#include "syscall_types.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "scratch_plan.h"

enum { COPY_CHUNK = 65536 };

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
static void copy_back(
	pid_t tid, struct prr_scratch_plan *plan, uint64_t place, uint64_t target, uint64_t len)
{
	uint64_t done = 0;
	size_t chunk = len < COPY_CHUNK ? len : COPY_CHUNK;
	uint8_t *buf = malloc(chunk);
	bool kept = false;

	while (buf && done < len) {
		size_t want = len - done < chunk ? len - done : chunk;
		size_t got = prr_mem_read_some(tid, prr_remote(place + done), buf, want);

		if (got)
			kept = prr_mem_poke(tid, prr_remote(target + done), buf, got) && got == len;
		done += got;
		if (got < want)
			break; /* the task is gone */
	}
	if (kept && plan->given == 0) {
		plan->kept = (struct prr_range){ target, len };
		plan->kept_bytes = buf;
	} else {
		free(buf);
	}
	plan->given++;
	plan->moved += len;
}

const void *prr_scratch_bytes(const struct prr_scratch *scratch, const struct prr_range *range)
{
	const struct prr_scratch_plan *plan = scratch->state;

	/* What was given back later may lie over it. */
	if (!plan || plan->given != 1 || !plan->kept_bytes || plan->kept.addr != range->addr ||
		plan->kept.len != range->len)
		return NULL;
	return plan->kept_bytes;
}

/* Gives back what the kernel changed in [at, at + len) of an image. */
static void give_back_changes(
	pid_t tid, const struct image *image, uint64_t at, const uint8_t *now, size_t len)
{
	const uint8_t *before = image->bytes + at;

	for (size_t i = 0; i < len; i++) {
		size_t start = i;

		while (i < len && now[i] != before[i])
			i++;
		if (i > start)
			(void)prr_mem_poke(tid, prr_remote(image->target + at + start), now + start,
				i - start);
	}
}

static void give_images_back(pid_t tid, struct prr_scratch_plan *plan)
{
	uint8_t *buf = plan->image_count ? malloc(COPY_CHUNK) : NULL;

	for (size_t i = 0; buf && i < plan->image_count; i++) {
		const struct image *image = &plan->images[i];

		for (uint64_t at = 0; at < image->len; at += COPY_CHUNK) {
			size_t want = image->len - at < COPY_CHUNK ? image->len - at : COPY_CHUNK;
			size_t got =
				prr_mem_read_some(tid, prr_remote(image->place + at), buf, want);

			give_back_changes(tid, image, at, buf, got);
		}
		plan->moved += image->len;
	}
	free(buf);
}

enum prr_status prr_scratch_give_back(
	struct prr_walk *walk, unsigned arg, uint64_t key, uint64_t addr, uint64_t len)
{
	const struct piece *piece = find_piece(walk, arg, key, addr);

	if (piece) {
		bool careful = walk->plan->careful; /* then it is done */

		/* After EFAULT nobody knows what of it the kernel wrote. */
		if (walk->result == -EFAULT && !piece->filled && !careful)
			return PRR_OK;
		if (len > piece->len - (addr - piece->target))
			len = piece->len - (addr - piece->target);
		if (!careful)
			copy_back(walk->tid, walk->plan, piece->place + (addr - piece->target),
				addr, len);
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

	if (!piece || walk->plan->careful)
		return prr_ranges_add(walk->ranges, addr, len, walk->err);
	walk->plan->given += 2;
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

	if (walk.plan)
		give_images_back(tid, walk.plan);
	PRR_TRY(prr_outputs_walk(&walk));
	if (walk.plan)
		scratch->moved = walk.plan->moved;
	return PRR_OK;
}
