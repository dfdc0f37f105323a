/* SPDX-License-Identifier: GPL-2.0-or-later
 * The syscall model as the C core sees it. Rows are generated from
 * pyrr/model/syscalls/ by scripts/gen_tables.py into syscall_table_rows.inc:
 * never edit that file.
 *
 * One row says, for each pointer argument, which way data flows and how large
 * it is; whether the call may block; which handler pair (record/, replay/)
 * treats what data cannot express; or that the call is refused by name. */
#ifndef PRR_SYSCALL_TABLE_H
#define PRR_SYSCALL_TABLE_H

#include "pyrr_core.h"

enum prr_direction {
	PRR_DIR_NONE = 0,
	PRR_DIR_IN = 1,
	PRR_DIR_OUT = 2,
	PRR_DIR_INOUT = 3,
	/* Written where it stands, never moved to scratch: futex words. */
	PRR_DIR_INOUT_IN_PLACE = 4
};

/* How many bytes a pointer argument covers. `arg` and `n` are the spec's. */
enum prr_size_kind {
	PRR_SIZE_FIXED = 0,        /* n bytes */
	PRR_SIZE_ARG = 1,          /* args[arg] bytes */
	PRR_SIZE_ARG_TIMES = 2,    /* args[arg] * n bytes */
	/* Room for args[arg] + n; min(result + n, room) written (msgrcv: n = 8). */
	PRR_SIZE_FROM_RESULT = 3,
	PRR_SIZE_RESULT_TIMES = 4, /* room for args[arg] * n; result * n written */
	/* A socklen_t / int at pointer args[arg]: room at entry; min(entry, exit)
	 * written. n, when not 0, is the most that the kernel ever writes. */
	PRR_SIZE_FROM_POINTEE = 5,
	PRR_SIZE_CSTRING = 6,      /* up to and with the NUL */
	PRR_SIZE_IOVEC = 7,        /* struct iovec[args[arg]]: the result is spread over them */
	PRR_SIZE_MSGHDR = 8,       /* struct msghdr and all that it points to */
	PRR_SIZE_MMSGHDR = 9,      /* struct mmsghdr[args[arg]] */
	PRR_SIZE_FDSET = 10,       /* fd_set of args[arg] descriptors, in whole longs */
	PRR_SIZE_STRING_ARRAY = 11, /* NULL-terminated char *[] (argv, envp): in only */
	PRR_SIZE_IOC = 12,         /* _IOC_SIZE of the command in args[arg] */
	PRR_SIZE_POLLFDS = 13,     /* struct pollfd[args[arg]]: only revents is written */
	PRR_SIZE_MMSGHDR_SENT = 14, /* struct mmsghdr[args[arg]]: only msg_len is written */
	PRR_SIZE_PAGE_BYTES = 15,  /* a byte for each page of args[arg] bytes (mincore) */
	/* A header of (n & 0xffff) bytes with a u32 count at offset `arg`, then that
	 * many elements of (n >> 16) bytes; the count is taken at entry. */
	PRR_SIZE_COUNTED = 16,
	PRR_SIZE_IFCONF = 17       /* struct ifconf and the buffer that it points to */
};

/* When an output is written. Recording more than the kernel wrote is harmless
 * without scratch (the bytes are what memory holds); less never is. */
enum prr_when {
	PRR_WHEN_SUCCESS = 0, /* result >= 0 */
	PRR_WHEN_ALWAYS = 1,  /* also when the call fails (timeouts, remainders) */
	PRR_WHEN_EINTR = 2,   /* only with EINTR or a restart code (nanosleep's rem) */
	PRR_WHEN_POSITIVE = 3, /* result > 0 (wait4's status: 0 means no child yet) */
	/* Like ALWAYS, but memory that is not writable is no error: the remaining
	 * time of select, pselect6 and ppoll (fs/select.c: poll_select_finish). */
	PRR_WHEN_IF_WRITABLE = 4
};

struct prr_arg_spec {
	uint8_t direction; /* enum prr_direction */
	uint8_t size;      /* enum prr_size_kind */
	uint8_t arg;       /* argument index the size kind refers to */
	uint8_t when;      /* enum prr_when */
	uint32_t n;
	/* args[arg] is an int or unsigned int: the kernel ignores its upper half. */
	bool arg_is_int;
	/* How dump prints it: "fd", "path", "hex", "struct timespec", ... */
	const char *format; /* borrowed */
	const char *name;   /* argument's name, borrowed */
};

enum prr_syscall_flag {
	PRR_SYSCALL_MAY_BLOCK = 1 << 0,
	PRR_SYSCALL_REFUSED = 1 << 1,       /* answered with refuse_errno, never run */
	PRR_SYSCALL_BY_COMMAND = 1 << 2,    /* args of sub-rows replace these, see commands */
	PRR_SYSCALL_CHANGES_FILES = 1 << 3, /* may change a mapped file: PITFALLS A7 */
	PRR_SYSCALL_EMULATED = 1 << 4, /* record handler answers, never run (affinity, ...) */
	PRR_SYSCALL_ENDS_RECORDING = 1 << 5, /* cannot be recorded or refused: clear end */
	/* BY_COMMAND: commands not listed use the row's own specs and are known. */
	PRR_SYSCALL_COMMANDS_OPTIONAL = 1 << 6
};

/* No such argument: changed_fd_arg, command_high_arg. */
enum { PRR_NO_ARG = 0xff };

struct prr_syscall_command {
	uint64_t command; /* value of the command argument after `mask` */
	const char *name;
	uint32_t flags; /* MAY_BLOCK, REFUSED, EMULATED, CHANGES_FILES */
	int32_t refuse_errno;
	uint8_t record_handler; /* of the command; 0: the row's own */
	uint8_t replay_handler;
	uint8_t changed_fd_arg; /* CHANGES_FILES of the command; see the row's */
	struct prr_arg_spec args[6];
};

struct prr_syscall_row {
	const char *name; /* NULL: no such number */
	uint32_t flags;
	int32_t refuse_errno; /* positive errno */
	uint8_t arg_count;
	uint8_t record_handler; /* enum prr_record_handler, 0 none */
	uint8_t replay_handler; /* enum prr_replay_handler, 0 none */
	uint8_t command_arg; /* BY_COMMAND: index of the command argument */
	/* The low 32 bits of this argument are the high half of the command
	 * (setsockopt: level, optname); PRR_NO_ARG: none. */
	uint8_t command_high_arg;
	/* CHANGES_FILES: the descriptor whose file is changed; PRR_NO_ARG: named by
	 * path (open with O_TRUNC, truncate), which the handler sorts out. */
	uint8_t changed_fd_arg;
	uint64_t command_mask; /* bits of it that select (futex: ~(PRIVATE|CLOCK_REALTIME)) */
	/* BY_COMMAND: answer for commands not listed; 0: ends the recording. */
	int32_t unknown_errno;
	uint32_t command_count;
	const struct prr_syscall_command *commands; /* sorted by command */
	struct prr_arg_spec args[6];
	const char *note; /* support note for docs and messages */
};

/* Generated enums: one value a handler name used in the model. */
#include "syscall_handlers.inc"

/* NULL when the number is in no header known to pyrr. */
const struct prr_syscall_row *prr_syscall_row(int64_t nr);
/* The effective argument specs, flags, refuse_errno and handlers of a call: the
 * sub-row's for BY_COMMAND, else the row's own: read these, not row->..., for
 * handlers differ by command (prctl, madvise, fcntl). An unlisted command has
 * known == false and REFUSED with the row's unknown_errno, or
 * ENDS_RECORDING when that is 0. A number in no header has row == NULL, and is
 * REFUSED with ENOSYS, as the kernel would answer. */
struct prr_syscall_view {
	const struct prr_syscall_row *row;
	const char *name; /* of the command, else of the row */
	uint32_t flags; /* enum prr_syscall_flag */
	int32_t refuse_errno;
	const struct prr_arg_spec *args; /* six; never NULL */
	uint8_t record_handler; /* enum prr_record_handler */
	uint8_t replay_handler; /* enum prr_replay_handler */
	uint8_t changed_fd_arg; /* CHANGES_FILES: argument index or PRR_NO_ARG */
	bool known;
};
struct prr_syscall_view prr_syscall_view(int64_t nr, const uint64_t args[6]);

#endif
