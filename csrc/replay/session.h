/* SPDX-License-Identifier: GPL-2.0-or-later
 * The replaying side's private structures.
 *
 * Concept. The trace is a list of events; each names a task. To replay an event
 * the task runs (nobody else does) from where its last event left it to where
 * this one begins: a syscall entry (PTRACE_SYSEMU stops there and runs nothing),
 * a trapped instruction, a fault. There its registers must be the recorded
 * ones. Then the event's outputs are written and its result set. Only what
 * shapes address spaces and the task tree is really executed, from pyrr's page.
 *
 * Invariant: between two events every tracee is stopped, and `regs` of a task
 * is what it goes on with (`regs_dirty`: the kernel does not have them yet). */
#ifndef PRR_REPLAY_SESSION_H
#define PRR_REPLAY_SESSION_H

#include <sched.h>

#include "../shared/error.h"
#include "../shared/fingerprint.h"
#include "../shared/inject.h"
#include "../shared/interrupter.h"
#include "../shared/layout.h"
#include "../shared/mappings.h"
#include "../shared/mem.h"
#include "../shared/page_history.h"
#include "../shared/ptrace.h"
#include "../shared/regs.h"
#include "../shared/syscall_table.h"

enum prr_arrival {
	PRR_ARRIVAL_SYSCALL, /* a syscall entry, not executed */
	PRR_ARRIVAL_SIGNAL,  /* a fault: *signo */
	PRR_ARRIVAL_LATE     /* none of these by s->deadline_ns; somewhere in user code */
};

struct prr_replay_as { /* AddressSpace */
	uint32_t uid;
	unsigned task_count;
	struct prr_mappings mappings;
	uint64_t memory_checked; /* EventIndex where its memory was last compared; 0 never */
};

struct prr_echo_fd { /* a descriptor that leads to the recording's stdout or stderr */
	int32_t fd;
	uint8_t stream; /* 1, 2 */
	bool cloexec;
};
struct prr_files { /* descriptor table, as far as the echo needs it */
	unsigned ref_count;
	struct prr_echo_fd *items; /* owned */
	size_t count, capacity;
};

struct prr_replay_task {
	struct prr_replay_task *next;
	struct prr_task_uid uid; /* recorded */
	pid_t tid;               /* of the live tracee */
	pid_t tgid;              /* its thread-group leader's live tid */
	uint32_t group;          /* recorded serial of the leader */
	struct prr_replay_as *as;
	struct prr_files *files;
	struct prr_regs regs;
	bool regs_dirty;
	bool zombie;             /* a dead leader with live siblings */
	struct prr_regs blocked_regs; /* entry of the SYSCALL_BLOCKED in progress */
};

struct prr_object { /* what stands behind the mappings of a live object */
	uint64_t dev, ino;
	int fd; /* memfd of the supervisor */
};

struct prr_stored { /* a file of the store, as the trace announces it */
	struct prr_field_stored_file field;
	bool checked;
};

struct prr_replay {
	const struct prr_replay_options *options;
	struct prr_trace_reader *reader;
	const struct prr_event *event; /* being replayed; borrowed */
	bool has_event; /* it has been read, and is not being replayed yet */
	bool is_beyond; /* its task has run on beyond it: of no use any more */
	struct {
		bool kept; /* its task has arrived where it begins */
		enum prr_arrival arrival;
		int signo;
	} arrived;
	/* The event is a PREEMPT: its task stands there; how often it has executed the
	 * instruction at the site in this slice (kept only while places in it are looked for). */
	bool at_preemption;
	uint64_t arrivals;
	struct prr_page_history *history; /* owned; of places named in the slice at hand */
	struct prr_replay_task *tasks; /* owned */
	struct prr_mapped mapped;      /* objects behind the mappings of all tasks */
	struct prr_object *objects;    /* owned */
	size_t object_count, object_capacity;
	struct prr_file_name { /* how the program called a mapped file */
		uint64_t dev, ino;
		char *path; /* owned */
	} *names; /* owned; kept for the check of memory only */
	size_t name_count, name_capacity;
	struct prr_stored *stored;     /* owned */
	size_t stored_count, stored_capacity;
	struct prr_point_stats points;
	struct prr_interrupter interrupter;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC: no task runs on beyond it */
	uint64_t missed; /* EventIndex; 0 none */
	uint64_t last_time_ns; /* time_ns of the event before */
	int stub_fd;                   /* memfd of the stub program */
	cpu_set_t old_affinity;
	uint64_t last_index;
	uint32_t written_as_uid; /* outputs of the event for it are written already */
	int32_t status;
	bool ended, interrupted;
	uint32_t root_serial;
	uint8_t *buffer;               /* owned; PRR_OUTPUT_MAX bytes */
};

/* session.c */
struct prr_replay_task *prr_replay_find(struct prr_replay *s, uint32_t serial);
struct prr_replay_task *prr_replay_find_as(struct prr_replay *s, uint32_t as_uid);
PRR_MUST_USE enum prr_status prr_replay_new_task(struct prr_replay *s, struct prr_task_uid uid,
	pid_t tid, struct prr_replay_task **ret, struct prr_error *err);
void prr_replay_drop_task(struct prr_replay *s, struct prr_replay_task *t);

/* fields.c: typed fields of the current event */
/* The first field with this tag of at least `size` bytes, or NULL. *rest and
 * *rest_len (may be NULL) get what follows the struct. */
const void *prr_field_find(const struct prr_event *event, uint16_t tag, size_t size,
	const uint8_t **rest, size_t *rest_len);

/* run.c: moving a task to its next event */
PRR_MUST_USE enum prr_status prr_replay_flush_regs(
	struct prr_replay_task *t, struct prr_error *err);
/* Signals sent from outside (Ctrl-C, SIGWINCH) are no part of the recording. */
bool prr_replay_is_from_outside(struct prr_replay_task *t, int signo);
PRR_MUST_USE enum prr_status prr_replay_advance(struct prr_replay *s, struct prr_replay_task *t,
	enum prr_arrival *arrival, int *signo, struct prr_error *err);
/* The same; what int 0x80 answered to the recording it answers here. */
PRR_MUST_USE enum prr_status prr_replay_advance_past_int80(struct prr_replay *s,
	struct prr_replay_task *t, enum prr_arrival *arrival, int *signo, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_replay_to_entry(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_replay_to_fault(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err);
/* Runs a syscall in the task from pyrr's page; its registers stay. */
PRR_MUST_USE enum prr_status prr_replay_syscall(struct prr_replay *s, struct prr_replay_task *t,
	uint64_t nr, const uint64_t args[6], int64_t *result, struct prr_error *err);

/* check.c */
PRR_MUST_USE enum prr_status prr_replay_diverged(struct prr_replay *s, struct prr_replay_task *t,
	struct prr_error *err, const char *format, ...) __attribute__((format(printf, 4, 5)));
PRR_MUST_USE enum prr_status prr_replay_check_regs(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err);

/* hashes.c: compares t's memory with the hashes that the event has, if any */
PRR_MUST_USE enum prr_status prr_replay_check_memory(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err);
/* t's memory; view->stack_pointers is the caller's to free. */
PRR_MUST_USE enum prr_status prr_replay_memory_view(struct prr_replay *s, struct prr_replay_task *t,
	struct prr_memory_view *view, struct prr_error *err);
/* False: it has none. *hashes is borrowed from the event. */
bool prr_replay_hashes_of(
	const struct prr_event *event, const struct prr_field_page_hash **hashes, size_t *count);
/* For finding a place. *page: the first that differs from its hashes; 0 none. */
PRR_MUST_USE enum prr_status prr_replay_memory_differs(struct prr_replay *s,
	struct prr_replay_task *t, const struct prr_fingerprint_view *place, uint64_t *page,
	struct prr_error *err);
/* The place's stored pages against memory: notes up to `room` words that differ, of any
 * page; returns how many. */
PRR_MUST_USE enum prr_status prr_replay_words_differ(struct prr_replay *s,
	struct prr_replay_task *t, const struct prr_fingerprint_view *place,
	struct prr_field_word *words, size_t room, size_t *count, struct prr_error *err);
/* Does this one page differ for certain? */
PRR_MUST_USE enum prr_status prr_replay_page_differs(struct prr_replay *s,
	struct prr_replay_task *t, const struct prr_fingerprint_view *place, uint64_t page,
	bool *differs, struct prr_error *err);
void prr_replay_names_deinit(struct prr_replay *s);

/* point.c: runs the task to the place of a PREEMPT event */
PRR_MUST_USE enum prr_status prr_replay_preempt_event(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err);

/* outputs.c */
PRR_MUST_USE enum prr_status prr_replay_outputs(struct prr_replay *s, struct prr_error *err);
/* Those of one AddressSpace that is about to go (an exec), ahead of the rest. */
PRR_MUST_USE enum prr_status prr_replay_outputs_of(
	struct prr_replay *s, uint32_t as_uid, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_replay_regs_after(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err);

/* syscall.c */
PRR_MUST_USE enum prr_status prr_replay_syscall_event(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err);

/* mm.c */
PRR_MUST_USE enum prr_status prr_replay_memory_call(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_syscall_view *view, const uint64_t args[6], int64_t result,
	struct prr_error *err);
PRR_MUST_USE enum prr_status prr_replay_map(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_mapping *mapping, struct prr_error *err);
/* Maps a file of the supervisor (an object's memfd) in the place of `m`; leaves
 * the model alone. */
PRR_MUST_USE enum prr_status prr_replay_map_object(struct prr_replay *s, struct prr_replay_task *t,
	const struct prr_field_mapping *m, int fd, struct prr_error *err);
/* The child of a fork: what madvise(2) said that it does not inherit. */
PRR_MUST_USE enum prr_status prr_replay_forked(struct prr_replay *s, struct prr_replay_task *parent,
	struct prr_replay_task *child, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_replay_patches(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_replay_unmap_all(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err);

/* objects.c */
/* The memfd to map `mapping` from; -1: from its store entry. */
PRR_MUST_USE enum prr_status prr_replay_object(struct prr_replay *s,
	const struct prr_field_mapping *mapping, int *fd, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_replay_file_changes(struct prr_replay *s, struct prr_error *err);
void prr_replay_objects_deinit(struct prr_replay *s);
/* store.c: the trace's stored files. Notes those that the event announces. */
PRR_MUST_USE enum prr_status prr_replay_note_stored(struct prr_replay *s, struct prr_error *err);
/* Is what stands under that id what was stored? PRR_ERR_TRACE if not. */
PRR_MUST_USE enum prr_status prr_replay_check_stored(
	struct prr_replay *s, uint32_t store_id, struct prr_error *err);
void prr_replay_store_path(const struct prr_replay *s, uint32_t store_id, char *path, size_t size);

/* process.c */
PRR_MUST_USE enum prr_status prr_replay_clone(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_replay_exec(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_replay_exit(
	struct prr_replay *s, struct prr_replay_task *t, struct prr_error *err);

/* spawn.c */
PRR_MUST_USE enum prr_status prr_replay_spawn(struct prr_replay *s, struct prr_error *err);

/* echo.c */
PRR_MUST_USE enum prr_status prr_files_first(struct prr_files **ret, struct prr_error *err);
PRR_MUST_USE enum prr_status prr_files_clone(
	struct prr_files *from, bool share, struct prr_files **ret, struct prr_error *err);
void prr_files_exec(struct prr_files *files);
void prr_files_unuse(struct prr_files *files);
PRR_MUST_USE enum prr_status prr_replay_echo(struct prr_replay *s, struct prr_replay_task *t,
	int64_t nr, const uint64_t args[6], int64_t result, struct prr_error *err);

#endif
