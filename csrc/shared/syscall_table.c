/* SPDX-License-Identifier: GPL-2.0-or-later
 * Lookup in the generated syscall table. */
#include "syscall_types.h"

#include "syscall_table.h"

#include "syscall_table_rows.inc"

/* Flags of a row that say nothing about the call. */
#define HOW_TO_LOOK_UP ((uint32_t)(PRR_SYSCALL_BY_COMMAND | PRR_SYSCALL_COMMANDS_OPTIONAL))

enum { ROW_COUNT = sizeof(syscall_rows) / sizeof(syscall_rows[0]) };

/* For numbers that no header knows. */
static const struct prr_arg_spec no_args[6];

const struct prr_syscall_row *prr_syscall_row(int64_t nr)
{
	if (nr < 0 || nr >= ROW_COUNT || !syscall_rows[nr].name)
		return NULL;
	return &syscall_rows[nr];
}

static const struct prr_syscall_command *find_command(
	const struct prr_syscall_row *row, uint64_t command)
{
	uint32_t low = 0, high = row->command_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (row->commands[middle].command < command)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < row->command_count && row->commands[low].command == command)
		return &row->commands[low];
	return NULL;
}

static void use_command(struct prr_syscall_view *view, const struct prr_syscall_command *command)
{
	view->name = command->name;
	view->flags = command->flags;
	view->refuse_errno = command->refuse_errno;
	view->args = command->args;
	view->changed_fd_arg = command->changed_fd_arg;
	if (command->record_handler)
		view->record_handler = command->record_handler;
	if (command->replay_handler)
		view->replay_handler = command->replay_handler;
}

static void use_unknown(struct prr_syscall_view *view)
{
	const struct prr_syscall_row *row = view->row;

	if (row->flags & PRR_SYSCALL_COMMANDS_OPTIONAL)
		return;
	view->known = false;
	view->refuse_errno = row->unknown_errno;
	view->flags = row->unknown_errno ? PRR_SYSCALL_REFUSED : PRR_SYSCALL_ENDS_RECORDING;
}

struct prr_syscall_view prr_syscall_view(int64_t nr, const uint64_t args[6])
{
	const struct prr_syscall_row *row = prr_syscall_row(nr);
	struct prr_syscall_view view = {
		.row = row,
		.name = "unknown",
		.flags = PRR_SYSCALL_REFUSED,
		.refuse_errno = ENOSYS,
		.args = no_args,
		.changed_fd_arg = PRR_NO_ARG,
	};

	if (!row)
		return view;
	view.name = row->name;
	view.flags = row->flags & ~HOW_TO_LOOK_UP;
	view.refuse_errno = row->refuse_errno;
	view.args = row->args;
	view.record_handler = row->record_handler;
	view.replay_handler = row->replay_handler;
	view.changed_fd_arg = row->changed_fd_arg;
	view.known = true;
	if (!(row->flags & PRR_SYSCALL_BY_COMMAND))
		return view;

	uint64_t command = args[row->command_arg] & row->command_mask;

	if (row->command_high_arg != PRR_NO_ARG)
		command |= args[row->command_high_arg] << 32;

	const struct prr_syscall_command *found = find_command(row, command);

	if (found)
		use_command(&view, found);
	else
		use_unknown(&view);
	return view;
}
