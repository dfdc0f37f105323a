/* SPDX-License-Identifier: GPL-2.0-or-later
 * The recording side's private structures.
 *
 * Concept. Tasks are serialised: at most one, `current`, runs tracee code. All
 * others are either stopped where the program would go on (PRR_TASK_READY), or
 * asleep inside a syscall (PRR_TASK_IN_SYSCALL), or job-control stopped, or on
 * their way out. A task runs user code from one event to the next; whatever the
 * kernel then tells it or writes to it becomes an event, appended before any
 * other task runs. So the order of events is the order of everything.
 *
 * Invariants
 *  - A READY task's `regs` are what it will run with; `regs_dirty` says that
 *    the kernel does not have them yet.
 *  - A task in state IN_SYSCALL whose BLOCKED event is written
 *    (`blocked_recorded`) can only come back by a SYSCALL_EXIT event or EXIT.
 *  - No other task's event is appended between a task's event and its outputs. */
#ifndef PRR_RECORD_SESSION_H
#define PRR_RECORD_SESSION_H

#include <signal.h>
#include <sched.h>

#include "../shared/bpf.h"
#include "../shared/error.h"
#include "../shared/fingerprint.h"
#include "../shared/insn.h"
#include "../shared/interrupter.h"
#include "../shared/layout.h"
#include "../shared/mappings.h"
#include "../shared/mem.h"
#include "../shared/outputs.h"
#include "../shared/page_hash.h"
#include "../shared/ptrace.h"
#include "../shared/regs.h"

#define PRR_SIGNAL_COUNT 65
/* XSAVE areas known today are below 12 KiB (AMX tiles included). */
#define PRR_XSTATE_MAX 16384

struct prr_patch_list { /* ud2 patches of an AddressSpace, sorted by addr */
	struct prr_field_patch *items; /* owned */
	size_t count, capacity;
};

struct prr_address_space {
	uint32_t uid;
	unsigned task_count; /* tasks that use it; freed at zero */
	struct prr_mappings mappings;
	struct prr_patch_list patches;
	uint64_t brk;        /* current end of the heap as the program knows it */
	struct prr_counting *counting;    /* owned; NULL: nothing was planted in it yet */
	struct prr_page_history *history; /* owned; NULL: no place was named in it yet */
};

struct prr_sighand { /* signal dispositions, shared by CLONE_SIGHAND */
	unsigned ref_count;
	struct prr_kernel_sigaction {
		uint64_t handler, flags, restorer, mask;
	} actions[PRR_SIGNAL_COUNT];
};

struct prr_group { /* ThreadGroup */
	unsigned ref_count;         /* tasks that point here, dead leader included */
	uint32_t leader_serial;
	pid_t tgid;
	unsigned task_count;        /* live tasks */
	struct prr_record_task *zombie_leader; /* dead, not yet reported by wait */
	int32_t exit_status;
	bool dying;                 /* exit_group or fatal signal seen */
};

enum prr_task_state {
	PRR_TASK_READY,      /* ptrace-stopped; may run */
	PRR_TASK_RUNNING,    /* resumed in user code: the current one */
	PRR_TASK_IN_SYSCALL, /* resumed inside a syscall */
	PRR_TASK_STOPPED,    /* job-control stop, listening */
	PRR_TASK_EXITING_SOON, /* resumed into exit or exit_group, or by a fatal signal */
	PRR_TASK_EXITING     /* past PTRACE_EVENT_EXIT */
};

/* What the kernel will write when a task dies or execs (PITFALLS A9). */
struct prr_death {
	struct prr_ranges words; /* futex words of its robust list */
	uint32_t *values;        /* owned; what each gets; 0: nobody sees it */
	uint64_t clear_child_tid;
	uint32_t as_uid;
};

struct prr_held_signal {
	siginfo_t info;
};

struct prr_stored_file { /* identity -> store entry, for mappings */
	uint64_t dev, ino, size, mtime_ns, ctime_ns;
	uint32_t store_id;
	bool shared; /* stored for a shared mapping: its code is not searched */
	uint64_t event; /* EventIndex of the event for which it was stored */
	bool stale;  /* a writable shared mapping changes the file unseen */
	bool announced; /* its STORED_FILE field is in the trace */
	uint64_t content_size, content_hash;
	struct prr_insn_sites sites;
	char *name; /* owned; how the tracee called it first */
};

/* A descriptor whose file nobody maps, as long as none was closed and no further
 * object mapped. */
struct prr_plain_fd {
	int32_t fd;
	uint32_t as_uid; /* an exec closes descriptors, too */
	uint64_t closes, additions;
};
enum { PRR_PLAIN_FDS = 8 };

/* Whether reads of a descriptor wait for no other task, as long as none was closed. */
struct prr_steady_fd {
	int32_t fd;
	uint32_t as_uid; /* an exec closes descriptors, too */
	uint64_t closes;
	bool steady;
};
enum { PRR_STEADY_FDS = 8 };

struct prr_local_mounts { /* descriptors.c */
	bool known, changed;
	uint64_t *ids; /* owned */
	size_t count;
};

enum prr_change_kind {
	PRR_CHANGE_NONE,
	PRR_CHANGE_FILE,  /* of a mapped file */
	PRR_CHANGE_MEMORY /* by /proc/PID/mem */
};
struct prr_change { /* what the call in progress changes beside its outputs */
	enum prr_change_kind kind;
	uint64_t dev, ino, size; /* of the file, before the call */
};

/* Bytes that the call in progress moves to the recording's stdout or stderr
 * without the program's memory. */
struct prr_transfer {
	uint32_t stream;   /* 1, 2; 0: none */
	bool known;        /* bytes holds them; else they can be read from the source */
	bool shortened;    /* to what is known */
	bool waiting;      /* stands at its entry until the source pipe has something */
	uint8_t *bytes;    /* owned */
	size_t len;
};

enum prr_scratch_step {
	PRR_SCRATCH_NO_STEP,
	PRR_SCRATCH_MAP,     /* a larger area, or the same one empty */
	PRR_SCRATCH_GUARD,   /* one more of the guards that the call needs */
	PRR_SCRATCH_UNGUARD, /* all of them away */
	PRR_SCRATCH_STACK    /* the kernel writes to where the stack has not grown yet */
};

struct prr_record_task {
	struct prr_record_task *next; /* in session->tasks, ring order */
	struct prr_task_uid uid;
	pid_t ns_tid;
	uint32_t parent_serial;
	struct prr_group *group;
	struct prr_address_space *as;
	struct prr_sighand *sighand;
	enum prr_task_state state;
	bool has_status; /* a wait status was collected and not yet treated */
	int status;
	struct prr_regs regs;
	bool regs_dirty;
	int stat_fd; /* /proc/TID/stat, -1 until needed */

	/* The syscall in progress. */
	struct prr_regs entry_regs;
	uint64_t args[6];
	int64_t nr;
	struct prr_syscall_view view;
	struct prr_outputs_entry outputs;
	struct prr_scratch scratch;
	uint64_t scratch_base, scratch_size; /* this task's area; 0 none */
	struct prr_scratch_guard guards[PRR_SCRATCH_GUARDS]; /* in it, now */
	size_t guard_count;
	bool scratch_bloated; /* holds much memory for nothing */
	/* The call in progress is one of ours, for scratch; the program's comes after it. */
	enum prr_scratch_step scratch_step;
	uint64_t stack_refused; /* the program's call: a stack does not grow down to there */
	bool leave_in_place;    /* the program's call: no more such steps */
	bool scratch_active;
	bool blocked_recorded;
	bool no_switch;       /* others must not run before this call's exit */
	int64_t restart_nr;   /* what restart_syscall goes on with */
	bool in_vfork;        /* parent asleep until the child execs or ends */
	bool exec_pending;    /* PTRACE_EVENT_EXEC seen, exit stop outstanding */
	bool exec_prepared;   /* the new image is claimed and described */
	pid_t exec_old_tid;
	struct prr_death exec_death; /* of the image that the exec replaces */
	char *exec_path;      /* owned; of the exec in progress */
	char *exec_argv;      /* owned; NUL-separated */
	size_t exec_argv_len;
	struct prr_field_mapping new_mapping; /* made by the mmap in progress */
	struct prr_stored_file *new_file;     /* borrowed; NULL: anonymous */
	char new_name[4096];
	struct prr_plain_fd plain_fds[PRR_PLAIN_FDS];
	struct prr_steady_fd steady_fds[PRR_STEADY_FDS];
	struct prr_change change;
	struct prr_transfer transfer;
	struct prr_task_uid new_child_uid; /* serial 0: none, or told of already */
	bool stripped_untraced;
	uint64_t clone_flags, clone_child_tid, clone_parent_tid, clone_stack, clone_tls;
	uint64_t clone_pidfd;

	/* Signals. */
	uint64_t sigmask;
	bool moved;           /* may have run instructions since its last event */
	/* The last event left it at an arbitrary instruction (handler, sigreturn), to
	 * which it may come back without another event. */
	bool vague_place;
	bool backed_up;       /* to before the instruction of the call to come */
	bool redo;            /* the call is entered again as if nothing had happened */
	/* Its call passed the entry stop and has not come to our filter: another one
	 * may answer it (outer.c). */
	bool before_filters;
	/* CLOCK_MONOTONIC: when the call in progress was entered; entered first, 0
	 * unless it was entered again. */
	uint64_t entered_ns, call_start_ns;
	bool sigmask_widened; /* ignored signals are blocked during the call */
	struct prr_held_signal *held; /* owned; taken off the kernel, not yet delivered */
	size_t held_count, held_capacity;
	struct prr_held_signal traps[2]; /* SIGTRAPs that wait blocked, taken out for steps */
	unsigned trap_count;
	bool traps_unsettled; /* steps were made, prr_record_settle_traps is outstanding */
	uint64_t held_since_ns; /* CLOCK_MONOTONIC: when the first of them came */
	uint64_t event_count;   /* of its events */
	bool at_point;          /* its last event is a PREEMPT */
	/* Looked at early in its slice, twice the same was in its registers: it waits. */
	bool spinning;
	uint64_t busy_rip;         /* a loop that looked like that, but changes memory; 0 none */
	unsigned samples;          /* looks in this slice, which began at... */
	uint64_t sample_slice_ns, sample_ns;
	uint64_t sample_regs[16], sample_rip; /* of the last look */
	bool interrupt_sent;    /* a PTRACE_INTERRUPT may still be pending: slice.c */
	uint64_t altstack_sp, altstack_size;
	uint32_t altstack_flags;
	int failed_signo;     /* the last handler frame found no stack; 0: it did */
	enum prr_signal_place failed_place;
	bool raise_pending;   /* `raised` waits for its carrier */
	siginfo_t raised;     /* caused by the call itself: SIGSYS of a filter */

	/* What the kernel writes when the task dies (PITFALLS A9). */
	uint64_t clear_child_tid;
	uint64_t robust_list;
	int32_t exit_code;
	bool exit_code_known;

	/* Emulated scheduling attributes (PITFALLS A11). */
	cpu_set_t affinity;
	int32_t policy, priority, nice;
	uint32_t tsc_mode; /* PR_TSC_* as the program set it */
	bool no_new_privs, undumpable;

	/* Seccomp as the program set it (PITFALLS A12). */
	struct prr_seccomp_filters filters;
	bool seccomp_strict;
};

struct prr_orphan_status { /* a child reported before its parent's clone event */
	pid_t tid;
	int status;
};

struct prr_hashing { /* hashes.c */
	uint64_t next_ns;  /* CLOCK_MONOTONIC: no sample before */
	uint64_t spent_ns; /* by all samples so far */
	uint64_t page_ns;  /* what a page took in the last one */
};

struct prr_points { /* point.c */
	uint64_t next_ns; /* CLOCK_MONOTONIC: no fingerprint is taken before */
	uint64_t next_spinning_ns; /* the same, of a task that spins */
	struct prr_point_stats stats;
};

struct prr_record {
	const struct prr_record_options *options;
	struct prr_trace_writer *writer;
	/* Resumed into a syscall, asleep, its BLOCKED event not yet written: it is
	 * written only when another task really runs before it comes back. */
	struct prr_record_task *pending_blocked;
	struct prr_record_task *tasks; /* ring in scheduling order; owned */
	size_t task_count;
	struct prr_record_task *current;
	uint32_t next_serial, next_as_uid;
	uint64_t start_ns, slice_start_ns, last_event_ns, last_flush_ns; /* CLOCK_MONOTONIC */
	struct prr_hashing hashing;
	struct prr_interrupter interrupter;
	struct prr_points points;
	cpu_set_t old_affinity, program_affinity;
	bool may_real_time; /* the program could have raised its priority */
	bool outer_filters; /* pyrr itself runs under seccomp filters (outer.c) */
	bool trace_ended;   /* the disk was full: the program goes on unrecorded */
	bool started;       /* the program's first exec is recorded */
	pid_t root_tid;
	int32_t root_status;
	bool root_status_known;
	int exec_error_fd;  /* the spawned child's errno when exec fails */
	struct prr_orphan_status *orphans; /* owned */
	size_t orphan_count, orphan_capacity;
	struct prr_mapped mapped; /* objects behind the mappings of all tasks */
	uint64_t next_anon_object;
	uint64_t closes; /* calls that closed descriptors */
	struct prr_local_mounts local_mounts;
	struct prr_stored_file *files; /* owned */
	size_t file_count, file_capacity;
	/* The Stop being asked for; strings owned. */
	struct prr_record_stop stop;
	bool stop_wanted;
	bool stop_shared;   /* STORE_FILE: for a shared mapping */
	char *stop_path, *stop_name, *stop_text;
	struct prr_ranges room; /* reused: outputs of a call at full size */
	uint8_t *buffer; /* owned; for copying outputs */
	size_t buffer_size;
	struct prr_fingerprint place; /* reused: the last one that was named */
	uint8_t xstate[PRR_XSTATE_MAX];
};

/* session.c */
struct prr_record_task *prr_record_find(struct prr_record *s, pid_t tid);
struct prr_record_task *prr_record_find_serial(struct prr_record *s, uint32_t serial);
PRR_MUST_USE enum prr_status prr_record_new_task(
	struct prr_record *s, pid_t tid, struct prr_record_task **ret, struct prr_error *err);
void prr_record_drop_task(struct prr_record *s, struct prr_record_task *t);
PRR_MUST_USE enum prr_status prr_record_want_warning(
	struct prr_record *s, char *text, struct prr_error *err);
void prr_address_space_unuse(struct prr_address_space *as);
void prr_sighand_unuse(struct prr_sighand *sighand);

/* wait.c: resuming and collecting stops */
PRR_MUST_USE enum prr_status prr_record_collect(
	struct prr_record *s, bool block, struct prr_error *err);
/* Waits for this task's next stop. *stopped is false when a signal to the
 * supervisor interrupted the wait. */
PRR_MUST_USE enum prr_status prr_record_wait_task(
	struct prr_record *s, struct prr_record_task *t, bool *stopped, struct prr_error *err);
bool prr_record_take_orphan(struct prr_record *s, pid_t tid, int *status);
bool prr_record_resume(struct prr_record_task *t, enum prr_resume how, int signo);
/* Resumes into the program's code, to stop at its next syscall whoever answers it. */
bool prr_record_go(const struct prr_record *s, struct prr_record_task *t, int signo);
/* Is a task that was resumed into a syscall asleep? Fills t->status when it
 * stopped instead. */
PRR_MUST_USE enum prr_status prr_record_is_asleep(
	struct prr_record *s, struct prr_record_task *t, bool *asleep, struct prr_error *err);
/* Has an exec by a sibling taken the dead leader t's tid? */
bool prr_record_exec_took(struct prr_record *s, struct prr_record_task *t);
char prr_proc_state(struct prr_record_task *t);

/* schedule.c */
PRR_MUST_USE enum prr_status prr_record_pick(struct prr_record *s, struct prr_error *err);
void prr_record_after_event(struct prr_record *s, bool yield);

/* slice.c: time slices inside user code */
/* Around waiting for a task that runs user code: only in between it may be
 * interrupted. */
void prr_slice_enter(struct prr_record *s, struct prr_record_task *t);
void prr_slice_leave(struct prr_record *s, struct prr_record_task *t);
/* t, in user code, stands at the stop of a PTRACE_INTERRUPT. */
PRR_MUST_USE enum prr_status prr_record_time_up(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);
/* Resumes t, which stands somewhere in user code, without an event. */
void prr_slice_go_on(const struct prr_record *s, struct prr_record_task *t);

/* point.c: writes the PREEMPT event of the place near which t stands. *made is
 * false when an event of its own is at hand or another stop came: t runs on. */
PRR_MUST_USE enum prr_status prr_record_point(
	struct prr_record *s, struct prr_record_task *t, bool *made, struct prr_error *err);

/* The PREEMPT event of the arrival at t->regs.rip that is number `hits` of its slice. */
PRR_MUST_USE enum prr_status prr_record_counted_point(
	struct prr_record *s, struct prr_record_task *t, uint64_t hits, struct prr_error *err);
/* slice.c: after such an event others get their turn, held signals theirs. */
PRR_MUST_USE enum prr_status prr_record_after_point(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);

/* event.c: writing events */
void prr_event_begin(struct prr_record *s, struct prr_record_task *t, enum prr_event_kind kind,
	enum prr_origin origin, const struct prr_regs *regs);
void prr_event_begin_at(struct prr_record *s, struct prr_record_task *t, enum prr_event_kind kind,
	enum prr_origin origin, const struct prr_regs *regs, const struct prr_position *position);
PRR_MUST_USE enum prr_status prr_event_memory(struct prr_record *s, struct prr_record_task *t,
	uint64_t addr, uint64_t len, struct prr_error *err);
/* Memory output whose bytes the caller has. */
PRR_MUST_USE enum prr_status prr_event_bytes(struct prr_record *s, uint32_t as_uid, uint64_t addr,
	const void *data, size_t len, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_event_field(
	struct prr_record *s, uint16_t tag, const void *data, size_t len, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_event_syscall_field(struct prr_record *s,
	struct prr_record_task *t, int64_t result, uint32_t flags, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_event_mapping(struct prr_record *s,
	const struct prr_field_mapping *mapping, const char *path, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_event_regs_after(
	struct prr_record *s, struct prr_record_task *t, bool xstate, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_event_commit(struct prr_record *s, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_event_note(
	struct prr_record *s, struct prr_record_task *t, const char *text, struct prr_error *err);

/* hashes.c */
enum prr_hash_occasion {
	PRR_HASH_IF_DUE,
	PRR_HASH_LAST_CHANCE /* the process ends: a small sample even if none is due */
};
/* Appends the hashes of t's memory to the begun event, where it is time. */
PRR_MUST_USE enum prr_status prr_record_hashes(struct prr_record *s, struct prr_record_task *t,
	enum prr_hash_occasion occasion, struct prr_error *err);

/* Appends the hashes of all of t's memory to the begun event. */
PRR_MUST_USE enum prr_status prr_record_point_hashes(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);
/* The same view of t's memory; view->stack_pointers is the caller's to free. */
PRR_MUST_USE enum prr_status prr_record_memory_view(struct prr_record *s, struct prr_record_task *t,
	struct prr_memory_view *view, struct prr_error *err);

/* syscall.c */
PRR_MUST_USE enum prr_status prr_record_entry(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);
/* What comes first at the entry of any call, t->regs being those of the stop: signals that are
 * held, and the program's own filters. *done: the call is not made now. */
PRR_MUST_USE enum prr_status prr_record_before_call(
	struct prr_record *s, struct prr_record_task *t, bool *done, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_record_exit(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);
/* Answers the syscall at whose seccomp stop t stands with `result`, not running
 * it; appends the event. */
PRR_MUST_USE enum prr_status prr_record_answer(struct prr_record *s, struct prr_record_task *t,
	int64_t result, const void *output, uint64_t output_addr, size_t output_len,
	struct prr_error *err);
/* The call at t's entry stop is not run: rax gets `result`. */
void prr_record_skip(struct prr_record *s, struct prr_record_task *t, int64_t result);
PRR_MUST_USE enum prr_status prr_record_blocked(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);

/* What a handler says about the call it saw. */
enum prr_handled {
	PRR_HANDLED_NORMAL, /* go on by the row's data */
	PRR_HANDLED_DONE,   /* the event is written, the call is finished */
	PRR_HANDLED_STOP    /* a Stop is wanted; come back to the same place */
};
/* Entry and exit handlers by record_handler (dispatch tables in handlers.c). */
typedef enum prr_status (*prr_record_handler_fn)(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
struct prr_record_handlers {
	prr_record_handler_fn entry; /* before the call runs */
	/* At the exit stop before the event begins: asks for what it needs. Must be
	 * repeatable: it is called again after a Stop. */
	prr_record_handler_fn prepare;
	/* After the outputs were appended to the begun event; may add fields and
	 * change the model. t->regs.rax holds the result. */
	prr_record_handler_fn exit;
};
struct prr_record_handlers prr_record_handlers(unsigned record_handler);

/* mm.c */
enum prr_status prr_record_mmap_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_mmap_prepare(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_mmap_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_munmap_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_munmap_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_mremap_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_mremap_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_range_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_mprotect_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_brk_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_shmat_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_shmdt_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);

enum prr_status prr_record_madvise_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);

/* changes.c: syscalls that change mapped files */
enum prr_status prr_record_write_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_write_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_close_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_open_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_open_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_truncate_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_truncate_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
/* Where the descriptor stands, and its open(2) flags. */
bool prr_record_fdinfo(
	const struct prr_record_task *t, int fd, uint64_t *position, unsigned int *flags);

/* descriptors.c */
/* Is the call in progress a read that waits for no other task? */
bool prr_record_reads_at_once(struct prr_record *s, struct prr_record_task *t);
/* May what a descriptor of t leads to be remembered? Not while another task is
 * inside a call that may yet close it. */
bool prr_record_may_remember(const struct prr_record *s, const struct prr_record_task *t);
enum prr_status prr_record_mount_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);

/* transfer.c: splice and its kin */
enum prr_status prr_record_transfer_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_transfer_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);

/* remote.c: writing other tasks' memory */
enum prr_status prr_record_vm_writev_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
/* Does `path` (of /proc/PID/fd) lead to a /proc/PID/mem? */
bool prr_record_is_memory(const char *path);
PRR_MUST_USE enum prr_status prr_record_memory_written(struct prr_record *s,
	struct prr_record_task *t, const char *path, int fd, struct prr_error *err);

/* files.c: contents behind mappings */
/* Fills in what stands behind the file mapping `mapping` (of which kind, prot and
 * offset are known): the file at `path`. Sets *handled to STOP and asks for its
 * contents when they are not stored yet. *file is NULL when the object is live:
 * replay has its contents already. */
PRR_MUST_USE enum prr_status prr_record_need_file(struct prr_record *s, const char *path,
	const char *name, struct prr_field_mapping *mapping, struct prr_stored_file **file,
	enum prr_handled *handled, struct prr_error *err);
/* Patches the sites of `file` inside the mapping; appends PATCH fields. */
PRR_MUST_USE enum prr_status prr_record_patch(struct prr_record *s, struct prr_record_task *t,
	const struct prr_field_mapping *mapping, const struct prr_stored_file *file,
	struct prr_error *err);
/* Appends STORED_FILE to the event at hand unless the trace has it already. */
PRR_MUST_USE enum prr_status prr_record_announce_file(
	struct prr_record *s, uint32_t store_id, struct prr_error *err);
const struct prr_field_patch *prr_patch_find(const struct prr_patch_list *patches, uint64_t addr);
PRR_MUST_USE enum prr_status prr_patches_copy(
	struct prr_patch_list *to, const struct prr_patch_list *from, struct prr_error *err);
void prr_patches_remove(struct prr_patch_list *patches, uint64_t start, uint64_t len);

/* Does the descriptor lead to the recording's stdout (1) or stderr (2)? 0: neither. */
uint32_t prr_record_stream(const struct prr_record_task *t, int32_t fd);
/* holes.c: adds the full room of outputs to `ranges` where a fault may have cut
 * the call short behind its result. */
PRR_MUST_USE enum prr_status prr_record_cut_short(struct prr_record *s, struct prr_record_task *t,
	int64_t result, struct prr_ranges *ranges, struct prr_error *err);

/* echo.c: descriptors that lead to the recording's stdout or stderr; fields of
 * the event that is being built */
PRR_MUST_USE enum prr_status prr_record_echo_inherited(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_record_echo_fds(
	struct prr_record *s, struct prr_record_task *t, int64_t result, struct prr_error *err);

/* process.c */
enum prr_status prr_record_clone_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_clone_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_exit_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_record_clone_event(
	struct prr_record *s, struct prr_record_task *t, int event, struct prr_error *err);

/* Appends the NEW_TASK field of the task that t just created. */
PRR_MUST_USE enum prr_status prr_record_new_task_field(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);

/* death.c */
PRR_MUST_USE enum prr_status prr_death_foresee(
	struct prr_record_task *t, struct prr_death *death, struct prr_error *err);
/* Appends those words as outputs, as they are now where another task still sees
 * the AddressSpace. */
PRR_MUST_USE enum prr_status prr_death_append(struct prr_record *s, struct prr_record_task *t,
	const struct prr_death *death, struct prr_error *err);
void prr_death_deinit(struct prr_death *death);
PRR_MUST_USE enum prr_status prr_record_exit_event(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_record_died(
	struct prr_record *s, struct prr_record_task *t, int status, struct prr_error *err);

/* exec.c */
enum prr_status prr_record_exec_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_record_exec_event(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);
enum prr_status prr_record_exec_prepare(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_exec_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);

/* signal.c */
PRR_MUST_USE enum prr_status prr_record_signal(
	struct prr_record *s, struct prr_record_task *t, int signo, struct prr_error *err);
/* Is there a held signal with an effect? */
bool prr_record_has_held(struct prr_record_task *t);
/* The call at whose entry t stands is answered, t->regs are what it goes on with:
 * a held signal comes right after it. */
PRR_MUST_USE enum prr_status prr_record_deliver_after_answer(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);
/* Is a signal pending that t takes before its next instruction? */
bool prr_record_signal_is_due(struct prr_record_task *t);
/* A SIGTRAP that waits blocked, in the thread's queue or the process's, would swallow those of
 * our steps and probes: it is taken out, and given back by prr_record_settle_traps. */
bool prr_record_trap_is_pending(struct prr_record_task *t);
PRR_MUST_USE enum prr_status prr_record_take_traps(
	struct prr_record_task *t, struct prr_error *err);
/* After our steps, where calls can be injected: what the kernel made of the mask and disposition
 * of SIGTRAP is undone, and what was taken out goes back. */
PRR_MUST_USE enum prr_status prr_record_settle_traps(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);
/* The part of it that can be done at any stop. */
void prr_record_restore_mask(struct prr_record_task *t, int signo);
/* Has the instruction before raised a signal that t has not taken yet? */
bool prr_record_fault_is_pending(struct prr_record_task *t);
/* t stands at a seccomp stop and has held signals: delivers them before the
 * syscall. *delivered is false when none could be. */
PRR_MUST_USE enum prr_status prr_record_deliver_at_entry(
	struct prr_record *s, struct prr_record_task *t, bool *delivered, struct prr_error *err);
/* Around a call that a signal makes fail with EINTR even when the signal is
 * ignored: the kernel wakes a traced task for ignored signals, which a bare run
 * would not notice. They are blocked meanwhile. */
void prr_record_shield(struct prr_record_task *t);
void prr_record_unshield(struct prr_record_task *t);
/* The call in progress answered EINTR though no signal with an effect is there
 * (SIGCONT wakes a seized task whatever its mask): it has to be entered again. */
bool prr_record_woken_for_nothing(struct prr_record_task *t, int64_t result);
/* Takes it off the kernel until it can be delivered, unless it would be ignored. */
PRR_MUST_USE enum prr_status prr_record_hold(
	struct prr_record_task *t, const siginfo_t *info, struct prr_error *err);
/* Did the instruction at hand raise it? */
bool prr_record_is_fault(int signo, const siginfo_t *info);
enum prr_status prr_record_sigaction_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_sigmask_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_sigaltstack_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
enum prr_status prr_record_sigreturn_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_record_restore_after_trap(
	struct prr_record *s, struct prr_record_task *t, int signo, struct prr_error *err);

/* Ends the call at whose entry t stands by a signal, as if it had caused it. */
PRR_MUST_USE enum prr_status prr_record_raise(struct prr_record *s, struct prr_record_task *t,
	const siginfo_t *info, struct prr_error *err);

/* outer.c: seccomp filters that were there before pyrr */
bool prr_record_has_outer_filters(void);
/* t, running, came to a syscall stop. */
PRR_MUST_USE enum prr_status prr_record_outer_stop(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);

/* seccomp.c: the program's own filters */
/* What they say of the call at whose entry t stands. *done: it is answered. */
PRR_MUST_USE enum prr_status prr_record_seccomp(
	struct prr_record *s, struct prr_record_task *t, bool *done, struct prr_error *err);
/* seccomp(2), and prctl(2)'s two commands. */
PRR_MUST_USE enum prr_status prr_record_seccomp_call(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);

/* instruction.c: rdtsc, cpuid, ... trapped as signals */
PRR_MUST_USE enum prr_status prr_record_instruction(struct prr_record *s, struct prr_record_task *t,
	int signo, const siginfo_t *info, bool *handled, struct prr_error *err);

/* vsyscall.c: t stands at the seccomp stop of a call into the vsyscall page */
PRR_MUST_USE enum prr_status prr_record_vsyscall(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);

/* emulate.c: answered, never run */
enum prr_status prr_record_emulate_entry(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err);

#endif
