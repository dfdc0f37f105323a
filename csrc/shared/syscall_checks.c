/* SPDX-License-Identifier: GPL-2.0-or-later
 * Compile-time checks of the syscall model's numbers. Nothing here runs. */
#include "syscall_types.h"

#include "syscall_checks.inc"

/* Sizes that the kernel fixes and the model takes from these headers. */
_Static_assert(sizeof(struct epoll_event) == 12, "struct epoll_event is packed");
_Static_assert(sizeof(struct stat) == 144, "struct stat");
_Static_assert(sizeof(struct statx) == 256, "struct statx");
_Static_assert(sizeof(struct statfs) == 120, "struct statfs");
_Static_assert(sizeof(struct termios) == 36, "the kernel's struct termios");
_Static_assert(sizeof(struct rusage) == 144, "struct rusage");
_Static_assert(sizeof(struct utsname) == 390, "struct utsname");
_Static_assert(sizeof(struct sysinfo) == 112, "struct sysinfo");
_Static_assert(sizeof(struct timex) == 208, "struct timex");
_Static_assert(sizeof(siginfo_t) == 128, "siginfo_t");
_Static_assert(sizeof(stack_t) == 24, "stack_t");
_Static_assert(sizeof(struct sigevent) == 64, "struct sigevent");
_Static_assert(sizeof(struct mmsghdr) == 64, "struct mmsghdr");
_Static_assert(sizeof(struct flock) == 32, "struct flock");
_Static_assert(sizeof(struct ifreq) == 40, "struct ifreq");
_Static_assert(sizeof(struct shmid_ds) == 112, "struct shmid_ds");
_Static_assert(sizeof(struct semid_ds) == 104, "struct semid_ds");
_Static_assert(sizeof(struct msqid_ds) == 120, "struct msqid_ds");
_Static_assert(sizeof(struct mq_attr) == 64, "struct mq_attr");
