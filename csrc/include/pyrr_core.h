/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pyrr's C core: the only public header. cffi reads this very file, so it holds
 * declarations only: no inline functions, no macros with values that need a
 * compiler. Lines that begin with '#' and the words PRR_API and PRR_MUST_USE are
 * stripped by scripts/build_core.py before cffi parses the rest.
 *
 * Conventions
 *  - Every function that can fail returns enum prr_status and fills *err
 *    (owned by the caller: prr_error_init before, prr_error_deinit after).
 *  - Pointers are *borrowed* unless a comment says *owned*.
 *  - `_create` pairs with `_destroy` (NULL is fine), `_init` with `_deinit`.
 *  - All functions of one record or replay session are called from one OS
 *    thread: Linux ties a tracee to the tracing thread (ptrace(2)).
 */
#ifndef PYRR_CORE_H
#define PYRR_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRR_API __attribute__((visibility("default")))
#define PRR_MUST_USE __attribute__((warn_unused_result))

/* ------------------------------------------------------------------ errors */

enum prr_status {
	PRR_OK = 0,
	PRR_END = 1,             /* reader: no further event; not an error */
	PRR_ERR_SYSTEM = 2,      /* a system call of the supervisor failed: errnum */
	PRR_ERR_ENVIRONMENT = 3, /* this machine or container lacks something */
	PRR_ERR_TRACE = 4,       /* the trace is damaged, of another version, ... */
	PRR_ERR_DIVERGENCE = 5,  /* replay disagreed with the trace */
	PRR_ERR_UNSUPPORTED = 6, /* the tracee did what pyrr does not record */
	PRR_ERR_TRACEE_GONE = 7, /* a tracee vanished (killed from outside) */
	PRR_ERR_NOT_FOUND = 8,   /* the program does not exist */
	PRR_ERR_NOT_EXECUTABLE = 9, /* the program could not be run: errnum */
	PRR_ERR_INTERNAL = 10    /* a bug of pyrr's */
};

struct prr_error {
	enum prr_status status;
	int errnum;    /* errno of a failed system call, else 0 */
	char *message; /* owned; the fact with its value; NULL when status is OK */
	char *remedy;  /* owned; a command or step that helps; may be NULL */
};

PRR_API void prr_error_init(struct prr_error *err);
PRR_API void prr_error_deinit(struct prr_error *err);

/* --------------------------------------------------------------- the event */

/* A kernel thread of the tracee. Tids are reused, serials never are. */
struct prr_task_uid {
	int32_t tid;     /* as the supervisor's pid namespace shows it */
	uint32_t serial; /* from 1 */
};

/* x86-64 general registers in the order of struct user_regs_struct
 * (<sys/user.h>; checked by a _Static_assert in csrc/shared/regs.c). */
struct prr_regs {
	uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
	uint64_t rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, rflags, rsp, ss;
	uint64_t fs_base, gs_base, ds, es, fs, gs;
};

enum prr_arch { PRR_ARCH_X86_64 = 1 };

enum prr_event_kind {
	PRR_EVENT_SYSCALL = 1,         /* entry and exit in one */
	PRR_EVENT_SYSCALL_BLOCKED = 2, /* entered; another task ran before its exit */
	PRR_EVENT_SYSCALL_EXIT = 3,    /* the exit of a SYSCALL_BLOCKED */
	PRR_EVENT_SIGNAL = 4,          /* a signal took effect in this task */
	PRR_EVENT_INSTRUCTION = 5,     /* rdtsc, cpuid, rdrand, ... emulated */
	PRR_EVENT_EXIT = 6,            /* the task is gone */
	PRR_EVENT_TRACE_END = 7,       /* the whole tree has ended */
	PRR_EVENT_NOTE = 8,            /* a warning that belongs to this place */
	PRR_EVENT_PREEMPT = 9          /* the task was stopped inside user code, at `position` */
};

enum prr_origin {
	PRR_ORIGIN_KERNEL = 0,
	PRR_ORIGIN_POLICY = 1,        /* pyrr answered in the kernel's place */
	PRR_ORIGIN_INJECTED_FAULT = 2 /* later: simulation */
};

enum prr_output_kind {
	PRR_OUTPUT_BYTES = 0, /* bytes in the data stream */
	PRR_OUTPUT_STORE = 1, /* a range of a file in the trace's file store */
	PRR_OUTPUT_HOLE = 2   /* zeros */
};

/* Memory that an event wrote. len is at most PRR_OUTPUT_MAX; longer outputs are
 * several of these, in order of address. */
struct prr_output {
	uint32_t as_uid; /* AddressSpaceUid whose memory was written */
	uint32_t kind;   /* enum prr_output_kind */
	uint64_t addr;
	uint64_t len;
	uint32_t store_id;     /* PRR_OUTPUT_STORE only */
	uint64_t store_offset; /* PRR_OUTPUT_STORE only */
};
enum { PRR_OUTPUT_MAX = 1048576 };

/* Where in a slice an event lies (DESIGN section 6). All zero: at the event
 * that the slice runs into, which is the only place the foundation has. */
struct prr_position {
	uint64_t waypoint;
	uint64_t site;
	uint64_t hits;
	uint64_t steps;
};

/* A typed field: `tag` says which struct `data` holds. A reader skips fields it
 * does not know unless `required` is set, then it must refuse the trace. */
struct prr_field {
	uint16_t tag; /* enum prr_field_tag */
	bool required;
	uint32_t len;
	const uint8_t *data; /* borrowed; 8-aligned when it comes from a reader */
};

struct prr_event {
	uint64_t index; /* EventIndex, from 1 */
	uint16_t kind;  /* enum prr_event_kind */
	uint8_t arch;   /* enum prr_arch: tags regs */
	uint8_t origin; /* enum prr_origin */
	struct prr_task_uid task;
	uint32_t as_uid;
	uint64_t time_ns; /* CLOCK_MONOTONIC, since the recording began */
	struct prr_position position;
	struct prr_regs regs; /* the task's registers where the event begins */
	size_t output_count;
	const struct prr_output *outputs; /* borrowed until the next call */
	size_t field_count;
	const struct prr_field *fields; /* borrowed until the next call */
};

/* Tags of typed fields; each names a packed little-endian struct below or says
 * what bytes it holds. Never renumber: docs/TRACE_FORMAT.md. */
enum prr_field_tag {
	PRR_FIELD_SYSCALL = 1,     /* struct prr_field_syscall */
	PRR_FIELD_REGS_AFTER = 2,  /* struct prr_regs: registers after the event */
	PRR_FIELD_XSTATE_AFTER = 3, /* NT_X86_XSTATE bytes after the event */
	PRR_FIELD_MAPPING = 4,     /* struct prr_field_mapping, then path bytes */
	PRR_FIELD_UNMAP = 5,       /* struct prr_field_range */
	PRR_FIELD_NEW_TASK = 6,    /* struct prr_field_new_task */
	PRR_FIELD_EXEC = 7,        /* struct prr_field_exec, then path bytes */
	PRR_FIELD_SIGNAL = 8,      /* struct prr_field_signal */
	PRR_FIELD_SIGINFO = 9,     /* siginfo_t, 128 bytes */
	PRR_FIELD_INSTRUCTION = 10, /* struct prr_field_instruction */
	PRR_FIELD_EXIT = 11,       /* struct prr_field_exit */
	PRR_FIELD_FILE_CHANGE = 12, /* struct prr_field_file_change, then bytes */
	PRR_FIELD_PATCH = 13,      /* struct prr_field_patch */
	PRR_FIELD_TEXT = 14,       /* UTF-8 text of a NOTE */
	PRR_FIELD_ARGV = 15,       /* NUL-separated argv of an exec */
	PRR_FIELD_PAGE_HASHES = 16, /* struct prr_field_page_hash[] */
	PRR_FIELD_BRK = 17,        /* struct prr_field_brk */
	PRR_FIELD_RLIMIT = 18,     /* struct prr_field_rlimit */
	PRR_FIELD_ECHO = 19,       /* struct prr_field_echo, then bytes that went there */
	PRR_FIELD_ECHO_FD = 20,    /* struct prr_field_echo_fd: a descriptor leads there */
	PRR_FIELD_STORED_FILE = 21, /* struct prr_field_stored_file, before its first use */
	PRR_FIELD_POINT = 22,      /* struct prr_field_point: how a PREEMPT's place is named */
	PRR_FIELD_WORDS = 23,      /* struct prr_field_word[]: memory at that place */
	PRR_FIELD_PAGE = 24 /* struct prr_field_page, then the page as it is at that place */
};

enum prr_syscall_event_flag {
	PRR_SYSCALL_EVENT_NO_RETURN = 1 << 0 /* exit, exit_group: the task ends here */
};
struct prr_field_syscall {
	int64_t result; /* as rax shows it; -512..-516: restarted, see ARCHITECTURE */
	int32_t nr; /* the number for the event's arch */
	uint32_t flags; /* enum prr_syscall_event_flag */
};

/* One mapping as it now exists. Replay maps it with MAP_FIXED. */
struct prr_field_mapping {
	uint64_t start, len, offset; /* bytes */
	uint64_t dev, ino; /* identity of the object behind it; 0 none */
	uint64_t object_size; /* bytes of that object when mapped */
	uint32_t prot, flags; /* PROT_*, MAP_* that matter */
	uint32_t store_id; /* file store entry with the contents; 0 none */
	uint32_t kind; /* enum prr_mapping_kind */
};

enum prr_mapping_kind {
	PRR_MAPPING_ANON = 0,
	PRR_MAPPING_FILE_PRIVATE = 1,
	PRR_MAPPING_FILE_SHARED = 2,
	PRR_MAPPING_ANON_SHARED = 3,
	PRR_MAPPING_STACK = 4,
	PRR_MAPPING_HEAP = 5
};

struct prr_field_range {
	uint64_t start, len;
};

struct prr_field_new_task {
	int32_t tid; /* supervisor's view */
	uint32_t serial; /* of the new task */
	int32_t ns_tid; /* as the parent's pid namespace shows it */
	uint32_t as_uid; /* new, or the parent's with CLONE_VM */
	uint32_t group; /* serial of the new task's thread-group leader */
	uint32_t parent; /* serial of the creating task */
	uint64_t flags; /* CLONE_* */
	uint64_t stack; /* stack pointer of the child, 0: the parent's */
	uint64_t tls;
};

struct prr_field_exec {
	uint32_t as_uid; /* of the new image */
	int32_t old_tid; /* tid of the calling thread before it became the leader */
	uint64_t stack_limit; /* RLIMIT_STACK soft limit, bytes */
	uint64_t brk_start;
};

enum prr_signal_place {
	PRR_SIGNAL_AT_EVENT = 0, /* no instruction since the task's last event */
	PRR_SIGNAL_AT_ENTRY = 1, /* at the entry of the next syscall, backed up */
	PRR_SIGNAL_AT_FAULT = 2 /* the instruction itself raises it again */
};
enum prr_signal_effect {
	PRR_SIGNAL_HANDLER = 0, /* outputs hold the frame; REGS_AFTER, XSTATE_AFTER */
	PRR_SIGNAL_IGNORED = 1,
	PRR_SIGNAL_FATAL = 2,
	PRR_SIGNAL_STOPPED = 3
};
struct prr_field_signal {
	int32_t signo;
	uint32_t place; /* enum prr_signal_place */
	uint32_t effect; /* enum prr_signal_effect */
	uint32_t altstack_flags;
	uint64_t mask; /* the task's blocked set after delivery */
	uint64_t altstack_sp, altstack_size;
};

enum prr_instruction {
	PRR_INSTRUCTION_RDTSC = 1,
	PRR_INSTRUCTION_RDTSCP = 2,
	PRR_INSTRUCTION_CPUID = 3,
	PRR_INSTRUCTION_RDRAND = 4,
	PRR_INSTRUCTION_RDSEED = 5,
	PRR_INSTRUCTION_RDPID = 6
};
struct prr_field_instruction {
	uint32_t instruction; /* enum prr_instruction */
	uint32_t length; /* bytes: rip advances by this */
};

struct prr_field_exit {
	int32_t status; /* wait status of the task, as wait4 shows it */
	uint32_t group_exit; /* 1: the whole thread group ended with it */
};

struct prr_field_file_change {
	uint64_t dev, ino;
	uint64_t offset; /* of the bytes that follow */
	uint64_t size; /* of the object after the change */
	uint64_t len; /* bytes that follow */
};

struct prr_field_patch {
	uint64_t addr;
	uint8_t original[8];
	uint8_t patched[8];
	uint32_t length; /* bytes replaced, 1..8 */
	uint32_t instruction; /* enum prr_instruction of the original */
};

struct prr_field_page_hash {
	uint64_t addr;
	uint64_t hash; /* prr_page_hash of its 4096 bytes, dead stack taken as zeros */
};
/* docs/TRACE_FORMAT.md has the formula. `page`: 4096 bytes. */
PRR_API uint64_t prr_page_hash(const void *page);

struct prr_field_brk {
	uint64_t old_end, new_end; /* page-aligned ends of the heap */
};

struct prr_field_rlimit {
	uint32_t resource;
	uint32_t reserved;
	uint64_t soft, hard;
};

/* What must stand in the file store under that id: checked before it is mapped. */
struct prr_field_stored_file {
	uint32_t store_id;
	uint32_t reserved;
	uint64_t size; /* bytes */
	uint64_t hash; /* of the contents: docs/TRACE_FORMAT.md */
};

struct prr_field_echo_fd {
	int32_t fd;
	uint32_t stream; /* 1 stdout, 2 stderr of the recording */
	uint32_t cloexec; /* 1: closed by an exec */
	uint32_t reserved;
};

enum prr_point_method {
	/* The first place in the slice with these registers, XSTATE and hashes of memory. */
	PRR_POINT_FINGERPRINT = 1,
	/* position.site is reached for the position.hits-th time in the slice. */
	PRR_POINT_COUNT = 2
};
enum prr_point_flag {
	/* The code at the place was read or written as data shortly before. */
	PRR_POINT_CODE_TOUCHED = 1 << 0
};
struct prr_field_point {
	uint32_t method; /* enum prr_point_method */
	/* Bit i: general register i, as encoded (rax rcx rdx rbx rsp rbp rsi rdi r8..r15),
	 * changed shortly before the place. */
	uint32_t varying;
	uint32_t flags; /* enum prr_point_flag */
	uint32_t code_len;
	uint8_t code[16]; /* what stands at the place; code_len of them */
};
/* Four bytes of memory near the place, for finding it. */
struct prr_field_word {
	uint64_t addr;
	uint32_t value;
	uint32_t varying; /* 1: changed shortly before the place */
};

/* 4096 bytes follow; dead stack in them is zeros, as in page hashes. */
struct prr_field_page {
	uint64_t addr;
};

struct prr_field_echo {
	uint32_t stream; /* 1 stdout, 2 stderr of the recording */
	uint32_t reserved;
};

/* ------------------------------------------------------------ trace writer */

struct prr_trace_writer;

/* Creates the event and data streams `events` and `data` in the existing
 * directory `dir`, which must not have them yet. *ret is owned. A write that
 * fails (a full disk) ends the trace after its last complete block: from then on
 * every call below but _destroy returns PRR_ERR_SYSTEM with that errno. SIGXFSZ
 * must be ignored. The writer reads no clock and starts no thread. */
PRR_API PRR_MUST_USE enum prr_status prr_trace_writer_create(
	const char *dir, struct prr_trace_writer **ret, struct prr_error *err);
/* Flushes nothing: call prr_trace_writer_finish first. */
PRR_API void prr_trace_writer_destroy(struct prr_trace_writer *writer);

/* An event is begun, filled, committed. `head` gives kind, arch, origin, task,
 * as_uid, time_ns, position and regs; its index and pointers are ignored. */
PRR_API void prr_trace_writer_begin(struct prr_trace_writer *writer, const struct prr_event *head);
/* Appends memory output; any length (split at PRR_OUTPUT_MAX). Data is copied. */
PRR_API PRR_MUST_USE enum prr_status prr_trace_writer_output(struct prr_trace_writer *writer,
	uint32_t as_uid, uint64_t addr, const void *data, size_t len, struct prr_error *err);
PRR_API PRR_MUST_USE enum prr_status prr_trace_writer_output_ref(
	struct prr_trace_writer *writer, const struct prr_output *output, struct prr_error *err);
PRR_API PRR_MUST_USE enum prr_status prr_trace_writer_field(struct prr_trace_writer *writer,
	uint16_t tag, bool required, const void *data, size_t len, struct prr_error *err);
/* *index gets the new event's EventIndex; may be NULL. */
PRR_API PRR_MUST_USE enum prr_status prr_trace_writer_commit(
	struct prr_trace_writer *writer, uint64_t *index, struct prr_error *err);
/* Drops what was begun and not committed. */
PRR_API void prr_trace_writer_abandon(struct prr_trace_writer *writer);
/* Writes out complete blocks of all committed events: data first. What is not
 * flushed (up to 64 KiB of events, 1 MiB of data) is lost if the supervisor is
 * killed, so call it when the tracees are all waiting. Costs a block header. */
PRR_API PRR_MUST_USE enum prr_status prr_trace_writer_flush(
	struct prr_trace_writer *writer, struct prr_error *err);
PRR_API PRR_MUST_USE enum prr_status prr_trace_writer_finish(
	struct prr_trace_writer *writer, struct prr_error *err);
/* EventIndex of the last committed event; 0 none. After a failed write: that of
 * the last event in the trace. */
PRR_API uint64_t prr_trace_writer_last_index(const struct prr_trace_writer *writer);

/* ------------------------------------------------------------ trace reader */

struct prr_trace_reader;

/* *ret is owned. Never trusts a length or offset of the files. */
PRR_API PRR_MUST_USE enum prr_status prr_trace_reader_create(
	const char *dir, struct prr_trace_reader **ret, struct prr_error *err);
PRR_API void prr_trace_reader_destroy(struct prr_trace_reader *reader);
/* PRR_OK: *ret is the next event, borrowed until the next call on this reader.
 * PRR_END: the last complete block has been read; see _end_reason.
 * PRR_ERR_TRACE: an undecodable field marked required, or I/O trouble. After
 * either the same call gives the same answer again, unless the trace grew. */
PRR_API PRR_MUST_USE enum prr_status prr_trace_reader_next(
	struct prr_trace_reader *reader, const struct prr_event **ret, struct prr_error *err);
/* The bytes of outputs[i] of the event last returned: *data is borrowed until
 * the next call on this reader. PRR_OUTPUT_BYTES only. */
PRR_API PRR_MUST_USE enum prr_status prr_trace_reader_output_data(
	struct prr_trace_reader *reader, size_t i, const uint8_t **data, struct prr_error *err);
/* Positions the reader so that _next returns event `index` (or the first one
 * after the last complete block's end: PRR_END). `index` is at least 1. */
PRR_API PRR_MUST_USE enum prr_status prr_trace_reader_seek(
	struct prr_trace_reader *reader, uint64_t index, struct prr_error *err);
/* After PRR_END: NULL if the trace ended with a TRACE_END event, else one line
 * saying where and why it ends early. Borrowed. */
PRR_API const char *prr_trace_reader_end_reason(const struct prr_trace_reader *reader);

/* What naming places inside user code, or finding them again, took so far. */
struct prr_point_stats {
	uint64_t points; /* PREEMPT events */
	uint64_t counted; /* of these, by counting arrivals at a site */
	uint64_t candidates; /* finding: stops at the site */
	uint64_t hashed; /* times that all memory was hashed */
	uint64_t spent_ns; /* naming: the task stood still; finding: the whole slice */
	uint64_t signals, signal_delay_ns, signal_delay_max_ns; /* held until such a place */
};

/* ------------------------------------------------------------------ record */

struct prr_record;

struct prr_record_options {
	const char *program; /* resolved path of the executable */
	const char *const *argv; /* NULL-terminated */
	const char *const *envp; /* NULL-terminated */
	int32_t cpu; /* core for supervisor and tracees */
	uint64_t slice_ns; /* fair share of one task before another may run */
	bool always_switch; /* another task after every event, where there is one */
	bool always_preempt; /* a PREEMPT at the end of every slice, whoever waits */
	uint32_t point_ratio; /* naming places takes at most 1/point_ratio of the time; 0 any */
	uint32_t hash_ratio; /* page hashes take at most 1/hash_ratio of the time; 0 none */
};

enum prr_record_stop_kind {
	PRR_RECORD_STOP_ENDED = 1, /* the whole tree is gone */
	PRR_RECORD_STOP_STORE_FILE = 2, /* save a file, then prr_record_file_stored */
	PRR_RECORD_STOP_INTERRUPTED = 3, /* a signal reached the supervisor */
	PRR_RECORD_STOP_WARNING = 4 /* tell the user `text`; go on */
};

/* Why the C loop came back. Strings are borrowed until the next run. */
struct prr_record_stop {
	uint32_t kind; /* enum prr_record_stop_kind */
	int32_t status; /* ENDED: wait status of the recorded program itself */
	const char *path; /* STORE_FILE: opens the very file, e.g. /proc/PID/fd/N */
	const char *name; /* STORE_FILE: how the tracee names it */
	uint64_t dev, ino, size, mtime_ns, ctime_ns; /* STORE_FILE: its identity */
	bool cacheable; /* STORE_FILE: false for shared mappings: always copy */
	const char *text; /* WARNING */
};

/* Spawns the program, stopped at its exec. Pins the calling thread and the
 * tracees to options->cpu until _destroy. The writer is borrowed. */
PRR_API PRR_MUST_USE enum prr_status prr_record_create(const struct prr_record_options *options,
	struct prr_trace_writer *writer, struct prr_record **ret, struct prr_error *err);
/* Kills every tracee that is left, waits for them, unpins. */
PRR_API void prr_record_destroy(struct prr_record *session);
/* Runs until a decision is needed. */
PRR_API PRR_MUST_USE enum prr_status prr_record_run(
	struct prr_record *session, struct prr_record_stop *stop, struct prr_error *err);
/* Answers STORE_FILE. `content` is an open descriptor of the stored copy
 * (borrowed during the call): executable code in it is searched for
 * instructions that must be patched. */
PRR_API PRR_MUST_USE enum prr_status prr_record_file_stored(
	struct prr_record *session, uint32_t store_id, int content, struct prr_error *err);
/* Nanoseconds that the supervisor and the live tasks have waited for their core
 * so far, as the kernel counts them; 0 where it does not. */
PRR_API uint64_t prr_record_run_delay(const struct prr_record *session);
/* Moves supervisor and tracees to another core, between two runs. */
PRR_API PRR_MUST_USE enum prr_status prr_record_move(
	struct prr_record *session, int32_t cpu, struct prr_error *err);
/* No more can be written (a full disk): the program goes on, unrecorded. */
PRR_API void prr_record_end_trace(struct prr_record *session);
/* Has that happened? It was told of by a WARNING or by the caller. */
PRR_API bool prr_record_trace_ended(const struct prr_record *session);
PRR_API void prr_record_point_stats(const struct prr_record *session, struct prr_point_stats *ret);
/* Sends `signo` to every tracee's process; used to end a recording. */
PRR_API void prr_record_signal_all(struct prr_record *session, int signo);

/* ------------------------------------------------------------------ replay */

struct prr_replay;

struct prr_replay_options {
	const char *trace_dir;
	int32_t cpu;
	bool check_memory; /* compare page hashes where the trace has them */
	int32_t stdout_fd; /* echo of the recording's stdout; -1 none */
	int32_t stderr_fd;
	uint64_t echo_from;     /* EventIndex: what earlier events wrote is not echoed */
	/* EventIndexes, sorted, of places to be found without touching code: slow, for those
	 * that were missed (prr_replay_missed). May be NULL. */
	const uint64_t *careful;
	size_t careful_count;
};

enum prr_replay_stop_kind {
	PRR_REPLAY_STOP_ENDED = 1, /* all events of the trace are replayed */
	PRR_REPLAY_STOP_TRUNCATED = 2, /* the trace ends early: see the reader's reason */
	PRR_REPLAY_STOP_INTERRUPTED = 3
};

struct prr_replay_stop {
	uint32_t kind;
	int32_t status; /* ENDED: wait status of the recorded program itself */
	uint64_t event; /* EventIndex last replayed */
};

/* The reader is borrowed and must stand before the first event. */
PRR_API PRR_MUST_USE enum prr_status prr_replay_create(const struct prr_replay_options *options,
	struct prr_trace_reader *reader, struct prr_replay **ret, struct prr_error *err);
PRR_API void prr_replay_destroy(struct prr_replay *session);
/* Replays until the trace's end. PRR_ERR_DIVERGENCE: err says task, event,
 * expected and actual; prr_replay_event gives the event. */
PRR_API PRR_MUST_USE enum prr_status prr_replay_run(
	struct prr_replay *session, struct prr_replay_stop *stop, struct prr_error *err);
/* After PRR_ERR_DIVERGENCE: EventIndex of a PREEMPT whose place was missed while code was
 * changed for finding it, which the program may have noticed: worth another try with it
 * among options->careful. 0: it was something else. */
PRR_API uint64_t prr_replay_missed(const struct prr_replay *session);
PRR_API void prr_replay_point_stats(const struct prr_replay *session, struct prr_point_stats *ret);
/* EventIndex of the event being replayed, or last replayed. */
PRR_API uint64_t prr_replay_event(const struct prr_replay *session);

/* ------------------------------------------------------- inside a slice */

/* A place inside a slice: which slice, and a fingerprint of the state there. */
struct prr_place;

enum prr_slice_stop {
	PRR_SLICE_EVENT = 1, /* at the slice's end: its event can be replayed next */
	PRR_SLICE_PLACE = 2, /* at the place that was looked for */
	PRR_SLICE_LATE = 3   /* the time was up: in the program's code, before either */
};

/* Replays all events before `event`, whose task then stands where its last event left
 * it. PRR_END: the trace ends before. */
PRR_API PRR_MUST_USE enum prr_status prr_replay_run_to(
	struct prr_replay *session, uint64_t event, struct prr_error *err);
/* Runs the task of that event on for at most `limit_ns` (UINT64_MAX: no limit), to `place`
 * (NULL: none), or to the event. *stop: enum prr_slice_stop. A place of another slice is
 * PRR_ERR_INTERNAL; where none can be looked for: PRR_ERR_UNSUPPORTED. When a place was
 * looked for in a slice that a preemption by fingerprint ends, and PRR_SLICE_EVENT came,
 * the session has run beyond its event and is of no further use. */
PRR_API PRR_MUST_USE enum prr_status prr_replay_run_slice(struct prr_replay *session,
	const struct prr_place *place, uint64_t limit_ns, uint32_t *stop, struct prr_error *err);
/* Names the place where the session stands, after going on by some 32 instructions.
 * *ret is owned; NULL: so near to the event none can be. */
PRR_API PRR_MUST_USE enum prr_status prr_replay_name_place(
	struct prr_replay *session, struct prr_place **ret, struct prr_error *err);
/* Does it stand there? */
PRR_API PRR_MUST_USE enum prr_status prr_replay_is_at_place(struct prr_replay *session,
	const struct prr_place *place, bool *ret, struct prr_error *err);

/* A place out of the bytes of one; nothing in them is trusted. *ret is owned. */
PRR_API PRR_MUST_USE enum prr_status prr_place_create(
	const uint8_t *bytes, size_t len, struct prr_place **ret, struct prr_error *err);
PRR_API void prr_place_destroy(struct prr_place *place);
/* docs/TRACE_FORMAT.md describes them. Borrowed. */
PRR_API void prr_place_bytes(const struct prr_place *place, const uint8_t **bytes, size_t *len);
/* EventIndex of the event that its slice runs into. */
PRR_API uint64_t prr_place_event(const struct prr_place *place);
PRR_API void prr_place_position(const struct prr_place *place, struct prr_position *ret);

/* The core with the fewest runnable processes among those this process may use
 * (PITFALLS A10). -1 when the affinity mask cannot be read. */
PRR_API int32_t prr_choose_cpu(void);

/* ----------------------------------------------------------- facts of a CPU */

/* What decides whether register state fits (PITFALLS A16); 0: unknown. */
struct prr_cpu_state {
	uint64_t xcr0; /* enabled state components (Intel SDM vol. 1, 13.3) */
	uint32_t xsave_size; /* bytes of an XSAVE area with all of them */
	uint32_t mxcsr_mask; /* valid bits of MXCSR */
};
PRR_API void prr_cpu_state(struct prr_cpu_state *ret);

struct prr_cpuid_answer {
	uint32_t eax, ebx, ecx, edx;
};
/* What a recorded program is told of this CPU. */
PRR_API void prr_cpu_leaf(uint32_t leaf, uint32_t subleaf, struct prr_cpuid_answer *ret);

/* ---------------------------------------------------------------- the clock */

/* Whether this machine's counter of conditional branches can name points inside a
 * slice (ARCHITECTURE section 6, the PMU clock). */
struct prr_clock_facts {
	bool pmu_usable; /* it passed the self-test: exact in every run */
	char cpu[64]; /* the CPU by its micro-architecture, or by family and model */
	char reason[256]; /* the fact that decided */
	char remedy[512]; /* a command or step; empty where none helps */
};
/* Runs the self-test in a child, bound to `core` (-1: any), where a counter can be
 * opened at all: then it takes about 50 ms, else no child is made. */
PRR_API void prr_clock_facts(int32_t core, struct prr_clock_facts *ret);

#endif
