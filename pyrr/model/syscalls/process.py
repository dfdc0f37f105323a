# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks: creating, ending, waiting for and naming them; credentials and limits."""

from pyrr.model.grammar import Arg, Bytes, FromResult, ResultTimes, Syscall, When
from pyrr.model.syscalls._build import (
    addr,
    call,
    fd,
    how,
    in_place,
    inout,
    inp,
    out,
    path,
    strings,
    val,
)

_FLAGS = val("flags", "hex")
_PID = val("pid", "pid")
_UID = val("uid", "int")
_GID = val("gid", "int")

# CLONE_VFORK sleeps until the child calls exec or ends. The tid words belong to the child
# as well: they are written where they stand.
LIFE: tuple[Syscall, ...] = (
    call(
        56,
        "clone",
        val("clone_flags", "hex"),
        addr("newsp"),
        in_place("parent_tidptr", "int", When.SUCCESS),
        addr("child_tidptr"),
        addr("tls"),
        does=how(may_block=True, record="clone", replay="clone"),
    ),
    call(
        435,
        "clone3",
        inp("uargs", Arg(arg="size")),
        val("size"),
        does=how(may_block=True, record="clone3", replay="clone"),
    ),
    call(57, "fork", does=how(record="fork", replay="clone")),
    call(58, "vfork", does=how(may_block=True, record="vfork", replay="clone")),
    # exec waits for the other threads of its group to end.
    call(
        59,
        "execve",
        path(),
        strings("argv"),
        strings("envp"),
        does=how(may_block=True, handler="execve"),
    ),
    call(
        322,
        "execveat",
        fd("dfd"),
        path(),
        strings("argv"),
        strings("envp"),
        _FLAGS,
        does=how(may_block=True, record="execveat", replay="execve"),
    ),
    call(60, "exit", val("error_code", "int"), does=how(handler="exit")),
    call(
        231,
        "exit_group",
        val("error_code", "int"),
        does=how(record="exit_group", replay="exit"),
    ),
    call(218, "set_tid_address", addr("tidptr"), does=how(record="set_tid_address")),
    call(
        273,
        "set_robust_list",
        addr("head"),
        val("len"),
        does=how(record="set_robust_list"),
    ),
    call(
        274,
        "get_robust_list",
        _PID,
        out("head_ptr", Bytes(count=8, fact="a pointer")),
        out("len_ptr", "size_t"),
    ),
    # waitid writes siginfo up to si_status, also when it fails (with zeros).
    call(
        61,
        "wait4",
        val("upid", "pid"),
        out("stat_addr", "int", When.POSITIVE),
        val("options", "hex"),
        out("ru", "struct rusage", When.POSITIVE),
        does=how(may_block=True),
    ),
    call(
        247,
        "waitid",
        val("which", "int"),
        val("upid", "pid"),
        out("infop", Bytes(count=28, fact="siginfo_t up to si_status"), When.ALWAYS),
        val("options", "hex"),
        out("ru", "struct rusage"),
        does=how(may_block=True),
    ),
    call(434, "pidfd_open", _PID, _FLAGS),
    call(438, "pidfd_getfd", fd("pidfd"), fd(), _FLAGS),
    call(448, "process_mrelease", fd("pidfd"), _FLAGS),
    call(
        312,
        "kcmp",
        val("pid1", "pid"),
        val("pid2", "pid"),
        val("type", "int"),
        val("idx1"),
        val("idx2"),
    ),
    call(135, "personality", val("personality", "hex")),
    call(272, "unshare", val("unshare_flags", "hex")),
    call(308, "setns", fd(), val("nstype", "hex")),
)

_GROUPS = ResultTimes(cap="gidsetsize", ctype="gid_t")

NAMES: tuple[Syscall, ...] = (
    call(39, "getpid"),
    call(186, "gettid"),
    call(110, "getppid"),
    call(111, "getpgrp"),
    call(121, "getpgid", _PID),
    call(124, "getsid", _PID),
    call(109, "setpgid", _PID, val("pgid", "pid")),
    call(112, "setsid"),
    call(102, "getuid"),
    call(104, "getgid"),
    call(107, "geteuid"),
    call(108, "getegid"),
    call(105, "setuid", _UID),
    call(106, "setgid", _GID),
    call(113, "setreuid", val("ruid", "int"), val("euid", "int")),
    call(114, "setregid", val("rgid", "int"), val("egid", "int")),
    call(117, "setresuid", val("ruid", "int"), val("euid", "int"), val("suid", "int")),
    call(119, "setresgid", val("rgid", "int"), val("egid", "int"), val("sgid", "int")),
    call(118, "getresuid", out("ruid", "uid_t"), out("euid", "uid_t"), out("suid", "uid_t")),
    call(120, "getresgid", out("rgid", "gid_t"), out("egid", "gid_t"), out("sgid", "gid_t")),
    call(122, "setfsuid", _UID),
    call(123, "setfsgid", _GID),
    call(115, "getgroups", val("gidsetsize", "int"), out("grouplist", _GROUPS)),
    call(116, "setgroups", val("gidsetsize", "int"), addr("grouplist")),
    # capget writes the version it prefers into the header when it fails. Versions 2 and 3
    # have two data structures.
    call(
        125,
        "capget",
        inout("header", "struct __user_cap_header_struct", When.ALWAYS),
        out("dataptr", Bytes(count=24, fact="struct __user_cap_data_struct[2]")),
    ),
    call(
        126,
        "capset",
        inp("header", "struct __user_cap_header_struct"),
        inp("data", Bytes(count=24, fact="struct __user_cap_data_struct[2]")),
    ),
)

_RESOURCE = val("resource", "int")
_RUSAGE = out("ru", "struct rusage")

LIMITS: tuple[Syscall, ...] = (
    call(97, "getrlimit", _RESOURCE, out("rlim", "struct rlimit64")),
    call(160, "setrlimit", _RESOURCE, inp("rlim", "struct rlimit64"), does=how(record="setrlimit")),
    call(
        302,
        "prlimit64",
        _PID,
        _RESOURCE,
        inp("new_rlim", "struct rlimit64"),
        out("old_rlim", "struct rlimit64"),
        does=how(handler="prlimit"),
    ),
    call(98, "getrusage", val("who", "int"), _RUSAGE),
)

_AFFINITY = how(emulated=True, record="sched_affinity")
_POLICY = how(emulated=True, record="sched_policy")
_PARAM_IN = inp("param", "struct sched_param")
_PINNED = "emulated: all tasks share the supervisor's core; remembered and answered"

SCHEDULING: tuple[Syscall, ...] = (
    call(24, "sched_yield", does=how(record="sched_yield")),
    call(
        203,
        "sched_setaffinity",
        _PID,
        val("len", "uint"),
        inp("user_mask_ptr", Arg(arg="len")),
        does=_AFFINITY,
        note=_PINNED,
    ),
    call(
        204,
        "sched_getaffinity",
        _PID,
        val("len", "uint"),
        out("user_mask_ptr", FromResult(cap="len")),
        does=_AFFINITY,
        note=_PINNED,
    ),
    call(
        309,
        "getcpu",
        out("cpup", "unsigned int"),
        out("nodep", "unsigned int"),
        addr("unused"),
        does=how(emulated=True, record="getcpu"),
        note=_PINNED,
    ),
    call(142, "sched_setparam", _PID, _PARAM_IN, does=_POLICY, note=_PINNED),
    call(
        143,
        "sched_getparam",
        _PID,
        out("param", "struct sched_param"),
        does=_POLICY,
        note=_PINNED,
    ),
    call(
        144,
        "sched_setscheduler",
        _PID,
        val("policy", "int"),
        _PARAM_IN,
        does=_POLICY,
        note=_PINNED,
    ),
    call(145, "sched_getscheduler", _PID, does=_POLICY, note=_PINNED),
    # The kernel may also write the size it knows into a sched_attr that is too large.
    call(
        314,
        "sched_setattr",
        _PID,
        inout("uattr", Bytes(count=4, fact="u32 size, first member of struct sched_attr")),
        _FLAGS,
        does=_POLICY,
        note=_PINNED,
    ),
    call(
        315,
        "sched_getattr",
        _PID,
        out("uattr", Arg(arg="usize")),
        val("usize", "uint"),
        _FLAGS,
        does=_POLICY,
        note=_PINNED,
    ),
    call(
        141,
        "setpriority",
        val("which", "int"),
        val("who", "int"),
        val("niceval", "int"),
        does=_POLICY,
        note=_PINNED,
    ),
    call(
        140,
        "getpriority",
        val("which", "int"),
        val("who", "int"),
        does=_POLICY,
        note=_PINNED,
    ),
    call(146, "sched_get_priority_max", val("policy", "int")),
    call(147, "sched_get_priority_min", val("policy", "int")),
    call(148, "sched_rr_get_interval", _PID, out("interval", "struct timespec")),
    call(251, "ioprio_set", val("which", "int"), val("who", "int"), val("ioprio", "int")),
    call(252, "ioprio_get", val("which", "int"), val("who", "int")),
)

SYSCALLS = LIFE + NAMES + LIMITS + SCHEDULING
