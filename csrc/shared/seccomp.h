/* SPDX-License-Identifier: GPL-2.0-or-later
 * The recording's seccomp filter: RET_TRACE for every syscall that is not made
 * from pyrr's code page. */
#ifndef PRR_SECCOMP_H
#define PRR_SECCOMP_H

/* Installs it in the calling process (the first tracee, before its exec; all
 * descendants inherit it). Sets no_new_privs, which an unprivileged filter
 * needs (seccomp(2)). Returns 0 or an errno. Async-signal-safe. */
int prr_seccomp_install(void);
/* Replay's filter: RET_TRACE for calls into the vsyscall page alone, which make
 * no stop under PTRACE_SYSEMU (PITFALLS A13); all else is allowed. */
int prr_seccomp_install_vsyscall(void);

#endif
