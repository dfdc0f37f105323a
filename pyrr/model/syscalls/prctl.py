# SPDX-License-Identifier: GPL-2.0-or-later
"""prctl(2), arch_prctl(2) and seccomp(2). The option is an int: 32 bits of it count."""

from pyrr.model.grammar import Argument, Behaviour, ByCommand, Bytes, FromResult, Syscall
from pyrr.model.syscalls._build import addr, call, cmd, how, inp, out, string, val

_TSC = how(emulated=True, record="prctl_tsc")
_NO_NEW_PRIVS = how(emulated=True, record="no_new_privs")
_SECCOMP = how(emulated=True, record="seccomp")
# A process that is not dumpable could no longer be read by an unprivileged supervisor.
_DUMPABLE = how(emulated=True, record="dumpable")

_VALUE = val("arg2", "hex")
_INT_OUT = out("arg2", "int")
_NOT_HERE = how(refuse=("EINVAL", "of another architecture, or removed"))


def _no(errno: str, reason: str) -> Behaviour:
    return how(refuse=(errno, reason))


_TASK = (
    cmd("PR_SET_PDEATHSIG", 1, val("arg2", "signal")),
    cmd("PR_GET_PDEATHSIG", 2, _INT_OUT),
    cmd("PR_GET_DUMPABLE", 3, does=_DUMPABLE),
    cmd("PR_SET_DUMPABLE", 4, _VALUE, does=_DUMPABLE),
    cmd("PR_GET_UNALIGN", 5, does=_NOT_HERE),
    cmd("PR_SET_UNALIGN", 6, does=_NOT_HERE),
    cmd("PR_GET_KEEPCAPS", 7),
    cmd("PR_SET_KEEPCAPS", 8, _VALUE),
    cmd("PR_GET_FPEMU", 9, does=_NOT_HERE),
    cmd("PR_SET_FPEMU", 10, does=_NOT_HERE),
    cmd("PR_GET_FPEXC", 11, does=_NOT_HERE),
    cmd("PR_SET_FPEXC", 12, does=_NOT_HERE),
    cmd("PR_GET_TIMING", 13),
    cmd("PR_SET_TIMING", 14, _VALUE),
    cmd("PR_SET_NAME", 15, string("arg2")),
    cmd("PR_GET_NAME", 16, out("arg2", Bytes(count=16, fact="TASK_COMM_LEN, prctl(2)"))),
    cmd("PR_GET_ENDIAN", 19, does=_NOT_HERE),
    cmd("PR_SET_ENDIAN", 20, does=_NOT_HERE),
    cmd("PR_GET_SECCOMP", 21, does=_SECCOMP),
    cmd("PR_SET_SECCOMP", 22, _VALUE, addr("arg3"), does=_SECCOMP),
    cmd("PR_CAPBSET_READ", 23, _VALUE),
    cmd("PR_CAPBSET_DROP", 24, _VALUE),
    cmd("PR_GET_TSC", 25, _INT_OUT, does=_TSC),
    cmd("PR_SET_TSC", 26, _VALUE, does=_TSC),
    cmd("PR_GET_SECUREBITS", 27),
    cmd("PR_SET_SECUREBITS", 28, _VALUE),
    cmd("PR_SET_TIMERSLACK", 29, _VALUE),
    cmd("PR_GET_TIMERSLACK", 30),
    cmd("PR_TASK_PERF_EVENTS_DISABLE", 31),
    cmd("PR_TASK_PERF_EVENTS_ENABLE", 32),
    cmd("PR_MCE_KILL", 33, _VALUE),
    cmd("PR_MCE_KILL_GET", 34),
    cmd("PR_SET_MM", 35, does=_no("EPERM", "the answer without CAP_SYS_RESOURCE")),
    cmd("PR_SET_CHILD_SUBREAPER", 36, _VALUE),
    cmd("PR_GET_CHILD_SUBREAPER", 37, _INT_OUT),
    cmd("PR_SET_NO_NEW_PRIVS", 38, _VALUE, does=_NO_NEW_PRIVS),
    cmd("PR_GET_NO_NEW_PRIVS", 39, does=_NO_NEW_PRIVS),
    cmd("PR_GET_TID_ADDRESS", 40, out("arg2", Bytes(count=8, fact="a pointer"))),
    cmd("PR_SET_THP_DISABLE", 41, _VALUE),
    cmd("PR_GET_THP_DISABLE", 42),
    cmd("PR_MPX_ENABLE_MANAGEMENT", 43, does=_NOT_HERE),
    cmd("PR_MPX_DISABLE_MANAGEMENT", 44, does=_NOT_HERE),
    cmd("PR_SET_FP_MODE", 45, does=_NOT_HERE),
    cmd("PR_GET_FP_MODE", 46, does=_NOT_HERE),
    cmd("PR_CAP_AMBIENT", 47, _VALUE),
)

_LATER = (
    cmd("PR_SVE_SET_VL", 50, does=_NOT_HERE),
    cmd("PR_SVE_GET_VL", 51, does=_NOT_HERE),
    cmd("PR_GET_SPECULATION_CTRL", 52, _VALUE),
    cmd("PR_SET_SPECULATION_CTRL", 53, _VALUE),
    cmd("PR_PAC_RESET_KEYS", 54, does=_NOT_HERE),
    # linear address masking: addresses with tags are not recorded
    cmd("PR_SET_TAGGED_ADDR_CTRL", 55, does=_NOT_HERE),
    cmd("PR_GET_TAGGED_ADDR_CTRL", 56, does=_NOT_HERE),
    cmd("PR_SET_IO_FLUSHER", 57, _VALUE),
    cmd("PR_GET_IO_FLUSHER", 58),
    cmd(
        "PR_SET_SYSCALL_USER_DISPATCH",
        59,
        does=_no("EINVAL", "turns system calls into signals without an event"),
    ),
    cmd("PR_PAC_SET_ENABLED_KEYS", 60, does=_NOT_HERE),
    cmd("PR_PAC_GET_ENABLED_KEYS", 61, does=_NOT_HERE),
    cmd(
        "PR_SCHED_CORE",
        62,
        does=_no("EINVAL", "core scheduling: all tasks share one core anyway"),
    ),
    cmd("PR_SME_SET_VL", 63, does=_NOT_HERE),
    cmd("PR_SME_GET_VL", 64, does=_NOT_HERE),
    cmd("PR_SET_MDWE", 65, _VALUE),
    cmd("PR_GET_MDWE", 66),
    cmd("PR_SET_MEMORY_MERGE", 67, _VALUE),
    cmd("PR_GET_MEMORY_MERGE", 68),
    cmd("PR_RISCV_V_SET_CONTROL", 69, does=_NOT_HERE),
    cmd("PR_RISCV_V_GET_CONTROL", 70, does=_NOT_HERE),
    cmd("PR_RISCV_SET_ICACHE_FLUSH_CTX", 71, does=_NOT_HERE),
    cmd("PR_PPC_GET_DEXCR", 72, does=_NOT_HERE),
    cmd("PR_PPC_SET_DEXCR", 73, does=_NOT_HERE),
    cmd("PR_GET_SHADOW_STACK_STATUS", 74, does=_NOT_HERE),
    cmd("PR_SET_SHADOW_STACK_STATUS", 75, does=_NOT_HERE),
    cmd("PR_LOCK_SHADOW_STACK_STATUS", 76, does=_NOT_HERE),
    cmd("PR_TIMER_CREATE_RESTORE_IDS", 77, _VALUE),
    cmd("PR_FUTEX_HASH", 78, _VALUE, val("arg3", "hex")),
    cmd("PR_GET_AUXV", 0x41555856, out("arg2", FromResult(cap="arg3"))),
    cmd("PR_SET_VMA", 0x53564D41, _VALUE),
    cmd("PR_SET_PTRACER", 0x59616D61, val("arg2", "pid")),
)

_CPUID = how(emulated=True, record="arch_prctl")
_BASE = how(handler="arch_prctl")
_WORD_OUT = out("arg2", "uint64_t")
_SHADOW = _no("EINVAL", "shadow stacks are not recorded")
_TAGS = _no("EINVAL", "addresses with tags are not recorded")
_XCOMP = _no("EOPNOTSUPP", "states that grow on request (AMX) are not recorded")
_VDSO = _no("EINVAL", "the program has no vdso while it is recorded")

_ARCH = (
    cmd("ARCH_SET_GS", 0x1001, does=_BASE),
    cmd("ARCH_SET_FS", 0x1002, does=_BASE),
    cmd("ARCH_GET_FS", 0x1003, _WORD_OUT),
    cmd("ARCH_GET_GS", 0x1004, _WORD_OUT),
    cmd("ARCH_GET_CPUID", 0x1011, does=_CPUID),
    cmd("ARCH_SET_CPUID", 0x1012, does=_CPUID),
    cmd("ARCH_GET_XCOMP_SUPP", 0x1021, _WORD_OUT),
    cmd("ARCH_GET_XCOMP_PERM", 0x1022, _WORD_OUT),
    cmd("ARCH_REQ_XCOMP_PERM", 0x1023, does=_XCOMP),
    cmd("ARCH_GET_XCOMP_GUEST_PERM", 0x1024, _WORD_OUT),
    cmd("ARCH_REQ_XCOMP_GUEST_PERM", 0x1025, does=_XCOMP),
    cmd("ARCH_MAP_VDSO_X32", 0x2001, does=_VDSO),
    cmd("ARCH_MAP_VDSO_32", 0x2002, does=_VDSO),
    cmd("ARCH_MAP_VDSO_64", 0x2003, does=_VDSO),
    # ARCH_CET_STATUS of kernels before 6.6, which older glibc calls
    cmd("ARCH_CET_STATUS", 0x3001, does=_SHADOW),
    cmd("ARCH_GET_UNTAG_MASK", 0x4001, _WORD_OUT),
    cmd("ARCH_ENABLE_TAGGED_ADDR", 0x4002, does=_TAGS),
    cmd("ARCH_GET_MAX_TAG_BITS", 0x4003, _WORD_OUT),
    cmd("ARCH_FORCE_TAGGED_SVA", 0x4004, does=_TAGS),
    cmd("ARCH_SHSTK_ENABLE", 0x5001, does=_SHADOW),
    cmd("ARCH_SHSTK_DISABLE", 0x5002, does=_SHADOW),
    cmd("ARCH_SHSTK_LOCK", 0x5003, does=_SHADOW),
    cmd("ARCH_SHSTK_UNLOCK", 0x5004, does=_SHADOW),
    cmd("ARCH_SHSTK_STATUS", 0x5005, does=_SHADOW),
)

_OPERATIONS = (
    cmd("SECCOMP_SET_MODE_STRICT", 0, does=_SECCOMP),
    cmd("SECCOMP_SET_MODE_FILTER", 1, inp("uargs", "struct sock_fprog"), does=_SECCOMP),
    cmd("SECCOMP_GET_ACTION_AVAIL", 2, inp("uargs", "unsigned int")),
    cmd("SECCOMP_GET_NOTIF_SIZES", 3, out("uargs", "struct seccomp_notif_sizes")),
)

_ARGS: tuple[Argument, ...] = tuple(val(f"arg{n}", "hex") for n in range(2, 6))

SYSCALLS: tuple[Syscall, ...] = (
    call(
        157,
        "prctl",
        val("option", "int"),
        *_ARGS,
        by=ByCommand(arg="option", commands=_TASK + _LATER),
        note="PR_SET_MM, PR_SET_SYSCALL_USER_DISPATCH and PR_SCHED_CORE are refused",
    ),
    call(
        158,
        "arch_prctl",
        val("option", "hex"),
        addr("arg2"),
        by=ByCommand(arg="option", commands=_ARCH),
        note="shadow stacks, tagged addresses and AMX are refused",
    ),
    call(
        317,
        "seccomp",
        val("op", "int"),
        val("flags", "hex"),
        addr("uargs"),
        by=ByCommand(arg="op", commands=_OPERATIONS),
        note="filters are not installed: they would act before the recorder sees the call",
    ),
)
