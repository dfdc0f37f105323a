/* SPDX-License-Identifier: GPL-2.0-or-later
 * See bpf.h. Follows bpf_check_classic and check_load_and_stores of
 * net/core/filter.c, seccomp_check_filter and seccomp_run_filters of
 * kernel/seccomp.c (Linux 3.5 to 6.18: the same rules). */
#include "bpf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_ERRNO = 4095,
	/* seccomp.c: MAX_INSNS_PER_PATH, and what each filter in a chain costs
	 * beside its instructions. The kernel counts them translated to eBPF, so
	 * its limit comes somewhat earlier. */
	MAX_PATH = (1 << 18) / sizeof(struct sock_filter),
	FILTER_PENALTY = 4
};

struct prr_seccomp_filter {
	struct prr_seccomp_filter *older; /* owned reference; NULL: none */
	size_t references;
	size_t path; /* instructions and penalties from here to the oldest */
	size_t count;
	struct sock_filter program[];
};

/* ------------------------------------------------------------------- check */

/* Opcodes that seccomp_check_filter lets through. */
static bool allowed(uint16_t code)
{
	switch (code) {
	case BPF_LD | BPF_W | BPF_ABS:
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_LDX | BPF_W | BPF_LEN:
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM:
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
	case BPF_ST:
	case BPF_STX:
	case BPF_MISC | BPF_TAX:
	case BPF_MISC | BPF_TXA:
	case BPF_RET | BPF_K:
	case BPF_RET | BPF_A:
	case BPF_ALU | BPF_ADD | BPF_K:
	case BPF_ALU | BPF_ADD | BPF_X:
	case BPF_ALU | BPF_SUB | BPF_K:
	case BPF_ALU | BPF_SUB | BPF_X:
	case BPF_ALU | BPF_MUL | BPF_K:
	case BPF_ALU | BPF_MUL | BPF_X:
	case BPF_ALU | BPF_DIV | BPF_K:
	case BPF_ALU | BPF_DIV | BPF_X:
	case BPF_ALU | BPF_AND | BPF_K:
	case BPF_ALU | BPF_AND | BPF_X:
	case BPF_ALU | BPF_OR | BPF_K:
	case BPF_ALU | BPF_OR | BPF_X:
	case BPF_ALU | BPF_XOR | BPF_K:
	case BPF_ALU | BPF_XOR | BPF_X:
	case BPF_ALU | BPF_LSH | BPF_K:
	case BPF_ALU | BPF_LSH | BPF_X:
	case BPF_ALU | BPF_RSH | BPF_K:
	case BPF_ALU | BPF_RSH | BPF_X:
	case BPF_ALU | BPF_NEG:
	case BPF_JMP | BPF_JA:
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JEQ | BPF_X:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_X:
	case BPF_JMP | BPF_JGT | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_X:
	case BPF_JMP | BPF_JSET | BPF_K:
	case BPF_JMP | BPF_JSET | BPF_X:
		return true;
	default:
		return false;
	}
}

/* The operands of the instruction at pc, alone. */
static bool check_operands(const struct sock_filter *insn, size_t pc, size_t count)
{
	size_t after = count - pc - 1; /* instructions after this one */

	switch (insn->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		return insn->k < sizeof(struct seccomp_data) && insn->k % 4 == 0;
	case BPF_ALU | BPF_DIV | BPF_K:
		return insn->k != 0;
	case BPF_ALU | BPF_LSH | BPF_K:
	case BPF_ALU | BPF_RSH | BPF_K:
		return insn->k < 32;
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
	case BPF_ST:
	case BPF_STX:
		return insn->k < BPF_MEMWORDS;
	case BPF_JMP | BPF_JA:
		return insn->k < after;
	default:
		return BPF_CLASS(insn->code) != BPF_JMP || (insn->jt < after && insn->jf < after);
	}
}

/* Whether every path stores a scratch word before it loads it. One forward pass
 * is enough: jumps only go forward. valid[pc] are the words that all jumps to pc
 * have stored. As in the kernel, a RET's words flow on to what follows it. */
static bool check_scratch(const struct sock_filter *filter, size_t count, uint16_t *valid)
{
	uint16_t words = 0;

	for (size_t pc = 0; pc < count; ++pc) {
		const struct sock_filter *insn = &filter[pc];

		words &= valid[pc];
		switch (insn->code) {
		case BPF_ST:
		case BPF_STX:
			words |= (uint16_t)(1U << insn->k);
			break;
		case BPF_LD | BPF_MEM:
		case BPF_LDX | BPF_MEM:
			if (!(words & (1U << insn->k)))
				return false;
			break;
		case BPF_JMP | BPF_JA:
			valid[pc + 1 + insn->k] &= words;
			words = 0xffff;
			break;
		default:
			if (BPF_CLASS(insn->code) != BPF_JMP)
				break;
			valid[pc + 1 + insn->jt] &= words;
			valid[pc + 1 + insn->jf] &= words;
			words = 0xffff;
			break;
		}
	}
	return true;
}

bool prr_bpf_check(const struct sock_filter *filter, size_t count)
{
	uint16_t valid[BPF_MAXINSNS];

	if (count == 0 || count > BPF_MAXINSNS)
		return false;
	for (size_t pc = 0; pc < count; ++pc) {
		if (!allowed(filter[pc].code) || !check_operands(&filter[pc], pc, count))
			return false;
	}
	if (filter[count - 1].code != (BPF_RET | BPF_K) &&
		filter[count - 1].code != (BPF_RET | BPF_A))
		return false;
	memset(valid, 0xff, sizeof valid);
	return check_scratch(filter, count, valid);
}

/* --------------------------------------------------------------------- run */

struct machine {
	uint32_t a, x;
	uint32_t scratch[BPF_MEMWORDS];
	bool failed; /* did what prr_bpf_check forbids */
	bool ended;  /* divided by zero: the program returns 0 */
};

static uint32_t *scratch_word(struct machine *machine, uint32_t k)
{
	if (k < BPF_MEMWORDS)
		return &machine->scratch[k];
	machine->failed = true;
	return &machine->scratch[0];
}

static uint32_t load_word(struct machine *machine, const struct seccomp_data *data, uint32_t k)
{
	uint32_t word = 0;

	if (k % 4 || k >= sizeof *data)
		machine->failed = true;
	else
		memcpy(&word, (const char *)data + k, sizeof word);
	return word;
}

/* Shifts by a register use its low five bits, as eBPF's 32-bit shifts do. */
static void run_alu(struct machine *machine, const struct sock_filter *insn)
{
	uint32_t operand = BPF_SRC(insn->code) == BPF_X ? machine->x : insn->k;

	switch (BPF_OP(insn->code)) {
	case BPF_ADD:
		machine->a += operand;
		break;
	case BPF_SUB:
		machine->a -= operand;
		break;
	case BPF_MUL:
		machine->a *= operand;
		break;
	case BPF_DIV:
		if (operand == 0)
			machine->ended = true;
		else
			machine->a /= operand;
		break;
	case BPF_AND:
		machine->a &= operand;
		break;
	case BPF_OR:
		machine->a |= operand;
		break;
	case BPF_XOR:
		machine->a ^= operand;
		break;
	case BPF_LSH:
		machine->a <<= operand & 31;
		break;
	case BPF_RSH:
		machine->a >>= operand & 31;
		break;
	case BPF_NEG:
		machine->a = 0U - machine->a;
		break;
	default:
		machine->failed = true;
		break;
	}
}

/* How many instructions to skip. */
static size_t run_jump(struct machine *machine, const struct sock_filter *insn)
{
	uint32_t operand = BPF_SRC(insn->code) == BPF_X ? machine->x : insn->k;

	switch (BPF_OP(insn->code)) {
	case BPF_JA:
		return insn->k;
	case BPF_JEQ:
		return machine->a == operand ? insn->jt : insn->jf;
	case BPF_JGT:
		return machine->a > operand ? insn->jt : insn->jf;
	case BPF_JGE:
		return machine->a >= operand ? insn->jt : insn->jf;
	case BPF_JSET:
		return machine->a & operand ? insn->jt : insn->jf;
	default:
		machine->failed = true;
		return 0;
	}
}

static void run_load(
	struct machine *machine, const struct sock_filter *insn, const struct seccomp_data *data)
{
	uint32_t value = 0;

	switch (insn->code & ~7) { /* without the class: the mode, and W as size */
	case BPF_W | BPF_ABS:
		value = load_word(machine, data, insn->k);
		break;
	case BPF_W | BPF_LEN:
		value = sizeof *data;
		break;
	case BPF_IMM:
		value = insn->k;
		break;
	case BPF_MEM:
		value = *scratch_word(machine, insn->k);
		break;
	default:
		machine->failed = true;
		break;
	}
	if (BPF_CLASS(insn->code) == BPF_LD)
		machine->a = value;
	else
		machine->x = value;
}

uint32_t prr_bpf_run(
	const struct sock_filter *filter, size_t count, const struct seccomp_data *data)
{
	struct machine machine = { 0 };

	for (size_t pc = 0; pc < count && !machine.failed; ++pc) {
		const struct sock_filter *insn = &filter[pc];

		switch (BPF_CLASS(insn->code)) {
		case BPF_LD:
		case BPF_LDX:
			run_load(&machine, insn, data);
			break;
		case BPF_ST:
			*scratch_word(&machine, insn->k) = machine.a;
			break;
		case BPF_STX:
			*scratch_word(&machine, insn->k) = machine.x;
			break;
		case BPF_ALU:
			run_alu(&machine, insn);
			if (machine.ended)
				return 0;
			break;
		case BPF_JMP:
			pc += run_jump(&machine, insn);
			break;
		case BPF_RET:
			return BPF_RVAL(insn->code) == BPF_A ? machine.a : insn->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(insn->code) == BPF_TAX)
				machine.x = machine.a;
			else
				machine.a = machine.x;
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* ----------------------------------------------------------------- filters */

void prr_seccomp_filters_init(struct prr_seccomp_filters *filters)
{
	filters->newest = NULL;
}

void prr_seccomp_filters_deinit(struct prr_seccomp_filters *filters)
{
	struct prr_seccomp_filter *filter = filters->newest;

	while (filter && --filter->references == 0) {
		struct prr_seccomp_filter *older = filter->older;

		free(filter);
		filter = older;
	}
	filters->newest = NULL;
}

void prr_seccomp_filters_share(
	struct prr_seccomp_filters *filters, const struct prr_seccomp_filters *from)
{
	struct prr_seccomp_filter *newest = from->newest;

	if (newest)
		++newest->references; /* first: the two may be the same chain */
	prr_seccomp_filters_deinit(filters);
	filters->newest = newest;
}

int prr_seccomp_filters_add(
	struct prr_seccomp_filters *filters, const struct sock_filter *filter, size_t count)
{
	size_t path = count + (filters->newest ? filters->newest->path + FILTER_PENALTY : 0);
	struct prr_seccomp_filter *added;

	if (!prr_bpf_check(filter, count))
		return EINVAL;
	if (path > MAX_PATH)
		return ENOMEM;
	added = malloc(sizeof *added + count * sizeof *filter);
	if (!added)
		return ENOMEM;
	added->older = filters->newest; /* the reference moves along */
	added->references = 1;
	added->path = path;
	added->count = count;
	memcpy(added->program, filter, count * sizeof *filter);
	filters->newest = added;
	return 0;
}

bool prr_seccomp_filters_extend(
	const struct prr_seccomp_filters *filters, const struct prr_seccomp_filters *from)
{
	const struct prr_seccomp_filter *filter = filters->newest;

	while (filter && filter != from->newest)
		filter = filter->older;
	return filter == from->newest;
}

/* Precedence is the order of the actions as signed numbers, lowest first:
 * KILL_PROCESS, KILL_THREAD, TRAP, ERRNO, USER_NOTIF, TRACE, LOG, ALLOW. */
static int32_t precedence(uint32_t result)
{
	return (int32_t)(result & SECCOMP_RET_ACTION_FULL);
}

uint32_t prr_seccomp_evaluate(
	const struct prr_seccomp_filters *filters, const struct seccomp_data *data)
{
	const struct prr_seccomp_filter *filter;
	uint32_t result = SECCOMP_RET_ALLOW;

	for (filter = filters->newest; filter; filter = filter->older) {
		uint32_t one = prr_bpf_run(filter->program, filter->count, data);

		if (precedence(one) < precedence(result))
			result = one;
	}
	switch (result & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ERRNO:
		if ((result & SECCOMP_RET_DATA) > MAX_ERRNO)
			result = SECCOMP_RET_ERRNO | MAX_ERRNO;
		return result;
	case SECCOMP_RET_KILL_PROCESS:
	case SECCOMP_RET_KILL_THREAD:
	case SECCOMP_RET_TRAP:
	case SECCOMP_RET_USER_NOTIF:
	case SECCOMP_RET_TRACE:
	case SECCOMP_RET_LOG:
	case SECCOMP_RET_ALLOW:
		return result;
	default:
		return SECCOMP_RET_KILL_PROCESS | (result & SECCOMP_RET_DATA);
	}
}
