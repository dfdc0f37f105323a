# SPDX-License-Identifier: GPL-2.0-or-later
"""ioctl(2). The request is an unsigned int: the upper half of the register is ignored.

A request without a row is answered with ENOTTY, as a descriptor that does not know it
would: programs have a way on, and nothing is written that the trace does not hold.
"""

from pyrr.model.grammar import (
    Behaviour,
    ByCommand,
    Bytes,
    Command,
    Counted,
    Ifconf,
    Ioc,
    Size,
    Syscall,
    When,
)
from pyrr.model.syscalls._build import BLOCKS, addr, call, cmd, fd, how, inout, inp, out, val


def _plain(name: str, value: int, does: Behaviour | None = None) -> Command:
    """A request whose argument is a value, or none."""
    return cmd(name, value, val("arg", "hex"), does=does)


def _in(name: str, value: int, size: Size | str, does: Behaviour | None = None) -> Command:
    return cmd(name, value, inp("arg", size), does=does)


def _out(name: str, value: int, size: Size | str) -> Command:
    return cmd(name, value, out("arg", size))


def _inout(name: str, value: int, size: Size | str) -> Command:
    return cmd(name, value, inout("arg", size, When.ALWAYS))


# Four characters' worth of state, and the kernel's c_cc of 19: asm/termbits.h. The C
# library's termios.h has another struct termios.
_TERMIOS = "struct termios"
_TERMIOS2 = "struct termios2"
_TERMIO = Bytes(count=18, fact="struct termio, asm/termios.h")
_DRAINS = BLOCKS

# TCSETSW and TCSETSF wait until output has drained; any change from a background process
# stops it by SIGTTOU.
_TERMINAL = (
    _out("TCGETS", 0x5401, _TERMIOS),
    _in("TCSETS", 0x5402, _TERMIOS, _DRAINS),
    _in("TCSETSW", 0x5403, _TERMIOS, _DRAINS),
    _in("TCSETSF", 0x5404, _TERMIOS, _DRAINS),
    _out("TCGETA", 0x5405, _TERMIO),
    _in("TCSETA", 0x5406, _TERMIO, _DRAINS),
    _in("TCSETAW", 0x5407, _TERMIO, _DRAINS),
    _in("TCSETAF", 0x5408, _TERMIO, _DRAINS),
    _plain("TCSBRK", 0x5409, _DRAINS),
    _plain("TCXONC", 0x540A, _DRAINS),
    _plain("TCFLSH", 0x540B),
    _plain("TIOCEXCL", 0x540C),
    _plain("TIOCNXCL", 0x540D),
    _plain("TIOCSCTTY", 0x540E),
    _out("TIOCGPGRP", 0x540F, "int"),
    _in("TIOCSPGRP", 0x5410, "int", _DRAINS),
    _out("TIOCOUTQ", 0x5411, "int"),
    _in("TIOCSTI", 0x5412, "char"),
    _out("TIOCGWINSZ", 0x5413, "struct winsize"),
    _in("TIOCSWINSZ", 0x5414, "struct winsize"),
    _out("TIOCMGET", 0x5415, "int"),
    _in("TIOCMBIS", 0x5416, "int"),
    _in("TIOCMBIC", 0x5417, "int"),
    _in("TIOCMSET", 0x5418, "int"),
    _out("TIOCGSOFTCAR", 0x5419, "int"),
    _in("TIOCSSOFTCAR", 0x541A, "int"),
    # subcode 6 (TIOCL_GETSHIFTSTATE) and others answer through the first byte
    _inout("TIOCLINUX", 0x541C, "char"),
    _plain("TIOCCONS", 0x541D),
    _out("TIOCGSERIAL", 0x541E, "struct serial_struct"),
    _in("TIOCSSERIAL", 0x541F, "struct serial_struct"),
    _in("TIOCPKT", 0x5420, "int"),
    _plain("TIOCNOTTY", 0x5422),
    _in("TIOCSETD", 0x5423, "int", _DRAINS),
    _out("TIOCGETD", 0x5424, "int"),
    _plain("TCSBRKP", 0x5425, _DRAINS),
    _plain("TIOCSBRK", 0x5427),
    _plain("TIOCCBRK", 0x5428),
    _out("TIOCGSID", 0x5429, "int"),
    _out("TCGETS2", 0x802C542A, _TERMIOS2),
    _in("TCSETS2", 0x402C542B, _TERMIOS2, _DRAINS),
    _in("TCSETSW2", 0x402C542C, _TERMIOS2, _DRAINS),
    _in("TCSETSF2", 0x402C542D, _TERMIOS2, _DRAINS),
    _out("TIOCGPTN", 0x80045430, "unsigned int"),
    _in("TIOCSPTLCK", 0x40045431, "int"),
    _out("TIOCGDEV", 0x80045432, "unsigned int"),
    _plain("TIOCSIG", 0x40045436),
    _plain("TIOCVHANGUP", 0x5437),
    _out("TIOCGPKT", 0x80045438, "int"),
    _out("TIOCGPTLCK", 0x80045439, "int"),
    _out("TIOCGEXCL", 0x80045440, "int"),
    _plain("TIOCGPTPEER", 0x5441),
    _plain("TIOCMIWAIT", 0x545C, _DRAINS),
    _out("TIOCGICOUNT", 0x545D, "struct serial_icounter_struct"),
)

_DESCRIPTOR = (
    _out("FIONREAD", 0x541B, "int"),
    _in("FIONBIO", 0x5421, "int"),
    _plain("FIONCLEX", 0x5450),
    _plain("FIOCLEX", 0x5451),
    _in("FIOASYNC", 0x5452, "int"),
    _out("FIOQSIZE", 0x5460, "loff_t"),
    _inout("FIBMAP", 0x1, "int"),
    _out("FIGETBSZ", 0x2, "int"),
)

_CHANGES = how(changed_fd="fd", handler="file_write")
_DEDUPE = Counted(
    header="struct file_dedupe_range",
    header_size="sizeof(struct file_dedupe_range)",
    member_offset="offsetof(struct file_dedupe_range, dest_count)",
    element_size="sizeof(struct file_dedupe_range_info)",
)
_EXTENTS = Counted(
    header="struct fiemap",
    header_size="sizeof(struct fiemap)",
    member_offset="offsetof(struct fiemap, fm_extent_count)",
    element_size="sizeof(struct fiemap_extent)",
)
_IOC = Ioc(request="cmd")

# FS_IOC_GETFLAGS and its kin say `long` in their request number; the kernel moves an int.
_FILES = (
    cmd("FICLONE", 0x40049409, fd("arg"), does=_CHANGES),
    _in("FICLONERANGE", 0x4020940D, "struct file_clone_range", _CHANGES),
    _inout("FIDEDUPERANGE", 0xC0189436, _DEDUPE),
    _inout("FS_IOC_FIEMAP", 0xC020660B, _EXTENTS),
    _inout("FIFREEZE", 0xC0045877, "int"),
    _inout("FITHAW", 0xC0045878, "int"),
    _inout("FITRIM", 0xC0185879, "struct fstrim_range"),
    _out("FS_IOC_GETFLAGS", 0x80086601, "long"),
    _in("FS_IOC_SETFLAGS", 0x40086602, "long"),
    _out("FS_IOC_GETVERSION", 0x80087601, "long"),
    _in("FS_IOC_SETVERSION", 0x40087602, "long"),
    _out("FS_IOC_FSGETXATTR", 0x801C581F, "struct fsxattr"),
    _in("FS_IOC_FSSETXATTR", 0x401C5820, "struct fsxattr"),
    _out("FS_IOC_GETFSLABEL", 0x81009431, _IOC),
    _in("FS_IOC_SETFSLABEL", 0x41009432, _IOC),
    _out("FS_IOC_GETFSUUID", 0x80111500, _IOC),
    _out("FS_IOC_GETFSSYSFSPATH", 0x80811501, _IOC),
    _out("FAT_IOCTL_GET_ATTRIBUTES", 0x80047210, "uint32_t"),
    _out("FAT_IOCTL_GET_VOLUME_ID", 0x80047213, "uint32_t"),
    _plain("NS_GET_USERNS", 0xB701),
    _plain("NS_GET_PARENT", 0xB702),
    _plain("NS_GET_NSTYPE", 0xB703),
    _out("NS_GET_OWNER_UID", 0xB704, "uid_t"),
    _out("NS_GET_ID", 0x8008B70D, _IOC),
    _plain("PIDFD_GET_CGROUP_NAMESPACE", 0xFF01),
    _plain("PIDFD_GET_IPC_NAMESPACE", 0xFF02),
    _plain("PIDFD_GET_MNT_NAMESPACE", 0xFF03),
    _plain("PIDFD_GET_NET_NAMESPACE", 0xFF04),
    _plain("PIDFD_GET_PID_NAMESPACE", 0xFF05),
    _plain("PIDFD_GET_PID_FOR_CHILDREN_NAMESPACE", 0xFF06),
    _plain("PIDFD_GET_TIME_NAMESPACE", 0xFF07),
    _plain("PIDFD_GET_TIME_FOR_CHILDREN_NAMESPACE", 0xFF08),
    _plain("PIDFD_GET_USER_NAMESPACE", 0xFF09),
    _plain("PIDFD_GET_UTS_NAMESPACE", 0xFF0A),
    _in("EPIOCSPARAMS", 0x40088A01, _IOC),
    _out("EPIOCGPARAMS", 0x80088A02, _IOC),
    # The tty and socket calls of epoll aside, eventfd and timerfd have one of their own.
    _in("TFD_IOC_SET_TICKS", 0x40085400, _IOC),
)

# Block devices: sizes and geometry, which partition tools and installers ask for.
_BLOCK = (
    _in("BLKROSET", 0x125D, "int"),
    _out("BLKROGET", 0x125E, "int"),
    _plain("BLKRRPART", 0x125F),
    _out("BLKGETSIZE", 0x1260, "unsigned long"),
    _plain("BLKFLSBUF", 0x1261),
    _plain("BLKRASET", 0x1262),
    _out("BLKRAGET", 0x1263, "long"),
    _out("BLKSECTGET", 0x1267, "unsigned short"),
    _out("BLKSSZGET", 0x1268, "int"),
    _out("BLKBSZGET", 0x80081270, "size_t"),
    _in("BLKBSZSET", 0x40081271, "size_t"),
    _out("BLKGETSIZE64", 0x80081272, "uint64_t"),
    _in("BLKDISCARD", 0x1277, Bytes(count=16, fact="uint64_t[2], block/ioctl.c")),
    _out("BLKIOMIN", 0x1278, "unsigned int"),
    _out("BLKIOOPT", 0x1279, "unsigned int"),
    _out("BLKALIGNOFF", 0x127A, "int"),
    _out("BLKPBSZGET", 0x127B, "unsigned int"),
    _out("BLKDISCARDZEROES", 0x127C, "unsigned int"),
    _in("BLKSECDISCARD", 0x127D, Bytes(count=16, fact="uint64_t[2], block/ioctl.c")),
    _out("BLKROTATIONAL", 0x127E, "unsigned short"),
    _in("BLKZEROOUT", 0x127F, Bytes(count=16, fact="uint64_t[2], block/ioctl.c")),
    _out("BLKGETDISKSEQ", 0x80081280, "uint64_t"),
    _out("BLKGETZONESZ", 0x80041284, "uint32_t"),
    _out("BLKGETNRZONES", 0x80041285, "uint32_t"),
    _out("HDIO_GETGEO", 0x0301, "struct hd_geometry"),
    _out("CDROM_GET_CAPABILITY", 0x5331, "char"),
)

_IFREQ = "struct ifreq"

_SOCKET = (
    _out("FIOGETOWN", 0x8903, "int"),
    _in("FIOSETOWN", 0x8901, "int"),
    _in("SIOCSPGRP", 0x8902, "int"),
    _out("SIOCGPGRP", 0x8904, "int"),
    _out("SIOCATMARK", 0x8905, "int"),
    _out("SIOCGSTAMP_OLD", 0x8906, "struct timeval"),
    _out("SIOCGSTAMPNS_OLD", 0x8907, "struct timespec"),
    _out("SIOCGSTAMP_NEW", 0x80108906, _IOC),
    _out("SIOCGSTAMPNS_NEW", 0x80108907, _IOC),
    _plain("SIOCUNIXFILE", 0x89E0),
    _in("SIOCADDRT", 0x890B, "struct rtentry"),
    _in("SIOCDELRT", 0x890C, "struct rtentry"),
    _inout("SIOCGIFNAME", 0x8910, _IFREQ),
    _inout("SIOCGIFCONF", 0x8912, Ifconf()),
    _inout("SIOCGIFFLAGS", 0x8913, _IFREQ),
    _in("SIOCSIFFLAGS", 0x8914, _IFREQ),
    _inout("SIOCGIFADDR", 0x8915, _IFREQ),
    _in("SIOCSIFADDR", 0x8916, _IFREQ),
    _inout("SIOCGIFDSTADDR", 0x8917, _IFREQ),
    _in("SIOCSIFDSTADDR", 0x8918, _IFREQ),
    _inout("SIOCGIFBRDADDR", 0x8919, _IFREQ),
    _in("SIOCSIFBRDADDR", 0x891A, _IFREQ),
    _inout("SIOCGIFNETMASK", 0x891B, _IFREQ),
    _in("SIOCSIFNETMASK", 0x891C, _IFREQ),
    _inout("SIOCGIFMETRIC", 0x891D, _IFREQ),
    _inout("SIOCGIFMTU", 0x8921, _IFREQ),
    _in("SIOCSIFMTU", 0x8922, _IFREQ),
    _in("SIOCSIFNAME", 0x8923, _IFREQ),
    _in("SIOCSIFHWADDR", 0x8924, _IFREQ),
    _inout("SIOCGIFHWADDR", 0x8927, _IFREQ),
    _inout("SIOCGIFSLAVE", 0x8929, _IFREQ),
    _inout("SIOCGIFPFLAGS", 0x8935, _IFREQ),
    _inout("SIOCGIFINDEX", 0x8933, _IFREQ),
    _inout("SIOCGIFCOUNT", 0x8938, _IFREQ),
    _inout("SIOCGIFTXQLEN", 0x8942, _IFREQ),
    _inout("SIOCGIFMAP", 0x8970, _IFREQ),
    # Its data hangs from a pointer in struct ifreq; drivers without it answer so.
    _plain(
        "SIOCETHTOOL",
        0x8946,
        how(refuse=("EOPNOTSUPP", "its data hangs from a pointer in struct ifreq")),
    ),
    _plain("SIOCGSKNS", 0x894C),
    _in("SIOCDARP", 0x8953, "struct arpreq"),
    _inout("SIOCGARP", 0x8954, "struct arpreq"),
    _in("SIOCSARP", 0x8955, "struct arpreq"),
    # struct iwreq is as large as struct ifreq or smaller: linux/wireless.h
    _inout("SIOCGIWNAME", 0x8B01, _IFREQ),
    # linux/vm_sockets.h
    _out("IOCTL_VM_SOCKETS_GET_LOCAL_CID", 0x07B9, "unsigned int"),
)

_DEVICES = (
    _out("RNDGETENTCNT", 0x80045200, "int"),
    _out("RTC_RD_TIME", 0x80247009, "struct rtc_time"),
    _out("RTC_ALM_READ", 0x80247008, "struct rtc_time"),
    _out("RTC_IRQP_READ", 0x8008700B, "unsigned long"),
    _out("RTC_EPOCH_READ", 0x8008700D, "unsigned long"),
    _out("RTC_WKALM_RD", 0x80287010, "struct rtc_wkalrm"),
    _out("KDGKBTYPE", 0x4B33, "char"),
    _out("KDGETMODE", 0x4B3B, "int"),
    _out("KDGKBMODE", 0x4B44, "int"),
    _out("KDGKBLED", 0x4B64, "char"),
    _out("KDGETLED", 0x4B31, "char"),
    _out("GIO_UNISCRNMAP", 0x4B69, Bytes(count=512, fact="unsigned short[E_TABSZ], linux/kd.h")),
    _out("VT_OPENQRY", 0x5600, "int"),
    _out("VT_GETMODE", 0x5601, "struct vt_mode"),
    _out("VT_GETSTATE", 0x5603, "struct vt_stat"),
    _in("VT_SETMODE", 0x5602, "struct vt_mode"),
    _plain("VT_RELDISP", 0x5605),
    _plain("VT_ACTIVATE", 0x5606),
    _plain("VT_WAITACTIVE", 0x5607, _DRAINS),
    _plain("VT_DISALLOCATE", 0x5608),
    _plain("KDSETMODE", 0x4B3A),
    _plain("KDSKBMODE", 0x4B45),
    _plain("KIOCSOUND", 0x4B2F),
    _plain("KDMKTONE", 0x4B30),
)

_COMMANDS = _TERMINAL + _DESCRIPTOR + _FILES + _BLOCK + _SOCKET + _DEVICES

SYSCALLS: tuple[Syscall, ...] = (
    call(
        16,
        "ioctl",
        fd(),
        val("cmd", "hex"),
        addr("arg"),
        by=ByCommand(arg="cmd", commands=_COMMANDS, unknown="ENOTTY"),
        note="requests without a row are answered with ENOTTY",
    ),
)
