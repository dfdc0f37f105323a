/* SPDX-License-Identifier: GPL-2.0-or-later
 * Does an instruction really begin at this byte? x86 code has no marks between
 * its instructions, and a ud2 written into the middle of another instruction or
 * of a constant corrupts the program silently, while a cpuid that is left alone
 * only answers for the real CPU. So a sweep says yes only where it is sure:
 *
 *  - *proved*: control flow from the function's first byte (direct branches and
 *    fall-through) arrives exactly there, and no other flow disagrees;
 *  - *plausible*: the bytes are reached only by decoding on from where such a
 *    flow ended (jump tables, landing pads) or, where nothing says where the
 *    function begins, by nearly all decodings from earlier offsets (x86 code
 *    re-synchronises within a few instructions). Then the neighbours must look
 *    like code that wants the result: eax set shortly before a cpuid, the carry
 *    flag used shortly after rdrand and rdseed; nothing privileged or undefined.
 *
 * Works on bytes only; knows nothing of files. */
#ifndef PRR_INSN_SWEEP_H
#define PRR_INSN_SWEEP_H

#include "insn.h"

struct prr_sweep {
	const uint8_t *code; /* borrowed until the next prr_sweep_function */
	size_t len;
	uint8_t *marks; /* owned; one a byte of code */
	size_t marks_capacity;
	uint32_t *stack; /* owned; flow targets not followed yet */
	size_t stack_count, stack_capacity;
	uint64_t budget; /* instructions that may still be decoded */
};

enum {
	/* Longest function looked at as a whole, bytes. */
	PRR_SWEEP_MAX = 1 << 20,
	/* What prr_sweep_resync wants to see around a candidate, bytes. */
	PRR_SWEEP_BEFORE = 256,
	PRR_SWEEP_AFTER = 96
};

void prr_sweep_init(struct prr_sweep *sweep, uint64_t budget);
void prr_sweep_deinit(struct prr_sweep *sweep);

/* Follows the flow of the function code[0..len), len <= PRR_SWEEP_MAX. With
 * `entry_only` the end is a guess: only what flow proves is believed. */
PRR_MUST_USE enum prr_status prr_sweep_function(struct prr_sweep *sweep, const uint8_t *code,
	size_t len, bool entry_only, struct prr_error *err);

/* Whether the opcode byte 0f at `opcode` belongs to an instruction that
 * prr_insn_classify knows (rdtsc is not asked for) in the function last swept.
 * On true site->file_offset is relative to code. */
bool prr_sweep_verdict(struct prr_sweep *sweep, size_t opcode, struct prr_insn_site *site);

/* The same for bytes of no known function; code should reach PRR_SWEEP_BEFORE
 * bytes back and PRR_SWEEP_AFTER on. Forgets the function last swept. */
bool prr_sweep_resync(struct prr_sweep *sweep, const uint8_t *code, size_t len, size_t opcode,
	struct prr_insn_site *site);

#endif
