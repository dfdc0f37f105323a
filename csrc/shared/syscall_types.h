/* SPDX-License-Identifier: GPL-2.0-or-later
 * The headers whose types and constants the syscall model names, in an order
 * that lets the kernel's and the C library's live together. Where both declare
 * a type with one name and different sizes (struct termios), the kernel's is
 * meant. Include it before any other header. */
#ifndef PRR_SYSCALL_TYPES_H
#define PRR_SYSCALL_TYPES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <utime.h>

#include <asm/prctl.h>
#include <asm/termbits.h>
#include <linux/capability.h>
#include <linux/cdrom.h>
#include <linux/fiemap.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/hdreg.h>
#include <linux/if_packet.h>
#include <linux/kd.h>
#include <linux/msdos_fs.h>
#include <linux/nsfs.h>
#include <linux/prctl.h>
#include <linux/random.h>
#include <linux/rtc.h>
#include <linux/seccomp.h>
#include <linux/serial.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <linux/vm_sockets.h>
#include <linux/vt.h>

#endif
