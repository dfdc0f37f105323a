/* SPDX-License-Identifier: GPL-2.0-or-later
 * Private to probe_code.c and probe_emit.c: how an instruction is to be displaced.
 *
 * Invariant: an instruction that has a form does the same wherever its copy stands, once
 * what the form names is re-targeted. */
#ifndef PRR_PROBE_FORM_H
#define PRR_PROBE_FORM_H

#include "probe_code.h"

enum {
	PRR_PROBE_JUMP_LEN = 5, /* jmp rel32 */
	PRR_PROBE_PAGE = 4096
};

enum prr_probe_form_kind {
	PRR_PROBE_FORM_PLAIN, /* goes on behind itself */
	PRR_PROBE_FORM_AWAY,  /* ret, jmp r/m: never does */
	PRR_PROBE_FORM_JCC,
	PRR_PROBE_FORM_JMP, /* direct */
	PRR_PROBE_FORM_CALL /* direct */
};

struct prr_probe_form {
	uint8_t kind; /* enum prr_probe_form_kind */
	uint8_t length;
	uint8_t condition;   /* JCC: low 4 bits of the opcode */
	uint8_t disp_offset; /* of the displacement of a rip-relative operand; 0: none */
	bool has_target;
	bool writes_code_like; /* as in struct prr_probe_insn */
	uint64_t target;       /* of the branch, or what the rip-relative operand names */
};

/* False: it cannot be displaced. */
bool prr_probe_form_of(uint64_t addr, const uint8_t *bytes, size_t len, struct prr_probe_form *ret);

#endif
