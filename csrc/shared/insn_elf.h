/* SPDX-License-Identifier: GPL-2.0-or-later
 * What the instruction scan needs of an ELF file: its segments, which bytes are
 * code, and which function an address lies in. Only for insn_scan.c. */
#ifndef PRR_INSN_ELF_H
#define PRR_INSN_ELF_H

#include "pyrr_core.h"

struct prr_elf_load { /* PT_LOAD, clipped to the file's size */
	uint64_t vaddr, offset, filesz;
	bool executable;
};
struct prr_elf_range {
	uint64_t start, end;
};
/* An address in the file and the function around it. */
struct prr_elf_place {
	uint64_t addr;
	const struct prr_elf_load *load; /* borrowed from the prr_elf */
	uint64_t start, end; /* within load; equal: no function known */
};
struct prr_elf {
	int fd; /* borrowed */
	uint64_t size, entry;
	struct prr_elf_load *loads; /* owned */
	size_t load_count;
	struct prr_elf_range *code; /* owned; executable sections, sorted */
	size_t code_count;
	uint64_t unwind_vaddr, unwind_offset, unwind_size; /* .eh_frame_hdr */
	uint64_t section_offset;
	uint32_t section_count;
};

/* A file that is not a regular x86-64 ELF file with segments: PRR_OK and
 * load_count 0. Borrows fd. */
PRR_MUST_USE enum prr_status prr_elf_open(struct prr_elf *elf, int fd, struct prr_error *err);
void prr_elf_close(struct prr_elf *elf);
/* Bytes read; fewer than len at the end of the file or on an error. */
size_t prr_elf_read(const struct prr_elf *elf, uint64_t offset, void *buf, size_t len);
/* false where a section table says that no code is there. */
bool prr_elf_is_code(const struct prr_elf *elf, uint64_t addr);
/* Fills start and end of places[0..count). */
PRR_MUST_USE enum prr_status prr_elf_find_functions(const struct prr_elf *elf,
	struct prr_elf_place *places, size_t count, struct prr_error *err);

#endif
