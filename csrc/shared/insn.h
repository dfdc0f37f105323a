/* SPDX-License-Identifier: GPL-2.0-or-later
 * Instructions that must not reach the CPU in a tracee: cpuid (no CPUID
 * faulting on AMD and in most VMs), rdrand, rdseed, rdpid. Found by real
 * disassembly in ELF files (sync points: FDE starts, symbols, section starts),
 * replaced by ud2, emulated at the SIGILL. */
#ifndef PRR_INSN_H
#define PRR_INSN_H

#include "pyrr_core.h"

struct prr_insn_site {
	uint64_t file_offset; /* of the first byte */
	uint8_t length;       /* of the instruction */
	uint8_t instruction;  /* enum prr_instruction */
};
struct prr_insn_sites { /* growable, sorted by file_offset */
	struct prr_insn_site *items; /* owned */
	size_t count, capacity;
	/* Byte pairs that may be sites and were not looked at, because the file
	 * holds absurdly many; 0 for every real program. */
	size_t unexamined;
};
/* {0} is a valid empty list too. */
void prr_insn_sites_init(struct prr_insn_sites *sites);
void prr_insn_sites_deinit(struct prr_insn_sites *sites);
/* Finds the sites in the executable segments of the ELF file open at fd (only
 * pread: the file may shrink meanwhile). Replaces what *sites held. A file that
 * is not x86-64 ELF, or is damaged, yields none: PRR_OK, count 0. Fast: byte
 * search for 0f a2 / 0f c7 first, disassembly only around hits. Says a site only
 * where it is sure (insn_sweep.h): a missed one costs the determinism of that
 * cpuid, a wrong one corrupts the program. */
PRR_MUST_USE enum prr_status prr_insn_scan(
	int fd, struct prr_insn_sites *sites, struct prr_error *err);

/* What kind of instruction stands in these bytes (at most 15 given)? Returns
 * enum prr_instruction or 0, and its length. Also used at SIGSEGV for rdtsc. */
uint32_t prr_insn_classify(const uint8_t *bytes, size_t len, uint32_t *length);

struct prr_cpuid {
	uint32_t eax, ebx, ecx, edx;
};
/* What this CPU answers. */
struct prr_cpuid prr_cpuid_read(uint32_t leaf, uint32_t subleaf);
/* Takes out of the answer of this leaf what differs between runs or cores, and
 * the features that programs then do not use: RDRAND, RDSEED, RTM, HLE,
 * TSXLDTRK, WAITPKG, RDPID, RDPRU. */
void prr_cpuid_mask(uint32_t leaf, uint32_t subleaf, struct prr_cpuid *data);

/* Emulates cpuid, rdrand, rdseed, rdpid on *regs from the original bytes (up to
 * 15). rip is advanced. cpuid: runs it here (the supervisor is pinned to the
 * tracees' core) and masks RDRAND, RDSEED, RTM, HLE, WAITPKG, RDPID, the APIC
 * ids and core numbers (leaves 1, 0xB, 0x1F, 0x8000001E) so that all cores
 * answer alike; XSAVE sizes stay. rdrand, rdseed: from getrandom, CF set.
 * rdpid: `core` (Linux keeps node << 12 | core there). rflags' RF, which the
 * fault set, is cleared. PRR_ERR_INTERNAL when the bytes hold something else. */
PRR_MUST_USE enum prr_status prr_insn_emulate(uint32_t instruction, const uint8_t *bytes,
	size_t len, uint32_t core, struct prr_regs *regs, struct prr_error *err);

#endif
