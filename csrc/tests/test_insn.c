/* sources: shared/error.c shared/insn_*.c libs: -lZydis -lZycore */
/* SPDX-License-Identifier: GPL-2.0-or-later
 * Instruction sites: what is one is found, what only looks like one is not, and
 * emulation writes what the CPU would have written. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "error.h"
#include "insn.h"

#define CHECK(condition)                                                                      \
	do {                                                                                  \
		if (!(condition)) {                                                           \
			fprintf(stderr, "%s:%d: %s: not true: %s (%s)\n", __FILE__, __LINE__, \
				__func__, #condition, error.message ? error.message : "-");   \
			exit(1);                                                              \
		}                                                                             \
	} while (0)
#define OK(call) CHECK((call) == PRR_OK)

static struct prr_error error;
static uint64_t random_state = 88172645463325252U;

static uint64_t random_next(void) /* xorshift64: the same run every time */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* ---------------------------------------------------------------- classify */

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static void expect_kind(const uint8_t *bytes, size_t len, uint32_t kind)
{
	uint32_t length = 99;

	CHECK(prr_insn_classify(bytes, len, &length) == kind);
	CHECK(length == (kind ? len : 0));
	for (size_t i = 0; i < len; ++i) { /* cut short: a prefix never counts */
		CHECK(prr_insn_classify(bytes, i, &length) == 0);
		CHECK(length == 0);
	}
}

static void test_classify(void)
{
	expect_kind(BYTES(0x0f, 0x31), PRR_INSTRUCTION_RDTSC);
	expect_kind(BYTES(0x48, 0x0f, 0x31), PRR_INSTRUCTION_RDTSC);
	expect_kind(BYTES(0x0f, 0x01, 0xf9), PRR_INSTRUCTION_RDTSCP);
	expect_kind(BYTES(0x0f, 0xa2), PRR_INSTRUCTION_CPUID);
	expect_kind(BYTES(0x66, 0x0f, 0xa2), PRR_INSTRUCTION_CPUID);
	expect_kind(BYTES(0x0f, 0xc7, 0xf0), PRR_INSTRUCTION_RDRAND);
	expect_kind(BYTES(0x66, 0x41, 0x0f, 0xc7, 0xf7), PRR_INSTRUCTION_RDRAND);
	expect_kind(BYTES(0x48, 0x0f, 0xc7, 0xff), PRR_INSTRUCTION_RDSEED);
	expect_kind(BYTES(0xf3, 0x0f, 0xc7, 0xf8), PRR_INSTRUCTION_RDPID);
	expect_kind(BYTES(0xf3, 0x41, 0x0f, 0xc7, 0xff), PRR_INSTRUCTION_RDPID);
	/* lock cpuid is undefined; memory forms and neighbours are others. */
	expect_kind(BYTES(0xf0, 0x0f, 0xa2), 0);
	expect_kind(BYTES(0x0f, 0xc7, 0x30), 0); /* vmptrld */
	expect_kind(BYTES(0x0f, 0xc7, 0x0f), 0); /* cmpxchg8b */
	expect_kind(BYTES(0x0f, 0xa3, 0xc0), 0); /* bt */
	expect_kind(BYTES(0x90), 0);
	expect_kind(BYTES(0xb8, 0x0f, 0xa2, 0, 0), 0);
	expect_kind(BYTES(0x0f, 0x01, 0xf8), 0); /* swapgs */
}

/* ----------------------------------------------------------------- emulate */

static uint64_t *numbered(struct prr_regs *regs, unsigned int number)
{
	uint64_t *table[] = { &regs->rax, &regs->rcx, &regs->rdx, &regs->rbx, &regs->rsp,
		&regs->rbp, &regs->rsi, &regs->rdi, &regs->r8, &regs->r9, &regs->r10, &regs->r11,
		&regs->r12, &regs->r13, &regs->r14, &regs->r15 };

	return table[number];
}

static struct prr_regs some_regs(void)
{
	struct prr_regs regs;
	uint64_t *words = (uint64_t *)&regs;

	for (size_t i = 0; i < sizeof regs / sizeof *words; ++i)
		words[i] = random_next();
	regs.rip = 0x401000;
	return regs;
}

/* `bytes` may change the register `number` (its low `width` bits), rip and, if
 * random, the arithmetic flags; nothing else. Returns the new register. */
static uint64_t emulate_one(uint32_t kind, const uint8_t *bytes, size_t len, unsigned int number,
	unsigned int width, uint64_t old)
{
	enum { ARITHMETIC = 0x8d5, CF = 1, RF = 0x10000 };
	struct prr_regs regs = some_regs(), expected;
	uint64_t got;

	regs.rflags |= RF;
	*numbered(&regs, number) = old;
	expected = regs;
	OK(prr_insn_emulate(kind, bytes, len, 0x3005, &regs, &error));
	got = *numbered(&regs, number);
	if (width == 16)
		CHECK(got >> 16 == old >> 16);
	if (width == 32)
		CHECK(got >> 32 == 0);
	*numbered(&expected, number) = got;
	expected.rip += len;
	expected.rflags &= ~(uint64_t)RF;
	if (kind != PRR_INSTRUCTION_RDPID)
		expected.rflags = (expected.rflags & ~(uint64_t)ARITHMETIC) | CF;
	CHECK(memcmp(&regs, &expected, sizeof regs) == 0);
	return got;
}

static size_t encode(uint8_t *bytes, uint32_t kind, unsigned int number, unsigned int width)
{
	uint8_t rex = (uint8_t)(0x40 | (width == 64 ? 8 : 0) | (number >> 3));
	size_t len = 0;

	if (width == 16)
		bytes[len++] = 0x66;
	if (kind == PRR_INSTRUCTION_RDPID)
		bytes[len++] = 0xf3;
	if (rex != 0x40)
		bytes[len++] = rex;
	bytes[len++] = 0x0f;
	bytes[len++] = 0xc7;
	bytes[len++] = (uint8_t)((kind == PRR_INSTRUCTION_RDRAND ? 0xf0 : 0xf8) | (number & 7));
	return len;
}

static void test_emulate_random(void)
{
	static const uint32_t kinds[] = { PRR_INSTRUCTION_RDRAND, PRR_INSTRUCTION_RDSEED };
	static const unsigned int widths[] = { 16, 32, 64 };
	uint8_t bytes[8];

	for (unsigned int i = 0; i < 2 * 3 * 16; ++i) {
		unsigned int width = widths[i / 2 % 3], number = i / 6;
		uint32_t kind = kinds[i % 2];
		size_t len = encode(bytes, kind, number, width);
		uint64_t all = 0, none = ~0ULL, mask = width == 64 ? ~0ULL : (1ULL << width) - 1;

		for (int k = 0; k < 40; ++k) { /* each bit comes out both ways */
			uint64_t got = emulate_one(kind, bytes, len, number, width, random_next());

			all |= got;
			none &= got;
		}
		CHECK((all & mask) == mask);
		CHECK((none & mask) == 0);
	}
}

static void test_emulate_rdpid(void)
{
	uint8_t bytes[8];

	for (unsigned int number = 0; number < 16; ++number) {
		size_t len = encode(bytes, PRR_INSTRUCTION_RDPID, number, 0);

		CHECK(emulate_one(PRR_INSTRUCTION_RDPID, bytes, len, number, 64, ~0ULL) == 0x3005);
	}
}

static struct prr_cpuid emulate_cpuid(uint32_t leaf, uint32_t subleaf)
{
	struct prr_regs regs = some_regs(), before;

	regs.rax = (random_next() << 32) | leaf;
	regs.rcx = (random_next() << 32) | subleaf;
	regs.rflags &= ~0x10000ULL;
	before = regs;
	OK(prr_insn_emulate(PRR_INSTRUCTION_CPUID, BYTES(0x0f, 0xa2), 0, &regs, &error));
	CHECK((regs.rax | regs.rbx | regs.rcx | regs.rdx) >> 32 == 0);
	before.rip += 2;
	before.rax = regs.rax;
	before.rbx = regs.rbx;
	before.rcx = regs.rcx;
	before.rdx = regs.rdx;
	CHECK(memcmp(&regs, &before, sizeof regs) == 0);
	return (struct prr_cpuid){ (uint32_t)regs.rax, (uint32_t)regs.rbx, (uint32_t)regs.rcx,
		(uint32_t)regs.rdx };
}

static bool same(struct prr_cpuid a, struct prr_cpuid b)
{
	return a.eax == b.eax && a.ebx == b.ebx && a.ecx == b.ecx && a.edx == b.edx;
}

static void test_emulate_cpuid(void)
{
	static const uint32_t plain[] = { 0, 2, 4, 0xd, 0x15, 0x16, 0x40000000, 0x80000000,
		0x80000002, 0x80000007 };
	static const uint32_t ids[] = { 1, 7, 0xb, 0x1f, 0x8000001e, 0x80000026, 0x7ffffff0,
		0xffffff };
	struct prr_cpuid highest = prr_cpuid_read(0, 0);
	cpu_set_t old, one;

	CHECK(sched_getaffinity(0, sizeof old, &old) == 0);
	for (size_t i = 0; i < sizeof plain / sizeof *plain; ++i) {
		struct prr_cpuid got = emulate_cpuid(plain[i], 0);

		/* The data of an absent leaf may be that of leaf 0xb or 0x1f. */
		if (plain[i] <= highest.eax || plain[i] >= 0x80000000)
			CHECK(same(got, prr_cpuid_read(plain[i], 0)));
	}
	CHECK(emulate_cpuid(0x80000008, 0).eax == prr_cpuid_read(0x80000008, 0).eax);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; ++i) {
		struct prr_cpuid first = { 0 };
		bool has_first = false;

		for (int core = 0; core < CPU_SETSIZE; ++core) { /* all cores alike */
			struct prr_cpuid got;

			if (!CPU_ISSET(core, &old))
				continue;
			CPU_ZERO(&one);
			CPU_SET(core, &one);
			if (sched_setaffinity(0, sizeof one, &one) != 0)
				continue;
			got = emulate_cpuid(ids[i], 0);
			CHECK(!has_first || same(got, first));
			first = got;
			has_first = true;
		}
		CHECK(has_first);
	}
	CHECK(sched_setaffinity(0, sizeof old, &old) == 0);
	CHECK((emulate_cpuid(1, 0).ecx & (1U << 30)) == 0);
	CHECK((emulate_cpuid(1, 0).ecx & (1U << 27)) == (prr_cpuid_read(1, 0).ecx & (1U << 27)));
}

static struct prr_cpuid masked_ones(uint32_t leaf, uint32_t subleaf)
{
	struct prr_cpuid data = { ~0U, ~0U, ~0U, ~0U };

	prr_cpuid_mask(leaf, subleaf, &data);
	return data;
}

static void test_cpuid_mask(void)
{
	const uint32_t ones = ~0U;
	const struct prr_cpuid kept = { ones, ones, ones, ones };

	CHECK(same(masked_ones(1, 0),
		(struct prr_cpuid){ ones, 0x00ffffff, ones & ~(1U << 30), ones }));
	CHECK(same(masked_ones(7, 0),
		(struct prr_cpuid){ ones, ones & ~(1U << 4 | 1U << 11 | 1U << 18),
			ones & ~(1U << 5 | 1U << 22), ones & ~(1U << 16) }));
	CHECK(same(masked_ones(7, 1), kept));
	CHECK(same(masked_ones(0xb, 1), (struct prr_cpuid){ ones, ones, ones, 0 }));
	CHECK(same(masked_ones(0x1f, 2), (struct prr_cpuid){ ones, ones, ones, 0 }));
	CHECK(same(
		masked_ones(0x80000008, 0), (struct prr_cpuid){ ones, ones & ~16U, ones, ones }));
	CHECK(same(
		masked_ones(0x8000001e, 0), (struct prr_cpuid){ 0, 0xffffff00, 0xffffff00, ones }));
	CHECK(same(masked_ones(0xd, 0), kept));
	CHECK(same(masked_ones(0xd, 1), (struct prr_cpuid){ ones & ~3U, ones, ones, ones }));
	CHECK(same(masked_ones(0x40000001, 0), kept));
}

static void test_emulate_refuses(void)
{
	struct prr_regs regs = some_regs(), before = regs;

	CHECK(prr_insn_emulate(PRR_INSTRUCTION_CPUID, BYTES(0x0f, 0xc7, 0xf0), 0, &regs, &error) ==
		PRR_ERR_INTERNAL);
	CHECK(prr_insn_emulate(PRR_INSTRUCTION_CPUID, BYTES(0x0f), 0, &regs, &error) ==
		PRR_ERR_INTERNAL);
	CHECK(prr_insn_emulate(PRR_INSTRUCTION_RDTSC, BYTES(0x0f, 0x31), 0, &regs, &error) ==
		PRR_ERR_INTERNAL);
	CHECK(prr_insn_emulate(0, BYTES(0x90), 0, &regs, &error) == PRR_ERR_INTERNAL);
	CHECK(memcmp(&regs, &before, sizeof regs) == 0);
	prr_error_deinit(&error);
}

/* -------------------------------------------------------------- ELF builder */

enum {
	CODE_OFFSET = 0x1000,
	TABLE_OFFSET = 0x3000, /* unwind, symbols, sections */
	IMAGE_SIZE = 0x4000,
	BASE = 0x400000,
	CODE_ADDR = BASE + CODE_OFFSET,
	TABLE_ADDR = BASE + TABLE_OFFSET
};

struct image {
	uint8_t bytes[IMAGE_SIZE];
	size_t code_len;
};

static void put32(struct image *image, size_t at, uint32_t value)
{
	memcpy(image->bytes + at, &value, sizeof value);
}

static Elf64_Phdr load_segment(uint32_t flags, uint64_t offset, uint64_t len)
{
	return (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = flags,
		.p_offset = offset,
		.p_vaddr = BASE + offset,
		.p_filesz = len,
		.p_memsz = len,
	};
}

/* Headers and code; nothing says where functions are. */
static void build(struct image *image, const uint8_t *code, size_t len)
{
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof header,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	Elf64_Phdr segments[3] = {
		load_segment(PF_R | PF_X, CODE_OFFSET, len),
		load_segment(PF_R, TABLE_OFFSET, IMAGE_SIZE - TABLE_OFFSET),
	};

	memset(image, 0, sizeof *image);
	CHECK(len <= TABLE_OFFSET - CODE_OFFSET);
	memcpy(image->bytes, &header, sizeof header);
	memcpy(image->bytes + sizeof header, segments, sizeof segments);
	memcpy(image->bytes + CODE_OFFSET, code, len);
	image->code_len = len;
}

static Elf64_Ehdr *header_of(struct image *image)
{
	return (Elf64_Ehdr *)(void *)image->bytes;
}

/* One FDE: the function is code[start..start + len). */
static void add_unwind(struct image *image, uint32_t start, uint32_t len)
{
	static const uint8_t cie[28] = {
		24, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'P', 'L', 'R', 0, 1, 0x78, 16, /* header */
		7, 0x1b, 0, 0, 0, 0, 0x1b, 0x1b /* augmentation: P, L, R */
	};
	const size_t table = TABLE_OFFSET, frames = TABLE_OFFSET + 0x40, fde = frames + sizeof cie;
	Elf64_Phdr segment = load_segment(PF_R, table, 20);
	uint32_t relative = (uint32_t)(CODE_ADDR + start);

	segment.p_type = PT_GNU_EH_FRAME;
	memcpy(image->bytes + sizeof(Elf64_Ehdr) + 2 * sizeof segment, &segment, sizeof segment);
	memcpy(image->bytes + table, (uint8_t[]){ 1, 0x1b, 0x03, 0x3b }, 4);
	put32(image, table + 8, 1);
	put32(image, table + 12, relative - TABLE_ADDR);
	put32(image, table + 16, (uint32_t)(fde - table));
	memcpy(image->bytes + frames, cie, sizeof cie);
	put32(image, fde, 20);
	put32(image, fde + 4, (uint32_t)(fde + 4 - frames));
	put32(image, fde + 8, (uint32_t)(relative - (BASE + fde + 8)));
	put32(image, fde + 12, len);
}

/* A sized function symbol and a section that says what is code. */
static void add_sections(struct image *image, uint32_t start, uint32_t len, uint32_t code_len)
{
	const size_t symbol_at = TABLE_OFFSET + 0x100, sections_at = TABLE_OFFSET + 0x200;
	Elf64_Sym symbol = {
		.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
		.st_shndx = 1,
		.st_value = CODE_ADDR + start,
		.st_size = len,
	};
	Elf64_Shdr table = {
		.sh_type = SHT_SYMTAB,
		.sh_offset = symbol_at,
		.sh_size = sizeof symbol,
		.sh_entsize = sizeof symbol,
	};
	Elf64_Shdr code = {
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = CODE_ADDR,
		.sh_offset = CODE_OFFSET,
		.sh_size = code_len,
	};
	Elf64_Shdr sections[3] = { { .sh_type = SHT_NULL }, table, code };

	memcpy(image->bytes + symbol_at, &symbol, sizeof symbol);
	memcpy(image->bytes + sections_at, sections, sizeof sections);
	header_of(image)->e_shoff = sections_at;
	header_of(image)->e_shnum = 3;
}

static int file_of(const void *bytes, size_t len)
{
	int fd = memfd_create("insn", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(len == 0 || pwrite(fd, bytes, len, 0) == (ssize_t)len);
	return fd;
}

static void scan_bytes(const void *bytes, size_t len, struct prr_insn_sites *sites)
{
	int fd = file_of(bytes, len);

	OK(prr_insn_scan(fd, sites, &error));
	close(fd);
}

/* The image has no site. */
static void expect_none(const struct image *image)
{
	struct prr_insn_sites sites = { 0 };

	scan_bytes(image->bytes, sizeof image->bytes, &sites);
	CHECK(sites.count == 0);
	CHECK(sites.unexamined == 0);
	prr_insn_sites_deinit(&sites);
}

/* The image has exactly this site, at code[at]. */
static void expect_one(const struct image *image, size_t at, uint32_t kind, uint32_t length)
{
	struct prr_insn_sites sites = { 0 };

	scan_bytes(image->bytes, sizeof image->bytes, &sites);
	CHECK(sites.count == 1);
	CHECK(sites.items[0].file_offset == CODE_OFFSET + at);
	CHECK(sites.items[0].instruction == kind);
	CHECK(sites.items[0].length == length);
	prr_insn_sites_deinit(&sites);
}

/* ------------------------------------------------------------------- scans */

/* A function of no particular kind, which ends in ret: push rbp; mov rbp,rsp;
 * then `middle`; pop rbp; ret; int3 padding. */
static size_t wrap(uint8_t *code, const uint8_t *middle, size_t len)
{
	memcpy(code, (uint8_t[]){ 0x55, 0x48, 0x89, 0xe5 }, 4);
	memcpy(code + 4, middle, len);
	memcpy(code + 4 + len, (uint8_t[]){ 0x5d, 0xc3, 0xcc, 0xcc }, 4);
	return len + 8;
}

static void expect_in_function(
	const uint8_t *middle, size_t len, uint32_t kind, size_t at, uint32_t length)
{
	static struct image image;
	uint8_t code[256];
	size_t total = wrap(code, middle, len);

	for (int by_symbol = 0; by_symbol < 2; ++by_symbol) {
		build(&image, code, total);
		if (by_symbol)
			add_sections(&image, 0, (uint32_t)total, (uint32_t)total);
		else
			add_unwind(&image, 0, (uint32_t)total);
		if (kind)
			expect_one(&image, 4 + at, kind, length);
		else
			expect_none(&image);
	}
}

static void test_scan_function(void)
{
	uint8_t bytes[8];

	/* Flow proves it, with no eax set before. */
	expect_in_function(BYTES(0x0f, 0xa2), PRR_INSTRUCTION_CPUID, 0, 2);
	expect_in_function(BYTES(0x31, 0xc0, 0x0f, 0xa2), PRR_INSTRUCTION_CPUID, 2, 2);
	expect_in_function(BYTES(0x66, 0x0f, 0xa2), PRR_INSTRUCTION_CPUID, 0, 3);
	/* Too long to patch and restore: eight redundant prefixes. */
	expect_in_function(BYTES(0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x0f, 0xa2), 0, 0, 0);
	expect_in_function(BYTES(0xf3, 0x41, 0x0f, 0xc7, 0xf9), PRR_INSTRUCTION_RDPID, 0, 5);
	/* In the middle of others: immediates, displacements, branch targets. */
	expect_in_function(BYTES(0xb8, 0x0f, 0xa2, 0, 0), 0, 0, 0);
	expect_in_function(BYTES(0x48, 0xb8, 1, 2, 0x0f, 0xa2, 5, 6, 7, 8), 0, 0, 0);
	expect_in_function(BYTES(0x8b, 0x87, 0x0f, 0xa2, 0, 0), 0, 0, 0);
	expect_in_function(BYTES(0xe8, 0x0f, 0xa2, 0, 0), 0, 0, 0);
	expect_in_function(BYTES(0x0f, 0x84, 0x0f, 0xa2, 0, 0), 0, 0, 0);
	expect_in_function(BYTES(0xc7, 0x00, 0x0f, 0xc7, 0xf0, 0), 0, 0, 0);
	expect_in_function(BYTES(0x3c, 0x0f, 0xa2, 1, 2, 3, 4, 5, 6, 7, 8), 0, 0, 0);
	/* The memory forms, and xbegin-like neighbours. */
	expect_in_function(BYTES(0x0f, 0xc7, 0x30), 0, 0, 0);
	expect_in_function(BYTES(0x48, 0x0f, 0xc7, 0x4f, 0x10), 0, 0, 0);
	for (unsigned int number = 0; number < 16; ++number) {
		for (unsigned int width = 16; width <= 64; width *= 2) {
			size_t len = encode(bytes, PRR_INSTRUCTION_RDRAND, number, width);

			expect_in_function(bytes, len, PRR_INSTRUCTION_RDRAND, 0, (uint32_t)len);
			len = encode(bytes, PRR_INSTRUCTION_RDSEED, number, width);
			expect_in_function(bytes, len, PRR_INSTRUCTION_RDSEED, 0, (uint32_t)len);
		}
	}
}

static void test_scan_flow(void)
{
	static const uint8_t offsets[] = { 0x3e, 0xff, 0xe0, 0x10, 0xa0, 0xff, 0xff, 0x0f, 0xa2,
		0xff, 0xff, 0x20, 0xa0, 0xff, 0xff };
	static const uint8_t after_table[] = { 0x3e, 0xff, 0xe0, 0x66, 0x90, 0xb8, 7, 0, 0, 0, 0x31,
		0xc9, 0x0f, 0xa2, 0x89, 0xd8 };

	/* jmp over a table that holds the bytes, with eax set before it. */
	expect_in_function(BYTES(0x31, 0xc0, 0xeb, 4, 0x0f, 0xa2, 0, 0, 0x90), 0, 0, 0);
	/* A table of three offsets after an indirect jump. */
	expect_in_function(offsets, sizeof offsets, 0, 0, 0);
	/* A case that only a table reaches: mov eax, 7; xor ecx, ecx; cpuid. */
	expect_in_function(after_table, sizeof after_table, PRR_INSTRUCTION_CPUID, 12, 2);
	/* Reached only so, and nothing sets eax; nothing uses the carry; it does. */
	expect_in_function(BYTES(0xff, 0xe0, 0x31, 0xc9, 0x0f, 0xa2, 0x89, 0xd8), 0, 0, 0);
	expect_in_function(BYTES(0xff, 0xe0, 0x31, 0xc9, 0x0f, 0xc7, 0xf0, 0x89, 0xd8), 0, 0, 0);
	expect_in_function(BYTES(0xff, 0xe0, 0x31, 0xc9, 0x0f, 0xc7, 0xf0, 0x0f, 0x92, 0xc1),
		PRR_INSTRUCTION_RDRAND, 4, 3);
	/* Two flows disagree: jz into the middle of mov eax, 0xa20f (overlap). */
	expect_in_function(BYTES(0x74, 1, 0xb8, 0x0f, 0xa2, 0, 0), 0, 0, 0);
	/* A lock prefix that is jumped over (glibc) confuses nobody. */
	expect_in_function(BYTES(0x74, 1, 0xf0, 0x0f, 0xb1, 0x0f, 0x31, 0xc0, 0x0f, 0xa2),
		PRR_INSTRUCTION_CPUID, 8, 2);
}

static const uint8_t probe[] = { 0x53, 0x48, 0x89, 0xfe, 0xb8, 1, 0, 0, 0, 0x31, 0xc9, 0x0f, 0xa2,
	0x89, 0x1e, 0x89, 0x4e, 4, 0x89, 0x56, 8, 0x5b, 0xc3 };
enum { PROBE_SITE = 11 };

/* Ordinary code without end: a loop body of assorted lengths. */
static size_t fill_with_code(uint8_t *code, size_t len)
{
	static const uint8_t body[] = { 0x48, 0x8b, 0x47, 0x10, 0x48, 0x85, 0xc0, 0x74, 0x05, 0x48,
		0x83, 0xc4, 0x08, 0xc3, 0x66, 0x90, 0x48, 0x8d, 0x54, 0x24, 0x18, 0x89, 0xc6 };
	size_t at = 0;

	for (; at + sizeof body <= len; at += sizeof body)
		memcpy(code + at, body, sizeof body);
	return at;
}

static void test_scan_uncovered(void)
{
	static const uint8_t padlock[] = { 0x49, 0x89, 0xd8, 0x31, 0xc0, 0x0f, 0xa2, 0x31, 0xc0,
		0x81, 0xfb, 0x43, 0x65, 0x6e, 0x74 };
	static struct image image;
	uint8_t code[1024];
	size_t at = fill_with_code(code, 600), total;

	/* No unwind entry, no symbol: re-synchronisation finds it ... */
	memcpy(code + at, probe, sizeof probe);
	total = at + sizeof probe;
	total += fill_with_code(code + total, 200);
	build(&image, code, total);
	expect_one(&image, at + PROBE_SITE, PRR_INSTRUCTION_CPUID, 2);
	/* ... unless a section table says that no code is there, ... */
	add_sections(&image, 0, 0, 100);
	expect_none(&image);
	/* ... and with an FDE that ends before it too. */
	build(&image, code, total);
	add_unwind(&image, 0, 100);
	expect_one(&image, at + PROBE_SITE, PRR_INSTRUCTION_CPUID, 2);
	/* The bytes inside an immediate: the decodings agree that it is none. */
	memcpy(code + at, (uint8_t[]){ 0x31, 0xc0, 0xb9, 0x0f, 0xa2, 0, 0 }, 7);
	memset(code + at + 7, 0x90, sizeof probe - 7);
	build(&image, code, total);
	expect_none(&image);
	/* At the very start only the entry point tells. */
	build(&image, probe, sizeof probe);
	expect_none(&image);
	header_of(&image)->e_entry = CODE_ADDR;
	expect_one(&image, PROBE_SITE, PRR_INSTRUCTION_CPUID, 2);
	/* After padding whose zeros decode as odd code (padlock code of gnutls). */
	memset(code, 0, sizeof code);
	for (at = 0; at + 11 <= 400; at += 11)
		memcpy(code + at, (uint8_t[]){ 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84 }, 6);
	memcpy(code + at, padlock, sizeof padlock);
	total = at + sizeof padlock;
	total += fill_with_code(code + total, 200);
	build(&image, code, total);
	expect_one(&image, at + 5, PRR_INSTRUCTION_CPUID, 2);
	/* Table of 8-byte addresses, such as 0x...a20f: data, whatever decodes. */
	memset(code, 0, sizeof code);
	for (size_t i = 0; i < sizeof code; i += 8)
		memcpy(code + i, (uint8_t[]){ 0xc0, 0x0f, 0xa2, 0, 0, 0, 0, 0 }, 8);
	build(&image, code, sizeof code);
	expect_none(&image);
}

static void test_scan_not_elf(void)
{
	static struct image image;
	struct prr_insn_sites sites = { 0 };
	int pipes[2], directory = open("/", O_RDONLY | O_DIRECTORY);

	build(&image, probe, sizeof probe);
	header_of(&image)->e_entry = CODE_ADDR;
	expect_one(&image, PROBE_SITE, PRR_INSTRUCTION_CPUID, 2);
	header_of(&image)->e_machine = EM_AARCH64;
	expect_none(&image);
	header_of(&image)->e_machine = EM_X86_64;
	header_of(&image)->e_ident[EI_CLASS] = ELFCLASS32;
	expect_none(&image);
	memcpy(image.bytes, "#!/bin/sh", 9);
	expect_none(&image);
	scan_bytes("", 0, &sites);
	CHECK(sites.count == 0);
	CHECK(directory >= 0 && pipe(pipes) == 0);
	OK(prr_insn_scan(directory, &sites, &error));
	CHECK(sites.count == 0);
	OK(prr_insn_scan(pipes[0], &sites, &error));
	CHECK(sites.count == 0);
	close(directory);
	close(pipes[0]);
	close(pipes[1]);
	CHECK(prr_insn_scan(directory, &sites, &error) == PRR_ERR_SYSTEM);
	prr_error_deinit(&error);
	prr_insn_sites_deinit(&sites);
}

/* Everything at once: unwind table, symbols, sections and two sites. */
static void build_full(struct image *image)
{
	uint8_t code[1024];
	size_t at = fill_with_code(code, 600), total;

	memcpy(code + at, probe, sizeof probe);
	total = at + sizeof probe;
	total += fill_with_code(code + total, 200);
	memcpy(code + total, probe, sizeof probe);
	build(image, code, total + sizeof probe);
	add_unwind(image, (uint32_t)at, sizeof probe);
	add_sections(image, (uint32_t)total, sizeof probe, (uint32_t)image->code_len);
}

/* Whatever the headers say, a site is one: its bytes classify as such. */
static void check_sites(const uint8_t *bytes, size_t len, const struct prr_insn_sites *sites)
{
	uint32_t length;

	for (size_t i = 0; i < sites->count; ++i) {
		const struct prr_insn_site *site = &sites->items[i];

		CHECK(i == 0 || site[-1].file_offset < site->file_offset);
		CHECK(site->file_offset < len && site->length <= len - site->file_offset);
		CHECK(prr_insn_classify(bytes + site->file_offset, site->length, &length) ==
			site->instruction);
		CHECK(length == site->length);
	}
}

static void test_scan_truncated(void)
{
	static struct image image;
	struct prr_insn_sites sites = { 0 };

	build_full(&image);
	scan_bytes(image.bytes, sizeof image.bytes, &sites);
	CHECK(sites.count == 2);
	for (size_t len = 0; len < sizeof image.bytes; len += len < 400 ? 1 : 7) {
		scan_bytes(image.bytes, len, &sites);
		check_sites(image.bytes, len, &sites);
		CHECK(sites.count <= 2);
	}
	prr_insn_sites_deinit(&sites);
}

static void mutate(struct image *image)
{
	static const uint64_t absurd[] = { 0, 1, ~0ULL, 1ULL << 63, (1ULL << 63) - 1, 0xffffffff,
		0x7fffffff, 0x80000000, CODE_ADDR, TABLE_ADDR, IMAGE_SIZE, ~0ULL - CODE_ADDR };
	const size_t headers = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);

	for (uint64_t n = 1 + random_next() % 6; n > 0; --n) {
		bool in_headers = random_next() % 2;
		size_t at = random_next() % (in_headers ? headers : 0x2c0);
		uint64_t value = absurd[random_next() % (sizeof absurd / sizeof *absurd)];

		if (!in_headers)
			at += TABLE_OFFSET;
		if (at < EI_NIDENT + 4) /* magic, machine: those are other tests */
			continue;
		if (random_next() % 3 == 0)
			image->bytes[at] = (uint8_t)random_next();
		else
			memcpy(image->bytes + at, &value, (size_t)1 << (random_next() % 4));
	}
}

static void test_scan_fuzz(void)
{
	static struct image image;
	struct prr_insn_sites sites = { 0 };
	size_t found = 0;
	int fd;

	build_full(&image);
	fd = file_of(image.bytes, sizeof image.bytes);
	for (int i = 0; i < 20000; ++i) {
		build_full(&image);
		mutate(&image);
		CHECK(pwrite(fd, image.bytes, sizeof image.bytes, 0) == sizeof image.bytes);
		OK(prr_insn_scan(fd, &sites, &error));
		check_sites(image.bytes, sizeof image.bytes, &sites);
		found += sites.count;
	}
	CHECK(found > 1000); /* the mutations did not all end at the first check */
	close(fd);
	prr_insn_sites_deinit(&sites);
}

/* A file made to cost time ends, and says what it left out. */
static void test_scan_bounded(void)
{
	static struct image image;
	enum { LEN = 1 << 21 };
	struct prr_insn_sites sites = { 0 };
	Elf64_Phdr segment;
	uint8_t *bytes = malloc(LEN);

	CHECK(bytes);
	for (size_t i = 0; i < LEN; i += 2)
		memcpy(bytes + i, (uint8_t[]){ 0x0f, 0xa2 }, 2);
	build(&image, probe, sizeof probe);
	memcpy(bytes, image.bytes, CODE_OFFSET);
	memcpy(&segment, bytes + sizeof(Elf64_Ehdr), sizeof segment);
	segment.p_filesz = segment.p_memsz = ~0ULL >> 1;
	memcpy(bytes + sizeof(Elf64_Ehdr), &segment, sizeof segment);
	scan_bytes(bytes, LEN, &sites);
	CHECK(sites.unexamined > 0);
	check_sites(bytes, LEN, &sites);
	free(bytes);
	prr_insn_sites_deinit(&sites);
}

/* A real file: this program holds prr_cpuid_read. */
static void test_scan_self(void)
{
	struct prr_insn_sites sites = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	off_t len = lseek(fd, 0, SEEK_END);
	uint8_t *bytes = mmap(NULL, (size_t)len, PROT_READ, MAP_PRIVATE, fd, 0);
	size_t cpuids = 0;

	CHECK(fd >= 0 && bytes != MAP_FAILED);
	OK(prr_insn_scan(fd, &sites, &error));
	check_sites(bytes, (size_t)len, &sites);
	for (size_t i = 0; i < sites.count; ++i)
		cpuids += sites.items[i].instruction == PRR_INSTRUCTION_CPUID;
	CHECK(cpuids >= 1);
	munmap(bytes, (size_t)len);
	close(fd);
	prr_insn_sites_deinit(&sites);
}

int main(void)
{
	prr_error_init(&error);
	test_classify();
	test_emulate_random();
	test_emulate_rdpid();
	test_emulate_cpuid();
	test_cpuid_mask();
	test_emulate_refuses();
	test_scan_function();
	test_scan_flow();
	test_scan_uncovered();
	test_scan_not_elf();
	test_scan_truncated();
	test_scan_fuzz();
	test_scan_bounded();
	test_scan_self();
	prr_error_deinit(&error);
	return 0;
}
