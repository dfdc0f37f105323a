/* SPDX-License-Identifier: GPL-2.0-or-later
 * Signals.
 *
 * A signal-delivery-stop finds the task in one of these places:
 *  - where its last event left it, no instruction since (registers equal): the
 *    signal is delivered here and now;
 *  - at an instruction that faults: delivered here, replay faults again;
 *  - anywhere else in user code: the signal is held back and delivered before
 *    the next syscall, by backing up to before its instruction (PITFALLS A3).
 *
 * Delivery: PTRACE_SINGLESTEP with the signal makes the kernel build the frame
 * and stop before the handler's first instruction. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../shared/inject.h"
#include "counting.h"
#include "session.h"

#define SIG_BIT(signo) (1ull << ((signo) - 1))
#define HANDLER_DEFAULT 0
#define HANDLER_IGNORE 1
/* The first real-time signal as the kernel counts them. */
#define KERNEL_SIGRTMIN 32
#define FLAG_RESETHAND 0x80000000ull
#define FLAG_ONSTACK 0x08000000ull
/* Below the interrupted stack pointer, the ABI's red zone stays untouched. */
#define RED_ZONE 128
/* More than any rt_sigframe with its XSAVE area. */
#define FRAME_MAX (PRR_XSTATE_MAX + 4096)

static bool is_ignored_by_default(int signo)
{
	return signo == SIGCHLD || signo == SIGURG || signo == SIGWINCH || signo == SIGCONT;
}

static bool is_stop(int signo)
{
	return signo == SIGSTOP || signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU;
}

bool prr_record_is_fault(int signo, const siginfo_t *info)
{
	bool synchronous = signo == SIGSEGV || signo == SIGBUS || signo == SIGFPE ||
		signo == SIGILL || signo == SIGTRAP;

	return synchronous && info->si_code > 0;
}

static enum prr_signal_effect effect_of(const struct prr_record_task *t, int signo)
{
	uint64_t handler = t->sighand->actions[signo].handler;

	if (signo == SIGKILL)
		return PRR_SIGNAL_FATAL;
	if (signo == SIGSTOP)
		return PRR_SIGNAL_STOPPED;
	if (handler == HANDLER_IGNORE)
		return PRR_SIGNAL_IGNORED;
	if (handler != HANDLER_DEFAULT)
		return PRR_SIGNAL_HANDLER;
	if (is_ignored_by_default(signo))
		return PRR_SIGNAL_IGNORED;
	return is_stop(signo) ? PRR_SIGNAL_STOPPED : PRR_SIGNAL_FATAL;
}

/* ------------------------------------------- ignored signals during a call */

/* Calls that answer EINTR by themselves. All others answer with restart codes,
 * with which the kernel repeats the call when no handler runs (signal(7)). */
static bool answers_eintr(const struct prr_record_task *t)
{
	switch (t->nr) {
	case SYS_epoll_wait:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_connect:
	case SYS_accept:
	case SYS_accept4:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_io_getevents:
		return true;
	case SYS_epoll_pwait:
		return t->args[4] == 0; /* no mask of its own */
	case SYS_epoll_pwait2:
		return t->args[4] == 0;
	default:
		return false;
	}
}

void prr_record_shield(struct prr_record_task *t)
{
	uint64_t ignored = 0;

	if (!answers_eintr(t))
		return;
	for (int signo = 1; signo < PRR_SIGNAL_COUNT; signo++)
		if (effect_of(t, signo) == PRR_SIGNAL_IGNORED)
			ignored |= SIG_BIT(signo);
	t->sigmask_widened = (ignored & ~t->sigmask) != 0 &&
		prr_ptrace_set_sigmask(t->uid.tid, t->sigmask | ignored);
}

void prr_record_unshield(struct prr_record_task *t)
{
	if (t->sigmask_widened)
		prr_ptrace_set_sigmask(t->uid.tid, t->sigmask);
	t->sigmask_widened = false;
}

static uint64_t pending_signals(const struct prr_record_task *t)
{
	char name[64], line[256];
	unsigned long long set, all = 0;

	snprintf(name, sizeof(name), "/proc/%d/status", t->uid.tid);
	FILE *file = fopen(name, "re");

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "SigPnd: %llx", &set) == 1 ||
			sscanf(line, "ShdPnd: %llx", &set) == 1)
			all |= set;
	fclose(file);
	return all;
}

bool prr_record_woken_for_nothing(struct prr_record_task *t, int64_t result)
{
	if (result != -EINTR || !answers_eintr(t))
		return false;
	uint64_t pending = pending_signals(t) & ~t->sigmask;

	for (int signo = 1; signo < PRR_SIGNAL_COUNT; signo++)
		if ((pending & SIG_BIT(signo)) && effect_of(t, signo) != PRR_SIGNAL_IGNORED)
			return false;
	return true;
}

bool prr_record_signal_is_due(struct prr_record_task *t)
{
	siginfo_t infos[16];

	for (int shared = 0; shared < 2; shared++) {
		struct __ptrace_peeksiginfo_args args = { .nr = 16,
			.flags = shared ? PTRACE_PEEKSIGINFO_SHARED : 0 };
		long count;

		do {
			count = ptrace(PTRACE_PEEKSIGINFO, t->uid.tid, &args, infos);
			for (long i = 0; i < count; i++)
				if (!(t->sigmask & SIG_BIT(infos[i].si_signo)))
					return true;
			args.off += 16;
		} while (count == 16);
	}
	return false;
}

bool prr_record_fault_is_pending(struct prr_record_task *t)
{
	siginfo_t infos[16];
	struct __ptrace_peeksiginfo_args args = { .nr = 16 };
	long count;

	do {
		count = ptrace(PTRACE_PEEKSIGINFO, t->uid.tid, &args, infos);
		for (long i = 0; i < count; i++)
			if (prr_record_is_fault(infos[i].si_signo, &infos[i]))
				return true;
		args.off += 16;
	} while (count == 16);
	return false;
}

/* ------------------------------------------------------------- held signals */

enum prr_status prr_record_hold(
	struct prr_record_task *t, const siginfo_t *info, struct prr_error *err)
{
	if (effect_of(t, info->si_signo) == PRR_SIGNAL_IGNORED)
		return PRR_OK;
	if (t->held_count == 0)
		t->held_since_ns = prr_now();
	/* As the kernel does with what is pending already (signal(7)). */
	for (size_t i = 0; i < t->held_count && info->si_signo < KERNEL_SIGRTMIN; i++)
		if (t->held[i].info.si_signo == info->si_signo)
			return PRR_OK;
	if (t->held_count == t->held_capacity) {
		size_t capacity = t->held_capacity ? 2 * t->held_capacity : 4;
		struct prr_held_signal *grown = reallocarray(t->held, capacity, sizeof(*grown));

		if (!grown)
			return prr_fail(err, PRR_ERR_SYSTEM, ENOMEM, NULL, "no memory");
		t->held = grown;
		t->held_capacity = capacity;
	}
	t->held[t->held_count++].info = *info;
	return PRR_OK;
}

static siginfo_t take_held(struct prr_record_task *t)
{
	siginfo_t info = t->held[0].info;

	memmove(&t->held[0], &t->held[1], (t->held_count - 1) * sizeof(*t->held));
	t->held_count--;
	return info;
}

/* Gives a held signal that is blocked by now back to the kernel's queue, where
 * sigpending, signalfd and sigtimedwait see it. */
static enum prr_status requeue(
	struct prr_record_task *t, const siginfo_t *info, struct prr_error *err)
{
	uint64_t to_thread[6] = { (uint64_t)t->group->tgid, (uint64_t)t->uid.tid,
		(uint64_t)info->si_signo, PRR_DATA_ADDR };
	uint64_t to_process[6] = { (uint64_t)t->ns_tid, (uint64_t)info->si_signo, PRR_DATA_ADDR };
	/* What was sent to the process goes back to the process: another thread may
	 * take it. rt_sigqueueinfo(2) allows codes that only the kernel gives to the
	 * caller's own tid alone. */
	bool to_all = info->si_code >= 0;
	int64_t result;

	if (!prr_mem_write(t->uid.tid, prr_remote(PRR_DATA_ADDR), info, sizeof(*info)))
		return prr_fail(
			err, PRR_ERR_TRACEE_GONE, 0, NULL, "task %d lost its memory", t->uid.tid);
	PRR_TRY(prr_inject_one(t->uid.tid, to_all ? SYS_rt_sigqueueinfo : SYS_rt_tgsigqueueinfo,
		to_all ? to_process : to_thread, &result, err));
	if (result != 0)
		return prr_fail(err, PRR_ERR_INTERNAL, (int)-result, NULL,
			"signal %d of task %d cannot be put back", info->si_signo, t->uid.tid);
	return PRR_OK;
}

enum prr_status prr_record_take_traps(struct prr_record_task *t, struct prr_error *err)
{
	/* Arguments of rt_sigtimedwait: set, timeout, and where the siginfo goes. */
	const uint64_t in[3] = { SIG_BIT(SIGTRAP), 0, 0 };
	const uint64_t timeout_at = PRR_DATA_ADDR + sizeof(in[0]),
		       info_at = PRR_DATA_ADDR + sizeof(in);
	uint64_t args[6] = { PRR_DATA_ADDR, info_at, timeout_at, sizeof(in[0]) };
	int64_t result = SIGTRAP;

	t->trap_count = 0;
	while (result == SIGTRAP && t->trap_count < 2) {
		if (!prr_mem_write(t->uid.tid, prr_remote(PRR_DATA_ADDR), in, sizeof(in)))
			return PRR_OK;
		PRR_TRY(prr_inject_one(t->uid.tid, SYS_rt_sigtimedwait, args, &result, err));
		if (result == SIGTRAP &&
			prr_mem_read(t->uid.tid, prr_remote(info_at), &t->traps[t->trap_count].info,
				sizeof(siginfo_t)))
			t->trap_count++;
	}
	return PRR_OK;
}

bool prr_record_trap_is_pending(struct prr_record_task *t)
{
	return (t->sigmask & SIG_BIT(SIGTRAP)) && (pending_signals(t) & SIG_BIT(SIGTRAP));
}

/* ---------------------------------------------------------------- the event */

static bool on_altstack(const struct prr_record_task *t, uint64_t sp)
{
	return t->altstack_size && sp > t->altstack_sp && sp - t->altstack_sp <= t->altstack_size;
}

/* End of the memory that the frame may cover; it starts at the new rsp. */
static uint64_t frame_end(
	const struct prr_record_task *t, uint64_t old_sp, uint64_t new_sp, int signo)
{
	uint64_t end = old_sp;

	(void)signo;
	if (!on_altstack(t, old_sp) && on_altstack(t, new_sp))
		end = t->altstack_sp + t->altstack_size;
	if (end < new_sp || end - new_sp > FRAME_MAX + RED_ZONE)
		end = new_sp + FRAME_MAX;
	return end;
}

static enum prr_status append_signal(struct prr_record *s, struct prr_record_task *t,
	const struct prr_regs *before, const siginfo_t *info, enum prr_signal_place place,
	enum prr_signal_effect effect, struct prr_error *err)
{
	struct prr_field_signal field = {
		.signo = info->si_signo,
		.place = place,
		.effect = effect,
		.altstack_flags = t->altstack_flags,
		.mask = t->sigmask,
		.altstack_sp = t->altstack_sp,
		.altstack_size = t->altstack_size,
	};

	prr_event_begin(s, t, PRR_EVENT_SIGNAL, PRR_ORIGIN_KERNEL, before);
	PRR_TRY(prr_event_field(s, PRR_FIELD_SIGNAL, &field, sizeof(field), err));
	PRR_TRY(prr_event_field(s, PRR_FIELD_SIGINFO, info, 128, err));
	if (effect == PRR_SIGNAL_HANDLER) {
		uint64_t sp = t->regs.rsp;
		uint64_t end = frame_end(t, before->rsp, sp, info->si_signo);

		PRR_TRY(prr_event_memory(s, t, sp, end - sp, err));
		PRR_TRY(prr_event_regs_after(s, t, true, err));
	}
	return prr_event_commit(s, err);
}

/* The kernel changes the disposition of a one-shot handler itself. */
static void after_delivery(struct prr_record_task *t, int signo)
{
	struct prr_kernel_sigaction *action = &t->sighand->actions[signo];

	if (action->flags & FLAG_RESETHAND)
		action->handler = HANDLER_DEFAULT;
	prr_ptrace_get_sigmask(t->uid.tid, &t->sigmask);
}

static bool is_step_stop(int status)
{
	return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP && prr_status_event(status) == 0;
}

/* At popf and iret the kernel takes the TF of our step for the program's own
 * (is_setting_trap_flag(), arch/x86/kernel/step.c), and saves it in the frame. */
static void clean_frame(const struct prr_record_task *t, const struct prr_regs *before)
{
	/* Behind the return address: struct ucontext, gregs[REG_EFL]. */
	uint64_t addr = t->regs.rsp + sizeof(uint64_t) + offsetof(ucontext_t, uc_mcontext) +
		REG_EFL * sizeof(uint64_t);
	uint64_t flags;

	if ((before->rflags & PRR_FLAG_TF) ||
		!prr_mem_read(t->uid.tid, prr_remote(addr), &flags, sizeof(flags)) ||
		!(flags & PRR_FLAG_TF))
		return;
	flags &= ~PRR_FLAG_TF;
	(void)prr_mem_write(t->uid.tid, prr_remote(addr), &flags, sizeof(flags));
}

/* Steps into the handler. t stands at a signal-delivery-stop whose siginfo is
 * *info. */
static enum prr_status enter_handler(struct prr_record *s, struct prr_record_task *t,
	const siginfo_t *info, enum prr_signal_place place, struct prr_error *err)
{
	struct prr_regs before = t->regs;
	bool stopped;

	t->redo = t->backed_up = false; /* the handler returns to before the call */
	t->failed_signo = 0;

	prr_record_resume(t, PRR_RESUME_STEP, info->si_signo);
	do
		PRR_TRY(prr_record_wait_task(s, t, &stopped, err));
	while (!stopped);
	if (!is_step_stop(t->status)) {
		/* No room for the frame: SIGSEGV follows; or killed meanwhile. */
		t->failed_signo = info->si_signo;
		t->failed_place = place;
		after_delivery(t, info->si_signo);
		t->state = PRR_TASK_RUNNING;
		return PRR_OK; /* t->has_status is set: treated next */
	}
	t->has_status = false;
	if (!prr_ptrace_get_regs(t->uid.tid, &t->regs))
		return PRR_OK;
	clean_frame(t, &before);
	after_delivery(t, info->si_signo);
	t->state = PRR_TASK_READY;
	t->vague_place = true;
	return append_signal(s, t, &before, info, place, PRR_SIGNAL_HANDLER, err);
}

/* Delivers *info, whose signal-delivery-stop t stands at. */
static enum prr_status deliver(struct prr_record *s, struct prr_record_task *t,
	const siginfo_t *info, enum prr_signal_place place, struct prr_error *err)
{
	int signo = info->si_signo;

	switch (effect_of(t, signo)) {
	case PRR_SIGNAL_HANDLER:
		return enter_handler(s, t, info, place, err);
	case PRR_SIGNAL_FATAL:
		prr_counting_disarm(t); /* a core dump shows code */
		PRR_TRY(append_signal(s, t, &t->regs, info, place, PRR_SIGNAL_FATAL, err));
		t->group->dying = true;
		t->state = PRR_TASK_EXITING_SOON;
		prr_record_resume(t, PRR_RESUME_CONT, signo);
		return PRR_OK;
	case PRR_SIGNAL_STOPPED:
		t->state = PRR_TASK_RUNNING;
		prr_record_go(s, t, signo);
		return PRR_OK;
	case PRR_SIGNAL_IGNORED:
		break;
	}
	t->state = PRR_TASK_READY;
	return PRR_OK;
}

static enum prr_status deliver_held(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);
static enum prr_status deliver_raised(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err);
static bool is_carrier(const siginfo_t *info);

/* -------------------------------------------------------------- stops arrive */

/* force_sig: neither a mask nor SIG_IGN keeps a signal away that the task itself
 * has caused; the kernel has changed both before it asks the tracer. */
static void was_forced(struct prr_record_task *t, int signo)
{
	struct prr_kernel_sigaction *action = &t->sighand->actions[signo];

	if (!(t->sigmask & SIG_BIT(signo)) && action->handler != HANDLER_IGNORE)
		return;
	action->handler = HANDLER_DEFAULT;
	t->sigmask &= ~SIG_BIT(signo);
}

/* The frame of t->failed_signo did not fit on the stack: the kernel sends SIGSEGV
 * in its place, whose handler may have a stack of its own. */
static enum prr_status deliver_failed(struct prr_record *s, struct prr_record_task *t,
	const siginfo_t *info, struct prr_error *err)
{
	if (t->failed_signo == SIGSEGV)
		t->sighand->actions[SIGSEGV].handler = HANDLER_DEFAULT;
	t->failed_signo = 0;
	was_forced(t, SIGSEGV);
	if (t->failed_place == PRR_SIGNAL_AT_ENTRY)
		t->regs = t->entry_regs;
	return deliver(s, t, info, t->failed_place, err);
}

static bool same_place(const struct prr_regs *a, const struct prr_regs *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

enum prr_status prr_record_signal(
	struct prr_record *s, struct prr_record_task *t, int signo, struct prr_error *err)
{
	struct prr_regs last = t->regs;
	siginfo_t info;
	bool handled = false;

	if (!prr_ptrace_get_siginfo(t->uid.tid, &info) ||
		!prr_ptrace_get_regs(t->uid.tid, &t->regs))
		return PRR_OK; /* killed: its exit is reported next */
	t->regs_dirty = false;
	if (signo == SIGTRAP && t->as) {
		PRR_TRY(prr_counting_trap(s, t, &handled, err));
		if (handled)
			return PRR_OK;
	}
	if (is_carrier(&info)) { /* it came after a stop of another kind */
		if (t->raise_pending)
			return deliver_raised(s, t, err);
		t->state = PRR_TASK_RUNNING;
		prr_record_go(s, t, 0);
		return PRR_OK;
	}
	if (t->failed_signo)
		return deliver_failed(s, t, &info, err);
	if (prr_record_is_fault(signo, &info)) {
		prr_counting_leave(t);
		PRR_TRY(prr_record_instruction(s, t, signo, &info, &handled, err));
		if (handled)
			return t->held_count ? deliver_held(s, t, err) : PRR_OK;
		was_forced(t, signo);
		return deliver(s, t, &info, PRR_SIGNAL_AT_FAULT, err);
	}
	/* The same registers say little where a loop may come back to them (that is
	 * what vague_place and moved are for); after a syscall instruction they do.
	 * Two signals in a row find it in one place, which need not be the event's:
	 * regs are those of the first signal's stop then. */
	if (!t->moved && same_place(&last, &t->regs))
		return deliver(s, t, &info, PRR_SIGNAL_AT_EVENT, err);
	t->moved = true;
	PRR_TRY(prr_record_hold(t, &info, err));
	t->state = PRR_TASK_RUNNING;
	prr_record_go(s, t, 0);
	return PRR_OK;
}

/* t stands at a signal-delivery-stop right after an emulated instruction: held
 * signals take their turn. */
static enum prr_status deliver_held(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	siginfo_t info = take_held(t);

	/* The registers that the handler returns to are ours: set them first. */
	if (t->regs_dirty && !prr_ptrace_set_regs(t->uid.tid, &t->regs))
		return PRR_OK;
	t->regs_dirty = false;
	prr_ptrace_set_siginfo(t->uid.tid, &info);
	return deliver(s, t, &info, PRR_SIGNAL_AT_EVENT, err);
}

/* --------------------------------------------------- before the next syscall */

/* A signal of our own, sent to make a task stop where another is to be delivered. */
#define CARRIER_VALUE ((void *)0x70797272) /* "pyrr" */

static bool is_carrier(const siginfo_t *info)
{
	return info->si_code == SI_QUEUE && info->si_value.sival_ptr == CARRIER_VALUE &&
		info->si_errno == getpid();
}

static void send_carrier(const struct prr_record_task *t, int signo)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = signo;
	info.si_code = SI_QUEUE;
	info.si_errno = getpid(); /* nobody else sets this one */
	info.si_value.sival_ptr = CARRIER_VALUE;
	syscall(SYS_rt_tgsigqueueinfo, t->group->tgid, t->uid.tid, signo, &info);
}

/* Brings t, at a seccomp stop, to a signal-delivery-stop with t->regs, the call
 * not run: a signal of our own comes there. Others that come first are held. When
 * `there` is false something else happened to t, which is treated next. */
static enum prr_status carry(struct prr_record *s, struct prr_record_task *t, int signo,
	bool *there, struct prr_error *err)
{
	siginfo_t arrived;
	bool stopped;

	*there = false;
	t->regs_dirty = true;
	t->state = PRR_TASK_RUNNING;
	send_carrier(t, signo);
	for (;;) {
		prr_record_resume(t, PRR_RESUME_CONT, 0);
		do
			PRR_TRY(prr_record_wait_task(s, t, &stopped, err));
		while (!stopped);
		if (WIFSTOPPED(t->status) && WSTOPSIG(t->status) == SIGTRAP &&
			prr_status_event(t->status) == PTRACE_EVENT_STOP) {
			t->has_status = false; /* a late interrupt: slice.c */
			continue;
		}
		if (!WIFSTOPPED(t->status) || prr_status_is_syscall(t->status) ||
			prr_status_event(t->status) != 0 ||
			!prr_ptrace_get_siginfo(t->uid.tid, &arrived)) {
			/* Not where it really stands: no later signal is to take
			 * this for the place of its last event. */
			t->regs = t->entry_regs;
			return PRR_OK;
		}
		t->has_status = false;
		*there = is_carrier(&arrived);
		if (*there)
			return PRR_OK;
		PRR_TRY(prr_record_hold(t, &arrived, err));
	}
}

/* Ignored ones end here. */
bool prr_record_has_held(struct prr_record_task *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->held_count; i++)
		if (effect_of(t, t->held[i].info.si_signo) != PRR_SIGNAL_IGNORED)
			t->held[kept++] = t->held[i];
	t->held_count = kept;
	return kept > 0;
}

/* After a handler was entered: what is blocked now goes back to the kernel. */
static enum prr_status requeue_blocked(struct prr_record_task *t, struct prr_error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->held_count; i++) {
		siginfo_t info = t->held[i].info;

		if (t->sigmask & SIG_BIT(info.si_signo))
			PRR_TRY(requeue(t, &info, err));
		else
			t->held[kept++].info = info;
	}
	t->held_count = kept;
	return PRR_OK;
}

enum prr_status prr_record_deliver_at_entry(
	struct prr_record *s, struct prr_record_task *t, bool *delivered, struct prr_error *err)
{
	siginfo_t info;
	bool there;

	*delivered = prr_record_has_held(t);
	if (!*delivered)
		return PRR_OK;
	t->regs = t->entry_regs; /* before the instruction, to which the handler returns */
	t->regs.rip -= 2;
	t->regs.rax = t->entry_regs.orig_rax;
	t->regs.orig_rax = (uint64_t)-1;
	PRR_TRY(carry(s, t, t->held[0].info.si_signo, &there, err));
	if (!there)
		return PRR_OK;
	info = take_held(t);
	prr_ptrace_set_siginfo(t->uid.tid, &info);
	/* The event's registers are those of the entry stop that replay reaches. */
	t->regs = t->entry_regs;
	PRR_TRY(deliver(s, t, &info, PRR_SIGNAL_AT_ENTRY, err));
	if (t->state == PRR_TASK_READY && !t->has_status)
		return requeue_blocked(t, err);
	return PRR_OK;
}

enum prr_status prr_record_deliver_after_answer(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	siginfo_t info;
	bool there;

	PRR_TRY(carry(s, t, t->held[0].info.si_signo, &there, err));
	if (!there)
		return PRR_OK;
	info = take_held(t);
	prr_ptrace_set_siginfo(t->uid.tid, &info);
	PRR_TRY(deliver(s, t, &info, PRR_SIGNAL_AT_EVENT, err));
	if (t->state == PRR_TASK_READY && !t->has_status)
		return requeue_blocked(t, err);
	return PRR_OK;
}

/* --------------------------------------------- signals in place of a syscall */

/* As the kernel does before it sends a signal that the task has caused. */
static enum prr_status force(struct prr_record_task *t, int signo, struct prr_error *err)
{
	struct prr_kernel_sigaction *action = &t->sighand->actions[signo];
	uint64_t args[6] = { (uint64_t)signo, PRR_DATA_ADDR, 0, 8 };
	uint64_t old_handler = action->handler, old_mask = t->sigmask;
	int64_t result;

	was_forced(t, signo);
	if (action->handler != old_handler) {
		if (!prr_mem_write(t->uid.tid, prr_remote(PRR_DATA_ADDR), action, sizeof(*action)))
			return PRR_OK;
		PRR_TRY(prr_inject_one(t->uid.tid, SYS_rt_sigaction, args, &result, err));
	}
	if (t->sigmask != old_mask)
		prr_ptrace_set_sigmask(t->uid.tid, t->sigmask);
	return PRR_OK;
}

/* t stands at the signal-delivery-stop of the carrier for *t->raised. */
static enum prr_status deliver_raised(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	t->raise_pending = false;
	prr_ptrace_set_siginfo(t->uid.tid, &t->raised);
	t->regs = t->entry_regs;
	PRR_TRY(deliver(s, t, &t->raised, PRR_SIGNAL_AT_ENTRY, err));
	if (t->state == PRR_TASK_READY && !t->has_status)
		return requeue_blocked(t, err);
	return PRR_OK;
}

enum prr_status prr_record_raise(struct prr_record *s, struct prr_record_task *t,
	const siginfo_t *info, struct prr_error *err)
{
	bool there;

	PRR_TRY(force(t, info->si_signo, err));
	t->raised = *info;
	t->raise_pending = true;
	t->regs = t->entry_regs; /* syscall_rollback() */
	t->regs.rax = t->entry_regs.orig_rax;
	t->regs.orig_rax = (uint64_t)-1;
	PRR_TRY(carry(s, t, info->si_signo, &there, err));
	return there ? deliver_raised(s, t, err) : PRR_OK;
}

/* ------------------------------------------------------------ syscall handlers */

enum prr_status prr_record_sigaction_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	struct prr_kernel_sigaction action;

	(void)s;
	(void)handled;
	(void)err;
	if (t->regs.rax == 0 && t->args[1] && t->args[0] < PRR_SIGNAL_COUNT &&
		prr_mem_read(t->uid.tid, prr_remote(t->args[1]), &action, sizeof(action)))
		t->sighand->actions[t->args[0]] = action;
	return PRR_OK;
}

enum prr_status prr_record_sigmask_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	(void)s;
	(void)handled;
	(void)err;
	prr_ptrace_get_sigmask(t->uid.tid, &t->sigmask);
	return PRR_OK;
}

enum prr_status prr_record_sigaltstack_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	stack_t stack;

	(void)s;
	(void)handled;
	(void)err;
	if (t->regs.rax == 0 && t->args[0] &&
		prr_mem_read(t->uid.tid, prr_remote(t->args[0]), &stack, sizeof(stack))) {
		t->altstack_sp = (uint64_t)(uintptr_t)stack.ss_sp;
		t->altstack_size = stack.ss_flags & SS_DISABLE ? 0 : stack.ss_size;
		t->altstack_flags = (uint32_t)stack.ss_flags;
	}
	return PRR_OK;
}

enum prr_status prr_record_sigreturn_exit(struct prr_record *s, struct prr_record_task *t,
	enum prr_handled *handled, struct prr_error *err)
{
	(void)handled;
	prr_ptrace_get_sigmask(t->uid.tid, &t->sigmask);
	t->vague_place = true;
	return prr_event_regs_after(s, t, true, err);
}

/* ------------------------------------------------- our own traps (PITFALLS A2) */

void prr_record_restore_mask(struct prr_record_task *t, int signo)
{
	if (t->sigmask & SIG_BIT(signo))
		prr_ptrace_set_sigmask(t->uid.tid, t->sigmask);
}

enum prr_status prr_record_restore_after_trap(
	struct prr_record *s, struct prr_record_task *t, int signo, struct prr_error *err)
{
	struct prr_kernel_sigaction *action = &t->sighand->actions[signo];
	bool blocked = t->sigmask & SIG_BIT(signo);
	bool ignored = action->handler == HANDLER_IGNORE;
	uint64_t args[6] = { (uint64_t)signo, PRR_DATA_ADDR, 0, 8 };
	int64_t result;

	(void)s;
	if (!blocked && !ignored)
		return PRR_OK; /* force_sig changed nothing */
	if (action->handler != HANDLER_DEFAULT) {
		if (!prr_mem_write(t->uid.tid, prr_remote(PRR_DATA_ADDR), action, sizeof(*action)))
			return PRR_OK;
		PRR_TRY(prr_inject_one(t->uid.tid, SYS_rt_sigaction, args, &result, err));
	}
	prr_record_restore_mask(t, signo);
	return PRR_OK;
}

enum prr_status prr_record_settle_traps(
	struct prr_record *s, struct prr_record_task *t, struct prr_error *err)
{
	/* The call that is about to be restarted would not be (slice.c). */
	if ((int64_t)t->regs.orig_rax >= 0 && prr_is_restart((int64_t)t->regs.rax))
		return PRR_OK;
	PRR_TRY(prr_record_restore_after_trap(s, t, SIGTRAP, err));
	for (unsigned i = 0; i < t->trap_count; i++)
		PRR_TRY(requeue(t, &t->traps[i].info, err));
	t->trap_count = 0;
	t->traps_unsettled = false;
	return PRR_OK;
}
