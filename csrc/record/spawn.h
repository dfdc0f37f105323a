/* SPDX-License-Identifier: GPL-2.0-or-later
 * The first tracee. */
#ifndef PRR_RECORD_SPAWN_H
#define PRR_RECORD_SPAWN_H

#include "session.h"

/* Forks, seizes and releases the first tracee towards its execve, with the
 * seccomp filter and the TSC trap in place; makes its task. */
PRR_MUST_USE enum prr_status prr_record_spawn(struct prr_record *s, struct prr_error *err);
/* The error for a program that never started. */
PRR_MUST_USE enum prr_status prr_record_spawn_failed(struct prr_record *s, struct prr_error *err);

#endif
