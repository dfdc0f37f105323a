# SPDX-License-Identifier: GPL-2.0-or-later
"""Names for the bits of the flag words that a reader of `pyrr dump` meets most.

Values: Linux x86-64, <asm-generic/fcntl.h>, <asm-generic/mman-common.h>,
<linux/sched.h>, <linux/fcntl.h>, <linux/stat.h>. Bits without a name stay a number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagWord:
    """Single bits by value; `choices` are the values of the field under `mask`."""

    bits: Mapping[int, str]
    mask: int = 0
    choices: Mapping[int, str] = field(default_factory=dict)
    zero: str = "0"


PROTECTION = FlagWord(
    bits={1: "PROT_READ", 2: "PROT_WRITE", 4: "PROT_EXEC", 0x1000000: "PROT_GROWSDOWN"},
    zero="PROT_NONE",
)
MAPPING = FlagWord(
    mask=0xF,
    choices={1: "MAP_SHARED", 2: "MAP_PRIVATE", 3: "MAP_SHARED_VALIDATE"},
    bits={
        0x10: "MAP_FIXED",
        0x20: "MAP_ANONYMOUS",
        0x40: "MAP_32BIT",
        0x100: "MAP_GROWSDOWN",
        0x800: "MAP_DENYWRITE",
        0x2000: "MAP_LOCKED",
        0x4000: "MAP_NORESERVE",
        0x8000: "MAP_POPULATE",
        0x20000: "MAP_STACK",
        0x40000: "MAP_HUGETLB",
        0x100000: "MAP_FIXED_NOREPLACE",
    },
)
OPENING = FlagWord(
    mask=3,
    choices={0: "O_RDONLY", 1: "O_WRONLY", 2: "O_RDWR"},
    bits={
        0o100: "O_CREAT",
        0o200: "O_EXCL",
        0o400: "O_NOCTTY",
        0o1000: "O_TRUNC",
        0o2000: "O_APPEND",
        0o4000: "O_NONBLOCK",
        0o40000: "O_DIRECT",
        0o100000: "O_LARGEFILE",
        0o200000: "O_DIRECTORY",
        0o400000: "O_NOFOLLOW",
        0o1000000: "O_NOATIME",
        0o2000000: "O_CLOEXEC",
        0o4010000: "O_SYNC",
        0o10000000: "O_PATH",
        0o20200000: "O_TMPFILE",
    },
)
DESCRIPTOR = FlagWord(bits={0o4000: "O_NONBLOCK", 0o2000000: "O_CLOEXEC", 0o40000: "O_DIRECT"})
CLONING = FlagWord(
    bits={
        0x100: "CLONE_VM",
        0x200: "CLONE_FS",
        0x400: "CLONE_FILES",
        0x800: "CLONE_SIGHAND",
        0x1000: "CLONE_PIDFD",
        0x4000: "CLONE_VFORK",
        0x8000: "CLONE_PARENT",
        0x10000: "CLONE_THREAD",
        0x20000: "CLONE_NEWNS",
        0x40000: "CLONE_SYSVSEM",
        0x80000: "CLONE_SETTLS",
        0x100000: "CLONE_PARENT_SETTID",
        0x200000: "CLONE_CHILD_CLEARTID",
        0x1000000: "CLONE_CHILD_SETTID",
        0x10000000: "CLONE_NEWUSER",
        0x20000000: "CLONE_NEWPID",
        0x40000000: "CLONE_NEWNET",
    },
    mask=0xFF,
    choices={17: "SIGCHLD"},
)
AT = FlagWord(
    bits={
        0x100: "AT_SYMLINK_NOFOLLOW",
        0x200: "AT_REMOVEDIR",
        0x400: "AT_SYMLINK_FOLLOW",
        0x800: "AT_NO_AUTOMOUNT",
        0x1000: "AT_EMPTY_PATH",
    }
)
WAITING = FlagWord(
    bits={
        1: "WNOHANG",
        2: "WUNTRACED",
        4: "WEXITED",
        8: "WCONTINUED",
        0x1000000: "WNOWAIT",
        0x40000000: "__WALL",
    }
)
ACCESS = FlagWord(bits={1: "X_OK", 2: "W_OK", 4: "R_OK"}, zero="F_OK")
SIGNAL_SET = FlagWord(bits={}, mask=3, choices={0: "SIG_BLOCK", 1: "SIG_UNBLOCK", 2: "SIG_SETMASK"})
SEEKING = FlagWord(
    bits={}, mask=7, choices={0: "SEEK_SET", 1: "SEEK_CUR", 2: "SEEK_END", 3: "SEEK_DATA"}
)

FLAG_WORDS: Mapping[tuple[str, str], FlagWord] = {
    ("mmap", "prot"): PROTECTION,
    ("mprotect", "prot"): PROTECTION,
    ("mmap", "flags"): MAPPING,
    ("open", "flags"): OPENING,
    ("openat", "flags"): OPENING,
    ("pipe2", "flags"): DESCRIPTOR,
    ("dup3", "flags"): DESCRIPTOR,
    ("clone", "clone_flags"): CLONING,
    ("newfstatat", "flag"): AT,
    ("statx", "flags"): AT,
    ("unlinkat", "flag"): AT,
    ("wait4", "options"): WAITING,
    ("waitid", "options"): WAITING,
    ("access", "mode"): ACCESS,
    ("faccessat", "mode"): ACCESS,
    ("rt_sigprocmask", "how"): SIGNAL_SET,
    ("lseek", "whence"): SEEKING,
}
"""By system call and argument, as the model names them."""


def names(word: FlagWord, value: int) -> str:
    """`O_RDWR|O_CLOEXEC|0x40000000`."""
    shown = []
    rest = value & 0xFFFF_FFFF
    if word.mask:
        choice = rest & word.mask
        if choice in word.choices:
            shown.append(word.choices[choice])
            rest &= ~word.mask
    for bits, name in sorted(word.bits.items(), reverse=True):
        if rest & bits == bits:
            shown.append(name)
            rest &= ~bits
    if rest:
        shown.append(hex(rest))
    return "|".join(shown) or word.zero
