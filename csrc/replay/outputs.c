/* SPDX-License-Identifier: GPL-2.0-or-later
 * Writing what an event wrote. */
#include <errno.h>
#include <string.h>

#include "session.h"

/* A shared mapping without write permission takes no bytes from anybody: then
 * nothing can have been written there either, and what the recorder read back
 * must stand there already. */
static bool stands_there(pid_t tid, const struct prr_output *output, const uint8_t *data)
{
	uint8_t page[4096];
	uint64_t done = 0;

	while (done < output->len) {
		size_t want = output->len - done < sizeof(page) ? (size_t)(output->len - done)
								: sizeof(page);

		if (prr_mem_peek_some(tid, prr_remote(output->addr + done), page, want) != want ||
			memcmp(page, data + done, want) != 0)
			return false;
		done += want;
	}
	return true;
}

static bool failed_with_efault(const struct prr_replay *s)
{
	const struct prr_field_syscall *call =
		prr_field_find(s->event, PRR_FIELD_SYSCALL, sizeof(*call), NULL, NULL);

	return call && call->result == -EFAULT;
}

static enum prr_status write_output(struct prr_replay *s, size_t i, struct prr_error *err)
{
	const struct prr_output *output = &s->event->outputs[i];
	struct prr_replay_task *t = prr_replay_find_as(s, output->as_uid);
	const uint8_t *data;

	if (!t)
		return prr_fail(err, PRR_ERR_TRACE, 0, NULL,
			"event %llu writes address space %u, which does not exist there",
			(unsigned long long)s->event->index, output->as_uid);
	if (output->kind == PRR_OUTPUT_BYTES) {
		PRR_TRY(prr_trace_reader_output_data(s->reader, i, &data, err));
	} else if (output->kind == PRR_OUTPUT_HOLE) {
		memset(s->buffer, 0, (size_t)output->len);
		data = s->buffer;
	} else {
		return prr_fail(err, PRR_ERR_TRACE, 0,
			"replay it with the version of pyrr that recorded it",
			"event %llu has an output of unknown kind %u",
			(unsigned long long)s->event->index, output->kind);
	}
	/* A failed call's outputs are all that it may have written. Where nothing was,
	 * writing the same bytes would make a private copy of a file's page, which
	 * then no longer follows the file. */
	if (failed_with_efault(s) && stands_there(t->tid, output, data))
		return PRR_OK;
	/* The kernel may have written what the program's protection forbids. */
	if (prr_mem_write(t->tid, prr_remote(output->addr), data, (size_t)output->len) ||
		stands_there(t->tid, output, data) ||
		prr_mem_poke(t->tid, prr_remote(output->addr), data, (size_t)output->len))
		return PRR_OK;
	return prr_replay_diverged(s, t, err,
		"0x%llx, where %llu bytes were written, is not mapped",
		(unsigned long long)output->addr, (unsigned long long)output->len);
}

enum prr_status prr_replay_outputs(struct prr_replay *s, struct prr_error *err)
{
	for (size_t i = 0; i < s->event->output_count; i++)
		if (s->event->outputs[i].as_uid != s->written_as_uid)
			PRR_TRY(write_output(s, i, err));
	return PRR_OK;
}

enum prr_status prr_replay_outputs_of(struct prr_replay *s, uint32_t as_uid, struct prr_error *err)
{
	for (size_t i = 0; i < s->event->output_count; i++)
		if (s->event->outputs[i].as_uid == as_uid)
			PRR_TRY(write_output(s, i, err));
	s->written_as_uid = as_uid;
	return PRR_OK;
}

enum prr_status prr_replay_regs_after(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err)
{
	const struct prr_regs *after =
		prr_field_find(s->event, PRR_FIELD_REGS_AFTER, sizeof(*after), NULL, NULL);
	const uint8_t *xstate;
	size_t len;

	if (after) {
		memcpy(&t->regs, after, sizeof(t->regs));
		t->regs.orig_rax = (uint64_t)-1;
		t->regs_dirty = true;
	}
	if (prr_field_find(s->event, PRR_FIELD_XSTATE_AFTER, 0, &xstate, &len) &&
		!prr_ptrace_set_xstate(t->tid, xstate, len))
		return prr_fail(err, PRR_ERR_TRACE, 0,
			"replay on a machine with the recording's CPU features",
			"event %llu: this CPU does not take the recorded XSTATE (%zu bytes)",
			(unsigned long long)s->event->index, len);
	return PRR_OK;
}
