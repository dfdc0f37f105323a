# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading, writing and opening files, directories and paths.

read, write and their kin are marked may-block for pipes, terminals and sockets. pread64,
pwrite64, preadv and pwritev are not: what can be waited for (pipe, socket, terminal,
eventfd) is not seekable and answers ESPIPE. preadv2 and pwritev2 are: offset -1 makes them
readv and writev.
"""

from pyrr.model.grammar import Arg, Bytes, FromPointee, FromResult, Iovec, Syscall, When
from pyrr.model.syscalls._build import (
    BLOCKS,
    call,
    fd,
    how,
    inout,
    inp,
    out,
    path,
    refuse,
    string,
    val,
)

# The file is argument `fd`; a pipe's or terminal's writer may have to wait.
_WRITES = how(may_block=True, changed_fd="fd", handler="file_write")
_WRITES_AT = how(changed_fd="fd", handler="file_write")
# Bytes that never pass through the program's memory: the recorder must look where they go.
_MOVES = how(may_block=True, changed_fd="out_fd", record="transfer", replay="file_write")
_MOVES_TO_FD_OUT = how(may_block=True, changed_fd="fd_out", record="transfer", replay="file_write")
# A descriptor may name something else from now on.
_CLOSES = how(may_block=True, record="close")
# O_TRUNC changes the file; a FIFO's or a leased file's open waits.
_OPENS = how(may_block=True, changed_fd="", record="open")

_MODE = val("mode", "octal")
_FLAGS = val("flags", "hex")

READ_WRITE: tuple[Syscall, ...] = (
    call(0, "read", fd(), out("buf", FromResult(cap="count")), val("count"), does=BLOCKS),
    call(1, "write", fd(), inp("buf", Arg(arg="count")), val("count"), does=_WRITES),
    call(17, "pread64", fd(), out("buf", FromResult(cap="count")), val("count"), val("pos")),
    call(
        18,
        "pwrite64",
        fd(),
        inp("buf", Arg(arg="count")),
        val("count"),
        val("pos"),
        does=_WRITES_AT,
    ),
    call(19, "readv", fd(), out("vec", Iovec(count="vlen")), val("vlen"), does=BLOCKS),
    call(20, "writev", fd(), inp("vec", Iovec(count="vlen")), val("vlen"), does=_WRITES),
    call(
        295,
        "preadv",
        fd(),
        out("vec", Iovec(count="vlen")),
        val("vlen"),
        val("pos_l"),
        val("pos_h"),
    ),
    call(
        296,
        "pwritev",
        fd(),
        inp("vec", Iovec(count="vlen")),
        val("vlen"),
        val("pos_l"),
        val("pos_h"),
        does=_WRITES_AT,
    ),
    call(
        327,
        "preadv2",
        fd(),
        out("vec", Iovec(count="vlen")),
        val("vlen"),
        val("pos_l"),
        val("pos_h"),
        _FLAGS,
        does=BLOCKS,
    ),
    call(
        328,
        "pwritev2",
        fd(),
        inp("vec", Iovec(count="vlen")),
        val("vlen"),
        val("pos_l"),
        val("pos_h"),
        _FLAGS,
        does=_WRITES,
    ),
    call(
        40,
        "sendfile",
        fd("out_fd"),
        fd("in_fd"),
        inout("offset", "off_t", When.ALWAYS),
        val("count"),
        does=_MOVES,
    ),
    call(
        275,
        "splice",
        fd("fd_in"),
        inout("off_in", "loff_t", When.ALWAYS),
        fd("fd_out"),
        inout("off_out", "loff_t", When.ALWAYS),
        val("len"),
        _FLAGS,
        does=_MOVES_TO_FD_OUT,
    ),
    call(
        276,
        "tee",
        fd("fdin"),
        fd("fdout"),
        val("len"),
        _FLAGS,
        does=how(may_block=True, record="transfer"),
    ),
    call(
        326,
        "copy_file_range",
        fd("fd_in"),
        inout("off_in", "loff_t", When.ALWAYS),
        fd("fd_out"),
        inout("off_out", "loff_t", When.ALWAYS),
        val("len"),
        _FLAGS,
        does=how(changed_fd="fd_out", record="transfer", replay="file_write"),
    ),
    call(8, "lseek", fd(), val("offset"), val("whence", "int")),
    call(74, "fsync", fd()),
    call(75, "fdatasync", fd()),
    call(162, "sync"),
    call(306, "syncfs", fd()),
    call(277, "sync_file_range", fd(), val("offset"), val("nbytes"), _FLAGS),
    call(187, "readahead", fd(), val("offset"), val("count")),
    call(221, "fadvise64", fd(), val("offset"), val("len"), val("advice", "int")),
    call(
        451,
        "cachestat",
        fd(),
        inp("cstat_range", Bytes(count=16, fact="struct cachestat_range, Linux 6.5")),
        out("cstat", Bytes(count=40, fact="struct cachestat, Linux 6.5")),
        _FLAGS,
    ),
    call(76, "truncate", path("path"), val("length"), does=how(changed_fd="", record="truncate")),
    call(77, "ftruncate", fd(), val("length"), does=_WRITES_AT),
    call(285, "fallocate", fd(), val("mode", "hex"), val("offset"), val("len"), does=_WRITES_AT),
)

OPEN_CLOSE: tuple[Syscall, ...] = (
    call(2, "open", path(), _FLAGS, _MODE, does=_OPENS),
    call(85, "creat", path("pathname"), _MODE, does=_OPENS),
    call(257, "openat", fd("dfd"), path(), _FLAGS, _MODE, does=_OPENS),
    call(
        437,
        "openat2",
        fd("dfd"),
        path(),
        inp("how", Arg(arg="usize")),
        val("usize"),
        does=_OPENS,
    ),
    call(
        304,
        "open_by_handle_at",
        fd("mountdirfd"),
        inp("handle", "struct file_handle"),
        _FLAGS,
        does=_OPENS,
    ),
    # SO_LINGER makes a close wait; dup2 and dup3 close what `newfd` was.
    call(3, "close", fd(), does=_CLOSES),
    call(
        436,
        "close_range",
        fd(),
        fd("max_fd"),
        _FLAGS,
        does=_CLOSES,
    ),
    call(32, "dup", fd("fildes")),
    call(33, "dup2", fd("oldfd"), fd("newfd"), does=_CLOSES),
    call(292, "dup3", fd("oldfd"), fd("newfd"), _FLAGS, does=_CLOSES),
    call(22, "pipe", out("fildes", Bytes(count=8, fact="int[2]"))),
    call(293, "pipe2", out("fildes", Bytes(count=8, fact="int[2]")), _FLAGS),
    call(73, "flock", fd(), val("cmd", "int"), does=BLOCKS),
    call(319, "memfd_create", string("uname_ptr"), _FLAGS),
    refuse(
        447,
        "memfd_secret",
        "ENOSYS",
        "its pages cannot be read by a tracer; absent in kernels without CONFIG_SECRETMEM too",
        _FLAGS,
    ),
)

STATUS: tuple[Syscall, ...] = (
    call(4, "stat", path(), out("statbuf", "struct stat")),
    call(5, "fstat", fd(), out("statbuf", "struct stat")),
    call(6, "lstat", path(), out("statbuf", "struct stat")),
    call(262, "newfstatat", fd("dfd"), path(), out("statbuf", "struct stat"), val("flag", "hex")),
    call(
        332,
        "statx",
        fd("dfd"),
        path(),
        _FLAGS,
        val("mask", "hex"),
        out("buffer", "struct statx"),
    ),
    call(137, "statfs", path("path"), out("buf", "struct statfs")),
    call(138, "fstatfs", fd(), out("buf", "struct statfs")),
    call(
        136,
        "ustat",
        val("dev"),
        out("ubuf", Bytes(count=32, fact="struct ustat, ustat(2)")),
    ),
    call(21, "access", path(), _MODE),
    call(269, "faccessat", fd("dfd"), path(), _MODE),
    call(439, "faccessat2", fd("dfd"), path(), _MODE, _FLAGS),
    call(78, "getdents", fd(), out("dirent", FromResult(cap="count")), val("count", "uint")),
    call(217, "getdents64", fd(), out("dirent", FromResult(cap="count")), val("count", "uint")),
    call(79, "getcwd", out("buf", FromResult(cap="size")), val("size")),
    call(89, "readlink", path("path"), out("buf", FromResult(cap="bufsiz")), val("bufsiz", "int")),
    call(
        267,
        "readlinkat",
        fd("dfd"),
        path("path"),
        out("buf", FromResult(cap="bufsiz")),
        val("bufsiz", "int"),
    ),
    call(
        468,
        "file_getattr",
        fd("dfd"),
        path(),
        out("ufattr", Arg(arg="usize")),
        val("usize"),
        val("at_flags", "hex"),
    ),
    call(
        469,
        "file_setattr",
        fd("dfd"),
        path(),
        inp("ufattr", Arg(arg="usize")),
        val("usize"),
        val("at_flags", "hex"),
    ),
)

_UTIMES = Bytes(count=32, fact="struct timeval[2] or struct timespec[2]")

NAMES: tuple[Syscall, ...] = (
    call(80, "chdir", path()),
    call(81, "fchdir", fd()),
    call(161, "chroot", path()),
    call(82, "rename", path("oldname"), path("newname")),
    call(264, "renameat", fd("olddfd"), path("oldname"), fd("newdfd"), path("newname")),
    call(316, "renameat2", fd("olddfd"), path("oldname"), fd("newdfd"), path("newname"), _FLAGS),
    call(83, "mkdir", path("pathname"), _MODE),
    call(258, "mkdirat", fd("dfd"), path("pathname"), _MODE),
    call(84, "rmdir", path("pathname")),
    call(86, "link", path("oldname"), path("newname")),
    call(265, "linkat", fd("olddfd"), path("oldname"), fd("newdfd"), path("newname"), _FLAGS),
    call(87, "unlink", path("pathname")),
    call(263, "unlinkat", fd("dfd"), path("pathname"), val("flag", "hex")),
    call(88, "symlink", path("oldname"), path("newname")),
    call(266, "symlinkat", path("oldname"), fd("newdfd"), path("newname")),
    call(133, "mknod", path(), _MODE, val("dev")),
    call(259, "mknodat", fd("dfd"), path(), _MODE, val("dev")),
    call(90, "chmod", path(), _MODE),
    call(91, "fchmod", fd(), _MODE),
    call(268, "fchmodat", fd("dfd"), path(), _MODE),
    call(452, "fchmodat2", fd("dfd"), path(), _MODE, _FLAGS),
    call(92, "chown", path(), val("user", "int"), val("group", "int")),
    call(93, "fchown", fd(), val("user", "int"), val("group", "int")),
    call(94, "lchown", path(), val("user", "int"), val("group", "int")),
    call(
        260,
        "fchownat",
        fd("dfd"),
        path(),
        val("user", "int"),
        val("group", "int"),
        val("flag", "hex"),
    ),
    call(95, "umask", val("mask", "octal")),
    call(132, "utime", path(), inp("times", "struct utimbuf")),
    call(235, "utimes", path(), inp("utimes", _UTIMES)),
    call(261, "futimesat", fd("dfd"), path(), inp("utimes", _UTIMES)),
    call(280, "utimensat", fd("dfd"), path(), inp("utimes", _UTIMES), _FLAGS),
    # struct file_handle: handle_bytes is written back also with EOVERFLOW. mnt_id is an
    # int, or a u64 with AT_HANDLE_MNT_ID_UNIQUE (Linux 6.12).
    call(
        303,
        "name_to_handle_at",
        fd("dfd"),
        path("name"),
        inout("handle", Bytes(count=136, fact="8 + MAX_HANDLE_SZ"), When.ALWAYS),
        out("mnt_id", Bytes(count=8, fact="u64 mount id"), When.ALWAYS),
        val("flag", "hex"),
    ),
)

_NAME = string("name")
_VALUE_IN = inp("value", Arg(arg="size"))
_VALUE_OUT = out("value", FromResult(cap="size"))
_LIST = out("list", FromResult(cap="size"))
_SIZE = val("size")

ATTRIBUTES: tuple[Syscall, ...] = (
    call(188, "setxattr", path("path"), _NAME, _VALUE_IN, _SIZE, _FLAGS),
    call(189, "lsetxattr", path("path"), _NAME, _VALUE_IN, _SIZE, _FLAGS),
    call(190, "fsetxattr", fd(), _NAME, _VALUE_IN, _SIZE, _FLAGS),
    call(191, "getxattr", path("path"), _NAME, _VALUE_OUT, _SIZE),
    call(192, "lgetxattr", path("path"), _NAME, _VALUE_OUT, _SIZE),
    call(193, "fgetxattr", fd(), _NAME, _VALUE_OUT, _SIZE),
    call(194, "listxattr", path("path"), _LIST, _SIZE),
    call(195, "llistxattr", path("path"), _LIST, _SIZE),
    call(196, "flistxattr", fd(), _LIST, _SIZE),
    call(197, "removexattr", path("path"), _NAME),
    call(198, "lremovexattr", path("path"), _NAME),
    call(199, "fremovexattr", fd(), _NAME),
    call(
        463,
        "setxattrat",
        fd("dfd"),
        path("pathname"),
        val("at_flags", "hex"),
        _NAME,
        inp("uargs", Arg(arg="usize")),
        val("usize"),
    ),
    refuse(
        464,
        "getxattrat",
        "ENOSYS",
        "its buffer hangs from a structure; programs fall back to getxattr (Linux < 6.13)",
        fd("dfd"),
        path("pathname"),
        val("at_flags", "hex"),
        _NAME,
        inp("uargs", Arg(arg="usize")),
        val("usize"),
    ),
    call(
        465,
        "listxattrat",
        fd("dfd"),
        path("pathname"),
        val("at_flags", "hex"),
        _LIST,
        _SIZE,
    ),
    call(466, "removexattrat", fd("dfd"), path("pathname"), val("at_flags", "hex"), _NAME),
)

_LSM_SIZE = inout("size", "unsigned int", When.ALWAYS)

SECURITY: tuple[Syscall, ...] = (
    call(
        459,
        "lsm_get_self_attr",
        val("attr", "int"),
        out("ctx", FromPointee(arg="size")),
        _LSM_SIZE,
        _FLAGS,
    ),
    call(
        460,
        "lsm_set_self_attr",
        val("attr", "int"),
        inp("ctx", Arg(arg="size")),
        _SIZE,
        _FLAGS,
    ),
    call(461, "lsm_list_modules", out("ids", FromPointee(arg="size")), _LSM_SIZE, _FLAGS),
    call(
        444,
        "landlock_create_ruleset",
        inp("attr", Arg(arg="size")),
        _SIZE,
        _FLAGS,
    ),
    call(
        445,
        "landlock_add_rule",
        fd("ruleset_fd"),
        val("rule_type", "int"),
        inp("rule_attr", Bytes(count=16, fact="struct landlock_path_beneath_attr, net_port_attr")),
        _FLAGS,
    ),
    call(446, "landlock_restrict_self", fd("ruleset_fd"), _FLAGS),
)

SYSCALLS = READ_WRITE + OPEN_CLOSE + STATUS + NAMES + ATTRIBUTES + SECURITY
