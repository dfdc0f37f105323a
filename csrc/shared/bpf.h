/* SPDX-License-Identifier: GPL-2.0-or-later
 * A tracee's own seccomp filters, kept and interpreted here instead of being
 * installed: one that answers ERRNO, TRAP or KILL would beat the recording's
 * RET_TRACE and kill pyrr's injected calls. Classic BPF in seccomp's dialect:
 * seccomp(2), and Documentation/userspace-api/seccomp_filter.rst and
 * kernel/seccomp.c of Linux.
 *
 * A task's filters are a chain, newest first, whose links never change: a child
 * shares its parent's, so a copy is one reference. */
#ifndef PRR_BPF_H
#define PRR_BPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "pyrr_core.h"

/* Whether the kernel would accept the program (else EINVAL): known opcodes,
 * aligned loads within struct seccomp_data, forward jumps inside the program,
 * scratch words stored before loaded, no constant division by zero or long
 * shift, RET at the end. */
bool prr_bpf_check(const struct sock_filter *filter, size_t count);

/* What a checked program returns: action and data. A program that does something
 * unchecked counts as SECCOMP_RET_KILL_PROCESS. Always ends: jumps go forward. */
uint32_t prr_bpf_run(
	const struct sock_filter *filter, size_t count, const struct seccomp_data *data);

struct prr_seccomp_filter; /* one program, reference-counted, immutable */

struct prr_seccomp_filters {
	struct prr_seccomp_filter *newest; /* owned reference; NULL: none */
};

void prr_seccomp_filters_init(struct prr_seccomp_filters *filters);
void prr_seccomp_filters_deinit(struct prr_seccomp_filters *filters);

/* *filters becomes the same chain as *from (fork, clone, TSYNC). */
void prr_seccomp_filters_share(
	struct prr_seccomp_filters *filters, const struct prr_seccomp_filters *from);

/* Installs one program (copied). Returns 0, or the errno that the kernel gives:
 * EINVAL, or ENOMEM where the chain grows too long. */
PRR_MUST_USE int prr_seccomp_filters_add(
	struct prr_seccomp_filters *filters, const struct sock_filter *filter, size_t count);

/* Whether *from is *filters or an earlier state of it: SECCOMP_FILTER_FLAG_TSYNC
 * wants that of every other thread. */
bool prr_seccomp_filters_extend(
	const struct prr_seccomp_filters *filters, const struct prr_seccomp_filters *from);

/* What the filters together decide: the action of highest precedence, its data
 * from the newest filter that returned that action. An action that the kernel
 * does not know is SECCOMP_RET_KILL_PROCESS, as in the kernel; the data of
 * SECCOMP_RET_ERRNO is at most 4095. No filters: SECCOMP_RET_ALLOW. */
uint32_t prr_seccomp_evaluate(
	const struct prr_seccomp_filters *filters, const struct seccomp_data *data);

#endif
