# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls that shape or describe the address space."""

from pyrr.model.grammar import (
    ArgTimes,
    ByCommand,
    FdSet,
    Iovec,
    PageBytes,
    Syscall,
)
from pyrr.model.syscalls._build import (
    addr,
    call,
    cmd,
    fd,
    how,
    in_place,
    inp,
    out,
    refuse,
    val,
)

_FLAGS = val("flags", "hex")
_PROT = val("prot", "hex")
_LEN = val("len")

_HANDLED = how(handler="madvise")
_UNANSWERED = how(refuse=("EINVAL", "not reproducible: an older kernel's answer"))

# Advice without a name here is answered with EINVAL, as an older kernel would.
_MADVISE = ByCommand(
    arg="behavior",
    commands=(
        cmd("MADV_NORMAL", 0),
        cmd("MADV_RANDOM", 1),
        cmd("MADV_SEQUENTIAL", 2),
        cmd("MADV_WILLNEED", 3),
        cmd("MADV_DONTNEED", 4, does=_HANDLED),
        # Lazily freed pages keep or lose their contents as memory pressure has it.
        cmd("MADV_FREE", 8, does=_UNANSWERED),
        cmd("MADV_REMOVE", 9, does=_HANDLED),
        cmd("MADV_DONTFORK", 10, does=_HANDLED),
        cmd("MADV_DOFORK", 11, does=_HANDLED),
        cmd("MADV_MERGEABLE", 12),
        cmd("MADV_UNMERGEABLE", 13),
        cmd("MADV_HUGEPAGE", 14),
        cmd("MADV_NOHUGEPAGE", 15),
        cmd("MADV_DONTDUMP", 16),
        cmd("MADV_DODUMP", 17),
        cmd("MADV_WIPEONFORK", 18, does=_HANDLED),
        cmd("MADV_KEEPONFORK", 19, does=_HANDLED),
        cmd("MADV_COLD", 20),
        cmd("MADV_PAGEOUT", 21),
        cmd("MADV_POPULATE_READ", 22),
        cmd("MADV_POPULATE_WRITE", 23, does=how(replay="madvise")),
        cmd("MADV_DONTNEED_LOCKED", 24, does=_HANDLED),
        cmd("MADV_COLLAPSE", 25),
        cmd("MADV_HWPOISON", 100, does=how(refuse=("EPERM", "poisons a physical page"))),
        cmd("MADV_SOFT_OFFLINE", 101, does=how(refuse=("EPERM", "moves a physical page"))),
        # Guard pages are not in /proc/PID/maps; glibc 2.42 falls back to mprotect.
        cmd("MADV_GUARD_INSTALL", 102, does=_UNANSWERED),
        cmd("MADV_GUARD_REMOVE", 103, does=_UNANSWERED),
    ),
)

MAPPINGS: tuple[Syscall, ...] = (
    call(
        9,
        "mmap",
        addr(),
        _LEN,
        _PROT,
        _FLAGS,
        fd(),
        val("off", "hex"),
        does=how(handler="mmap"),
        note="mappings of perf, bpf, kvm, video and DRM descriptors are refused",
    ),
    call(10, "mprotect", addr("start"), _LEN, _PROT, does=how(handler="mprotect")),
    call(11, "munmap", addr(), _LEN, does=how(handler="munmap")),
    call(12, "brk", addr("brk"), does=how(handler="brk"), note="the heap is made of mappings"),
    call(
        25,
        "mremap",
        addr(),
        val("old_len"),
        val("new_len"),
        _FLAGS,
        addr("new_addr"),
        does=how(handler="mremap"),
    ),
    call(
        28,
        "madvise",
        addr("start"),
        _LEN,
        val("behavior", "int"),
        by=_MADVISE,
        note="MADV_FREE and guard pages are answered with EINVAL",
    ),
    call(26, "msync", addr("start"), _LEN, _FLAGS),
    call(27, "mincore", addr("start"), _LEN, out("vec", PageBytes(length="len"))),
    call(149, "mlock", addr("start"), _LEN, does=how(replay="mlock")),
    call(150, "munlock", addr("start"), _LEN),
    call(151, "mlockall", _FLAGS, does=how(replay="mlock")),
    call(152, "munlockall"),
    call(325, "mlock2", addr("start"), _LEN, _FLAGS, does=how(replay="mlock")),
    call(
        462,
        "mseal",
        addr("start"),
        _LEN,
        _FLAGS,
        does=how(emulated=True, record="mseal"),
        note="succeeds without sealing: replay must be able to change the mapping",
    ),
    refuse(
        216,
        "remap_file_pages",
        "ENOSYS",
        "deprecated since Linux 3.16; use several mmap calls",
        addr("start"),
        val("size"),
        _PROT,
        val("pgoff"),
        _FLAGS,
    ),
    call(30, "shmat", val("shmid", "int"), addr("shmaddr"), _FLAGS, does=how(handler="shmat")),
    call(67, "shmdt", addr("shmaddr"), does=how(handler="shmdt")),
    refuse(
        453,
        "map_shadow_stack",
        "EOPNOTSUPP",
        "shadow stacks are not recorded; the answer of a processor without them",
        addr(),
        val("size"),
        _FLAGS,
    ),
)

_NO_PKEYS = "protection keys are not recorded; the answer of a processor without them"
_NO_USERFAULTFD = "its handler writes memory at page faults, which are no events"

KEYS: tuple[Syscall, ...] = (
    refuse(
        329,
        "pkey_mprotect",
        "EINVAL",
        _NO_PKEYS,
        addr("start"),
        _LEN,
        _PROT,
        val("pkey", "int"),
    ),
    refuse(330, "pkey_alloc", "ENOSPC", _NO_PKEYS, _FLAGS, val("init_val", "hex")),
    refuse(331, "pkey_free", "EINVAL", _NO_PKEYS, val("pkey", "int")),
    refuse(323, "userfaultfd", "ENOSYS", _NO_USERFAULTFD, _FLAGS),
)

_MAXNODE = val("maxnode")
_NODES_IN = inp("nmask", FdSet(bits="maxnode"))

POLICY: tuple[Syscall, ...] = (
    call(
        237,
        "mbind",
        addr("start"),
        _LEN,
        val("mode", "hex"),
        _NODES_IN,
        _MAXNODE,
        _FLAGS,
    ),
    call(238, "set_mempolicy", val("mode", "hex"), _NODES_IN, _MAXNODE),
    call(
        239,
        "get_mempolicy",
        out("policy", "int"),
        out("nmask", FdSet(bits="maxnode")),
        _MAXNODE,
        addr(),
        _FLAGS,
    ),
    call(450, "set_mempolicy_home_node", addr("start"), _LEN, val("home_node"), _FLAGS),
    call(
        256,
        "migrate_pages",
        val("pid", "pid"),
        _MAXNODE,
        inp("old_nodes", FdSet(bits="maxnode")),
        inp("new_nodes", FdSet(bits="maxnode")),
    ),
    call(
        279,
        "move_pages",
        val("pid", "pid"),
        val("nr_pages"),
        inp("pages", ArgTimes(arg="nr_pages", ctype="void *")),
        inp("nodes", ArgTimes(arg="nr_pages", ctype="int")),
        out("status", ArgTimes(arg="nr_pages", ctype="int")),
        _FLAGS,
    ),
    call(324, "membarrier", val("cmd", "int"), _FLAGS, val("cpu_id", "int")),
)

_REMOTE = (
    val("pid", "pid"),
    val("liovcnt"),
    addr("rvec"),
    val("riovcnt"),
    _FLAGS,
)

OTHERS: tuple[Syscall, ...] = (
    call(
        310,
        "process_vm_readv",
        _REMOTE[0],
        out("lvec", Iovec(count="liovcnt")),
        *_REMOTE[1:],
        does=how(record="process_vm_readv"),
    ),
    call(
        311,
        "process_vm_writev",
        _REMOTE[0],
        inp("lvec", Iovec(count="liovcnt")),
        *_REMOTE[1:],
        does=how(handler="process_vm_writev"),
        note="its outputs are in another address space",
    ),
    refuse(
        440,
        "process_madvise",
        "EPERM",
        "changes another address space without that task's doing",
        fd("pidfd"),
        inp("vec", Iovec(count="vlen")),
        val("vlen"),
        val("behavior", "int"),
        _FLAGS,
    ),
    # Reading from a pipe into these places, or giving their pages to a pipe: which of
    # both the descriptor decides. Pages given must not move.
    call(
        278,
        "vmsplice",
        fd(),
        in_place("iov", Iovec(count="nr_segs")),
        val("nr_segs"),
        _FLAGS,
        does=how(may_block=True),
    ),
)

SYSCALLS = MAPPINGS + KEYS + POLICY + OTHERS
