/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_format.h"

#include <string.h>
#include <zlib.h>

uint32_t prr_file_header_crc(const struct prr_file_header *header)
{
	return (uint32_t)crc32_z(0, (const Bytef *)header, offsetof(struct prr_file_header, crc));
}

uint32_t prr_block_crc(const struct prr_block_header *header, const void *payload)
{
	uLong crc = crc32_z(0, (const Bytef *)header, offsetof(struct prr_block_header, crc));

	return (uint32_t)crc32_z(crc, payload, header->stored_size);
}

void prr_regs_memory_reset(struct prr_regs_memory *memory)
{
	memory->count = 0;
	memory->last = 0;
	memset(memory->slots, 0, sizeof(memory->slots));
}

static bool same_task(struct prr_task_uid a, struct prr_task_uid b)
{
	return a.serial == b.serial && a.tid == b.tid;
}

uint64_t *prr_regs_memory_find(struct prr_regs_memory *memory, struct prr_task_uid task)
{
	const uint32_t slot_count = sizeof(memory->slots) / sizeof(memory->slots[0]);
	uint32_t slot = (task.serial * 0x9e3779b1u ^ (uint32_t)task.tid) % slot_count;
	struct prr_regs_base *entry;

	if (memory->count && same_task(memory->entries[memory->last].task, task))
		return memory->entries[memory->last].words;
	for (; memory->slots[slot]; slot = (slot + 1) % slot_count) {
		entry = &memory->entries[memory->slots[slot] - 1];
		if (same_task(entry->task, task)) {
			memory->last = memory->slots[slot] - 1u;
			return entry->words;
		}
	}
	if (memory->count == PRR_EVENT_BLOCK_TASKS)
		return NULL;
	entry = &memory->entries[memory->count];
	*entry = (struct prr_regs_base){ .task = task };
	memory->last = memory->count++;
	memory->slots[slot] = (uint16_t)memory->count;
	return entry->words;
}
