# SPDX-License-Identifier: GPL-2.0-or-later
"""The words in which the syscall model is written.

One `Syscall` says what a system call's arguments are: which way data flows through each
pointer (`Direction`), how many bytes it covers (a `Size`), and when the kernel writes
there (`When`). Sizes name C types, never numbers: the C compiler knows the numbers, and
`scripts/gen_tables.py` writes them as `sizeof`. Arguments refer to each other by name.

Recording more than the kernel wrote is harmless; recording less makes a replay go wrong
without a word. So where the kernel's behaviour has many cases, a row covers them all.
"""

import enum
from dataclasses import dataclass


class Direction(enum.Enum):
    """Which way data flows through a pointer argument, seen from the kernel."""

    NONE = "NONE"  # not a pointer, or one the kernel only remembers
    IN = "IN"
    OUT = "OUT"
    INOUT = "INOUT"
    IN_PLACE = "INOUT_IN_PLACE"  # other tasks must see it where it stands: futex words


class When(enum.Enum):
    """In which case the kernel writes an output."""

    SUCCESS = "SUCCESS"  # result >= 0
    ALWAYS = "ALWAYS"  # also when the call fails
    EINTR = "EINTR"  # only when interrupted, or about to be restarted
    POSITIVE = "POSITIVE"  # result > 0
    IF_WRITABLE = "IF_WRITABLE"  # always, and read-only memory there is no error


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """`count` objects of a C type that the kernel's or the C library's headers declare."""

    ctype: str
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Bytes:
    """A number of bytes that no header of an older system declares; `fact` says whose."""

    count: int
    fact: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arg:
    """As many bytes as another argument says."""

    arg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgTimes:
    """As many elements as another argument says."""

    arg: str
    ctype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FromResult:
    """Room for `cap` bytes; the result says how many were written, `plus` a header's."""

    cap: str
    plus: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTimes:
    """Room for `cap` elements; the result says how many were written."""

    cap: str
    ctype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FromPointee:
    """Room as the integer at pointer `arg` says, at most one `limit` object."""

    arg: str
    limit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CString:
    """Up to and with the NUL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Iovec:
    """`struct iovec` times `count`; the result is spread over what they point to."""

    count: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Msghdr:
    """`struct msghdr` and everything it points to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mmsghdr:
    """`struct mmsghdr` times `count`; `sent`: only msg_len of each is written."""

    count: str
    sent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FdSet:
    """A bit set of as many bits as another argument says, in whole longs."""

    bits: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pollfds:
    """`struct pollfd` times `count`, of which only revents is written."""

    count: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StringArray:
    """A NULL-terminated array of strings (argv, envp)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageBytes:
    """One byte for each page of a length argument (mincore)."""

    length: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ioc:
    """As many bytes as an ioctl's request number says (_IOC_SIZE)."""

    request: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A header with a u32 count `member`, then that many elements."""

    header: str
    header_size: str  # a C expression: bytes before the first element
    member_offset: str  # a C expression
    element_size: str  # a C expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Ifconf:
    """`struct ifconf` and the buffer it points to."""


Size = (
    Fixed
    | Bytes
    | Arg
    | ArgTimes
    | FromResult
    | ResultTimes
    | FromPointee
    | CString
    | Iovec
    | Msghdr
    | Mmsghdr
    | FdSet
    | Pollfds
    | StringArray
    | PageBytes
    | Ioc
    | Counted
    | Ifconf
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument: a value (direction NONE), or a pointer with a size."""

    name: str
    direction: Direction = Direction.NONE
    size: Size | None = None
    when: When = When.SUCCESS
    format: str = "long"  # how a dump prints it: "fd", "path", "hex", a C type, ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The call is answered with `errno` (its name) and never runs."""

    errno: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How a call is treated beyond its arguments."""

    may_block: bool = False
    emulated: bool = False  # the record handler answers in the kernel's place
    changes_files: bool = False  # may change a file that is mapped
    changed_fd: str = ""  # the argument that names that file; "": by path
    record: str = ""  # handler name, csrc/record/
    replay: str = ""  # handler name, csrc/replay/
    refused: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of a multiplexed call (ioctl, fcntl, prctl, futex, ...)."""

    name: str  # the C constant: checked against the headers where they have it
    value: int
    arguments: tuple[Argument, ...]
    behaviour: Behaviour = Behaviour()


@dataclass(frozen=True, slots=True, kw_only=True)
class ByCommand:
    """How the commands of a multiplexed call are told apart."""

    arg: str
    commands: tuple[Command, ...]
    mask: int = 0xFFFF_FFFF
    high_arg: str = ""  # its low half is the high half of the command (level, optname)
    # errno name for commands not listed; "" ends the recording; None: the row's own
    # arguments hold for them.
    unknown: str | None = "EINVAL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Syscall:
    """One system call."""

    name: str
    numbers: dict[str, int]
    arguments: tuple[Argument, ...]
    behaviour: Behaviour = Behaviour()
    by_command: ByCommand | None = None
    note: str = ""  # for docs/syscalls.md and messages
    buffered: bool = False  # the hook may run it without a stop
