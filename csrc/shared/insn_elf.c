/* SPDX-License-Identifier: GPL-2.0-or-later
 * See insn_elf.h. Formats: System V ABI (ELF-64), LSB 5.0 "Exception Frames"
 * (.eh_frame, .eh_frame_hdr), DWARF pointer encodings (DW_EH_PE_*). */
#include "insn_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

enum {
	MAX_SEGMENTS = 4096,
	MAX_SECTIONS = 65536,
	/* Symbols looked at, plus matches of symbols with places, in a file. */
	MAX_SYMBOL_WORK = 1 << 25,
	BATCH = 1024 /* table entries read at once */
};

/* DW_EH_PE_*: the low nibble is the format, bits 4..6 what it is relative to. */
enum {
	PE_ABSPTR = 0x00,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_DATAREL = 0x30,
	PE_OMIT = 0xff
};

size_t prr_elf_read(const struct prr_elf *elf, uint64_t offset, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len && offset + done >= offset && offset + done < INT64_MAX) {
		ssize_t n = pread(elf->fd, (char *)buf + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static bool read_all(const struct prr_elf *elf, uint64_t offset, void *buf, size_t len)
{
	return prr_elf_read(elf, offset, buf, len) == len;
}

/* ------------------------------------------------------------------ headers */

static void take_segment(struct prr_elf *elf, const Elf64_Phdr *phdr)
{
	uint64_t filesz = phdr->p_filesz;

	if (phdr->p_offset >= elf->size)
		return;
	if (filesz > elf->size - phdr->p_offset)
		filesz = elf->size - phdr->p_offset;
	if (phdr->p_type == PT_GNU_EH_FRAME) {
		elf->unwind_vaddr = phdr->p_vaddr;
		elf->unwind_offset = phdr->p_offset;
		elf->unwind_size = filesz;
		return;
	}
	if (phdr->p_type != PT_LOAD || filesz == 0 || phdr->p_vaddr + filesz < phdr->p_vaddr)
		return;
	elf->loads[elf->load_count++] = (struct prr_elf_load){ .vaddr = phdr->p_vaddr,
		.offset = phdr->p_offset,
		.filesz = filesz,
		.executable = phdr->p_flags & PF_X };
}

static enum prr_status read_segments(
	struct prr_elf *elf, const Elf64_Ehdr *header, struct prr_error *err)
{
	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0 ||
		header->e_phnum > MAX_SEGMENTS)
		return PRR_OK;
	elf->loads = calloc(header->e_phnum, sizeof *elf->loads);
	if (!elf->loads)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "cannot keep %u segments",
			header->e_phnum);
	for (uint64_t i = 0; i < header->e_phnum; ++i) {
		Elf64_Phdr phdr;

		if (!read_all(elf, header->e_phoff + i * sizeof phdr, &phdr, sizeof phdr))
			break;
		take_segment(elf, &phdr);
	}
	return PRR_OK;
}

static bool next_section(const struct prr_elf *elf, uint32_t index, Elf64_Shdr *ret)
{
	return index < elf->section_count &&
		read_all(
			elf, elf->section_offset + (uint64_t)index * sizeof *ret, ret, sizeof *ret);
}

static int by_start(const void *a, const void *b)
{
	uint64_t x = ((const struct prr_elf_range *)a)->start;
	uint64_t y = ((const struct prr_elf_range *)b)->start;

	return x < y ? -1 : x > y;
}

/* Executable sections. Segments of older linkers hold headers, strings and
 * .rodata beside the code; without a section table that is not known. */
static enum prr_status read_sections(
	struct prr_elf *elf, const Elf64_Ehdr *header, struct prr_error *err)
{
	Elf64_Shdr section;

	if (header->e_shentsize != sizeof section || header->e_shnum == 0 ||
		header->e_shoff >= elf->size)
		return PRR_OK;
	elf->section_offset = header->e_shoff;
	elf->section_count = header->e_shnum;
	elf->code = calloc(elf->section_count, sizeof *elf->code);
	if (!elf->code)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "cannot keep %u sections",
			elf->section_count);
	for (uint32_t i = 0; next_section(elf, i, &section); ++i) {
		if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR) ||
			section.sh_size == 0 || section.sh_addr + section.sh_size < section.sh_addr)
			continue;
		elf->code[elf->code_count++] = (struct prr_elf_range){ section.sh_addr,
			section.sh_addr + section.sh_size };
	}
	qsort(elf->code, elf->code_count, sizeof *elf->code, by_start);
	return PRR_OK;
}

enum prr_status prr_elf_open(struct prr_elf *elf, int fd, struct prr_error *err)
{
	Elf64_Ehdr header;
	struct stat st;

	memset(elf, 0, sizeof *elf);
	elf->fd = fd;
	if (fstat(fd, &st) < 0)
		return prr_fail_errno(err, "cannot stat a mapped file");
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		return PRR_OK;
	elf->size = (uint64_t)st.st_size;
	if (!read_all(elf, 0, &header, sizeof header) ||
		memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
		header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
		header.e_machine != EM_X86_64)
		return PRR_OK;
	elf->entry = header.e_entry;
	PRR_TRY(read_segments(elf, &header, err));
	return read_sections(elf, &header, err);
}

void prr_elf_close(struct prr_elf *elf)
{
	free(elf->loads);
	free(elf->code);
	memset(elf, 0, sizeof *elf);
}

bool prr_elf_is_code(const struct prr_elf *elf, uint64_t addr)
{
	size_t low = 0, high = elf->code_count;

	if (elf->code_count == 0)
		return true;
	while (low < high) { /* first range that starts after addr */
		size_t middle = low + (high - low) / 2;

		if (elf->code[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && addr < elf->code[low - 1].end;
}

/* File offset of len bytes at an address; false: not in the file. */
static bool offset_of(const struct prr_elf *elf, uint64_t addr, uint64_t *ret)
{
	for (size_t i = 0; i < elf->load_count; ++i) {
		const struct prr_elf_load *load = &elf->loads[i];

		if (addr >= load->vaddr && addr - load->vaddr < load->filesz) {
			*ret = load->offset + (addr - load->vaddr);
			return true;
		}
	}
	return false;
}

/* Believes that the function around the place is [start, start + len). */
static void set_function(struct prr_elf_place *place, uint64_t start, uint64_t len)
{
	const struct prr_elf_load *load = place->load;
	uint64_t end = start + len;

	if (start < load->vaddr || start > place->addr || len <= place->addr - start)
		return;
	if (end < start || end > load->vaddr + load->filesz)
		end = load->vaddr + load->filesz;
	place->start = start;
	place->end = end;
}

/* ------------------------------------------------------------------- unwind */

struct cursor { /* over bytes that may lie */
	const uint8_t *at, *end;
	bool overrun;
};

static uint64_t take(struct cursor *cursor, size_t len)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < len) {
		cursor->overrun = true;
		cursor->at = cursor->end;
		return 0;
	}
	memcpy(&value, cursor->at, len); /* little-endian */
	cursor->at += len;
	return value;
}

static void skip_leb128(struct cursor *cursor)
{
	while (take(cursor, 1) & 0x80)
		;
}

/* Bytes of a pointer in this encoding; 0: not one that linkers write here. */
static size_t pointer_size(uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_UDATA4:
	case PE_SDATA4:
		return 4;
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return 8;
	default:
		return 0;
	}
}

/* Size of pc_begin and pc_range in the FDEs of the CIE at `offset`; 0 unknown. */
static size_t cie_pointer_size(const struct prr_elf *elf, uint64_t offset)
{
	uint8_t bytes[96];
	size_t got = prr_elf_read(elf, offset, bytes, sizeof bytes);
	struct cursor cursor = { bytes, bytes + got, false };
	char augmentation[8];
	uint64_t version;
	size_t size;

	take(&cursor, 4); /* length */
	if (take(&cursor, 4) != 0)
		return 0; /* not a CIE */
	version = take(&cursor, 1);
	if (version != 1 && version != 3)
		return 0;
	for (size_t i = 0;; ++i) {
		if (i == sizeof augmentation)
			return 0;
		augmentation[i] = (char)take(&cursor, 1);
		if (augmentation[i] == '\0')
			break;
	}
	skip_leb128(&cursor); /* code alignment */
	skip_leb128(&cursor); /* data alignment */
	if (version == 1)
		take(&cursor, 1); /* return address register */
	else
		skip_leb128(&cursor);
	if (augmentation[0] != 'z')
		return cursor.overrun || augmentation[0] ? 0 : 8;
	skip_leb128(&cursor); /* length of the augmentation data */
	for (const char *p = augmentation + 1; *p; ++p) {
		switch (*p) {
		case 'R':
			size = pointer_size((uint8_t)take(&cursor, 1));
			return cursor.overrun ? 0 : size;
		case 'P':
			size = pointer_size((uint8_t)take(&cursor, 1));
			if (size == 0)
				return 0;
			take(&cursor, size);
			break;
		case 'L':
			take(&cursor, 1);
			break;
		case 'S':
		case 'B':
			break;
		default:
			return 0;
		}
	}
	return cursor.overrun ? 0 : 8;
}

/* Length of the function that the FDE at this address describes; 0 unknown. */
static uint64_t fde_range(const struct prr_elf *elf, uint64_t addr)
{
	uint8_t bytes[24];
	struct cursor cursor;
	uint64_t offset, length, back, range;
	size_t size, got;

	if (!offset_of(elf, addr, &offset))
		return 0;
	got = prr_elf_read(elf, offset, bytes, sizeof bytes);
	cursor = (struct cursor){ bytes, bytes + got, false };
	length = take(&cursor, 4);
	back = take(&cursor, 4);
	/* 0: terminator; 0xffffffff: 64-bit lengths, which nobody writes here. */
	if (length == 0 || length == 0xffffffffU || back == 0 || back > offset + 4)
		return 0;
	size = cie_pointer_size(elf, offset + 4 - back);
	if (size == 0)
		return 0;
	take(&cursor, size); /* pc_begin: the table's, already known */
	range = take(&cursor, size);
	return cursor.overrun ? 0 : range;
}

struct unwind_entry { /* relative to .eh_frame_hdr's address */
	int32_t start, fde;
};

/* Last entry that starts at or before addr. */
static const struct unwind_entry *find_entry(
	const struct unwind_entry *table, size_t count, uint64_t base, uint64_t addr)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (base + (uint64_t)(int64_t)table[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &table[low - 1] : NULL;
}

static enum prr_status find_in_unwind(const struct prr_elf *elf, struct prr_elf_place *places,
	size_t count, struct prr_error *err)
{
	uint8_t header[12];
	struct unwind_entry *table;
	uint32_t entries;
	size_t got;

	/* version 1, eh_frame_ptr in 4 bytes, count udata4, table of sdata4 pairs:
	 * what every linker writes. */
	if (elf->unwind_size < sizeof header ||
		!read_all(elf, elf->unwind_offset, header, sizeof header) || header[0] != 1 ||
		header[1] == PE_OMIT || pointer_size(header[1]) != 4 || header[2] != PE_UDATA4 ||
		header[3] != (PE_DATAREL | PE_SDATA4))
		return PRR_OK;
	memcpy(&entries, header + 8, sizeof entries);
	if (entries > (elf->unwind_size - sizeof header) / sizeof *table)
		entries = (uint32_t)((elf->unwind_size - sizeof header) / sizeof *table);
	if (entries == 0)
		return PRR_OK;
	table = malloc(entries * sizeof *table);
	if (!table)
		return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "cannot keep %u FDEs", entries);
	got = prr_elf_read(elf, elf->unwind_offset + sizeof header, table, entries * sizeof *table);
	for (size_t i = 0; i < count; ++i) {
		const struct unwind_entry *entry =
			find_entry(table, got / sizeof *table, elf->unwind_vaddr, places[i].addr);

		if (entry)
			set_function(&places[i],
				elf->unwind_vaddr + (uint64_t)(int64_t)entry->start,
				fde_range(elf, elf->unwind_vaddr + (uint64_t)(int64_t)entry->fde));
	}
	free(table);
	return PRR_OK;
}

/* ------------------------------------------------------------------ symbols */

/* Index of the first place at or after addr. */
static size_t first_place(const struct prr_elf_place *places, size_t count, uint64_t addr)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (places[middle].addr < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Tells the places inside a sized function symbol; the latest start wins. FDEs
 * win over symbols: `fixed` says which places have one. */
static void match_symbol(const Elf64_Sym *symbol, struct prr_elf_place *places, size_t count,
	const uint8_t *fixed, uint64_t *work)
{
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_size == 0 ||
		symbol->st_shndx == SHN_UNDEF)
		return;
	for (size_t i = first_place(places, count, symbol->st_value);
		i < count && places[i].addr - symbol->st_value < symbol->st_size && *work; ++i) {
		--*work;
		if (!fixed[i] && symbol->st_value >= places[i].start)
			set_function(&places[i], symbol->st_value, symbol->st_size);
	}
}

static void find_in_table(const struct prr_elf *elf, const Elf64_Shdr *section,
	struct prr_elf_place *places, size_t count, const uint8_t *fixed, uint64_t *work)
{
	Elf64_Sym symbols[BATCH];
	uint64_t total = section->sh_size / sizeof *symbols;

	for (uint64_t done = 0; done < total && *work;) {
		size_t want = total - done < BATCH ? (size_t)(total - done) : BATCH;
		size_t got = prr_elf_read(elf, section->sh_offset + done * sizeof *symbols, symbols,
			want * sizeof *symbols);

		for (size_t i = 0; i < got / sizeof *symbols && *work; ++i) {
			--*work;
			match_symbol(&symbols[i], places, count, fixed, work);
		}
		if (got < want * sizeof *symbols)
			break;
		done += want;
	}
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct prr_elf_place *)a)->addr;
	uint64_t y = ((const struct prr_elf_place *)b)->addr;

	return x < y ? -1 : x > y;
}

enum prr_status prr_elf_find_functions(const struct prr_elf *elf, struct prr_elf_place *places,
	size_t count, struct prr_error *err)
{
	uint64_t work = MAX_SYMBOL_WORK;
	Elf64_Shdr section;
	uint8_t *fixed;
	size_t covered = 0;

	qsort(places, count, sizeof *places, by_address);
	PRR_TRY(find_in_unwind(elf, places, count, err));
	fixed = calloc(count + 1, 1);
	if (!fixed)
		return prr_fail(
			err, PRR_ERR_SYSTEM, ENOMEM, NULL, "cannot keep %zu candidates", count);
	for (size_t i = 0; i < count; ++i) {
		fixed[i] = places[i].end > places[i].start;
		covered += fixed[i];
	}
	for (uint32_t i = 0; covered < count && next_section(elf, i, &section); ++i) {
		if ((section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) &&
			section.sh_entsize == sizeof(Elf64_Sym))
			find_in_table(elf, &section, places, count, fixed, &work);
	}
	free(fixed);
	return PRR_OK;
}
