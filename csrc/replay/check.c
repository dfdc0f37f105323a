/* SPDX-License-Identifier: GPL-2.0-or-later
 * Comparing replay with the trace; the only place that reports a Divergence. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "session.h"

static const char *instruction_name(uint32_t instruction)
{
	static const char *const names[] = {
		[PRR_INSTRUCTION_RDTSC] = "rdtsc",
		[PRR_INSTRUCTION_RDTSCP] = "rdtscp",
		[PRR_INSTRUCTION_CPUID] = "cpuid",
		[PRR_INSTRUCTION_RDRAND] = "rdrand",
		[PRR_INSTRUCTION_RDSEED] = "rdseed",
		[PRR_INSTRUCTION_RDPID] = "rdpid",
	};

	if (instruction >= sizeof(names) / sizeof(names[0]) || !names[instruction])
		return "an unknown instruction";
	return names[instruction];
}

static const char *expected_place(const struct prr_event *event, char *text, size_t size)
{
	const struct prr_field_instruction *instruction =
		prr_field_find(event, PRR_FIELD_INSTRUCTION, sizeof(*instruction), NULL, NULL);
	const struct prr_field_syscall *call =
		prr_field_find(event, PRR_FIELD_SYSCALL, sizeof(*call), NULL, NULL);
	const struct prr_field_signal *signal =
		prr_field_find(event, PRR_FIELD_SIGNAL, sizeof(*signal), NULL, NULL);

	if (call) {
		const struct prr_syscall_row *row = prr_syscall_row(call->nr);

		snprintf(text, size, "syscall %s (%d)", row ? row->name : "?", call->nr);
	} else if (signal) {
		snprintf(text, size, "signal %d", signal->signo);
	} else if (instruction) {
		snprintf(text, size, "%s", instruction_name(instruction->instruction));
	} else {
		snprintf(text, size, "event kind %u", event->kind);
	}
	return text;
}

enum prr_status prr_replay_diverged(struct prr_replay *s, struct prr_replay_task *t,
	struct prr_error *err, const char *format, ...)
{
	char place[128];
	char *actual;
	va_list args;

	va_start(args, format);
	int len = vasprintf(&actual, format, args);

	va_end(args);
	if (len < 0)
		actual = NULL;
	enum prr_status status = prr_fail(err, PRR_ERR_DIVERGENCE, 0,
		"please report it, with the trace and the program",
		"replay diverged at event %llu of task %d/%u\n"
		"  expected: %s at rip 0x%llx\n"
		"  actual:   %s",
		(unsigned long long)s->event->index, t->uid.tid, t->uid.serial,
		expected_place(s->event, place, sizeof(place)),
		(unsigned long long)s->event->regs.rip, actual ? actual : "?");

	free(actual);
	return status;
}

enum prr_status prr_replay_check_regs(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	uint64_t expected, actual;
	const char *name = prr_regs_difference(&s->event->regs, &t->regs, &expected, &actual);

	if (!name)
		return PRR_OK;
	return prr_replay_diverged(s, t, err,
		"register %s is 0x%llx, recorded 0x%llx (rip 0x%llx, orig_rax %lld)", name,
		(unsigned long long)actual, (unsigned long long)expected,
		(unsigned long long)t->regs.rip, (long long)t->regs.orig_rax);
}
